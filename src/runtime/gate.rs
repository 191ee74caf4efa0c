//! Hooks that hold something back: who said when to ask again, so that events in between ask nobody.
//!
//! A handler that answers with `retryAfterSeconds` is asked again when that time is over, and not before, however often
//! somebody looks; one that lets go is not asked again while others still hold. When all have let go, all is forgotten. It
//! is in memory only: after a start everybody is asked once more. To be held back is no failure, and feeds no back-off.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Whether something may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It may; all handlers have let go.
    Open,
    /// It may not.
    Held {
        /// When to look again: as soon as the first of those who hold wants to be asked again.
        retry_after: Duration,
        /// What those who hold have said, in the order of their names.
        message: String,
    },
}

/// What is held back: a hook of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    hook: &'static str,
    object: Arc<str>,
}

/// The last answer of a handler.
#[derive(Clone, Debug)]
struct Said {
    /// When to ask again; `None` when it has let go.
    again: Option<Instant>,
    message: String,
}

/// The last answers of handlers, by hook and object.
#[derive(Debug, Default)]
pub(super) struct Windows(Mutex<HashMap<Key, HashMap<Arc<str>, Said>>>);

impl Windows {
    /// Whether a handler is to be asked now.
    pub(super) fn is_due(&self, hook: &'static str, object: &Arc<str>, handler: &str, now: Instant) -> bool {
        let windows = self.0.lock();
        let said = windows.get(&Key { hook, object: object.clone() }).and_then(|said| said.get(handler));
        said.is_none_or(|said| said.again.is_some_and(|again| again <= now))
    }

    /// Notes an answer. Seconds below zero are none.
    pub(super) fn note(
        &self,
        hook: &'static str,
        object: &Arc<str>,
        handler: &Arc<str>,
        seconds: i32,
        message: &str,
        now: Instant,
    ) {
        let wait = u64::try_from(seconds).ok().filter(|&seconds| seconds > 0).map(Duration::from_secs);
        let said = Said { again: wait.map(|wait| now + wait), message: message.to_owned() };
        let mut windows = self.0.lock();
        windows.entry(Key { hook, object: object.clone() }).or_default().insert(handler.clone(), said);
    }

    /// What these handlers say together. When none of them holds, they are forgotten.
    pub(super) fn gate(
        &self,
        hook: &'static str,
        object: &Arc<str>,
        handlers: &[Arc<str>],
        now: Instant,
    ) -> Gate {
        let key = Key { hook, object: object.clone() };
        let mut windows = self.0.lock();
        let said = windows.get(&key);
        let holding: Vec<_> = handlers
            .iter()
            .filter_map(|handler| said?.get(handler))
            .filter_map(|said| Some((said.again?, said.message.as_str())))
            .collect();
        let Some(first) = holding.iter().map(|(again, _)| *again).min() else {
            windows.remove(&key);
            return Gate::Open;
        };
        let messages: Vec<_> =
            holding.iter().map(|(_, text)| *text).filter(|text| !text.is_empty()).collect();
        let message = kapstan_api::text::foreign(&messages.join(", "));
        Gate::Held { retry_after: first.saturating_duration_since(now), message }
    }

    /// Forgets all about an object.
    pub(super) fn forget(&self, object: &str) {
        self.0.lock().retain(|key, _| key.object.as_ref() != object);
    }
}
