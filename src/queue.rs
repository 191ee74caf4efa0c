//! The work queue between the index and the controllers.
//!
//! A key that is queued already is not queued twice, and a key that is being worked on is not handed out again
//! until that work is done; if it was added meanwhile, it comes once more afterwards. A failed key comes back
//! after its own back-off, which grows to [`Backoff::cap`] and is forgotten at the first success and when a person
//! changes the object ([`Queue::renew`]). A key that waits for a time of its own choosing ([`Outcome::After`])
//! neither feeds nor forgets that back-off.
//!
//! What follows from a change goes before what the clock repeats, but of [`STREAK`] + 1 keys at least one is the
//! clock's where it has any, so that neither starves.
//!
//! Ours because kube-runtime's scheduler knows one order only and keys without identity of their own; it runs on
//! tokio's clock, so paused time moves it.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    hash::Hash,
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

/// How many keys of [`Priority::Change`] go before one of [`Priority::Clock`] that waits.
pub const STREAK: u32 = 4;

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

/// Why a key is queued, which decides who goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// The clock repeats it, or it is tried again.
    Clock,
    /// Something changed.
    Change,
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
    changes: VecDeque<K>,
    /// A key that a change has overtaken stays here and is skipped when its turn comes.
    clocks: VecDeque<K>,
    /// Every key that is due, and which of the two it is in.
    queued: HashMap<K, Priority>,
    running: HashMap<K, Run>,
    delayed: BTreeSet<(Instant, K)>,
    /// When each key of `delayed` is due, the earliest time it was added for, and as what.
    due: HashMap<K, (Instant, Priority)>,
    failures: HashMap<K, u32>,
    /// How many keys in a row were those of changes.
    streak: u32,
}

/// A key that is being worked on.
#[derive(Debug)]
struct Run {
    priority: Priority,
    /// As what it was added meanwhile.
    again: Option<Priority>,
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
            changes: VecDeque::new(),
            clocks: VecDeque::new(),
            queued: HashMap::new(),
            running: HashMap::new(),
            delayed: BTreeSet::new(),
            due: HashMap::new(),
            failures: HashMap::new(),
            streak: 0,
        };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), changed: Notify::new(), backoff }) }
    }

    /// Adds a key that is due now because something changed.
    pub fn add(&self, key: K) {
        self.add_as(key, Priority::Change);
    }

    /// Adds a key that is due now.
    pub fn add_as(&self, key: K, priority: Priority) {
        self.shared.state.lock().enqueue(key, priority);
        self.shared.changed.notify_one();
    }

    /// Adds a key that is due now because a person changed the object: its failures count no longer.
    pub fn renew(&self, key: K) {
        self.shared.state.lock().failures.remove(&key);
        self.add(key);
    }

    /// Adds a key that is due after `delay`, unless it is due earlier already.
    pub fn add_after(&self, key: K, delay: Duration, priority: Priority) {
        self.shared.state.lock().delay(key, Instant::now() + delay, priority);
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
                    if !state.queued.is_empty() {
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

    /// Gives a key back that [`Queue::next`] handed out, and says how long it now waits.
    pub fn done(&self, key: &K, outcome: Outcome) -> Option<Duration> {
        let mut state = self.shared.state.lock();
        let run = state.running.remove(key);
        let delayed = match outcome {
            Outcome::Done => {
                state.failures.remove(key);
                None
            }
            Outcome::After(delay) => Some((delay, run.as_ref().map_or(Priority::Change, |run| run.priority))),
            Outcome::Failed => {
                let failures = state.failures.entry(key.clone()).or_default();
                *failures = failures.saturating_add(1);
                Some((self.shared.backoff.after(*failures), Priority::Clock))
            }
        };
        if let Some(priority) = run.and_then(|run| run.again) {
            state.enqueue(key.clone(), priority);
        } else if let Some((delay, priority)) = delayed {
            state.delay(key.clone(), Instant::now() + delay, priority);
        }
        drop(state);
        self.shared.changed.notify_one();
        delayed.map(|(delay, _)| delay)
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
        state.queued.len() + state.delayed.len()
    }

    /// Whether nothing is due and nothing will be.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When a key that waits for its time is due.
    #[must_use]
    pub fn due(&self, key: &K) -> Option<Instant> {
        self.shared.state.lock().due.get(key).map(|(due, _)| *due)
    }
}

impl<K: Clone + Eq + Hash + Ord> State<K> {
    fn enqueue(&mut self, key: K, priority: Priority) {
        self.undelay(&key);
        if let Some(run) = self.running.get_mut(&key) {
            run.again = run.again.max(Some(priority));
            return;
        }
        if self.queued.get(&key).is_some_and(|held| *held >= priority) {
            return;
        }
        self.queued.insert(key.clone(), priority);
        self.lane(priority).push_back(key);
    }

    fn delay(&mut self, key: K, due: Instant, priority: Priority) {
        if self.queued.contains_key(&key) {
            return;
        }
        let held = self.due.get(&key).copied();
        let due = held.map_or(due, |(earlier, _)| earlier.min(due));
        let priority = held.map_or(priority, |(_, other)| other.max(priority));
        self.undelay(&key);
        self.due.insert(key.clone(), (due, priority));
        self.delayed.insert((due, key));
    }

    fn undelay(&mut self, key: &K) {
        if let Some((due, _)) = self.due.remove(key) {
            self.delayed.remove(&(due, key.clone()));
        }
    }

    fn release(&mut self, now: Instant) {
        while self.delayed.first().is_some_and(|(due, _)| *due <= now) {
            if let Some((_, key)) = self.delayed.pop_first() {
                let priority = self.due.remove(&key).map_or(Priority::Change, |(_, priority)| priority);
                self.enqueue(key, priority);
            }
        }
    }

    fn take(&mut self) -> Option<K> {
        let order = if self.streak < STREAK {
            [Priority::Change, Priority::Clock]
        } else {
            [Priority::Clock, Priority::Change]
        };
        let (key, priority) = order.into_iter().find_map(|priority| Some((self.pop(priority)?, priority)))?;
        self.streak = if priority == Priority::Change { self.streak.saturating_add(1) } else { 0 };
        self.queued.remove(&key);
        self.running.insert(key.clone(), Run { priority, again: None });
        Some(key)
    }

    /// The next key of this priority that has not been overtaken.
    fn pop(&mut self, priority: Priority) -> Option<K> {
        loop {
            let key = self.lane(priority).pop_front()?;
            if self.queued.get(&key) == Some(&priority) {
                return Some(key);
            }
        }
    }

    fn lane(&mut self, priority: Priority) -> &mut VecDeque<K> {
        match priority {
            Priority::Change => &mut self.changes,
            Priority::Clock => &mut self.clocks,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

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
    async fn a_chosen_wait_between_failures_does_not_shorten_the_back_off() {
        let queue = queue();
        queue.add("a");
        let mut waits = Vec::new();
        for outcome in [Outcome::Failed, Outcome::Failed, Outcome::After(SECOND), Outcome::Failed] {
            assert_eq!(queue.next().await, "a");
            waits.extend(queue.done(&"a", outcome));
        }
        assert_eq!(waits, [1, 2, 1, 4].map(|seconds| seconds * SECOND));
    }

    #[tokio::test(start_paused = true)]
    async fn a_persons_change_ends_the_back_off_and_begins_it_anew() {
        let queue = queue();
        queue.add("a");
        for _ in 0..4 {
            assert_eq!(queue.next().await, "a");
            queue.done(&"a", Outcome::Failed);
        }
        let start = Instant::now();
        queue.renew("a");
        assert_eq!(queue.next().await, "a");
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert_eq!(queue.done(&"a", Outcome::Failed), Some(SECOND));
        queue.add("a");
        assert_eq!(queue.next().await, "a");
        assert_eq!(queue.done(&"a", Outcome::Failed), Some(2 * SECOND), "any other change does not");
    }

    /// Takes all that is due, in order.
    async fn drained(queue: &Queue<&'static str>) -> Vec<&'static str> {
        let mut keys = Vec::new();
        while let Ok(key) = tokio::time::timeout(Duration::from_millis(1), queue.next()).await {
            queue.done(&key, Outcome::Done);
            keys.push(key);
        }
        keys
    }

    #[tokio::test(start_paused = true)]
    async fn changes_go_first_and_the_clock_does_not_starve() {
        let queue = queue();
        for key in ["clock-1", "clock-2", "clock-3"] {
            queue.add_as(key, Priority::Clock);
        }
        for key in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
            queue.add(key);
        }
        let order = drained(&queue).await;
        assert_eq!(order, ["a", "b", "c", "d", "clock-1", "e", "f", "g", "h", "clock-2", "i", "clock-3"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_overtakes_what_the_clock_had_queued_of_the_same_key() {
        let queue = queue();
        for key in ["x", "y", "a"] {
            queue.add_as(key, Priority::Clock);
        }
        queue.add("a");
        queue.add_as("a", Priority::Clock);
        assert_eq!(queue.len(), 3);
        assert_eq!(drained(&queue).await, ["a", "x", "y"], "and comes once");
        assert!(queue.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_for_its_time_keeps_its_priority_and_what_failed_is_the_clocks() {
        let queue = queue();
        queue.add_after("clock", SECOND, Priority::Clock);
        queue.add_after("change", 2 * SECOND, Priority::Change);
        queue.add("failed");
        assert_eq!(queue.next().await, "failed");
        queue.done(&"failed", Outcome::Failed);
        queue.add("waiting");
        assert_eq!(queue.next().await, "waiting");
        queue.done(&"waiting", Outcome::After(2 * SECOND));
        tokio::time::sleep(3 * SECOND).await;
        assert_eq!(drained(&queue).await, ["change", "waiting", "clock", "failed"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_while_a_key_runs_for_the_clock_is_served_as_a_change() {
        let queue = queue();
        queue.add_as("a", Priority::Clock);
        assert_eq!(queue.next().await, "a");
        queue.add_as("other", Priority::Clock);
        queue.add("a");
        queue.done(&"a", Outcome::Failed);
        assert_eq!(queue.next().await, "a", "at once, whatever became of the work");
    }

    #[tokio::test(start_paused = true)]
    async fn the_earliest_time_counts_and_now_beats_later() {
        let queue = queue();
        let start = Instant::now();
        queue.add_after("a", 5 * SECOND, Priority::Change);
        queue.add_after("a", SECOND, Priority::Change);
        queue.add_after("a", 9 * SECOND, Priority::Change);
        assert_eq!(queue.next().await, "a");
        assert_eq!(start.elapsed(), SECOND);
        queue.done(&"a", Outcome::Done);
        queue.add_after("a", 5 * SECOND, Priority::Change);
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
