//! As much of a server as is needed to run scenarios on the functions under test.

use base64::Engine as _;
use jiff::Timestamp;
use kapstan_embedded::apply::{self, Cause, Context, Error, Types};
use kapstan_embedded::strategic;
use serde_json::{Map, Value, json};

use crate::outcome::{Outcome, masked};
use crate::scenario::{CONFIG_MAP, Kind, NAMESPACE, SECRET, SERVICE, Scenario, Step, Verb};

pub(crate) struct Model {
    kind: Kind,
    types: Types,
    name: String,
    stored: Option<Value>,
    pub(crate) now: Timestamp,
}

/// A refusal, as far as these functions make it.
struct Refusal {
    code: u16,
    reason: String,
    message: String,
    causes: Vec<Cause>,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let (code, reason, message) = (error.code(), error.reason().to_owned(), error.to_string());
        let causes = if let Error::Conflict { causes, .. } = error { causes } else { Vec::new() };
        Self { code, reason, message, causes }
    }
}

impl Model {
    pub(crate) fn new(kind: Kind, name: &str) -> Self {
        let now = Timestamp::from_second(1_700_000_000).expect("a time");
        Self { kind, types: kind.types(), name: name.to_owned(), stored: None, now }
    }

    pub(crate) fn run(scenario: &Scenario, name: &str) -> Vec<Outcome> {
        let mut model = Self::new(scenario.kind, name);
        scenario.steps.iter().map(|step| model.step(step)).collect()
    }

    pub(crate) fn stored(&self) -> Value {
        self.stored.clone().unwrap_or_default()
    }

    pub(crate) fn step(&mut self, step: &Step) -> Outcome {
        let before = self.stored();
        let body = crate::body_of(self.kind, &self.name, step, &before);
        let refusal = if step.verb == Verb::Delete {
            self.stored = None;
            None
        } else {
            match self.write(step, body) {
                Ok(object) => {
                    self.stored = Some(object);
                    None
                }
                Err(refusal) => Some(refusal),
            }
        };
        let now = self.stored();
        let created = before.is_null() && !now.is_null();
        let code = refusal.as_ref().map_or(if created { 201 } else { 200 }, |refusal| refusal.code);
        let causes = refusal.iter().flat_map(|refusal| &refusal.causes).map(|cause| {
            json!({"reason": Cause::REASON, "message": cause.message, "field": cause.field}).to_string()
        });
        let mut causes: Vec<_> = causes.collect();
        causes.sort();
        let text = |of: fn(&Refusal) -> &str| refusal.as_ref().map(of).unwrap_or_default().to_owned();
        Outcome {
            code,
            reason: text(|refusal| &refusal.reason),
            message: text(|refusal| if refusal.code == 422 { "" } else { &refusal.message })
                .replace(&self.name, "NAME"),
            causes,
            changed: before != now,
            object: masked(
                &serde_json::from_str(&now.to_string().replace(&self.name, "NAME")).unwrap_or_default(),
            ),
        }
    }

    fn write(&self, step: &Step, body: Value) -> Result<Value, Refusal> {
        let live = self.stored.as_ref();
        let ctx = Context {
            types: &self.types,
            kind: self.kind.name,
            api_version: self.kind.api_version,
            subresource: step.subresource,
            manager: &apply::manager_name(&step.manager, "agent/1.0"),
            force: step.force,
            now: self.now,
        };
        let mut object = match (step.verb, live) {
            (Verb::Apply, _) => {
                let mut object = apply::apply(live, &body, &ctx)?;
                self.decode(&mut object);
                object
            }
            (Verb::Merge, Some(live)) => {
                let mut object = live.clone();
                merge(&mut object, &body);
                self.decode(&mut object);
                apply::update(Some(live), object, &ctx)
            }
            (Verb::Strategic, Some(live)) => {
                let mut object = strategic_patch(self.kind, live, &body)?;
                self.decode(&mut object);
                apply::update(Some(live), object, &ctx)
            }
            _ => {
                let mut object = body;
                self.decode(&mut object);
                apply::update(live, object, &ctx)
            }
        };
        self.give_back(step.subresource, live, &mut object);
        self.fill_in(live, &mut object);
        if self.kind.is_custom()
            && ["spec", "status"].iter().any(|name| object.get(name).is_some_and(has_bad_null))
        {
            return Err(Refusal {
                code: 422,
                reason: "Invalid".to_owned(),
                message: String::new(),
                causes: Vec::new(),
            });
        }
        if let Some(live) = live {
            apply::keep_times(live, &mut object);
        }
        Ok(object)
    }

    /// What decoding and defaulting do.
    fn decode(&self, object: &mut Value) {
        if self.kind.is_custom() {
            drop_empty(&mut object["metadata"]);
            default_widget(object);
            return;
        }
        let drops_empty = [CONFIG_MAP, SECRET, SERVICE, NAMESPACE];
        if drops_empty.contains(&self.kind) || self.kind.name == "ServiceAccount" {
            drop_empty(object);
        }
        if self.kind == SECRET {
            decode_secret(object);
        }
        if self.kind == SERVICE {
            default_service(object);
        }
        if self.kind == NAMESPACE {
            object["metadata"]["labels"]["kubernetes.io/metadata.name"] = object["metadata"]["name"].clone();
        }
    }

    /// What an endpoint gives back to what is stored.
    fn give_back(&self, subresource: &str, live: Option<&Value>, object: &mut Value) {
        if !self.kind.has_status() {
            return;
        }
        if subresource.is_empty() {
            let status = live.and_then(|live| live.get("status")).cloned();
            set(object, "status", status);
        } else if let (Some(live), false) = (live, self.kind.is_custom()) {
            set(object, "spec", live.get("spec").cloned());
        } else if let Some(live) = live {
            let mut kept = live.clone();
            set(&mut kept, "status", object.get("status").cloned());
            let managers = object["metadata"].get("managedFields").cloned();
            set(&mut kept["metadata"], "managedFields", managers);
            *object = kept;
        }
    }

    /// What a server makes up.
    fn fill_in(&self, live: Option<&Value>, object: &mut Value) {
        let made = json!({"uid": "made", "creationTimestamp": "2024-01-01T00:00:00Z"});
        for (name, field) in made.as_object().into_iter().flatten() {
            object["metadata"][name] = live.map_or(field, |live| &live["metadata"][name]).clone();
        }
        if self.kind.name == "EndpointSlice" {
            // Protobuf knows no empty list.
            for name in ["endpoints", "ports"] {
                if object[name] == json!([]) {
                    object[name] = Value::Null;
                }
            }
        }
        if self.kind.namespaced {
            object["metadata"]["namespace"] = json!("NAMESPACE");
        }
        if self.kind == SERVICE {
            for (name, field) in [
                ("clusterIP", json!("10.0.0.1")),
                ("clusterIPs", json!(["10.0.0.1"])),
                ("ipFamilies", json!(["IPv4"])),
                ("ipFamilyPolicy", json!("SingleStack")),
            ] {
                object["spec"][name] = field;
            }
            let status = object.as_object_mut().expect("an object").entry("status");
            status.or_insert_with(|| json!({"loadBalancer": {}}));
        }
        if self.kind == NAMESPACE {
            let spec = object.as_object_mut().expect("an object").entry("spec");
            *spec.or_insert_with(|| json!({})) = json!({"finalizers": ["kubernetes"]});
            let status = object.as_object_mut().expect("an object").entry("status");
            status.or_insert_with(|| json!({"phase": "Active"}));
        }
    }
}

fn set(object: &mut Value, name: &str, field: Option<Value>) {
    let object = object.as_object_mut().expect("an object");
    match field {
        Some(field) => drop(object.insert(name.to_owned(), field)),
        None => drop(object.remove(name)),
    }
}

fn strategic_patch(kind: Kind, live: &Value, patch: &Value) -> Result<Value, Refusal> {
    let (Some(live), Some(patch)) = (live.as_object(), patch.as_object()) else { panic!("no objects") };
    let refusal = |code, reason: &str, message: &str| Refusal {
        code,
        reason: reason.to_owned(),
        message: message.to_owned(),
        causes: Vec::new(),
    };
    let patched = strategic::patch(live, patch, kind.api_version, kind.name)
        .ok_or_else(|| refusal(415, "UnsupportedMediaType", ""))?;
    patched.map(Value::Object).map_err(|error| refusal(error.code(), error.reason(), &error.to_string()))
}

/// JSON merge patch.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let fields = target.as_object_mut().expect("an object");
    for (name, field) in patch {
        if field.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name).or_insert(Value::Null), field);
        }
    }
}

/// Drops what Go leaves out when it writes a built-in kind.
fn drop_empty(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let managers = fields.remove("managedFields");
            for field in fields.values_mut() {
                drop_empty(field);
            }
            fields.retain(|_, field| {
                !field.is_null()
                    && field.as_object().is_none_or(|fields| !fields.is_empty())
                    && field.as_array().is_none_or(|items| !items.is_empty())
            });
            if let Some(managers) = managers {
                fields.insert("managedFields".to_owned(), managers);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(drop_empty),
        _ => {}
    }
}

fn decode_secret(object: &mut Value) {
    if let Some(Value::Object(texts)) = object.as_object_mut().and_then(|secret| secret.remove("stringData"))
    {
        for (name, text) in texts {
            let text = text.as_str().unwrap_or_default();
            object["data"][name] = json!(base64::engine::general_purpose::STANDARD.encode(text));
        }
    }
    let secret = object.as_object_mut().expect("an object");
    secret.entry("type").or_insert_with(|| json!("Opaque"));
}

fn default_service(object: &mut Value) {
    let fields = json!({
        "sessionAffinity": "None", "type": "ClusterIP", "internalTrafficPolicy": "Cluster",
    });
    let spec = object.as_object_mut().expect("an object").entry("spec").or_insert_with(|| json!({}));
    for (name, field) in fields.as_object().into_iter().flatten() {
        spec.as_object_mut().expect("a map").entry(name).or_insert_with(|| field.clone());
    }
    for port in spec["ports"].as_array_mut().into_iter().flatten() {
        let number = port["port"].clone();
        let port = port.as_object_mut().expect("a map");
        port.entry("protocol").or_insert_with(|| json!("TCP"));
        port.entry("targetPort").or_insert(number);
    }
}

/// Whether validation would find a null where the schema of the scenarios allows none.
fn has_bad_null(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            let is_bad = |(name, field): (&String, &Value)| match name.as_str() {
                "nothing" => false,
                "free" => field.is_null(),
                _ => field.is_null() || has_bad_null(field),
            };
            fields.iter().any(is_bad)
        }
        Value::Array(items) => items.iter().any(has_bad_null),
        other => other.is_null(),
    }
}

/// The defaults of the schema of the scenarios. A null that is not allowed becomes the default or goes.
fn default_widget(object: &mut Value) {
    for item in object.pointer_mut("/spec/keyed").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(item) = item.as_object_mut() {
            item.entry("port").or_insert_with(|| json!(80));
        }
    }
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.entry("defaulted").or_insert_with(|| json!("made"));
    }
}
