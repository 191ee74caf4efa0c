//! Takes keys from a queue and has them reconciled, so many at a time.

use std::{fmt::Display, hash::Hash, panic::AssertUnwindSafe, sync::Arc};

use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::write::Error;
use crate::{
    clock::Clock,
    error::chain,
    metrics::Metrics,
    queue::{Outcome, Queue},
};

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

/// Runs a controller until `stop`; what has begun is finished.
pub async fn run<K, F, R>(controller: Controller<K>, stop: CancellationToken, reconcile: F)
where
    K: Clone + Display + Eq + Hash + Ord,
    F: Fn(K) -> R,
    R: Future<Output = Result<Outcome, Error>>,
{
    let (controller, reconcile) = (&controller, &reconcile);
    let workers = (0..controller.workers.max(1)).map(|_| async {
        while let Some(key) = stop.run_until_cancelled(controller.queue.next()).await {
            controller.metrics.queue_depth(controller.kind, controller.queue.len());
            one(controller, key, reconcile).await;
        }
    });
    futures::future::join_all(workers).await;
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
