//! Namespaces.

use serde_json::{Value, json};

use super::{Strategy, Surroundings, keep};
use crate::names::{self, Judge};
use crate::status::{Cause, quoted};
use crate::store::{Fields, metadata_mut, object_mut};

/// What the API server itself waits for: that the namespace is empty.
const FINALIZER: &str = "kubernetes";
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

pub(crate) struct Namespace;

impl Strategy for Namespace {
    fn judge(&self) -> Judge {
        names::label
    }

    fn returns_deleted(&self) -> bool {
        true
    }

    fn default(&self, object: &mut Value) {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if !name.is_empty() {
            let labels = metadata_mut(object).entry("labels").or_insert_with(|| json!({}));
            object_mut(labels).insert(NAME_LABEL.to_owned(), name.into());
        }
    }

    fn prepare_create(&self, object: &mut Value, _surroundings: &dyn Surroundings) {
        // The label is set again: a generated name came after the defaults.
        self.default(object);
        let fields = object_mut(object);
        fields.insert("status".to_owned(), json!({ "phase": "Active" }));
        let finalizers = object_mut(fields.entry("spec").or_insert_with(|| json!({})))
            .entry("finalizers")
            .or_insert_with(|| json!([]));
        if let Value::Array(finalizers) = finalizers
            && !finalizers.iter().any(|finalizer| finalizer == FINALIZER)
        {
            finalizers.push(FINALIZER.into());
        }
    }

    fn prepare_update(&self, object: &mut Value, old: &Value, subresource: &str) {
        match subresource {
            "status" => keep(object, old, "spec"),
            "finalize" => keep(object, old, "status"),
            _ => {
                keep(object, old, "spec");
                keep(object, old, "status");
            }
        }
    }

    fn validate(&self, object: &Value, old: Option<&Value>, _api_version: &str) -> Vec<Cause> {
        let phase = &object["status"]["phase"];
        let is_deleting = !object["metadata"]["deletionTimestamp"].is_null();
        let expected = if is_deleting { "Terminating" } else { "Active" };
        if old.is_none() || phase == expected || phase.is_null() {
            return Vec::new();
        }
        let detail = if is_deleting {
            "may only be 'Active' if `deletionTimestamp` is empty"
        } else {
            "may only be 'Terminating' if `deletionTimestamp` is not empty"
        };
        vec![Cause::invalid("status.Phase", &quoted(phase.as_str().unwrap_or_default()), detail)]
    }

    fn fields(&self, object: &Value) -> Fields {
        let phase = object["status"]["phase"].as_str().unwrap_or_default();
        [("status.phase", phase.into())].into()
    }

    fn selectable(&self) -> &'static [&'static str] {
        &["status.phase"]
    }
}
