//! Answers that were given before.
//!
//! Bounded by bytes; what was used longest ago goes first. Whether an answer is young enough is decided by whoever asks
//! for it, with our clock; moka's own is not used. An invalidated answer is gone at once: its keys are known here, so
//! nothing depends on when moka sweeps.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kapstan_api::hooks::DiscoverVariablesResponse;
use moka::notification::RemovalCause;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::extension::QuestionKey;
use crate::digest::Digest;

/// What an entry takes besides its answer, roughly.
const OVERHEAD: usize = 512;
/// What a decoded answer takes for each byte of its body, roughly.
const BYTES_PER_BODY_BYTE: usize = 4;

/// An answer to a question about variables. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// What the extension said.
    pub response: Arc<DiscoverVariablesResponse>,
    /// Stands for the variables in it; the same variables give the same digest, whatever their order and that of
    /// their keys.
    pub digest: Digest,
    /// When the question was sent.
    pub asked_at: Instant,
    /// Length of the body.
    pub(super) bytes: usize,
}

impl Answer {
    pub(super) fn new(response: DiscoverVariablesResponse, asked_at: Instant, bytes: usize) -> Self {
        // A class shows variables by name, so the order in which an extension lists them is no news.
        let mut variables: Vec<_> = response.variables.iter().collect();
        variables.sort_by(|a, b| a.name.cmp(&b.name));
        let digest = Digest::of(&variables);
        Self { response: Arc::new(response), digest, asked_at, bytes }
    }
}

/// The answers at hand.
pub(super) struct Answers {
    entries: Cache<QuestionKey, Entry>,
    keys: Keys,
}

#[derive(Clone)]
struct Entry {
    uid: Arc<str>,
    answer: Answer,
}

/// Which keys belong to which extension. Never locked while moka is at work for us, other than in its listener.
type Keys = Arc<Mutex<HashMap<Arc<str>, HashSet<QuestionKey>>>>;

impl Answers {
    pub(super) fn new(max_bytes: u64) -> Self {
        let keys = Keys::default();
        let of_listener = keys.clone();
        let entries = Cache::builder()
            .max_capacity(max_bytes)
            .weigher(|_, entry: &Entry| weight(&entry.answer))
            .eviction_policy(EvictionPolicy::lru())
            .eviction_listener(move |key: Arc<QuestionKey>, entry: Entry, cause| {
                if cause != RemovalCause::Replaced {
                    remove_key(&of_listener, &entry.uid, *key);
                }
            })
            .build();
        Self { entries, keys }
    }

    pub(super) fn get(&self, key: QuestionKey) -> Option<Answer> {
        self.entries.get(&key).map(|entry| entry.answer)
    }

    pub(super) fn insert(&self, uid: &Arc<str>, key: QuestionKey, answer: Answer) {
        // First the key: once moka has the entry it may remove it at any time.
        self.keys.lock().entry(uid.clone()).or_default().insert(key);
        self.entries.insert(key, Entry { uid: uid.clone(), answer });
    }

    /// Drops all answers of an extension.
    pub(super) fn forget(&self, uid: &str) {
        let keys = self.keys.lock().remove(uid);
        keys.into_iter().flatten().for_each(|key| self.entries.invalidate(&key));
    }
}

fn remove_key(keys: &Keys, uid: &Arc<str>, key: QuestionKey) {
    let mut keys = keys.lock();
    if let Some(of_extension) = keys.get_mut(uid) {
        of_extension.remove(&key);
        if of_extension.is_empty() {
            keys.remove(uid);
        }
    }
}

fn weight(answer: &Answer) -> u32 {
    u32::try_from(answer.bytes.saturating_mul(BYTES_PER_BODY_BYTE) + OVERHEAD).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kapstan_api::cluster_class::ClusterClassVariable;
    use kapstan_api::extension_config::ClientConfig;
    use kapstan_api::hooks::Response as _;

    use super::super::tests::in_process::handler;
    use super::super::{Extension, Question};
    use super::*;

    fn key(uid: &str, number: usize) -> QuestionKey {
        let extension = Extension::new("ext-a", uid, ClientConfig::default(), BTreeMap::new());
        let patch = BTreeMap::from([("number".to_owned(), number.to_string())]);
        Question::new(Arc::new(extension), &handler("dv.ext-a"), &patch).unwrap().key()
    }

    fn answer(bytes: usize) -> Answer {
        Answer::new(DiscoverVariablesResponse::success(), Instant::now(), bytes)
    }

    fn keys_known(answers: &Answers) -> usize {
        answers.keys.lock().values().map(HashSet::len).sum()
    }

    #[test]
    fn the_order_of_variables_is_no_news() {
        let named = |names: [&str; 3]| {
            let variables =
                names.map(|name| ClusterClassVariable { name: name.to_owned(), ..Default::default() });
            let response = DiscoverVariablesResponse { variables: variables.into(), ..Default::default() };
            Answer::new(response, Instant::now(), 0).digest
        };
        assert_eq!(named(["a", "b", "c"]), named(["c", "a", "b"]));
        assert_ne!(named(["a", "b", "c"]), named(["a", "b", "d"]));
    }

    #[test]
    fn bytes_are_bounded_and_no_key_is_kept_without_its_answer() {
        let answers = Answers::new(100 << 10);
        let uid: Arc<str> = "uid".into();
        (0..100).for_each(|number| answers.insert(&uid, key("uid", number), answer(2 << 10)));
        answers.entries.run_pending_tasks();
        assert_eq!((answers.entries.entry_count(), keys_known(&answers)), (11, 11));
        assert!(answers.entries.weighted_size() <= 100 << 10);
        assert!(answers.get(key("uid", 99)).is_some(), "the newest is there");
        assert!(answers.get(key("uid", 0)).is_none(), "the oldest is gone");
    }

    #[test]
    fn what_is_forgotten_is_gone_at_once_and_may_come_again() {
        let answers = Answers::new(1 << 20);
        let (one, other): (Arc<str>, Arc<str>) = ("one".into(), "other".into());
        answers.insert(&one, key("one", 1), answer(1));
        answers.insert(&other, key("other", 1), answer(1));
        answers.forget("one");
        assert_eq!((answers.get(key("one", 1)), keys_known(&answers)), (None, 1));
        assert!(answers.get(key("other", 1)).is_some());
        answers.insert(&one, key("one", 1), answer(2));
        answers.insert(&one, key("one", 1), answer(3));
        answers.entries.run_pending_tasks();
        assert_eq!(keys_known(&answers), 2);
        answers.forget("one");
        assert_eq!(answers.get(key("one", 1)), None);
    }
}
