//! Takes keys from a queue and has them reconciled, so many at a time.

use std::{fmt::Display, hash::Hash, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt as _;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::write::Error;
use crate::{
    clock::Clock,
    error::chain,
    metrics::Metrics,
    queue::{Outcome, Queue},
};

/// How long reconciles that have begun may take once the process is to end. An API server that takes a write and does
/// not answer would keep it for minutes.
const GRACE: Duration = Duration::from_secs(10);

/// What a controller works on and how it is named in metrics and logs.
pub struct Controller<K> {
    /// The kind, as in metrics.
    pub kind: &'static str,
    /// Where its work waits.
    pub queue: Queue<K>,
    /// How many keys are reconciled at once, at least one.
    pub workers: usize,
    /// What is counted.
    pub metrics: Metrics,
    /// What time it is.
    pub clock: Clock,
}

/// Runs a controller until `stop`; what has begun is finished, if it ends within some seconds. Each worker is a task of
/// its own, so that they use as many cores as there are.
pub async fn run<K, F, R>(controller: Controller<K>, stop: CancellationToken, reconcile: F)
where
    K: Clone + Display + Eq + Hash + Ord + Send + Sync + 'static,
    F: Fn(K) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Outcome, Error>> + Send,
{
    let kind = controller.kind;
    let shared = Arc::new((controller, reconcile));
    let mut workers = JoinSet::new();
    for _ in 0..shared.0.workers.max(1) {
        let (shared, stop) = (Arc::clone(&shared), stop.clone());
        workers.spawn(async move {
            let (controller, reconcile) = &*shared;
            while let Some(key) = stop.run_until_cancelled(controller.queue.next()).await {
                one(controller, key, reconcile).await;
            }
        });
    }
    let given_up = async {
        stop.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        () = all(&mut workers) => {}
        () = given_up => tracing::warn!(kind, "gave up on reconciles that did not end"),
    }
}

/// Waits until all tasks have ended. A panic in one goes on here.
pub async fn all(tasks: &mut JoinSet<()>) {
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}

async fn one<K, F, R>(controller: &Controller<K>, key: K, reconcile: &F)
where
    K: Clone + Display + Eq + Hash + Ord,
    F: Fn(K) -> R,
    R: Future<Output = Result<Outcome, Error>>,
{
    let Controller { kind, queue, metrics, clock, .. } = controller;
    let start = clock.now();
    // A panic is one failed reconcile, not the end of the process.
    let result = AssertUnwindSafe(reconcile(key.clone())).catch_unwind().await;
    let (outcome, label) = match result {
        Ok(Ok(outcome)) => (outcome, "ok"),
        Ok(Err(error)) => {
            let error: Arc<str> = chain(&error).into();
            tracing::warn!(kind, %key, %error, "reconcile failed");
            (Outcome::Failed, "error")
        }
        Err(_) => {
            tracing::error!(kind, %key, "reconcile panicked");
            (Outcome::Failed, "panic")
        }
    };
    metrics.reconciled(kind, label, clock.now().saturating_duration_since(start));
    queue.done(&key, outcome);
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;
    use crate::queue::Backoff;

    const SECOND: Duration = Duration::from_secs(1);

    fn controller(workers: usize) -> Controller<&'static str> {
        let queue = Queue::new(Backoff { first: SECOND, cap: 8 * SECOND });
        Controller { kind: "Test", queue, workers, metrics: Metrics::new(), clock: Clock::system() }
    }

    fn refused() -> Error {
        let source = Box::new(kube::Error::LinesCodecMaxLineLengthExceeded);
        Error::Write { what: "status", kind: "Test", name: "a".to_owned(), source }
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_is_one_failed_reconcile_and_others_go_on() {
        let (controller, stop) = (controller(1), CancellationToken::new());
        let (queue, metrics, seen) =
            (controller.queue.clone(), controller.metrics.clone(), Arc::<Mutex<Vec<_>>>::default());
        for key in ["bad", "good", "refused"] {
            queue.add(key);
        }
        let noted = Arc::clone(&seen);
        let reconcile = move |key| {
            noted.lock().push(key);
            async move {
                assert_ne!(key, "bad");
                if key == "refused" { Err(refused()) } else { Ok(Outcome::Done) }
            }
        };
        let running = run(controller, stop.clone(), reconcile);
        let stopping = async {
            tokio::time::sleep(SECOND + SECOND / 2).await;
            stop.cancel();
        };
        tokio::join!(running, stopping);
        assert_eq!(*seen.lock(), ["bad", "good", "refused", "bad", "refused"], "those that failed come back");
        let metrics = metrics.render();
        for (result, count) in [("ok", 1), ("error", 2), ("panic", 2)] {
            let series = format!("result=\"{result}\"}} {count}");
            assert!(
                metrics.lines().any(|line| line.contains("Test") && line.ends_with(&series)),
                "{metrics}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_begun_is_finished_when_it_stops() {
        let (controller, stop) = (controller(2), CancellationToken::new());
        let (queue, done) = (controller.queue.clone(), Arc::<Mutex<Vec<_>>>::default());
        for key in ["a", "b", "c"] {
            queue.add(key);
        }
        let noted = Arc::clone(&done);
        let running = run(controller, stop.clone(), move |key| {
            let done = Arc::clone(&noted);
            async move {
                tokio::time::sleep(2 * SECOND).await;
                done.lock().push(key);
                Ok(Outcome::Done)
            }
        });
        let stopping = async {
            tokio::time::sleep(SECOND).await;
            stop.cancel();
        };
        tokio::join!(running, stopping);
        assert_eq!(*done.lock(), ["a", "b"]);
        assert_eq!(queue.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_end_does_not_keep_the_process() {
        let (controller, stop) = (controller(2), CancellationToken::new());
        controller.queue.add("a");
        let running = run(controller, stop.clone(), |_| std::future::pending());
        let stopping = async {
            tokio::time::sleep(SECOND).await;
            stop.cancel();
        };
        let ended = tokio::time::timeout(GRACE + 2 * SECOND, async { tokio::join!(running, stopping) });
        assert!(ended.await.is_ok());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn two_keys_are_worked_on_at_the_same_time() {
        let (controller, stop) = (controller(2), CancellationToken::new());
        for key in ["a", "b"] {
            controller.queue.add(key);
        }
        // How many have met while each keeps a thread to itself.
        let met = Arc::new((std::sync::Mutex::new(0), std::sync::Condvar::new()));
        let (seen, stopped) = (Arc::clone(&met), stop.clone());
        run(controller, stop, move |_| {
            let (met, stop) = (Arc::clone(&seen), stopped.clone());
            async move {
                let (count, changed) = &*met;
                let mut count = count.lock().unwrap();
                *count += 1;
                changed.notify_all();
                let patience = Duration::from_mins(1);
                drop(changed.wait_timeout_while(count, patience, |count| *count < 2).unwrap());
                stop.cancel();
                Ok(Outcome::Done)
            }
        })
        .await;
        assert_eq!(*met.0.lock().unwrap(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_is_never_worked_on_twice_at_once() {
        let (controller, stop) = (controller(8), CancellationToken::new());
        let (queue, running) = (controller.queue.clone(), Arc::new(Mutex::new(0)));
        queue.add("a");
        let reconcile = move |key| {
            let (queue, running) = (queue.clone(), Arc::clone(&running));
            async move {
                *running.lock() += 1;
                assert_eq!(*running.lock(), 1);
                queue.add(key);
                tokio::time::sleep(SECOND).await;
                *running.lock() -= 1;
                Ok(Outcome::Done)
            }
        };
        let stopping = async {
            tokio::time::sleep(10 * SECOND).await;
            stop.cancel();
        };
        let metrics = controller.metrics.clone();
        tokio::join!(run(controller, stop.clone(), reconcile), stopping);
        assert!(!metrics.render().contains("panic"));
    }
}
