//! When extensions are asked again although nothing changed: every question once in a period, one after the other at
//! even distances, so that what changes inside an extension shows within a period and never makes a storm.
//!
//! Owns the pace. What is asked again, and in which order, is the index's; a question whose last call failed is left
//! out, for it has a back-off of its own.

mod pacer;

use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub use pacer::Pacer;

use crate::controllers::Context;

/// Releases one question after the other, until `stop`.
pub async fn run(ctx: Context, period: Duration, stop: CancellationToken) {
    let mut clocked = ctx.shared.clocked();
    let mut pacer = Pacer::new(period, ctx.clock.now());
    let mut last = None;
    loop {
        let count = *clocked.borrow_and_update();
        pacer.resize(ctx.clock.now(), count);
        let due = async {
            match pacer.due() {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            changed = clocked.changed() => if changed.is_err() { return },
            () = due => {
                pacer.release(ctx.clock.now());
                let (next, is_failing) = ctx.shared.with(|index| {
                    let next = index.clocked_after(last.as_ref());
                    let is_failing = next.as_ref().is_some_and(|job| index.is_failing(job));
                    (next, is_failing)
                });
                if let Some(job) = next.clone().filter(|_| !is_failing) {
                    ctx.shared.queues().jobs.add(job);
                }
                last = next;
            }
        }
    }
}
