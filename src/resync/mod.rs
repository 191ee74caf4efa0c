//! When extensions are asked again although nothing changed: every question once in a period, one after the other at
//! even distances, so that what changes inside an extension shows within a period and never makes a storm.
//!
//! Owns the pace. What is asked again, and what of it was asked longest ago, the index knows; a question whose last call
//! failed is left out, for it has a back-off of its own.

mod pacer;

use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub use pacer::Pacer;

use crate::{controllers::Context, index::keys::Job, queue::Priority};

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
        ctx.shared.queues().jobs.add_as(job, Priority::Clock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        controllers::tests::fixtures::{Bench, offering, pass},
        index::tests::fixtures::{class, config},
        runtime::{Options, tests::in_process::Behaviour},
    };

    const PERIOD: Duration = Duration::from_mins(10);

    /// `ext-a` with one handler, which `count` classes ask with settings of their own.
    async fn settled(count: usize) -> Bench {
        let bench = Bench::new(Options::default());
        bench.run();
        bench.extension.behave(offering(&["dv"], "region"));
        bench.create_config(config("ext-a"));
        pass(Duration::from_secs(1)).await;
        for number in 0..count {
            let name = format!("ns/class-{number}");
            bench.create_class(class(&name).asking_with("dv.ext-a", "number", &number.to_string()));
        }
        pass(Duration::from_secs(30)).await;
        assert_eq!(bench.extension.calls(), count + 1);
        bench
    }

    fn resync(bench: &Bench, period: Duration) -> CancellationToken {
        let stop = CancellationToken::new();
        tokio::spawn(run(bench.context.clone(), period, stop.clone()));
        stop
    }

    #[tokio::test(start_paused = true)]
    async fn every_question_is_asked_once_in_a_period_at_even_distances() {
        let bench = settled(9).await;
        let writes = bench.server.patches.lock().len();
        resync(&bench, PERIOD);
        let mut calls = Vec::new();
        for _ in 0..30 {
            pass(PERIOD / 10).await;
            calls.push(bench.extension.calls() - 10);
        }
        assert!(calls.windows(2).all(|pair| pair[1] - pair[0] <= 2), "{calls:?}");
        assert!((29..=31).contains(&calls[29]), "{calls:?}");
        let (paths, _): (Vec<_>, Vec<_>) = bench.extension.requests.lock()[10..].iter().cloned().unzip();
        assert_eq!(paths.iter().filter(|path| path.contains("/discovery")).count(), 3);
        assert_eq!(bench.server.patches.lock().len(), writes, "the same answers change nothing");
    }

    #[tokio::test(start_paused = true)]
    async fn what_changes_inside_an_extension_shows_within_a_period() {
        let bench = settled(3).await;
        resync(&bench, PERIOD);
        bench.extension.behave(offering(&["dv"], "zone"));
        pass(PERIOD + PERIOD / 10).await;
        for number in 0..3 {
            let path = format!("/apis/cluster.x-k8s.io/v1beta2/namespaces/ns/clusterclasses/class-{number}");
            let status = &bench.server.object(&path)["status"];
            assert_eq!(status["variables"][0]["name"], "zone", "{status}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_has_a_back_off_of_its_own_and_is_left_out() {
        let bench = settled(1).await;
        bench.extension.behave(Behaviour::Refuse);
        resync(&bench, Duration::from_secs(20));
        // The connection that is open takes a request of each first.
        pass(Duration::from_hours(1)).await;
        let calls = (bench.extension.dials(), bench.extension.calls());
        assert!(calls.0 + calls.1 < 60, "{calls:?}: two questions, one try in 5 min each");
    }

    #[tokio::test(start_paused = true)]
    async fn a_period_of_zero_asks_nothing() {
        let bench = settled(2).await;
        resync(&bench, Duration::ZERO);
        pass(Duration::from_hours(24)).await;
        assert_eq!(bench.extension.calls(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_when_it_is_told_to() {
        let bench = Bench::new(Options::default());
        let stop = CancellationToken::new();
        let running = tokio::spawn(run(bench.context.clone(), PERIOD, stop.clone()));
        stop.cancel();
        running.await.unwrap();
    }
}
