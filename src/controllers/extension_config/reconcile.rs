//! The shell: read what is known, decide, write.

use std::sync::Arc;

use kapstan_api::extension_config::ExtensionConfig;
use kube::Api;
use serde_json::{Value, json};

use super::{
    KIND,
    plan::{Ca, State},
    status,
};
use crate::{
    controllers::{
        Context,
        write::{Error, Write, Written},
    },
    index::{
        config::Config,
        keys::{Job, Name},
    },
    queue::Outcome,
};

/// Makes one `ExtensionConfig` what it should be.
///
/// # Errors
/// When a write was refused or did not get through.
pub async fn reconcile(name: Name, ctx: &Context) -> Result<Outcome, Error> {
    // A conflict is answered once, from fresh data; a second one waits for its own event.
    for _ in 0..2 {
        if step(&name, ctx).await? {
            break;
        }
    }
    Ok(Outcome::Done)
}

/// One attempt; says whether it went through.
async fn step(name: &Name, ctx: &Context) -> Result<bool, Error> {
    let Some(mut state) = ctx.shared.with(|index| State::read(index, name)) else { return Ok(true) };
    // Bundle first: Discovery dials with it, and this write moves the generation that the condition names.
    if let (false, Ca::Inject(bundle)) = (state.config.is_paused, &state.ca) {
        let body = json!({ "spec": { "clientConfig": { "caBundle": bundle } } });
        if !write(ctx, &state.config, "caBundle", body).await? {
            return Ok(false);
        }
        let Some(injected) = ctx.shared.with(|index| State::read(index, name)) else { return Ok(true) };
        state = injected;
    }
    if state.needs_discovery && state.ca != Ca::Unknown {
        let job = Job::Discovery(Arc::clone(name));
        ctx.shared.queues().jobs.forget(&job); // a new generation does not wait for the back-off of the old one
        ctx.shared.queues().jobs.add(job);
    }
    ctx.metrics.evaluated(KIND);
    match status::after(&state, ctx.clock.timestamp()) {
        Some(body) => write(ctx, &state.config, "status", body).await,
        None => Ok(true),
    }
}

async fn write(ctx: &Context, config: &Config, what: &'static str, body: Value) -> Result<bool, Error> {
    let api: Api<ExtensionConfig> = Api::all(ctx.kube.clone());
    let write = Write {
        kind: KIND,
        name: &config.name,
        uid: &config.uid,
        resource_version: config.object.metadata.resource_version.as_deref().unwrap_or_default(),
        what,
        is_status: what == "status",
        body,
    };
    let (is_done, object) = match write.send(&api, &ctx.metrics).await? {
        Written::Done(object) => (true, object),
        Written::Conflict(object) => (false, object),
        Written::Gone => return Ok(true), // its deletion is an event of its own
    };
    ctx.shared.change(|index| {
        let mut wake = index.update_config(Config::parse(object));
        if is_done {
            wake.configs.remove(&config.name); // it says what was just decided
        }
        wake
    });
    Ok(is_done)
}
