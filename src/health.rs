//! Whether the manager is up, and which of its watches are.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::watch;

/// The state of every watch that readiness depends on. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Health {
    watches: Arc<Mutex<BTreeMap<Arc<str>, watch::Sender<State>>>>,
}

/// The state of one watch.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// It has not listed yet.
    Starting,
    /// It has listed, and goes on.
    Synced,
    /// It has not listed yet, and the last try failed.
    Failing(Arc<str>),
}

/// Where one watch tells how it is.
#[derive(Clone, Debug)]
pub struct Sync {
    name: Arc<str>,
    state: watch::Sender<State>,
}

impl Health {
    /// A watch that readiness depends on.
    #[must_use]
    pub fn watch(&self, name: &str) -> Sync {
        let sync = Sync::new(name);
        self.watches.lock().insert(Arc::clone(&sync.name), sync.state.clone());
        sync
    }

    /// Why the manager is not ready, by watch; empty when it is.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let watches = self.watches.lock();
        let missing = watches.iter().filter_map(|(name, state)| match &*state.borrow() {
            State::Synced => None,
            State::Starting => Some(format!("{name}: not listed yet")),
            State::Failing(why) => Some(format!("{name}: {why}")),
        });
        missing.collect()
    }
}

impl Sync {
    /// A watch that readiness does not depend on.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), state: watch::Sender::new(State::Starting) }
    }

    /// What is watched.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its first list is there.
    pub fn synced(&self) {
        self.state.send_replace(State::Synced);
    }

    /// A try failed. Once it has listed, a watch stays synced: what it knows remains in force while it is retried.
    pub fn failing(&self, why: &Arc<str>) {
        self.state.send_if_modified(|state| {
            let is_new = *state != State::Synced && *state != State::Failing(Arc::clone(why));
            if is_new {
                *state = State::Failing(Arc::clone(why));
            }
            is_new
        });
    }

    /// Waits until the first list is there.
    pub async fn wait(&self) {
        // The sender lives in `self`, so the wait cannot end for lack of one.
        let _ = self.state.subscribe().wait_for(|state| *state == State::Synced).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_its_reason() {
        let health = Health::default();
        let (classes, crds) = (health.watch("ClusterClass"), health.watch("CustomResourceDefinition"));
        classes.synced();
        assert_eq!(health.missing(), ["CustomResourceDefinition: not listed yet"]);
        crds.failing(&"forbidden".into());
        assert_eq!(health.missing(), ["CustomResourceDefinition: forbidden"]);
        crds.synced();
        crds.failing(&"connection lost".into());
        assert!(health.missing().is_empty());
    }
}
