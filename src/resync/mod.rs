//! When extensions are asked again although nothing changed: every question once in a period, one after the other at
//! even distances, so that what changes inside an extension shows within a period and never makes a storm.
//!
//! Owns the pace. What is asked again, and what of it was asked longest ago, the index knows; a question whose last call
//! failed is left out, for it has a back-off of its own.

mod pacer;

use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub use pacer::Pacer;

use crate::{controllers::Context, index::keys::Job};

/// How young an answer is left alone, as a share of the period: what was just asked while a cluster settles is not asked
/// again at once. It also is how late, at most, a question comes the first time.
const YOUNG: u32 = 10;

/// Releases one question after the other, the one asked longest ago first, until `stop`.
pub async fn run(ctx: Context, period: Duration, stop: CancellationToken) {
    let mut clocked = ctx.shared.clocked();
    let mut pacer = Pacer::new(period, ctx.clock.now());
    loop {
        pacer.resize(ctx.clock.now(), *clocked.borrow_and_update());
        let due = async {
            let Some(turn) = pacer.due() else { return std::future::pending().await };
            tokio::time::sleep_until(turn).await;
            until_old_enough(&ctx, period / YOUNG).await
        };
        tokio::select! {
            () = stop.cancelled() => return,
            changed = clocked.changed() => if changed.is_err() { return },
            job = due => {
                pacer.release(ctx.clock.now());
                release(&ctx, job);
            }
        }
    }
}

/// Waits until there is a question that was asked `age` ago.
async fn until_old_enough(ctx: &Context, age: Duration) -> Job {
    loop {
        match ctx.shared.with(|index| index.clocked_oldest()) {
            Some((asked, job)) if asked + age <= ctx.clock.now() => return job,
            Some((asked, _)) => tokio::time::sleep_until(asked + age).await,
            None => tokio::time::sleep(age).await,
        }
    }
}

fn release(ctx: &Context, job: Job) {
    let is_failing = ctx.shared.with(|index| {
        // Counts as asked, so that the next turn is another one's even before the call has begun.
        index.asked(&job, ctx.clock.now());
        index.is_failing(&job)
    });
    if !is_failing {
        ctx.shared.queues().jobs.add(job);
    }
}
