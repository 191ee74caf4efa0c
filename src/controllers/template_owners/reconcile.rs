//! The shell: read what is known, decide, write.

use std::{collections::HashMap, sync::Arc, time::Duration};

use kube::{Api, api::DynamicObject};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

use super::{
    KIND, PACE,
    plan::{self, Plan},
};
use crate::{
    controllers::{
        Context,
        write::{Error, Write, Written},
    },
    error::chain,
    index::{keys::TemplateKey, template::Template},
    queue::Outcome,
};

/// When each template was last written to, as long as that matters.
#[derive(Clone, Debug, Default)]
pub struct Pace(Arc<Mutex<HashMap<TemplateKey, Instant>>>);

impl Pace {
    /// How long the next write to a template has to wait; zero when it may go out now.
    fn wait(&self, key: &TemplateKey, now: Instant) -> Duration {
        let mut written = self.0.lock();
        written.retain(|_, at| now < *at + PACE);
        written.get(key).map_or(Duration::ZERO, |at| (*at + PACE).saturating_duration_since(now))
    }

    fn written(&self, key: &TemplateKey, now: Instant) {
        self.0.lock().insert(key.clone(), now);
    }
}

/// Gives one template the owner references that it lacks.
///
/// # Errors
/// When the write was refused or did not get through. The classes of the template are told.
pub async fn reconcile(key: TemplateKey, ctx: &Context, pace: &Pace) -> Result<Outcome, Error> {
    // A conflict is answered once, from fresh data; a second one waits for its own event.
    for _ in 0..2 {
        ctx.metrics.evaluated(KIND);
        let Some(plan) = ctx.shared.with(|index| plan::owners(index, &key)) else {
            // A write that failed may have gone through all the same.
            ctx.shared.change(|index| {
                let uid = index.template(&key).map(|template| Arc::clone(&template.uid));
                uid.map(|uid| index.template_refused(&key, &uid, None)).unwrap_or_default()
            });
            return Ok(Outcome::Done);
        };
        let wait = pace.wait(&key, ctx.clock.now());
        if !plan.is_urgent && !wait.is_zero() {
            return Ok(Outcome::After(wait));
        }
        let uid = Arc::clone(&plan.template.uid);
        let sent = send(&key, plan, ctx).await;
        pace.written(&key, ctx.clock.now());
        let why = sent.as_ref().err().map(|error| chain(error).into());
        ctx.shared.change(|index| index.template_refused(&key, &uid, why));
        if sent? {
            break;
        }
    }
    Ok(Outcome::Done)
}

/// Writes the references; says whether that went through.
async fn send(key: &TemplateKey, plan: Plan, ctx: &Context) -> Result<bool, Error> {
    let Plan { template, resource, owners, is_urgent: _ } = plan;
    let api: Api<DynamicObject> = Api::namespaced_with(ctx.kube.clone(), &key.namespace, &resource);
    let write = Write {
        kind: KIND,
        name: &key.name,
        uid: &template.uid,
        resource_version: &template.resource_version,
        what: "ownerReferences",
        is_status: false,
        body: json!({ "metadata": { "ownerReferences": owners } }),
    };
    let (is_done, object) = match write.send(&api, &ctx.metrics).await? {
        Written::Done(object) => (true, object),
        Written::Conflict(object) => (false, object),
        Written::Gone => return Ok(true), // its deletion is an event of its own
    };
    ctx.shared.change(|index| index.update_template(key, Template::of(&object.metadata)));
    Ok(is_done)
}
