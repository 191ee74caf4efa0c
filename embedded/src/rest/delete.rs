//! Deletion of one object and of many.
//!
//! Behaviour: apiserver `pkg/registry/generic/registry/store.go`, `Delete`; Kubernetes
//! `pkg/registry/core/namespace/storage`; apiextensions-apiserver `customresourcedefinition/etcd.go`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::options::{DeleteOptions, Propagation};
use super::rules::{self, FOREGROUND, ORPHAN};
use super::write::is_over;
use crate::core::Core;
use crate::kinds::CLEANUP;
use crate::registry::Endpoint;
use crate::status::{Result, Status};
use crate::store::{Draft, Fields, Key, NAMESPACES, Object, metadata_mut, object_mut};

/// What a deletion came to.
pub(crate) enum Deleted {
    /// The object is gone; this was its last state.
    Gone(Arc<Object>),
    /// The object stays until its finalizers are done.
    Marked(Arc<Object>),
}

/// How often a deletion is tried again when a write came between.
const ATTEMPTS: usize = 8;

/// Namespaces that stay.
const KEPT: [&str; 3] = ["default", "kube-public", "kube-system"];

/// Deletes an object, or marks it for its finalizers.
pub(crate) fn delete(
    core: &Core,
    endpoint: &Endpoint,
    key: &Key,
    options: &DeleteOptions,
) -> Result<Deleted> {
    if endpoint.collection() == NAMESPACES && KEPT.contains(&key.name()) {
        let why = "this namespace may not be deleted";
        return Err(Status::forbidden(endpoint.resource(), key.name(), why, Vec::new()));
    }
    for _ in 0..ATTEMPTS {
        let current = core.store.get(endpoint.collection(), key);
        let current = current.ok_or_else(|| Status::not_found(endpoint.resource(), key.name()))?;
        check(endpoint, &current, options)?;
        if let Some(deleted) = attempt(core, endpoint, &current, options) {
            return Ok(deleted);
        }
    }
    Err(Status::modified(endpoint.resource(), key.name()))
}

fn check(endpoint: &Endpoint, current: &Object, options: &DeleteOptions) -> Result<()> {
    let name = current.key.name();
    if let Some(uid) = options.uid.as_deref().filter(|uid| **uid != *current.uid) {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
            current.uid
        );
        return Err(Status::conflict(endpoint.subject(), name, &why));
    }
    let revision = current.revision.to_string();
    if let Some(version) = options.resource_version.as_deref().filter(|version| **version != revision) {
        let why = format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({revision}). The object might have been modified"
        );
        return Err(Status::conflict(endpoint.subject(), name, &why));
    }
    Ok(())
}

/// `None` when a write came between.
fn attempt(
    core: &Core,
    endpoint: &Endpoint,
    current: &Arc<Object>,
    options: &DeleteOptions,
) -> Option<Deleted> {
    let mut value = current.decode();
    endpoint.set_type(&mut value);
    mark_finalizers(endpoint, &mut value, options);
    let before = value.clone();
    mark(core, endpoint, &mut value);
    if is_over(&value, endpoint) {
        // What is removed at once was never seen to be deleted.
        let last = if current.is_deleting { value } else { before };
        return remove(core, endpoint, current, last, options.is_dry_run).map(Deleted::Gone);
    }
    if current.is_deleting && value["metadata"] == current_metadata(current) {
        return Some(Deleted::Marked(current.clone()));
    }
    let mut draft = draft(endpoint, current, value);
    if options.is_dry_run {
        let object = Object::encode(current.key.clone(), current.revision, &mut draft);
        return Some(Deleted::Marked(Arc::new(object)));
    }
    let object = core.store.update(endpoint.collection(), current, &mut draft).ok()?;
    core.changed(endpoint, current, &object);
    Some(Deleted::Marked(object))
}

fn current_metadata(current: &Object) -> Value {
    serde_json::from_slice(&current.metadata()).unwrap_or_default()
}

fn remove(
    core: &Core,
    endpoint: &Endpoint,
    current: &Arc<Object>,
    last: Value,
    is_dry_run: bool,
) -> Option<Arc<Object>> {
    if is_dry_run {
        return Some(current.clone());
    }
    let mut draft = draft(endpoint, current, last);
    let object = core.store.delete(endpoint.collection(), current, &mut draft).ok()?;
    core.removed(endpoint, &object);
    Some(object)
}

fn draft(endpoint: &Endpoint, current: &Object, value: Value) -> Draft {
    let strategy = endpoint.strategy();
    let fields = strategy.map_or_else(Fields::default, |strategy| strategy.fields(&value));
    Draft { value, fields, encoding: current.encoding }
}

/// Sets the time of deletion and what else shows that an object is about to go.
fn mark(core: &Core, endpoint: &Endpoint, value: &mut Value) {
    let is_marked = !value["metadata"]["deletionTimestamp"].is_null();
    let is_namespace = endpoint.collection() == NAMESPACES;
    let is_crd = is_crd(endpoint);
    let now = core.clock.seconds();
    if is_crd && !is_marked {
        mark_crd(value, &now);
    }
    let metadata = metadata_mut(value);
    if !is_marked {
        metadata.insert("deletionTimestamp".to_owned(), now.into());
        if let Some(generation) = metadata.get("generation").and_then(Value::as_i64).filter(|_| !is_crd) {
            metadata.insert("generation".to_owned(), (generation + 1).into());
        }
    }
    if is_namespace {
        let status = object_mut(value).entry("status").or_insert_with(|| json!({}));
        object_mut(status).insert("phase".to_owned(), "Terminating".into());
    } else if !is_crd || is_marked {
        metadata.insert("deletionGracePeriodSeconds".to_owned(), 0.into());
    }
}

pub(crate) fn is_crd(endpoint: &Endpoint) -> bool {
    endpoint.names().group.as_ref() == "apiextensions.k8s.io"
        && &*endpoint.names().plural == "customresourcedefinitions"
}

fn mark_crd(value: &mut Value, now: &str) {
    let condition = json!({
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    });
    let status = object_mut(value).entry("status").or_insert_with(|| json!({}));
    match object_mut(status).get_mut("conditions") {
        Some(Value::Array(conditions)) => conditions.push(condition),
        _ => {
            object_mut(status).insert("conditions".to_owned(), json!([condition]));
        }
    }
    let finalizers = metadata_mut(value).entry("finalizers").or_insert_with(|| json!([]));
    if let Value::Array(finalizers) = finalizers
        && !finalizers.iter().any(|finalizer| finalizer == CLEANUP)
    {
        finalizers.push(CLEANUP.into());
    }
}

/// Sets the finalizer that the wanted propagation needs, and takes the other away.
fn mark_finalizers(endpoint: &Endpoint, value: &mut Value, options: &DeleteOptions) {
    if endpoint.strategy().is_some_and(|strategy| !strategy.is_collected()) {
        return;
    }
    let present = rules::finalizers(&value["metadata"]);
    let has = |finalizer: &str| present.contains(&finalizer);
    let (orphans, waits) = match (options.orphan_dependents, options.propagation) {
        (Some(orphans), _) => (orphans, false),
        (None, Some(propagation)) => {
            (propagation == Propagation::Orphan, propagation == Propagation::Foreground)
        }
        (None, None) => (has(ORPHAN), has(FOREGROUND) && !has(ORPHAN)),
    };
    if (has(ORPHAN), has(FOREGROUND)) == (orphans, waits) {
        return;
    }
    let mut finalizers: Vec<Value> = present
        .iter()
        .filter(|one| **one != ORPHAN && **one != FOREGROUND)
        .map(|one| (*one).into())
        .collect();
    finalizers.extend(orphans.then_some(ORPHAN.into()));
    finalizers.extend(waits.then_some(FOREGROUND.into()));
    let metadata = metadata_mut(value);
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".to_owned(), finalizers.into());
    }
}
