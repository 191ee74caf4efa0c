//! Single flight: any number of callers, one load.
//!
//! A load runs in a task of its own and outlives the caller that started it. Everybody who asks for the same key
//! while it runs gets its outcome, a failure too. A panic in it is an outcome like any other.
//!
//! Invalidation cannot be undone by a load in flight: one that began before its group was invalidated still serves
//! those who wait for it, but nobody joins it any more and its outcome is not kept.

use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use parking_lot::Mutex;
use tokio::sync::watch;

/// The loads under way. Cheap to clone; clones share them.
pub(super) struct Flights<K, T>(Arc<Mutex<State<K, T>>>);

struct State<K, T> {
    /// Counts starts and invalidations, to say which came first.
    tick: u64,
    /// What can be joined.
    open: HashMap<K, Open<T>>,
    /// The starts of all loads that still run, also of those that can no longer be joined.
    running: BTreeSet<u64>,
    /// When a group was last invalidated, for as long as an older load runs.
    invalidated: HashMap<Arc<str>, u64>,
}

struct Open<T> {
    started: u64,
    outcome: watch::Receiver<Option<Result<T, Lost>>>,
}

/// Why a load has no outcome of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// It panicked.
    Panicked,
    /// Its task was stopped, as happens when the program ends.
    Stopped,
}

/// A place among those who wait for a load.
pub(super) struct Seat<T> {
    outcome: watch::Receiver<Option<Result<T, Lost>>>,
    /// Whether somebody else had started the load.
    pub(super) is_shared: bool,
}

impl<T: Clone> Seat<T> {
    /// The outcome. Dropping the future changes nothing for the load or for others.
    pub(super) async fn outcome(mut self) -> Result<T, Lost> {
        let outcome = self.outcome.wait_for(Option::is_some).await;
        outcome.ok().and_then(|outcome| outcome.clone()).unwrap_or(Err(Lost::Stopped))
    }
}

impl<K, T> Flights<K, T>
where
    K: Copy + Eq + Hash + Send + 'static,
    T: Clone + Send + Sync + 'static,
{
    pub(super) fn new() -> Self {
        let state =
            State { tick: 0, open: HashMap::new(), running: BTreeSet::new(), invalidated: HashMap::new() };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Joins the load of `key` that is under way, or starts one with `load`.
    ///
    /// `keep` is called with the outcome, when there is one, unless `group` was invalidated since the start; no invalidation can come
    /// between. It must be short, and must not come back here.
    ///
    /// Must be called inside a tokio runtime.
    pub(super) fn join<F>(
        &self,
        key: K,
        group: &str,
        load: impl FnOnce() -> F + Send + 'static,
        keep: impl FnOnce(&T) + Send + 'static,
    ) -> Seat<T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let mut state = self.0.lock();
        if let Some(open) = state.open.get(&key)
            && state.is_valid(group, open.started)
        {
            return Seat { outcome: open.outcome.clone(), is_shared: true };
        }
        let (sender, outcome) = watch::channel(None);
        let started = state.next_tick();
        state.running.insert(started);
        state.open.insert(key, Open { started, outcome: outcome.clone() });
        drop(state);
        let landing = Landing { flights: Self(self.0.clone()), key, group: group.into(), started };
        tokio::spawn(async move {
            let load = AssertUnwindSafe(async move { load().await }).catch_unwind();
            let outcome = load.await.map_err(|_| Lost::Panicked);
            landing.land(&outcome, keep);
            // Receivers that are gone do not matter.
            sender.send_replace(Some(outcome));
        });
        Seat { outcome, is_shared: false }
    }

    /// Makes loads of `group` that run now outdated, and calls `forget` before any later load can keep something.
    pub(super) fn invalidate(&self, group: &str, forget: impl FnOnce()) {
        let mut state = self.0.lock();
        let now = state.next_tick();
        state.invalidated.insert(group.into(), now);
        state.prune();
        forget();
    }
}

impl<K, T> State<K, T> {
    fn next_tick(&mut self) -> u64 {
        self.tick += 1;
        self.tick
    }

    fn is_valid(&self, group: &str, started: u64) -> bool {
        self.invalidated.get(group).is_none_or(|&invalidated| invalidated < started)
    }

    /// Forgets invalidations that no running load is older than.
    fn prune(&mut self) {
        match self.running.first().copied() {
            Some(oldest) => self.invalidated.retain(|_, &mut at| at > oldest),
            None => self.invalidated.clear(),
        }
    }
}

/// Clears up after a load, also when its task is stopped in the middle.
struct Landing<K: Eq + Hash, T> {
    flights: Flights<K, T>,
    key: K,
    group: Arc<str>,
    started: u64,
}

impl<K: Eq + Hash, T> Landing<K, T> {
    fn land(self, outcome: &Result<T, Lost>, keep: impl FnOnce(&T)) {
        let state = self.flights.0.lock();
        if let Ok(outcome) = outcome
            && state.is_valid(&self.group, self.started)
        {
            keep(outcome);
        }
        drop(state);
    }
}

impl<K: Eq + Hash, T> Drop for Landing<K, T> {
    fn drop(&mut self) {
        let mut state = self.flights.0.lock();
        state.running.remove(&self.started);
        if state.open.get(&self.key).is_some_and(|open| open.started == self.started) {
            state.open.remove(&self.key);
        }
        if state.running.is_empty() {
            state.prune();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[derive(Clone)]
    struct Desk {
        flights: Arc<Flights<u8, usize>>,
        loads: Arc<AtomicUsize>,
        kept: Arc<Mutex<Vec<usize>>>,
        group: Arc<str>,
    }

    impl Desk {
        fn new() -> Self {
            Self {
                flights: Arc::new(Flights::new()),
                loads: Arc::default(),
                kept: Arc::default(),
                group: "uid".into(),
            }
        }

        /// Asks for key 1; a load takes a second and answers with its number.
        fn ask(&self) -> Seat<usize> {
            self.ask_with(|number| async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                number
            })
        }

        fn ask_with<F>(&self, load: impl FnOnce(usize) -> F + Send + 'static) -> Seat<usize>
        where
            F: Future<Output = usize> + Send + 'static,
        {
            let (loads, kept) = (self.loads.clone(), self.kept.clone());
            self.flights.join(
                1,
                &self.group,
                move || load(loads.fetch_add(1, Ordering::SeqCst) + 1),
                move |outcome| kept.lock().push(*outcome),
            )
        }

        fn is_empty(&self) -> bool {
            let state = self.flights.0.lock();
            state.open.is_empty() && state.running.is_empty() && state.invalidated.is_empty()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_thousand_callers_share_one_load_and_the_first_may_leave() {
        let desk = Desk::new();
        let first = desk.ask();
        assert!(!first.is_shared);
        let others: Vec<_> = (1..1000).map(|_| desk.ask()).collect();
        assert!(others.iter().all(|seat| seat.is_shared));
        drop(first);
        for seat in others {
            assert_eq!(seat.outcome().await, Ok(1));
        }
        assert_eq!(*desk.kept.lock(), [1]);
        assert!(desk.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_panicking_load_is_an_outcome_for_all_and_wedges_nobody() {
        let desk = Desk::new();
        let panics = |_: usize| async {
            tokio::task::yield_now().await;
            panic!("on purpose")
        };
        let (first, second) = (desk.ask_with(panics), desk.ask());
        assert_eq!(first.outcome().await, Err(Lost::Panicked));
        assert_eq!(second.outcome().await, Err(Lost::Panicked));
        assert_eq!(desk.ask().outcome().await, Ok(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_load_that_panics_before_its_first_await_is_no_different() {
        let desk = Desk::new();
        let panics = |number: usize| {
            assert!(number > 1, "on purpose");
            async { 0 }
        };
        assert_eq!(desk.ask_with(panics).outcome().await, Err(Lost::Panicked));
        assert!(desk.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_load_that_began_before_an_invalidation_is_neither_kept_nor_joined() {
        let desk = Desk::new();
        let before = desk.ask();
        tokio::time::sleep(Duration::from_millis(500)).await;
        desk.flights.invalidate(&desk.group, || ());
        let after = desk.ask();
        assert!(!after.is_shared);
        assert_eq!(before.outcome().await, Ok(1));
        assert!(desk.ask().is_shared, "the end of the old load leaves the new one in place");
        assert_eq!(after.outcome().await, Ok(2));
        assert_eq!(*desk.kept.lock(), [2]);
        assert!(desk.is_empty(), "nothing is remembered of invalidations without a load under way");
    }

    #[tokio::test(start_paused = true)]
    async fn invalidating_one_group_leaves_others_alone() {
        let desk = Desk::new();
        let seat = desk.ask();
        desk.flights.invalidate("other", || ());
        assert!(desk.ask().is_shared);
        assert_eq!(seat.outcome().await, Ok(1));
        assert_eq!(*desk.kept.lock(), [1]);
    }

    #[tokio::test(start_paused = true)]
    async fn each_caller_waits_to_its_own_deadline() {
        let desk = Desk::new();
        let (hasty, patient) = (desk.ask(), desk.ask());
        assert!(tokio::time::timeout(Duration::from_millis(10), hasty.outcome()).await.is_err());
        assert_eq!(patient.outcome().await, Ok(1));
    }

    #[test]
    fn callers_of_a_load_whose_task_was_stopped_are_told() {
        let desk = Desk::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let seat = runtime.block_on(async { desk.ask() });
        drop(runtime);
        assert_eq!(futures::executor::block_on(seat.outcome()), Err(Lost::Stopped));
        assert!(desk.is_empty());
    }
}
