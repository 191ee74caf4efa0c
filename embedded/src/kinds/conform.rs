//! Makes an object of a built-in kind what it would be after a trip through the API server's Go types:
//! unknown fields go, wrong types are refused, and what Go leaves out when it writes is left out.
//!
//! The types are those of `OpenAPI` documents (see `definitions`), which do not say everything: a
//! few tables here say the rest.
//!
//! Behaviour: `encoding/json` as the API server uses it; `omitempty` in `k8s.io/api`.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::definitions::definition;

const CRD: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.";

/// The definition of object metadata, which custom resources have too.
pub(crate) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// How deep an object may be.
const MAX_DEPTH: usize = 200;

/// Fields that hold a struct rather than a pointer to one: written even when empty.
const STRUCTS: &[(&str, &str)] = &[
    ("io.k8s.api.core.v1.Namespace", "spec"),
    ("io.k8s.api.core.v1.Namespace", "status"),
    ("io.k8s.api.core.v1.Service", "spec"),
    ("io.k8s.api.core.v1.Service", "status"),
    ("io.k8s.api.core.v1.ServiceStatus", "loadBalancer"),
    ("io.k8s.api.core.v1.Event", "involvedObject"),
    ("io.k8s.api.core.v1.Event", "source"),
    ("io.k8s.api.events.v1.Event", "regarding"),
    ("io.k8s.api.events.v1.Event", "deprecatedSource"),
    ("io.k8s.api.coordination.v1.Lease", "spec"),
    ("io.k8s.api.discovery.v1.Endpoint", "conditions"),
    ("io.k8s.api.rbac.v1.RoleBinding", "roleRef"),
    ("io.k8s.api.rbac.v1.ClusterRoleBinding", "roleRef"),
    ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition", "spec"),
    ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec", "names"),
];

/// Fields that are written as null when there is nothing in them.
const NULLS: &[(&str, &str)] = &[
    ("io.k8s.api.core.v1.Event", "firstTimestamp"),
    ("io.k8s.api.core.v1.Event", "lastTimestamp"),
    ("io.k8s.api.core.v1.Event", "eventTime"),
    ("io.k8s.api.events.v1.Event", "eventTime"),
    ("io.k8s.api.events.v1.Event", "deprecatedFirstTimestamp"),
    ("io.k8s.api.events.v1.Event", "deprecatedLastTimestamp"),
    ("io.k8s.api.rbac.v1.Role", "rules"),
    ("io.k8s.api.rbac.v1.ClusterRole", "rules"),
    ("io.k8s.api.rbac.v1.PolicyRule", "verbs"),
    ("io.k8s.api.discovery.v1.EndpointSlice", "endpoints"),
    ("io.k8s.api.discovery.v1.EndpointSlice", "ports"),
    ("io.k8s.api.discovery.v1.Endpoint", "addresses"),
];

/// Numbers and truth values that are left out when they are zero or false: no pointers, `omitempty`.
const ZEROS: &[(&str, &str)] = &[
    ("io.k8s.api.core.v1.Event", "count"),
    ("io.k8s.api.core.v1.EventSeries", "count"),
    ("io.k8s.api.events.v1.Event", "deprecatedCount"),
    ("io.k8s.api.core.v1.ServicePort", "nodePort"),
    ("io.k8s.api.core.v1.ServiceSpec", "publishNotReadyAddresses"),
    ("io.k8s.api.core.v1.ServiceSpec", "healthCheckNodePort"),
    ("io.k8s.api.core.v1.ServicePort", "targetPort"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "generation"),
    (
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec",
        "preserveUnknownFields",
    ),
    (
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionStatus",
        "observedGeneration",
    ),
    (
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionCondition",
        "observedGeneration",
    ),
    (
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionVersion",
        "deprecated",
    ),
    ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceColumnDefinition", "priority"),
    ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps", "nullable"),
    ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps", "uniqueItems"),
    ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps", "exclusiveMinimum"),
    ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps", "exclusiveMaximum"),
    (
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
        "x-kubernetes-embedded-resource",
    ),
    (
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
        "x-kubernetes-int-or-string",
    ),
];

/// The types whose values are any JSON at all, or are checked by kapstan-schema.
const FREE: &[&str] =
    &["JSON", "JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray"];

/// What a decoded object was like.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Unknown(pub(crate) Vec<String>);

/// Makes the value one of the type. Returns the unknown fields that were dropped.
///
/// # Errors
/// What Go's decoder says about a value of a wrong type.
pub(crate) fn conform(value: &mut Value, type_name: &str) -> Result<Unknown, String> {
    let mut walk = Walk::at("");
    walk.structure(value, type_name, 0)?;
    Ok(Unknown(walk.unknown))
}

/// Makes the metadata of any object what it would be after Go's types. Returns the unknown fields.
///
/// # Errors
/// As [`conform`].
pub(crate) fn conform_metadata(object: &mut Value) -> Result<Unknown, String> {
    let mut walk = Walk::at("metadata");
    if let Some(metadata) = object.get_mut("metadata") {
        if metadata.is_null() {
            *metadata = Value::Object(Map::new());
        }
        // The decoder starts at the metadata here, so its path does not name them.
        walk.structure(metadata, OBJECT_META, 1).map_err(|why| why.replace(".metadata.", "."))?;
    }
    Ok(Unknown(walk.unknown))
}

/// What is stored knows no empty lists.
pub(crate) fn as_stored(object: &mut Value, type_name: &str) {
    for (name, value) in object.as_object_mut().into_iter().flatten() {
        if value.as_array().is_some_and(Vec::is_empty) && NULLS.contains(&(type_name, name.as_str())) {
            *value = Value::Null;
        }
    }
}

struct Walk {
    /// As far as they fit into [`UNKNOWN_LIMIT`].
    unknown: Vec<String>,
    unknown_bytes: usize,
    path: String,
}

/// The most bytes of paths of unknown fields that are told.
const UNKNOWN_LIMIT: usize = 1024 * 1024;

/// Where a value is, for the text of a refusal: the innermost struct, and the type Go expects.
struct Place<'a> {
    structure: &'a str,
    field: &'a str,
}

impl Walk {
    fn at(path: &str) -> Self {
        Self { unknown: Vec::new(), unknown_bytes: 0, path: path.to_owned() }
    }

    fn tell_unknown(&mut self) {
        if self.unknown_bytes < UNKNOWN_LIMIT {
            self.unknown_bytes += self.path.len();
            self.unknown.push(self.path.clone());
        }
    }

    fn structure(&mut self, value: &mut Value, type_name: &str, depth: usize) -> Result<(), String> {
        let Some(properties) = definition(type_name).and_then(|found| found.get("properties")) else {
            return Ok(());
        };
        let Value::Object(fields) = value else { return Ok(()) };
        self.known(fields, properties, type_name, depth)?;
        complete(fields, properties, type_name);
        Ok(())
    }

    fn known(
        &mut self,
        fields: &mut Map<String, Value>,
        properties: &Value,
        type_name: &str,
        depth: usize,
    ) -> Result<(), String> {
        let mut dropped = Vec::new();
        for (name, value) in &mut *fields {
            let length = self.enter(name);
            match properties.get(name) {
                None => {
                    self.tell_unknown();
                    dropped.push(name.clone());
                }
                Some(schema) => {
                    let place = Place { structure: short(type_name), field: name };
                    self.value(value, schema, &place, depth + 1)?;
                    if is_left_out(value, schema, type_name, name) {
                        dropped.push(name.clone());
                    }
                }
            }
            self.path.truncate(length);
        }
        for name in dropped {
            fields.remove(&name);
        }
        Ok(())
    }

    fn enter(&mut self, name: &str) -> usize {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        length
    }

    fn value(
        &mut self,
        value: &mut Value,
        schema: &Value,
        place: &Place<'_>,
        depth: usize,
    ) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err("exceeded max depth".to_owned());
        }
        if value.is_null() {
            return Ok(());
        }
        if let Some(reference) = schema["$ref"].as_str() {
            return self.reference(value, reference, place, depth);
        }
        match schema["type"].as_str() {
            Some("object") => self.map(value, schema, place, depth),
            Some("array") => self.list(value, schema, place, depth),
            Some("string") => self.string(value, schema, place),
            Some("integer" | "number") => self.number(value, schema, place),
            Some("boolean") if !value.is_boolean() => Err(self.mismatch(value, place, "bool")),
            _ => Ok(()),
        }
    }

    fn reference(
        &mut self,
        value: &mut Value,
        reference: &str,
        place: &Place<'_>,
        depth: usize,
    ) -> Result<(), String> {
        match short(reference) {
            "Time" => time(value, self.mismatch(value, place, "v1.Time")),
            "MicroTime" => micro_time(value, self.mismatch(value, place, "v1.MicroTime")),
            "IntOrString" if value.is_string() || value.is_i64() => Ok(()),
            "IntOrString" => Err(self.mismatch(value, place, "int32")),
            "FieldsV1" => Ok(()),
            name if reference.starts_with(CRD) && FREE.contains(&name) => Ok(()),
            name => {
                if !value.is_object() {
                    return Err(self.mismatch(value, place, &format!("v1.{name}")));
                }
                self.structure(value, reference, depth)
            }
        }
    }

    fn map(
        &mut self,
        value: &mut Value,
        schema: &Value,
        place: &Place<'_>,
        depth: usize,
    ) -> Result<(), String> {
        let expected = go_type(schema);
        let Value::Object(entries) = value else { return Err(self.mismatch(value, place, &expected)) };
        let Some(of) = schema.get("additionalProperties") else { return Ok(()) };
        for (key, entry) in entries {
            if entry.is_null() {
                *entry = zero(of);
            }
            let is_struct = of.get("$ref").is_some();
            let length = if is_struct { self.enter(key) } else { self.path.len() };
            self.value(entry, of, place, depth + 1)?;
            self.path.truncate(length);
        }
        Ok(())
    }

    fn list(
        &mut self,
        value: &mut Value,
        schema: &Value,
        place: &Place<'_>,
        depth: usize,
    ) -> Result<(), String> {
        let expected = go_type(schema);
        let Value::Array(items) = value else { return Err(self.mismatch(value, place, &expected)) };
        let of = &schema["items"];
        for (index, item) in items.iter_mut().enumerate() {
            if item.is_null() {
                *item = zero(of);
            }
            let length = self.path.len();
            let _ = write!(self.path, "[{index}]"); // writing to memory cannot fail
            self.value(item, of, place, depth + 1)?;
            self.path.truncate(length);
        }
        Ok(())
    }

    fn string(&self, value: &mut Value, schema: &Value, place: &Place<'_>) -> Result<(), String> {
        let Value::String(text) = value else {
            return Err(self.mismatch(value, place, string_type(place.field)));
        };
        if schema["format"] == "byte" {
            *text = BASE64_STANDARD.encode(decode_base64(text)?);
        }
        Ok(())
    }

    fn number(&self, value: &mut Value, schema: &Value, place: &Place<'_>) -> Result<(), String> {
        if schema["type"] == "number" {
            return if value.is_number() { Ok(()) } else { Err(self.mismatch(value, place, "float64")) };
        }
        let fits = |number: i64| schema["format"] == "int64" || i32::try_from(number).is_ok();
        if value.as_i64().is_some_and(fits) {
            return Ok(());
        }
        Err(self.mismatch(value, place, schema["format"].as_str().unwrap_or("int64")))
    }

    /// What Go's decoder says. Its paths do not name the items of lists.
    fn mismatch(&self, value: &Value, place: &Place<'_>, expected: &str) -> String {
        let what = match value {
            Value::Null => "null".to_owned(),
            Value::Bool(_) => "bool".to_owned(),
            Value::Number(number) if number.is_i64() && !expected.starts_with("int") => "number".to_owned(),
            Value::Number(number) => format!("number {number}"),
            Value::String(_) => "string".to_owned(),
            Value::Array(_) => "array".to_owned(),
            Value::Object(_) => "object".to_owned(),
        };
        let path: String =
            self.path.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect();
        format!(
            "json: cannot unmarshal {what} into Go struct field {}.{path} of type {expected}",
            place.structure
        )
    }
}

/// What Go's encoder leaves out: nothing, and what is empty where the field says so.
fn is_left_out(value: &Value, schema: &Value, type_name: &str, name: &str) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(is) => !is && ZEROS.contains(&(type_name, name)),
        Value::Number(number) => number.as_i64() == Some(0) && ZEROS.contains(&(type_name, name)),
        Value::String(text) => {
            text.is_empty() && schema.get("default").is_none() && !is_pointer(type_name, name)
        }
        Value::Array(items) => {
            items.is_empty() && !NULLS.contains(&(type_name, name)) && !is_required_list(type_name, name)
        }
        Value::Object(fields) => fields.is_empty() && schema.get("$ref").is_none(),
    }
}

/// Texts behind pointers keep their empty value.
fn is_pointer(type_name: &str, name: &str) -> bool {
    match short(type_name) {
        "LeaseSpec" | "EndpointPort" => true,
        "Endpoint" => matches!(name, "hostname" | "nodeName" | "zone"),
        "ServicePort" => name == "appProtocol",
        "WebhookClientConfig" => name == "url",
        "ServiceReference" => name == "path",
        _ => false,
    }
}

/// Lists that are written even when empty.
fn is_required_list(type_name: &str, name: &str) -> bool {
    (short(type_name), name) == ("CustomResourceDefinitionStatus", "conditions")
        || (short(type_name), name) == ("CustomResourceDefinitionStatus", "storedVersions")
}

/// Puts in what Go's encoder always writes.
fn complete(fields: &mut Map<String, Value>, properties: &Value, type_name: &str) {
    for (name, schema) in properties.as_object().into_iter().flatten() {
        if fields.contains_key(name) {
            continue;
        }
        if NULLS.contains(&(type_name, name.as_str())) {
            fields.insert(name.clone(), Value::Null);
        } else if STRUCTS.contains(&(type_name, name.as_str())) {
            let mut empty = Value::Object(Map::new());
            if let (Some(reference), Value::Object(inner)) = (schema["$ref"].as_str(), &mut empty)
                && let Some(properties) = definition(reference).and_then(|found| found.get("properties"))
            {
                complete(inner, properties, reference);
            }
            fields.insert(name.clone(), empty);
        } else if let Some(default) = schema.get("default") {
            fields.insert(name.clone(), default.clone());
        }
    }
}

fn zero(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("string") => Value::String(String::new()),
        Some("integer" | "number") => 0.into(),
        Some("boolean") => false.into(),
        _ if schema.get("$ref").is_some() => Value::Object(Map::new()),
        _ => Value::Null,
    }
}

fn go_type(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return format!("v1.{}", short(reference));
    }
    match schema["type"].as_str() {
        Some("array") => format!("[]{}", go_type(&schema["items"])),
        Some("object") => format!("map[string]{}", go_type(&schema["additionalProperties"])),
        Some("boolean") => "bool".to_owned(),
        Some("integer") => schema["format"].as_str().unwrap_or("int64").to_owned(),
        Some("string") if schema["format"] == "byte" => "[]uint8".to_owned(),
        _ => "string".to_owned(),
    }
}

fn string_type(field: &str) -> &'static str {
    if field == "uid" { "types.UID" } else { "string" }
}

fn short(type_name: &str) -> &str {
    type_name.rsplit('.').next().unwrap_or(type_name)
}

fn decode_base64(text: &str) -> Result<Vec<u8>, String> {
    let text: String = text.chars().filter(|character| !matches!(character, '\n' | '\r')).collect();
    BASE64_STANDARD.decode(&text).map_err(|error| {
        let position = match error {
            base64::DecodeError::InvalidByte(position, _)
            | base64::DecodeError::InvalidLastSymbol(position, _) => position,
            // Go names the start of the group that is not whole.
            _ => text.len() / 4 * 4,
        };
        format!("illegal base64 data at input byte {position}")
    })
}

fn time(value: &mut Value, mismatch: String) -> Result<(), String> {
    let text = value.as_str().ok_or(mismatch)?;
    let at: Timestamp = parse_time(text, "2006-01-02T15:04:05Z07:00")?;
    *value = crate::clock::seconds(at).into();
    Ok(())
}

fn micro_time(value: &mut Value, mismatch: String) -> Result<(), String> {
    const LAYOUT: &str = "2006-01-02T15:04:05.000000Z07:00";
    let text = value.as_str().ok_or(mismatch)?;
    if text.find('.').is_none_or(|dot| !text[dot + 1..].bytes().take(6).all(|byte| byte.is_ascii_digit())) {
        return Err(format!("parsing time {text:?} as {LAYOUT:?}: cannot parse {text:?} as \".000000\""));
    }
    let at: Timestamp = parse_time(text, LAYOUT)?;
    *value = at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string().into();
    Ok(())
}

fn parse_time(text: &str, layout: &str) -> Result<Timestamp, String> {
    let is_shaped = text.len() >= 20 && text.as_bytes()[10] == b'T';
    let parsed = if is_shaped { text.parse().ok() } else { None };
    parsed.ok_or_else(|| format!("parsing time {text:?} as {layout:?}: cannot parse {text:?} as \"2006\""))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    const CONFIG_MAP: &str = "io.k8s.api.core.v1.ConfigMap";
    const SERVICE: &str = "io.k8s.api.core.v1.Service";
    const LEASE: &str = "io.k8s.api.coordination.v1.Lease";

    #[rstest]
    #[case::label(CONFIG_MAP, json!({ "metadata": { "labels": { "a": 1 } } }), "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string")]
    #[case::uid(CONFIG_MAP, json!({ "metadata": { "ownerReferences": [{ "uid": 4 }] } }), "json: cannot unmarshal number into Go struct field OwnerReference.metadata.ownerReferences.uid of type types.UID")]
    #[case::metadata(CONFIG_MAP, json!({ "metadata": "x" }), "json: cannot unmarshal string into Go struct field ConfigMap.metadata of type v1.ObjectMeta")]
    #[case::map(CONFIG_MAP, json!({ "data": "x" }), "json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string")]
    #[case::bool(CONFIG_MAP, json!({ "immutable": "x" }), "json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool")]
    #[case::base64(CONFIG_MAP, json!({ "binaryData": { "a": "%%" } }), "illegal base64 data at input byte 0")]
    #[case::number(SERVICE, json!({ "spec": { "ports": [{ "port": 1.5 }] } }), "json: cannot unmarshal number 1.5 into Go struct field ServicePort.spec.ports.port of type int32")]
    #[case::int_or_string(SERVICE, json!({ "spec": { "ports": [{ "targetPort": true }] } }), "json: cannot unmarshal bool into Go struct field ServicePort.spec.ports.targetPort of type int32")]
    #[case::time(CONFIG_MAP, json!({ "metadata": { "creationTimestamp": "x" } }), "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"")]
    fn a_value_of_a_wrong_type_is_refused_in_the_words_of_go(
        #[case] kind: &str,
        #[case] mut value: Value,
        #[case] expected: &str,
    ) {
        assert_eq!(conform(&mut value, kind), Err(expected.to_owned()));
    }

    #[rstest]
    #[case::empty_map(CONFIG_MAP, json!({ "metadata": { "labels": {}, "creationTimestamp": null }, "data": {} }), json!({ "metadata": {} }))]
    #[case::null_entry(CONFIG_MAP, json!({ "data": { "a": null } }), json!({ "data": { "a": "" } }))]
    #[case::pointer(CONFIG_MAP, json!({ "immutable": false }), json!({ "immutable": false }))]
    #[case::structs(LEASE, json!({}), json!({ "spec": {} }))]
    #[case::nested(SERVICE, json!({ "spec": {} }), json!({ "spec": {}, "status": { "loadBalancer": {} } }))]
    #[case::micro_time(LEASE, json!({ "spec": { "renewTime": "2026-01-01T01:00:00.1234567+01:00" } }), json!({ "spec": { "renewTime": "2026-01-01T00:00:00.123456Z" } }))]
    fn an_object_is_written_as_go_writes_it(
        #[case] kind: &str,
        #[case] mut value: Value,
        #[case] expected: Value,
    ) {
        assert_eq!(conform(&mut value, kind), Ok(Unknown::default()));
        assert_eq!(value, expected);
    }

    #[test]
    fn unknown_fields_are_dropped_and_named() {
        let mut value =
            json!({ "metadata": { "name": "a", "foo": 1 }, "bogus": 1, "spec": { "ports": [{ "x": 1 }] } });
        let unknown = conform(&mut value, SERVICE);
        assert_eq!(
            unknown,
            Ok(Unknown(vec!["bogus".to_owned(), "metadata.foo".to_owned(), "spec.ports[0].x".to_owned()]))
        );
        assert_eq!(value["spec"], json!({ "ports": [{ "port": 0, "protocol": "TCP" }] }));
    }

    #[test]
    fn an_event_says_what_it_does_not_know() {
        let mut value = json!({ "metadata": { "name": "e" } });
        conform(&mut value, "io.k8s.api.core.v1.Event").unwrap();
        let expected = json!({
            "metadata": { "name": "e" }, "involvedObject": {}, "source": {}, "firstTimestamp": null,
            "lastTimestamp": null, "eventTime": null, "reportingComponent": "", "reportingInstance": "",
        });
        assert_eq!(value, expected);
    }
}
