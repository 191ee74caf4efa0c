//! Events, which are served in the core group and in `events.k8s.io`, and stored as those of the core
//! group.

use serde_json::{Map, Value};

use super::{Strategy, text};
use crate::status::{Cause, quoted};
use crate::store::{Fields, object_mut};

/// The names in the core group, and those in `events.k8s.io`.
const RENAMED: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

const NEW: &str = "events.k8s.io/v1";

pub(crate) struct Event;

impl Strategy for Event {
    fn creates_on_update(&self) -> bool {
        true
    }

    fn is_collected(&self) -> bool {
        false
    }

    fn validate(&self, object: &Value, old: Option<&Value>, api_version: &str) -> Vec<Cause> {
        let mut causes = place(object);
        if api_version == NEW || !object["eventTime"].is_null() {
            causes.extend(if old.is_none() { required(object) } else { Vec::new() });
        }
        causes
    }

    fn fields(&self, object: &Value) -> Fields {
        let about = &object["involvedObject"];
        let component = text(&object["source"], "component");
        let reporting = text(object, "reportingComponent");
        [
            ("involvedObject.kind", text(about, "kind").into()),
            ("involvedObject.namespace", text(about, "namespace").into()),
            ("involvedObject.name", text(about, "name").into()),
            ("involvedObject.uid", text(about, "uid").into()),
            ("involvedObject.apiVersion", text(about, "apiVersion").into()),
            ("involvedObject.resourceVersion", text(about, "resourceVersion").into()),
            ("involvedObject.fieldPath", text(about, "fieldPath").into()),
            ("reason", text(object, "reason").into()),
            ("reportingComponent", reporting.into()),
            ("source", if component.is_empty() { reporting } else { component }.into()),
            ("type", text(object, "type").into()),
        ]
        .into()
    }

    fn selectable(&self) -> &'static [&'static str] {
        &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ]
    }

    fn store(&self, object: &mut Value, api_version: &str) {
        if api_version == NEW {
            rename(object, |(core, new)| (*new, *core));
            let fields = object_mut(object);
            for name in ["reportingComponent", "reportingInstance"] {
                fields.entry(name).or_insert_with(|| "".into());
            }
        }
    }

    fn serve(&self, object: &mut Value, api_version: &str) {
        if api_version == NEW {
            rename(object, |(core, new)| (*core, *new));
            let fields = object_mut(object);
            for name in ["reportingController", "reportingInstance"] {
                if fields.get(name).is_some_and(|value| value == "") {
                    fields.remove(name);
                }
            }
        }
    }
}

fn rename(
    object: &mut Value,
    order: impl Fn(&'static (&'static str, &'static str)) -> (&'static str, &'static str),
) {
    let fields: &mut Map<String, Value> = object_mut(object);
    for (from, to) in RENAMED.iter().map(order) {
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
}

/// An event is in the namespace of what it is about, or in the default one.
fn place(object: &Value) -> Vec<Cause> {
    let namespace = text(&object["metadata"], "namespace");
    let about = text(&object["involvedObject"], "namespace");
    let is_placed =
        if about.is_empty() { matches!(namespace, "default" | "kube-system") } else { about == namespace };
    if is_placed {
        return Vec::new();
    }
    vec![Cause::invalid("involvedObject.namespace", &quoted(about), "does not match event.namespace")]
}

/// What an event of the new kind must say.
fn required(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if object["eventTime"].is_null() {
        causes.push(Cause::required("eventTime", ""));
    }
    if !matches!(text(object, "type"), "Normal" | "Warning") {
        let value = text(object, "type");
        causes.push(Cause::invalid("type", &quoted(value), &format!("has invalid value: {value}")));
    }
    for (field, stored) in [
        ("reportingController", "reportingComponent"),
        ("reportingInstance", "reportingInstance"),
        ("action", "action"),
        ("reason", "reason"),
    ] {
        if !object["eventTime"].is_null() && text(object, stored).is_empty() {
            causes.push(Cause::required(field, ""));
        }
    }
    causes
}
