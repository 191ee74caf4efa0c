//! The rules for the metadata of every object.
//!
//! Behaviour: apimachinery `pkg/api/validation/objectmeta.go`, apiserver `pkg/registry/rest`.

use serde_json::Value;

use crate::names::{self, Judge};
use crate::status::{Cause, Result, Status, quoted};
use crate::store::metadata_mut;

const ANNOTATIONS_LIMIT: usize = 256 * 1024;
/// The finalizers of the garbage collector.
pub(crate) const ORPHAN: &str = "orphan";
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

/// Puts the object into the namespace of the request; `None` for objects of the cluster.
pub(crate) fn place(object: &mut Value, namespace: Option<&str>) -> Result<()> {
    let metadata = metadata_mut(object);
    let given = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
    match namespace {
        None => {
            metadata.remove("namespace");
        }
        Some(namespace) if given.is_empty() => {
            metadata.insert("namespace".to_owned(), namespace.into());
        }
        Some(namespace) if given == namespace => {}
        Some(_) => {
            let why = "the namespace of the provided object does not match the namespace sent on the request";
            return Err(Status::bad_request(why));
        }
    }
    Ok(())
}

/// What is wrong with the metadata of an object.
pub(crate) fn metadata(object: &Value, is_namespaced: bool, judge: Judge) -> Vec<Cause> {
    let metadata = &object["metadata"];
    let mut causes = bad_names(metadata, judge);
    let namespace = metadata["namespace"].as_str().unwrap_or_default();
    if is_namespaced {
        let complaints = names::label(namespace).into_iter();
        causes.extend(complaints.map(|why| Cause::invalid("metadata.namespace", &quoted(namespace), &why)));
    } else if !namespace.is_empty() {
        causes.push(Cause::forbidden("metadata.namespace", "not allowed on this type"));
    }
    causes.extend(bad_content(metadata));
    causes.extend(bad_finalizers(metadata));
    causes
}

fn bad_names(metadata: &Value, judge: Judge) -> Vec<Cause> {
    let text = |name: &str| metadata[name].as_str().unwrap_or_default();
    let (prefix, name) = (text("generateName"), text("name"));
    let mut causes = Vec::new();
    if !prefix.is_empty() {
        let complaints = judge(&names::masked(prefix)).into_iter();
        causes.extend(complaints.map(|why| Cause::invalid("metadata.generateName", &quoted(prefix), &why)));
    }
    if name.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else {
        let complaints = judge(name).into_iter();
        causes.extend(complaints.map(|why| Cause::invalid("metadata.name", &quoted(name), &why)));
    }
    causes
}

/// Labels, annotations and owner references.
fn bad_content(metadata: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (key, value) in metadata["labels"].as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        let bad = |value: &str, whys: Vec<String>| {
            let value = quoted(value);
            whys.into_iter()
                .map(move |why| Cause::invalid("metadata.labels", &value, &why))
                .collect::<Vec<_>>()
        };
        causes.extend(bad(key, names::qualified_name(key)));
        causes.extend(bad(value, names::label_value(value)));
    }
    let mut size = 0;
    for (key, value) in metadata["annotations"].as_object().into_iter().flatten() {
        size += key.len() + value.as_str().unwrap_or_default().len();
        let complaints = names::qualified_name(&key.to_lowercase()).into_iter();
        causes.extend(complaints.map(|why| Cause::invalid("metadata.annotations", &quoted(key), &why)));
    }
    if size > ANNOTATIONS_LIMIT {
        causes.push(Cause::too_long("metadata.annotations", ANNOTATIONS_LIMIT));
    }
    causes.extend(bad_owners(&metadata["ownerReferences"]));
    causes
}

fn bad_owners(owners: &Value) -> Vec<Cause> {
    let field = "metadata.ownerReferences";
    let mut causes = Vec::new();
    let mut controller: Option<String> = None;
    for owner in owners.as_array().into_iter().flatten() {
        let text = |name: &str| owner[name].as_str().unwrap_or_default();
        for name in ["apiVersion", "kind", "name", "uid"] {
            if text(name).is_empty() {
                let why =
                    if name == "apiVersion" { "version must not be empty" } else { "must not be empty" };
                causes.push(Cause::invalid(format!("{field}.{name}"), &quoted(text(name)), why));
            }
        }
        if (text("apiVersion"), text("kind")) == ("v1", "Event") {
            let why = "/v1, Kind=Event is disallowed from being an owner";
            causes.push(Cause::invalid(field, &owner.to_string(), why));
        }
        if owner["controller"] == true {
            let this = format!("{}/{}", text("kind"), text("name"));
            match &controller {
                None => controller = Some(this),
                Some(first) => {
                    let why = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                    );
                    causes.push(Cause::invalid(field, &owners.to_string(), &why));
                }
            }
        }
    }
    causes
}

fn bad_finalizers(metadata: &Value) -> Vec<Cause> {
    let field = "metadata.finalizers";
    let finalizers = finalizers(metadata);
    let mut causes = Vec::new();
    for finalizer in &finalizers {
        let complaints = names::qualified_name(finalizer).into_iter();
        causes.extend(complaints.map(|why| Cause::invalid(field, &quoted(finalizer), &why)));
    }
    if finalizers.contains(&ORPHAN) && finalizers.contains(&FOREGROUND) {
        let why = format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set");
        causes.push(Cause::invalid(field, &metadata["finalizers"].to_string(), &why));
    }
    causes
}

/// The kinds of the core group ask for finalizers with a domain.
pub(crate) fn unqualified_finalizers(object: &Value) -> Vec<Cause> {
    let finalizers = finalizers(&object["metadata"]).into_iter().enumerate();
    let is_short = |finalizer: &str| {
        !finalizer.contains('/') && ![ORPHAN, FOREGROUND, "kubernetes"].contains(&finalizer)
    };
    let why = "name is neither a standard finalizer name nor is it fully qualified";
    finalizers
        .filter(|(_, finalizer)| is_short(finalizer))
        .map(|(index, finalizer)| {
            Cause::invalid(format!("metadata.finalizers[{index}]"), &quoted(finalizer), why)
        })
        .collect()
}

/// The finalizers in an object's metadata.
pub(crate) fn finalizers(metadata: &Value) -> Vec<&str> {
    metadata["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// What is wrong with the metadata of an object that replaces another.
pub(crate) fn metadata_update(object: &Value, old: &Value) -> Vec<Cause> {
    let (new, old) = (&object["metadata"], &old["metadata"]);
    let mut causes = Vec::new();
    if !old["deletionTimestamp"].is_null() {
        let known = finalizers(old);
        let added: Vec<_> =
            finalizers(new).into_iter().filter(|one| !known.contains(one)).map(quoted).collect();
        if !added.is_empty() {
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", &why));
        }
    }
    for name in
        ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"]
    {
        if new[name] != old[name] {
            let field = format!("metadata.{name}");
            causes.push(Cause::invalid(field, &new[name].to_string(), "field is immutable"));
        }
    }
    causes
}
