//! Config maps, secrets and service accounts.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::{Strategy, default_to, immutable, text};
use crate::names;
use crate::status::{Cause, quoted};
use crate::store::{Fields, object_mut};

const MAX_SIZE: usize = 1024 * 1024;

pub(crate) struct ConfigMap;

impl Strategy for ConfigMap {
    fn validate(&self, object: &Value, old: Option<&Value>, _api_version: &str) -> Vec<Cause> {
        let mut causes = Vec::new();
        for map in ["data", "binaryData"] {
            causes.extend(bad_keys(object, map));
        }
        for key in keys(object, "data").filter(|key| object["binaryData"].get(*key).is_some()) {
            let detail = "duplicate of key present in binaryData";
            causes.push(Cause::invalid(format!("data[{key}]"), &quoted(key), detail));
        }
        if size(object, "data") + size(object, "binaryData") > MAX_SIZE {
            causes.push(Cause::too_long("", MAX_SIZE));
        }
        causes.extend(old.map(|old| frozen(object, old, &["data", "binaryData"])).unwrap_or_default());
        causes
    }
}

pub(crate) struct Secret;

impl Strategy for Secret {
    fn default(&self, object: &mut Value) {
        default_to(object, "type", "Opaque");
        let Some(Value::Object(plain)) = object_mut(object).remove("stringData") else { return };
        let data = object_mut(object).entry("data").or_insert_with(|| json!({}));
        for (key, value) in plain {
            let encoded = BASE64_STANDARD.encode(value.as_str().unwrap_or_default());
            object_mut(data).insert(key, encoded.into());
        }
    }

    fn prepare_update(&self, object: &mut Value, old: &Value, _subresource: &str) {
        if text(object, "type").is_empty() {
            super::keep(object, old, "type");
        }
    }

    fn validate(&self, object: &Value, old: Option<&Value>, _api_version: &str) -> Vec<Cause> {
        let mut causes: Vec<_> = bad_keys(object, "data").collect();
        if size(object, "data") > MAX_SIZE {
            causes.push(Cause::too_long("data", MAX_SIZE));
        }
        causes.extend(missing_keys(object));
        if let Some(old) = old {
            causes.extend(immutable("type", &object["type"], &old["type"]));
            causes.extend(frozen(object, old, &["data"]));
        }
        causes
    }

    fn fields(&self, object: &Value) -> Fields {
        [("type", text(object, "type").into())].into()
    }

    fn selectable(&self) -> &'static [&'static str] {
        &["type"]
    }
}

pub(crate) struct ServiceAccount;

impl Strategy for ServiceAccount {
    fn returns_deleted(&self) -> bool {
        true
    }
}

fn keys<'a>(object: &'a Value, map: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    object[map].as_object().into_iter().flatten().map(|(key, _)| key.as_str())
}

fn bad_keys<'a>(object: &'a Value, map: &'a str) -> impl Iterator<Item = Cause> + use<'a> {
    keys(object, map).flat_map(move |key| {
        let complaints = names::data_key(key).into_iter();
        complaints.map(move |why| Cause::invalid(format!("{map}[{key}]"), &quoted(key), &why))
    })
}

/// The bytes in a map, as they count against the limit: those of a secret before base64.
fn size(object: &Value, map: &str) -> usize {
    let entries = object[map].as_object().into_iter().flatten();
    let is_plain = map == "data" && object.get("type").is_none();
    let length = |text: &str| if is_plain { text.len() } else { text.len() / 4 * 3 };
    entries.map(|(_, value)| length(value.as_str().unwrap_or_default())).sum()
}

/// What an immutable object does not allow.
fn frozen(object: &Value, old: &Value, maps: &[&str]) -> Vec<Cause> {
    if old["immutable"] != true {
        return Vec::new();
    }
    let mut causes = Vec::new();
    let detail = "field is immutable when `immutable` is set";
    if object["immutable"] != true {
        causes.push(Cause::forbidden("immutable", detail));
    }
    let changed = maps.iter().filter(|map| object[**map] != old[**map]);
    causes.extend(changed.map(|map| Cause::forbidden(*map, detail)));
    causes
}

/// The keys that some types of secrets must have.
fn missing_keys(object: &Value) -> Vec<Cause> {
    let needed: &[&str] = match text(object, "type") {
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        _ => &[],
    };
    let missing = needed.iter().filter(|key| object["data"].get(**key).is_none());
    missing.map(|key| Cause::required(format!("data[{key}]"), "")).collect()
}
