//! The work queue between the index and the controllers.
//!
//! A key that is queued already is not queued twice, and a key that is being worked on is not handed out again
//! until that work is done; if it was added meanwhile, it comes once more afterwards. A failed key comes back
//! after its own back-off, which grows to [`Backoff::cap`] and is forgotten at the first success. A key that
//! waits for a time of its own choosing ([`Outcome::After`]) does not feed that back-off.
//!
//! Ours because kube-runtime's scheduler knows one order only and keys without identity of their own; it runs on
//! tokio's clock, so paused time moves it.

use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    hash::Hash,
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

/// How long a failed key waits before it is tried again.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// After the first failure; doubles with every further one.
    pub first: Duration,
    /// Never longer than this.
    pub cap: Duration,
}

impl Backoff {
    /// What the controllers use for failed writes: 1 s, doubling to 1 min.
    pub const WRITES: Self = Self { first: Duration::from_secs(1), cap: Duration::from_mins(1) };
    /// What failed calls use: 5 s, doubling to 5 min.
    pub const CALLS: Self = Self { first: Duration::from_secs(5), cap: Duration::from_mins(5) };

    /// The wait after this many failures in a row, at least one.
    #[must_use]
    pub fn after(self, failures: u32) -> Duration {
        let factor = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.cap)
    }
}

/// What became of a key that was worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing more to do until something changes.
    Done,
    /// Nothing wrong, but look again after this long.
    After(Duration),
    /// It failed: try again after the back-off.
    Failed,
}

/// A de-duplicating queue with delays. Cheap to clone; clones share the contents.
#[derive(Debug)]
pub struct Queue<K> {
    shared: Arc<Shared<K>>,
}

#[derive(Debug)]
struct Shared<K> {
    state: Mutex<State<K>>,
    changed: Notify,
    backoff: Backoff,
}

#[derive(Debug)]
struct State<K> {
    ready: VecDeque<K>,
    /// Everything in `ready`.
    queued: HashSet<K>,
    /// Being worked on; the value says whether it was added meanwhile.
    running: HashMap<K, bool>,
    delayed: BTreeSet<(Instant, K)>,
    /// When each key of `delayed` is due: the earliest time it was added for.
    due: HashMap<K, Instant>,
    failures: HashMap<K, u32>,
}

impl<K> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<K: Clone + Eq + Hash + Ord> Queue<K> {
    /// An empty queue whose failed keys wait as `backoff` says.
    #[must_use]
    pub fn new(backoff: Backoff) -> Self {
        let state = State {
            ready: VecDeque::new(),
            queued: HashSet::new(),
            running: HashMap::new(),
            delayed: BTreeSet::new(),
            due: HashMap::new(),
            failures: HashMap::new(),
        };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), changed: Notify::new(), backoff }) }
    }

    /// Adds a key that is due now.
    pub fn add(&self, key: K) {
        self.shared.state.lock().enqueue(key);
        self.shared.changed.notify_one();
    }

    /// Adds a key that is due after `delay`, unless it is due earlier already.
    pub fn add_after(&self, key: K, delay: Duration) {
        self.shared.state.lock().delay(key, Instant::now() + delay);
        self.shared.changed.notify_one();
    }

    /// The next key that is due. It stays out of the queue until [`Queue::done`] is called for it.
    pub async fn next(&self) -> K {
        loop {
            let changed = self.shared.changed.notified();
            let due = {
                let mut state = self.shared.state.lock();
                state.release(Instant::now());
                if let Some(key) = state.take() {
                    if !state.ready.is_empty() {
                        self.shared.changed.notify_one(); // another worker may be waiting
                    }
                    return key;
                }
                state.delayed.first().map(|(due, _)| *due)
            };
            match due {
                Some(due) => tokio::select! { () = changed => {}, () = tokio::time::sleep_until(due) => {} },
                None => changed.await,
            }
        }
    }

    /// Gives a key back that [`Queue::next`] handed out, and says how long a failed one now waits.
    pub fn done(&self, key: &K, outcome: Outcome) -> Option<Duration> {
        let mut state = self.shared.state.lock();
        let again = state.running.remove(key).unwrap_or(false);
        let delay = match outcome {
            Outcome::Done => {
                state.failures.remove(key);
                None
            }
            Outcome::After(delay) => {
                state.failures.remove(key);
                Some(delay)
            }
            Outcome::Failed => {
                let failures = state.failures.entry(key.clone()).or_default();
                *failures = failures.saturating_add(1);
                Some(self.shared.backoff.after(*failures))
            }
        };
        if again {
            state.enqueue(key.clone());
        } else if let Some(delay) = delay {
            state.delay(key.clone(), Instant::now() + delay);
        }
        drop(state);
        self.shared.changed.notify_one();
        delay
    }

    /// Forgets what is known of a key that is gone: its waiting and its failures.
    pub fn forget(&self, key: &K) {
        let mut state = self.shared.state.lock();
        state.failures.remove(key);
        state.undelay(key);
    }

    /// How many keys are due or will be, those being worked on left out.
    #[must_use]
    pub fn len(&self) -> usize {
        let state = self.shared.state.lock();
        state.ready.len() + state.delayed.len()
    }

    /// Whether nothing is due and nothing will be.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K: Clone + Eq + Hash + Ord> State<K> {
    fn enqueue(&mut self, key: K) {
        self.undelay(&key);
        if let Some(again) = self.running.get_mut(&key) {
            *again = true;
        } else if self.queued.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    fn delay(&mut self, key: K, due: Instant) {
        if self.queued.contains(&key) || self.due.get(&key).is_some_and(|earlier| *earlier <= due) {
            return;
        }
        self.undelay(&key);
        self.due.insert(key.clone(), due);
        self.delayed.insert((due, key));
    }

    fn undelay(&mut self, key: &K) {
        if let Some(due) = self.due.remove(key) {
            self.delayed.remove(&(due, key.clone()));
        }
    }

    fn release(&mut self, now: Instant) {
        while self.delayed.first().is_some_and(|(due, _)| *due <= now) {
            if let Some((_, key)) = self.delayed.pop_first() {
                self.due.remove(&key);
                self.enqueue(key);
            }
        }
    }

    fn take(&mut self) -> Option<K> {
        let key = self.ready.pop_front()?;
        self.queued.remove(&key);
        self.running.insert(key.clone(), false);
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn queue() -> Queue<&'static str> {
        Queue::new(Backoff { first: SECOND, cap: 8 * SECOND })
    }

    async fn is_idle(queue: &Queue<&'static str>) -> bool {
        tokio::time::timeout(Duration::from_millis(1), queue.next()).await.is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_added_twice_comes_once() {
        let queue = queue();
        queue.add("a");
        queue.add("a");
        assert_eq!(queue.next().await, "a");
        queue.done(&"a", Outcome::Done);
        assert!(is_idle(&queue).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_added_while_it_runs_comes_again_only_when_it_is_done() {
        let queue = queue();
        queue.add("a");
        assert_eq!(queue.next().await, "a");
        queue.add("a");
        assert!(is_idle(&queue).await);
        queue.done(&"a", Outcome::Done);
        assert_eq!(queue.next().await, "a");
        queue.done(&"a", Outcome::Done);
        assert!(is_idle(&queue).await);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_wait_longer_up_to_the_cap_and_success_forgets_them() {
        let queue = queue();
        queue.add("a");
        let mut waits = Vec::new();
        for _ in 0..6 {
            assert_eq!(queue.next().await, "a");
            waits.extend(queue.done(&"a", Outcome::Failed));
        }
        assert_eq!(waits, [1, 2, 4, 8, 8, 8].map(|seconds| seconds * SECOND));
        assert_eq!(queue.next().await, "a");
        queue.done(&"a", Outcome::Done);
        queue.add("a");
        assert_eq!(queue.next().await, "a");
        assert_eq!(queue.done(&"a", Outcome::Failed), Some(SECOND));
    }

    #[tokio::test(start_paused = true)]
    async fn a_chosen_wait_does_not_feed_the_back_off() {
        let queue = queue();
        queue.add("a");
        for _ in 0..100 {
            assert_eq!(queue.next().await, "a");
            assert_eq!(queue.done(&"a", Outcome::After(SECOND)), Some(SECOND));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_earliest_time_counts_and_now_beats_later() {
        let queue = queue();
        let start = Instant::now();
        queue.add_after("a", 5 * SECOND);
        queue.add_after("a", SECOND);
        queue.add_after("a", 9 * SECOND);
        assert_eq!(queue.next().await, "a");
        assert_eq!(start.elapsed(), SECOND);
        queue.done(&"a", Outcome::Done);
        queue.add_after("a", 5 * SECOND);
        queue.add("a");
        assert_eq!(queue.next().await, "a");
        queue.done(&"a", Outcome::Done);
        assert!(queue.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn two_hundred_keys_all_come_with_two_workers() {
        let queue: Queue<u32> = Queue::new(Backoff::WRITES);
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let (queue, sender) = (queue.clone(), sender.clone());
                tokio::spawn(async move {
                    loop {
                        let key = queue.next().await;
                        tokio::time::sleep(SECOND).await;
                        queue.done(&key, Outcome::Done);
                        if sender.send(key).is_err() {
                            return;
                        }
                    }
                })
            })
            .collect();
        (0..200).for_each(|key| queue.add(key));
        let mut seen = HashSet::new();
        while seen.len() < 200 {
            seen.insert(receiver.recv().await.unwrap());
        }
        workers.iter().for_each(tokio::task::JoinHandle::abort);
        assert!(queue.is_empty());
    }
}
