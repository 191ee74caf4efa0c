//! What other hands than the manager's do to objects, by path, so that any kind and any field can be touched.

use anyhow::{Context as _, Result};
use kube::{
    api::{DeleteParams, Patch, PatchParams, PostParams, PropagationPolicy},
    core::Request,
};
use serde_json::Value;

use crate::{
    audit::{AuditEvent, AuditMark},
    fixtures::Templates,
    server::until,
    world::{Running, World},
};

/// The field manager of everything done here.
pub(crate) const SOMEONE: &str = "someone-else";

/// Where an `ExtensionConfig` is.
pub(crate) fn config_path(name: &str) -> String {
    format!("/apis/runtime.cluster.x-k8s.io/v1beta2/extensionconfigs/{name}")
}

/// Where a `ClusterClass` is.
pub(crate) fn class_path(namespace: &str, name: &str) -> String {
    format!("/apis/cluster.x-k8s.io/v1beta2/namespaces/{namespace}/clusterclasses/{name}")
}

/// Where the status of the object at `path` is.
pub(crate) fn status_of(path: &str) -> String {
    format!("{path}/status")
}

/// Path of the collection and name of the object at `path`.
fn split(path: &str) -> (&str, &str) {
    let whole = path.strip_suffix("/status").unwrap_or(path);
    whole.rsplit_once('/').expect("a path must have a name in it")
}

impl World {
    /// A namespace of a test's own, with the templates of the set `default` in it.
    pub(crate) async fn home(&self, prefix: &str) -> Result<String> {
        let namespace = self.namespace(prefix).await?;
        self.create_templates(&namespace, &Templates::none()).await?;
        Ok(namespace)
    }

    /// Makes every template of a set.
    pub(crate) async fn create_templates(&self, namespace: &str, set: &Templates) -> Result<()> {
        for (path, template) in set.objects(namespace) {
            self.create_at(&path, &template).await?;
        }
        Ok(())
    }

    /// The manager's writes since a mark to the object at `path`, its status included.
    pub(crate) fn writes_at(&self, since: AuditMark, path: &str) -> Result<Vec<AuditEvent>> {
        let mut events = self.writes(since)?;
        events.retain(|event| event.path.strip_suffix("/status").unwrap_or(&event.path) == path);
        Ok(events)
    }

    /// The object at `path`; `None` when it is gone.
    pub(crate) async fn get_at(&self, path: &str) -> Result<Option<Value>> {
        let (collection, name) = split(path);
        let request = Request::new(collection).get(name, &kube::api::GetParams::default())?;
        match self.client.request(request).await {
            Ok(object) => Ok(Some(object)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error).with_context(|| format!("failed to get {path}")),
        }
    }

    /// The object at `path`, which must be there.
    pub(crate) async fn at(&self, path: &str) -> Result<Value> {
        self.get_at(path).await?.with_context(|| format!("there is no {path}"))
    }

    /// Merges `fields` into the object at `path`, or into its status where the path says so.
    pub(crate) async fn patch_at(&self, path: &str, fields: &Value) -> Result<Value> {
        let (collection, name) = split(path);
        let params = PatchParams { field_manager: Some(SOMEONE.to_owned()), ..PatchParams::default() };
        let (request, merge) = (Request::new(collection), Patch::Merge(fields));
        let request = if path.ends_with("/status") {
            request.patch_subresource("status", name, &params, &merge)?
        } else {
            request.patch(name, &params, &merge)?
        };
        self.client.request(request).await.with_context(|| format!("failed to patch {path}"))
    }

    /// Replaces the status of the object at `path` with that of `object`, by a plain Update.
    pub(crate) async fn replace_status_at(&self, path: &str, object: &Value) -> Result<Value> {
        let (collection, name) = split(path);
        let params = PostParams { field_manager: Some(SOMEONE.to_owned()), ..PostParams::default() };
        let body = serde_json::to_vec(object)?;
        let request = Request::new(collection).replace_subresource("status", name, &params, body)?;
        self.client.request(request).await.with_context(|| format!("failed to replace the status of {path}"))
    }

    /// Deletes the object at `path` and waits until it is gone.
    pub(crate) async fn delete_at(&self, path: &str, propagation: PropagationPolicy) -> Result<()> {
        let (collection, name) = split(path);
        let params = DeleteParams { propagation_policy: Some(propagation), ..DeleteParams::default() };
        let request = Request::new(collection).delete(name, &params)?;
        let _: Value =
            self.client.request(request).await.with_context(|| format!("failed to delete {path}"))?;
        let what = format!("{path} to be gone");
        let gone = until(&what, async || Ok(self.get_at(path).await?.is_none().then_some(())));
        gone.await
    }

    /// Waits until the object at `path` is as `is` wants it.
    pub(crate) async fn until_at(&self, path: &str, is: impl Fn(&Value) -> bool) -> Result<Value> {
        let waited = until(path, async || Ok(self.get_at(path).await?.filter(|object| is(object)))).await;
        if waited.is_err() {
            eprintln!("{path} is {:#}", self.get_at(path).await?.unwrap_or_default());
        }
        waited
    }
}

impl Running {
    /// As [`Running::metric`], of counters.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counters are small whole numbers"
    )]
    pub(crate) fn count(&self, counter: &str, labels: &[(&str, &str)]) -> u64 {
        self.metric(counter, labels) as u64
    }

    /// How often the desired status of a class was computed.
    pub(crate) fn class_evaluations(&self) -> u64 {
        self.count("kapstan_evaluations_total", &[("kind", "ClusterClass")])
    }

    /// How many reconciles went wrong.
    pub(crate) fn reconcile_errors(&self) -> u64 {
        ["error", "panic"]
            .map(|result| self.count("kapstan_reconciles_total", &[("result", result)]))
            .iter()
            .sum()
    }
}

/// A condition in the status of an object; null when it is not there.
pub(crate) fn condition(object: &Value, type_: &str) -> Value {
    find(&object["status"]["conditions"], type_)
}

/// A condition in the older style; null when it is not there.
pub(crate) fn deprecated_condition(object: &Value, type_: &str) -> Value {
    find(&object["status"]["deprecated"]["v1beta1"]["conditions"], type_)
}

fn find(conditions: &Value, type_: &str) -> Value {
    let mut conditions = conditions.as_array().into_iter().flatten();
    conditions.find(|condition| condition["type"] == type_).cloned().unwrap_or_default()
}
