//! Calls to extensions, made in the background: nothing waits for them, and their end is a change of the index.
//!
//! How many run at once is the client's business, which limits them per address.

use std::sync::Arc;

use kapstan_api::{discovery, extension_config::ExtensionHandler, hooks::DiscoveryResponse};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    controllers::Context,
    error::chain,
    index::{
        config::{Discovered, Registration},
        keys::Job,
        question::{Call, QuestionOutcome},
    },
    queue::Outcome,
    runtime::{CallError, Cause, Extension, Question, policy},
};

/// Makes every call that comes due, until `stop`. Calls under way are given up then.
pub async fn run(ctx: Context, stop: CancellationToken) {
    let tasks = TaskTracker::new();
    let jobs = ctx.shared.queues().jobs.clone();
    while let Some(job) = stop.run_until_cancelled(jobs.next()).await {
        ctx.metrics.queue_depth("Call", jobs.len());
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
            if let Some(outcome) = stop.run_until_cancelled(make(&ctx, &job, call)).await {
                jobs.done(&job, outcome);
            }
        });
    }
    tasks.close();
    tasks.wait().await;
}

async fn make(ctx: &Context, job: &Job, call: Call) -> Outcome {
    match (job, call) {
        (_, Call::Discovery { extension, generation, cause }) => {
            discover(ctx, &extension, generation, cause).await
        }
        (_, Call::Question { question, cause }) => ask(ctx, &question, cause).await,
    }
}

async fn discover(ctx: &Context, extension: &Arc<Extension>, generation: i64, cause: Cause) -> Outcome {
    let result = judge(extension, ctx.extensions.discover(extension, cause).await);
    let outcome = if result.is_ok() { Outcome::Done } else { Outcome::Failed };
    if let Err(why) = &result {
        tracing::info!(extension = %extension.name, error = %why, "discovery failed");
    }
    let registration = result.as_ref().ok().map(|handlers| Registration::new(extension.digest(), handlers));
    let discovered = Discovered { generation, result };
    ctx.shared.change(|index| index.discovered(&extension.name, &extension.uid, discovered, registration));
    outcome
}

/// The handlers that a Discovery found, or in words for the condition why there are none.
fn judge(
    extension: &Extension,
    answered: Result<Arc<DiscoveryResponse>, Arc<CallError>>,
) -> Result<Arc<[ExtensionHandler]>, Arc<str>> {
    let response = answered.map_err(|error| format!("Error in discovery: {}", error.describe()))?;
    let handlers = discovery::accept(&extension.name, &response);
    Ok(handlers.map_err(|refusal| format!("Error in discovery: {}", chain(&refusal)))?.into())
}

async fn ask(ctx: &Context, question: &Question, cause: Cause) -> Outcome {
    let called = ctx.extensions.discover_variables(question, cause).await;
    let next = if called.is_ok() { Outcome::Done } else { Outcome::Failed };
    if let Err(error) = &called {
        tracing::info!(handler = %question.handler, error = %error.describe(), "question failed");
    }
    let answered = called.map(|answer| QuestionOutcome::Answered(answer.digest));
    let settled = policy::settle(answered, &question.failure_policy, || QuestionOutcome::Ignored);
    let outcome = settled.unwrap_or_else(|error| QuestionOutcome::Failed(error.describe().into()));
    ctx.shared.change(|index| index.answered(question.key(), outcome));
    next
}
