//! Calls to extensions, made in the background: nothing waits for them, and their end is a change of the index.
//!
//! How many run at once is the client's business, which limits them per address.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt as _;
use kapstan_api::{discovery, hooks::DiscoveryResponse};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    controllers::Context,
    error::chain,
    index::{
        config::DiscoveryResult,
        keys::Target,
        question::{Call, QuestionOutcome},
    },
    queue::Outcome,
    runtime::{CallError, Cause, Extension, Question, error::Failure, policy},
};

/// How long a call that did not get its turn waits before it tries again. That is no failure: nothing was asked, and
/// nothing is known.
const NO_TURN: Duration = Duration::from_secs(1);

/// Makes every call that comes due, until `stop`. Calls under way are given up then.
pub async fn run(ctx: Context, stop: CancellationToken) {
    let tasks = TaskTracker::new();
    let jobs = ctx.shared.queues().jobs.clone();
    while let Some(job) = stop.run_until_cancelled(jobs.next()).await {
        let begun = ctx.shared.with(|index| {
            index.asked(&job, ctx.clock.now());
            index.begin(&job)
        });
        let Some(call) = begun else {
            jobs.done(&job, Outcome::Done);
            continue;
        };
        let (ctx, jobs, stop) = (ctx.clone(), jobs.clone(), stop.clone());
        tasks.spawn(async move {
            if let Some(outcome) = stop.run_until_cancelled(make(&ctx, call)).await {
                jobs.done(&job, outcome);
            }
        });
    }
    tasks.close();
    tasks.wait().await;
}

async fn make(ctx: &Context, call: Call) -> Outcome {
    let made = async {
        match &call {
            Call::Discovery { extension, generation, cause } => {
                discover(ctx, extension, *generation, *cause).await
            }
            Call::Question { question, cause } => ask(ctx, question, *cause).await,
        }
    };
    // A panic is one failed call; otherwise the job would be under way for ever.
    let made = AssertUnwindSafe(made).catch_unwind().await;
    made.unwrap_or_else(|_| {
        tracing::error!(?call, "call panicked");
        fail(ctx, &call, "the answer could not be handled, which is a fault of Kapstan");
        Outcome::Failed
    })
}

fn fail(ctx: &Context, call: &Call, why: &str) {
    ctx.shared.change(|index| match call {
        Call::Discovery { extension, generation, .. } => {
            let why = format!("Error in discovery: {why}");
            index.discovered(&target(extension, *generation), Err(why.into()))
        }
        Call::Question { question, .. } => index
            .answered(question.key(), QuestionOutcome::Failed(format!("{}: {why}", question.handler).into())),
    });
}

fn got_no_turn<T>(called: &Result<T, Arc<CallError>>) -> bool {
    matches!(called, Err(error) if matches!(error.failure, Failure::Throttled { .. }))
}

async fn discover(ctx: &Context, extension: &Arc<Extension>, generation: i64, cause: Cause) -> Outcome {
    let called = ctx.extensions.discover(extension, cause).await;
    if got_no_turn(&called) {
        return Outcome::After(NO_TURN);
    }
    let result = judge(extension, called);
    let outcome = if result.is_ok() { Outcome::Done } else { Outcome::Failed };
    if let Err(why) = &result {
        tracing::warn!(extension = %extension.name, error = %why, "discovery failed");
    }
    ctx.shared.change(|index| index.discovered(&target(extension, generation), result));
    outcome
}

fn target(extension: &Extension, generation: i64) -> Target {
    Target { name: Arc::clone(&extension.name), content: extension.digest(), generation }
}

/// The handlers that a Discovery found, or in words for the condition why there are none.
///
/// Sorted: an extension may list them in another order each time (one built with Cluster API's own server does so after
/// every start), which is no news.
fn judge(extension: &Extension, answered: Result<Arc<DiscoveryResponse>, Arc<CallError>>) -> DiscoveryResult {
    let response = answered.map_err(|error| format!("Error in discovery: {}", error.describe()))?;
    let handlers = discovery::accept(&extension.name, &response);
    let mut handlers = handlers.map_err(|refusal| format!("Error in discovery: {}", chain(&refusal)))?;
    handlers.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(handlers.into())
}

async fn ask(ctx: &Context, question: &Question, cause: Cause) -> Outcome {
    let called = ctx.extensions.discover_variables(question, cause).await;
    if got_no_turn(&called) {
        return Outcome::After(NO_TURN);
    }
    let next = if called.is_ok() { Outcome::Done } else { Outcome::Failed };
    if let Err(error) = &called {
        tracing::warn!(handler = %question.handler, error = %error.describe(), "discovery of variables failed");
    }
    let response = called.as_ref().ok().map(|answer| Arc::clone(&answer.response));
    let answered = called.map(|answer| QuestionOutcome::Answered(answer.digest));
    let settled = policy::settle(answered, &question.failure_policy, || QuestionOutcome::Ignored);
    let outcome = settled.unwrap_or_else(|error| QuestionOutcome::Failed(error.describe().into()));
    ctx.shared.change(|index| {
        if let Some(response) = response {
            index.keep(question.key(), response);
        }
        index.answered(question.key(), outcome)
    });
    next
}

#[cfg(test)]
mod tests {
    use std::io;

    use futures::future::BoxFuture;
    use kapstan_api::extension_config::FailurePolicy;

    use super::*;
    use crate::{
        controllers::tests::fixtures::{Bench, offering, pass},
        index::{
            keys::Job,
            tests::fixtures::{asked, class, config, key},
        },
        runtime::{
            Options, QuestionKey,
            tests::in_process::{Behaviour, InProcess},
            transport::{BoxedIo, Dial},
        },
    };

    const SECOND: Duration = Duration::from_secs(1);

    /// `ext-a` is discovered and has the handler `dv`, which is asked by nobody yet.
    fn discovered(options: Options, policy: FailurePolicy) -> Bench {
        let bench = Bench::new(options);
        tokio::spawn(run(bench.context.clone(), CancellationToken::new()));
        bench.create_config(config("ext-a"));
        let mut handlers = asked(&["dv.ext-a"]);
        handlers[0].failure_policy = Some(policy);
        bench.context.shared.change(|index| {
            let target = index.config("ext-a").unwrap().config.target();
            index.discovered(&target, Ok(handlers.into()))
        });
        bench
    }

    /// A class asks the handler, with a setting that makes the question one of its own.
    fn ask_as(bench: &Bench, name: &str) -> QuestionKey {
        bench.create_class(class(&format!("ns/{name}")).asking_with("dv.ext-a", "for", name));
        let gathered = bench.with(|index| index.gather(&key(&format!("ns/{name}")))).unwrap();
        let [Job::Question(question)] = gathered.jobs[..] else { panic!("{gathered:?}") };
        bench.context.shared.queues().jobs.add(Job::Question(question));
        question
    }

    /// The Discovery of `ext-a` as it is now.
    fn discovery(bench: &Bench) -> Job {
        bench.with(|index| index.config("ext-a").unwrap().config.discovery())
    }

    fn outcome(bench: &Bench, question: QuestionKey) -> Option<QuestionOutcome> {
        bench.with(|index| index.question(question).unwrap().outcome.clone())
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_a_discovery_is_an_event() {
        let bench = Bench::new(Options::default());
        tokio::spawn(run(bench.context.clone(), CancellationToken::new()));
        bench.extension.behave(offering(&["dv"], "region"));
        bench.create_config(config("ext-a"));
        assert_eq!(&*bench.context.shared.queues().configs.next().await, "ext-a");
        bench.context.shared.queues().configs.done(&"ext-a".into(), Outcome::Done);
        bench.context.shared.queues().jobs.add(discovery(&bench));
        assert_eq!(&*bench.context.shared.queues().configs.next().await, "ext-a");
        let found = bench.with(|index| index.last_discovery("ext-a").cloned()).unwrap();
        assert_eq!(found.result.unwrap()[0].name, "dv.ext-a");
    }

    #[tokio::test(start_paused = true)]
    async fn a_recreated_config_does_not_wait_for_the_call_to_the_old_one() {
        let bench = Bench::new(Options::default());
        bench.run();
        bench.extension.behave(Behaviour::HangBeforeHeaders);
        bench.create_config(config("ext-a"));
        pass(SECOND).await;
        bench.extension.behave(offering(&["dv"], "region"));
        bench.create_config(config("ext-a").recreated());
        pass(SECOND).await;
        let path = "/apis/runtime.cluster.x-k8s.io/v1beta2/extensionconfigs/ext-a";
        let condition = |bench: &Bench| bench.server.object(path)["status"]["conditions"][0].clone();
        assert_eq!(condition(&bench)["status"], "True");
        pass(60 * SECOND).await;
        assert_eq!(condition(&bench)["status"], "True", "the end of the old call is no news");
        assert_eq!((bench.extension.calls(), bench.server.patches.lock().len()), (2, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn the_order_of_the_handlers_is_no_news() {
        let bench = Bench::new(Options::default());
        bench.run();
        bench.extension.behave(offering(&["b", "a", "c"], "region"));
        bench.create_config(config("ext-a"));
        pass(SECOND).await;
        let first = bench.server.patches.lock().len();
        bench.extension.behave(offering(&["c", "b", "a"], "region"));
        bench.context.shared.queues().jobs.add(discovery(&bench));
        pass(SECOND).await;
        assert_eq!((first, bench.server.patches.lock().len(), bench.extension.calls()), (1, 1, 2));
        let path = "/apis/runtime.cluster.x-k8s.io/v1beta2/extensionconfigs/ext-a";
        let found = &bench.server.object(path)["status"]["handlers"];
        assert_eq!([0, 1, 2].map(|at| &found[at]["name"]), ["a.ext-a", "b.ext-a", "c.ext-a"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_discovery_says_why_and_is_tried_again_after_its_back_off() {
        let bench = Bench::new(Options::default());
        tokio::spawn(run(bench.context.clone(), CancellationToken::new()));
        bench.extension.behave(Behaviour::Refuse);
        bench.create_config(config("ext-a"));
        bench.context.shared.queues().jobs.add(discovery(&bench));
        let mut dials = Vec::new();
        for wait in [1, 5, 10, 20] {
            pass(wait * SECOND).await;
            dials.push(bench.extension.dials());
        }
        assert_eq!(dials, [1, 2, 3, 4]);
        let found = bench.with(|index| index.last_discovery("ext-a").cloned()).unwrap();
        let why = found.result.unwrap_err();
        assert!(why.starts_with("Error in discovery: ") && why.contains("ext.test:9443"), "{why}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_ignored_failure_counts_as_nothing_and_is_tried_again() {
        let bench = discovered(Options::default(), FailurePolicy::Ignore);
        bench.extension.behave(Behaviour::answer(500, "no"));
        let question = ask_as(&bench, "one");
        pass(SECOND).await;
        assert_eq!(outcome(&bench, question), Some(QuestionOutcome::Ignored));
        bench.extension.behave(Behaviour::variable("region"));
        pass(10 * SECOND).await;
        assert!(matches!(outcome(&bench, question), Some(QuestionOutcome::Answered(_))));
        assert_eq!(bench.extension.calls(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_says_no_stands_whatever_the_policy() {
        let bench = discovered(Options::default(), FailurePolicy::Ignore);
        bench.extension.behave(Behaviour::answer(200, r#"{"status":"Failure","message":"not today"}"#));
        let question = ask_as(&bench, "one");
        pass(SECOND).await;
        let Some(QuestionOutcome::Failed(why)) = outcome(&bench, question) else { panic!("not failed") };
        assert!(why.contains("dv.ext-a") && why.contains("not today"), "{why}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_gets_no_turn_is_no_failed_call() {
        let options = Options { max_in_flight: 1, max_wait: 2 * SECOND, ..Options::default() };
        let bench = discovered(options, FailurePolicy::Ignore);
        let Behaviour::Answer { status, body, .. } = Behaviour::variable("region") else {
            panic!("no answer")
        };
        bench.extension.behave(Behaviour::Answer { status, body, after: 9 * SECOND });
        let questions: Vec<QuestionKey> = ["one", "two"].map(|name| ask_as(&bench, name)).into();
        pass(8 * SECOND).await;
        assert!(questions.iter().all(|question| outcome(&bench, *question).is_none()));
        pass(15 * SECOND).await;
        assert!(questions.iter().all(|question| outcome(&bench, *question).is_some()), "both had their turn");
        assert_eq!(bench.extension.calls(), 2);
        assert_eq!(bench.with(|index| index.sizes()[3]), ("questions", 2));
    }

    #[tokio::test(start_paused = true)]
    async fn one_slow_answer_keeps_no_other_call_waiting() {
        let bench = discovered(Options::default(), FailurePolicy::Fail);
        bench.extension.behave(Behaviour::HangBeforeHeaders);
        let slow = ask_as(&bench, "slow");
        pass(SECOND).await;
        bench.extension.behave(Behaviour::variable("region"));
        let quick = ask_as(&bench, "quick");
        pass(2 * SECOND).await;
        assert!(outcome(&bench, quick).is_some());
        assert!(outcome(&bench, slow).is_none());
        pass(10 * SECOND).await;
        let Some(QuestionOutcome::Failed(why)) = outcome(&bench, slow) else { panic!("not failed") };
        assert!(why.contains("gave up after 10s"), "{why}");
    }

    /// Panics where the client cannot foresee it.
    struct Panicking;

    impl Dial for Panicking {
        fn dial<'a>(&'a self, _: &'a str, _: u16) -> BoxFuture<'a, io::Result<BoxedIo>> {
            panic!("dialed")
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_is_a_failed_call() {
        let bench = Bench::dialing(Options::default(), Arc::new(Panicking), InProcess::new());
        tokio::spawn(run(bench.context.clone(), CancellationToken::new()));
        bench.create_config(config("ext-a"));
        bench.context.shared.queues().jobs.add(discovery(&bench));
        pass(SECOND).await;
        let found = bench.with(|index| index.last_discovery("ext-a").cloned()).unwrap();
        assert!(found.result.unwrap_err().starts_with("Error in discovery: "));
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_handled_leaves_no_call_under_way() {
        let bench = discovered(Options::default(), FailurePolicy::Fail);
        let question = ask_as(&bench, "one");
        let asked = bench.with(|index| index.begin(&Job::Question(question))).unwrap();
        fail(&bench.context, &asked, "so it is");
        assert_eq!(outcome(&bench, question), Some(QuestionOutcome::Failed("dv.ext-a: so it is".into())));
        let job = discovery(&bench);
        let discovery = bench.with(|index| index.begin(&job)).unwrap();
        fail(&bench.context, &discovery, "so it is");
        let found = bench.with(|index| index.last_discovery("ext-a").cloned()).unwrap();
        assert_eq!(found.result.unwrap_err(), "Error in discovery: so it is".into());
    }

    #[tokio::test(start_paused = true)]
    async fn stopping_gives_up_what_is_under_way() {
        let bench = Bench::new(Options::default());
        let stop = CancellationToken::new();
        let running = tokio::spawn(run(bench.context.clone(), stop.clone()));
        bench.extension.behave(Behaviour::HangBeforeHeaders);
        bench.create_config(config("ext-a"));
        bench.context.shared.queues().jobs.add(discovery(&bench));
        pass(SECOND).await;
        stop.cancel();
        assert!(tokio::time::timeout(SECOND, running).await.is_ok());
        assert!(bench.with(|index| index.last_discovery("ext-a").is_none()));
    }
}
