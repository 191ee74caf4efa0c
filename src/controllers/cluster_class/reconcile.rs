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
        Context,
        write::{Error, Write, Written},
    },
    digest::Digest,
    index::{
        class::{Class, Evaluated},
        gather::{Gathered, Known},
        keys::ClassKey,
    },
    queue::Outcome,
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
        return Ok(true); // the end of the last one is an event
    }
    let inputs = gathered.inputs();
    let Some((desired, change)) = decide(&gathered, inputs, ctx) else { return Ok(true) };
    let class = &gathered.entry.class;
    let is_done = match change {
        Change::None | Change::Reevaluate => true,
        Change::Patch(body) => write(ctx, class, &desired, body).await?,
    };
    if is_done {
        let evaluated = Evaluated { inputs, desired: Arc::new(desired.without_list()) };
        ctx.shared.with(|index| index.evaluated(class, evaluated));
    }
    Ok(is_done)
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
        ctx.metrics.evaluated(KIND);
        return Some(plan::paused(class));
    }
    let answers: Option<Vec<PatchAnswer>> = gathered
        .answers
        .iter()
        .map(|(patch, known)| Some((Arc::clone(patch), answer(known, ctx)?)))
        .collect();
    let Some(answers) = answers else {
        ctx.shared.queues().classes.add(class.key.clone());
        return None;
    };
    ctx.metrics.evaluated(KIND);
    Some(plan::evaluate(class, &answers, &gathered.templates))
}

/// What a patch was answered; `None` when the cache has dropped it, so that the question is open again.
fn answer(known: &Known, ctx: &Context) -> Option<Result<Arc<DiscoverVariablesResponse>, Arc<str>>> {
    match known {
        Known::Answer(question, _) => {
            let answer = ctx.extensions.answer(question, Duration::MAX);
            if answer.is_none() {
                ctx.shared.with(|index| index.reopen(question.key()));
            }
            Some(Ok(answer?.response))
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
        index.update_class(seen)
    });
    Ok(is_done)
}
