//! The shell: read what is known, start what is missing, decide, write.

use std::{sync::Arc, time::Duration};

use kapstan_api::{cluster_class::ClusterClass, hooks::DiscoverVariablesResponse};
use kube::Api;
use serde_json::Value;

use super::{
    KIND,
    plan::{self, Desired, PatchAnswer},
    status::{self, Change},
};
use crate::{
    controllers::{
        Context, pending,
        write::{Error, Write, Written},
    },
    digest::Digest,
    error::chain,
    index::{
        Index,
        class::{Class, Evaluated},
        gather::{Answered, Gathered, Known, Parts},
        keys::ClassKey,
        waiting::Moment,
    },
    queue::{Outcome, Priority},
};

/// Makes the status of one `ClusterClass` what it should be.
///
/// # Errors
/// When a write was refused or did not get through.
pub async fn reconcile(key: ClassKey, ctx: &Context) -> Result<Outcome, Error> {
    // A conflict is answered once, from fresh data; a second one waits for its own event.
    for _ in 0..2 {
        if step(&key, ctx).await? {
            break;
        }
    }
    Ok(Outcome::Done)
}

/// One attempt; says whether it went through.
async fn step(key: &ClassKey, ctx: &Context) -> Result<bool, Error> {
    let Some(gathered) = ctx.shared.with(|index| index.gather(key)) else { return Ok(true) };
    let queues = ctx.shared.queues();
    gathered.jobs.iter().for_each(|job| queues.jobs.add(job.clone()));
    gathered.unowned.iter().for_each(|template| ctx.shared.look_at_owners(template.clone()));
    if !gathered.open.is_empty() {
        return wait(&gathered, ctx).await;
    }
    if gathered.lacks_something && !has_waited_for_it(key, ctx) {
        return Ok(true);
    }
    let inputs = gathered.inputs();
    let Some((desired, change)) = decide(&gathered, inputs, ctx) else { return Ok(true) };
    let class = &gathered.entry.class;
    let is_done = match change {
        Change::None | Change::Reevaluate => true,
        Change::Patch(body) => match write(ctx, class, &desired, body).await {
            Err(error) if error.is_refusal() && desired.variables.is_some() => {
                return say_refused(&gathered, desired, error, ctx).await;
            }
            written => written?,
        },
    };
    if is_done {
        let evaluated = Evaluated { inputs, desired: Arc::new(desired.without_list()) };
        ctx.shared.with(|index| index.evaluated(class, evaluated));
    }
    Ok(is_done)
}

/// The class waits: the end of the last thing that it waits for is an event. When it has waited for long, it says so.
async fn wait(gathered: &Gathered, ctx: &Context) -> Result<bool, Error> {
    let class = &gathered.entry.class;
    if plan::awaiting(class, gathered.open.iter()).next().is_none() {
        return Ok(true);
    }
    let since = ctx.shared.with(|index| {
        pending::note(index.class_waiting(class), class.generation, true, Moment::now(&ctx.clock))
    });
    let Some(since) = pending::due(ctx, &ctx.shared.queues().classes, &class.key, since) else {
        return Ok(true);
    };
    let in_words = |index: &mut Index| {
        let open = gathered.open.iter();
        open.map(|awaited| (awaited.clone(), index.describe(awaited))).collect::<Vec<_>>()
    };
    let Some(desired) = plan::pending(class, &ctx.shared.with(in_words), since) else { return Ok(true) };
    note_evaluation(ctx, class, Err("it has waited for long"));
    let now = ctx.clock.timestamp();
    let is_done = match status::change(&class.observed, gathered.entry.accepted, &desired, now) {
        Change::Patch(body) => write(ctx, class, &desired, body).await?,
        Change::None | Change::Reevaluate => true,
    };
    if is_done {
        ctx.metrics.pending(KIND);
        ctx.shared.with(|index| {
            if let Some(waiting) = index.class_waiting(class) {
                waiting.told(class.generation);
            }
        });
    }
    Ok(is_done)
}

/// What a class names may come a moment after it: objects that are applied together arrive by several watches, in any
/// order. So what is absent has this long to come before the class says so.
const GRACE: Duration = Duration::from_millis(500);

/// Whether something that a class names has been absent for long enough; if not, the class comes again then.
fn has_waited_for_it(key: &ClassKey, ctx: &Context) -> bool {
    let now = ctx.clock.now();
    let over = ctx.shared.with(|index| index.lacks_since(key, now)) + GRACE;
    if now < over {
        ctx.shared.queues().classes.add_after(key.clone(), over - now, Priority::Change);
    }
    now >= over
}

/// The API server refuses the variables: the class says so. The error goes on, so that they are tried again after the
/// back-off; the CRD that refuses them may be replaced.
async fn say_refused(
    gathered: &Gathered,
    desired: Desired,
    error: Error,
    ctx: &Context,
) -> Result<bool, Error> {
    let class = &gathered.entry.class;
    let desired = plan::refused(class, desired, &chain(&error));
    let change = status::change(&class.observed, gathered.entry.accepted, &desired, ctx.clock.timestamp());
    let is_done = match change {
        Change::Patch(body) => write(ctx, class, &desired, body).await?,
        Change::None | Change::Reevaluate => true,
    };
    if is_done { Err(error) } else { Ok(false) }
}

/// The result and what it changes. The last result is used again where nothing that goes into it has changed.
fn decide(gathered: &Gathered, inputs: Digest, ctx: &Context) -> Option<(Desired, Change)> {
    let entry = &gathered.entry;
    let now = ctx.clock.timestamp();
    if let Some(last) = entry.evaluated.as_ref().filter(|last| last.inputs == inputs) {
        let change = status::change(&entry.class.observed, entry.accepted, &last.desired, now);
        if change != Change::Reevaluate {
            return Some(((*last.desired).clone(), change));
        }
    }
    let desired = evaluate(gathered, ctx)?;
    let change = status::change(&entry.class.observed, entry.accepted, &desired, now);
    Some((desired, change))
}

/// The one function that computes the desired status of a class. `None` when an answer is no longer at hand; it is
/// then asked for again.
fn evaluate(gathered: &Gathered, ctx: &Context) -> Option<Desired> {
    let class = &gathered.entry.class;
    if class.is_paused {
        note_evaluation(ctx, class, Ok(gathered.parts()));
        return Some(plan::paused(class));
    }
    // All of them, so that all that are missing are asked for at once.
    let answers: Vec<Option<PatchAnswer>> = gathered
        .answers
        .iter()
        .map(|(patch, known)| Some((Arc::clone(patch), answer(known, ctx)?)))
        .collect();
    let Some(answers) = answers.into_iter().collect::<Option<Vec<_>>>() else {
        ctx.shared.queues().classes.add(class.key.clone());
        return None;
    };
    note_evaluation(ctx, class, Ok(gathered.parts()));
    Some(plan::evaluate(class, &answers, &gathered.templates))
}

/// Counts an evaluation, and notes why it was made.
fn note_evaluation(ctx: &Context, class: &Class, why: Result<Parts, &str>) {
    ctx.metrics.evaluated(KIND);
    ctx.shared.with(|index| index.note_evaluation(class, ctx.clock.timestamp(), why));
}

/// What a patch was answered; `None` when the cache has dropped it, so that the question is open again.
fn answer(known: &Known, ctx: &Context) -> Option<Result<Arc<DiscoverVariablesResponse>, Arc<str>>> {
    match known {
        Known::Answer(answered) => {
            let Answered { question, kept, .. } = &**answered;
            let response = kept
                .clone()
                .or_else(|| ctx.extensions.answer(question, Duration::MAX).map(|answer| answer.response));
            if response.is_none() {
                ctx.shared.with(|index| index.reopen(question.key()));
            }
            response.map(Ok)
        }
        Known::Nothing => Some(Ok(Arc::default())),
        Known::Failed(why) => Some(Err(Arc::clone(why))),
    }
}

async fn write(ctx: &Context, class: &Class, desired: &Desired, body: Value) -> Result<bool, Error> {
    let api: Api<ClusterClass> = Api::namespaced(ctx.kube.clone(), &class.key.namespace);
    let write = Write {
        kind: KIND,
        name: &class.key.name,
        uid: &class.uid,
        resource_version: &class.resource_version,
        what: "status",
        is_status: true,
        body,
    };
    let (is_done, object) = match write.send(&api, &ctx.metrics).await? {
        Written::Done(object) => (true, object),
        Written::Conflict(object) => (false, object),
        Written::Gone => return Ok(true), // its deletion is an event of its own
    };
    let seen = Class::parse(&object);
    let written = desired.variables.as_ref().and_then(|variables| variables.digest);
    let accepted = written.zip(seen.observed.variables).filter(|_| is_done);
    ctx.shared.change(|index| {
        if let Some((written, shown)) = accepted {
            index.accepted(class, written, shown);
        }
        let mut wake = index.update_class(seen);
        if is_done {
            wake.classes.remove(&class.key); // it says what was just decided
        }
        wake
    });
    Ok(is_done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        controllers::tests::fixtures::{Bench, offering, pass},
        index::{
            graph::Times,
            keys::Job,
            tests::fixtures::{class, config, key},
        },
        runtime::{Options, tests::in_process::Behaviour},
    };

    const EVALUATIONS: &str = "kapstan_evaluations_total{kind=\"ClusterClass\"}";
    const PATH: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/ns/clusterclasses/one";

    /// `ext-a` has the handlers `a`, `b` and `c`.
    async fn discovered() -> Bench {
        let bench = Bench::new(Options { max_in_flight: 1, ..Options::default() });
        bench.run();
        bench.extension.behave(offering(&["a", "b", "c"], "region"));
        bench.create_config(config("ext-a"));
        pass(Duration::from_secs(1)).await;
        bench
    }

    fn patches(bench: &Bench) -> Vec<Value> {
        let patches = bench.server.patches.lock();
        patches.iter().filter(|(path, _)| path.starts_with(PATH)).map(|(_, patch)| patch.clone()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_class_is_evaluated_and_written_once_and_a_settled_one_not_at_all() {
        let bench = discovered().await;
        bench.create_class(
            class("ns/one").asking("a.ext-a").asking("b.ext-a").with_variable("size", "string"),
        );
        pass(Duration::from_mins(1)).await;
        assert_eq!((patches(&bench).len(), bench.metric(EVALUATIONS)), (1, 1));
        assert_eq!(bench.server.object(PATH)["status"]["observedGeneration"], 1);
        bench.context.shared.queues().classes.add(key("ns/one"));
        pass(Duration::from_mins(1)).await;
        assert_eq!((patches(&bench).len(), bench.metric(EVALUATIONS)), (1, 1));
    }

    /// Why the class was last evaluated, by `kapstan graph`.
    fn because(bench: &Bench, id: &str) -> String {
        let queues = bench.context.shared.queues();
        let times = Times { queues, period: Duration::ZERO, now: Moment::now(&bench.context.clock) };
        let graph = bench.with(|index| index.graph(times));
        graph.nodes.into_iter().find(|node| node.id == id).and_then(|node| node.because).unwrap_or_default()
    }

    #[tokio::test(start_paused = true)]
    async fn the_graph_says_why_an_object_was_evaluated() {
        let bench = discovered().await;
        assert_eq!(because(&bench, "extensionconfig/ext-a"), "a Discovery ended");
        let object = || class("ns/one").asking("a.ext-a").asking("b.ext-a");
        bench.create_class(object());
        pass(Duration::from_secs(10)).await;
        let why = || because(&bench, "clusterclass/ns/one");
        assert_eq!(why(), "it was seen for the first time");
        bench.create_class(object().at_generation(2).at_version(50));
        pass(Duration::from_secs(10)).await;
        assert_eq!(why(), "it was changed (generation 2)");
        bench.extension.behave(offering(&[], "zone"));
        let jobs = bench.with(|index| index.gather(&key("ns/one"))).unwrap().answers;
        let Known::Answer(answered) = &jobs[1].1 else { panic!("{jobs:?}") };
        bench.context.shared.queues().jobs.add(Job::Question(answered.question.key()));
        pass(Duration::from_secs(10)).await;
        assert_eq!(why(), "the answer of b.ext-a is another");
    }

    #[tokio::test(start_paused = true)]
    async fn a_config_that_comes_a_moment_after_its_class_was_never_missing() {
        let bench = Bench::new(Options::default());
        bench.run();
        bench.extension.behave(offering(&["a"], "region"));
        bench.create_class(class("ns/one").asking("a.ext-a"));
        pass(GRACE / 2).await;
        bench.create_config(config("ext-a"));
        pass(Duration::from_mins(1)).await;
        assert_eq!((patches(&bench).len(), bench.metric(EVALUATIONS)), (1, 1));
        assert_eq!(bench.server.object(PATH)["status"]["observedGeneration"], 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_config_that_does_not_come_is_missed_once() {
        let bench = Bench::new(Options::default());
        bench.run();
        bench.create_class(class("ns/one").asking("a.ext-a"));
        pass(Duration::from_mins(1)).await;
        let message = bench.server.object(PATH)["status"]["conditions"][1]["message"].to_string();
        assert!(message.contains("there is no ExtensionConfig ext-a"), "{message}");
        assert_eq!((patches(&bench).len(), bench.metric(EVALUATIONS)), (1, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_cache_that_cannot_hold_the_answers_of_one_class_costs_calls_and_no_more() {
        let bench = discovered().await;
        let Behaviour::Answer { status, body, .. } = offering(&[], "region") else { panic!("no answer") };
        bench.extension.behave(Behaviour::Answer { status, body, after: Duration::from_secs(1) });
        let extensions = Arc::clone(&bench.context.extensions);
        let emptied = tokio::spawn(async move {
            loop {
                extensions.invalidate("uid-ext-a");
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
        });
        bench.create_class(class("ns/one").asking("a.ext-a").asking("b.ext-a").asking("c.ext-a"));
        pass(Duration::from_mins(10)).await;
        assert_eq!(bench.server.object(PATH)["status"]["observedGeneration"], 1);
        emptied.abort();
        assert_eq!(bench.extension.calls() - 1, 6, "each question once, and once more to be kept");
        let kept = bench.with(|index| index.gather(&key("ns/one"))).unwrap().answers;
        assert!(
            kept.iter().all(|(_, known)| matches!(known, Known::Answer(answer) if answer.kept.is_none()))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn variables_that_the_api_server_refuses_are_told_and_tried_again() {
        let bench = discovered().await;
        *bench.server.refused.lock() = Some("variables");
        bench.create_class(class("ns/one").asking("a.ext-a"));
        pass(Duration::from_hours(1)).await;
        let status = bench.server.object(PATH)["status"].clone();
        let ready = &status["conditions"][1];
        assert_eq!((&ready["type"], &ready["status"]), (&"VariablesReady".into(), &"False".into()));
        let message = ready["message"].as_str().unwrap();
        assert!(
            message.contains("the API server refuses these variables: ") && message.contains("422"),
            "{message}"
        );
        assert_eq!((patches(&bench).len(), status.get("observedGeneration")), (1, None));
        let refused = bench.metric("kapstan_writes_total{kind=\"ClusterClass\",result=\"error\"}");
        assert!((60..75).contains(&refused), "{refused}: one try a minute");
        *bench.server.refused.lock() = None;
        pass(Duration::from_mins(1)).await;
        assert_eq!(bench.server.object(PATH)["status"]["observedGeneration"], 1);
    }

    #[tokio::test(start_paused = true)]
    async fn what_somebody_else_makes_of_the_status_is_put_right_by_one_write() {
        let bench = discovered().await;
        bench.create_class(class("ns/one").asking("a.ext-a"));
        pass(Duration::from_mins(1)).await;
        let mut object = bench.server.object(PATH);
        object["status"]["variables"] = serde_json::json!([]);
        object["metadata"]["resourceVersion"] = "50".into();
        bench.create_class(crate::index::tests::fixtures::Object(object));
        pass(Duration::from_mins(1)).await;
        let patches = patches(&bench);
        assert_eq!(patches.len(), 2);
        let status = patches[1]["status"].as_object().unwrap();
        assert_eq!(status.keys().collect::<Vec<_>>(), ["variables"], "and nothing else goes out");
        assert_eq!(bench.server.object(PATH)["status"]["variables"][0]["name"], "region");
    }
}
