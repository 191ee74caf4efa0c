//! The document of version 2: the same schemas, in the form that it knows.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::paths;
use super::schemas::{self, PREFIX, name, type_of};
use crate::registry::Registry;
use crate::rest::served;

/// What version 2 does not know, or what its readers stumble over.
const UNKNOWN: [&str; 8] =
    ["default", "nullable", "oneOf", "anyOf", "allOf", "not", "x-kubernetes-validations", "externalDocs"];

pub(super) fn document(registry: &Registry) -> Value {
    let (mut definitions, mut all) = (BTreeMap::new(), Map::new());
    for (group, _) in registry.groups() {
        for version in registry.versions(group) {
            for (name, mut schema) in schemas::of(registry, group, version) {
                convert(&mut schema);
                definitions.insert(name, schema);
            }
            for (kind, version) in served(registry, group, version) {
                let get = json!({
                    "x-kubernetes-action": "get",
                    "x-kubernetes-group-version-kind": type_of(kind, version),
                    "responses": { "200": {
                        "description": "OK", "schema": { "$ref": format!("#/definitions/{}", name(kind, version)) },
                    } },
                });
                all.insert(format!("{}/{{name}}", paths::root(kind, version)), json!({ "get": get }));
            }
        }
    }
    json!({
        "swagger": "2.0",
        "info": { "title": "Kubernetes", "version": "1.36" },
        "paths": all,
        "definitions": definitions,
    })
}

/// A schema of version 3 becomes one of version 2.
fn convert(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            unwrap_reference(fields);
            let is_free = fields.get("nullable") == Some(&true.into())
                || fields.get("x-kubernetes-preserve-unknown-fields") == Some(&true.into())
                || fields.get("x-kubernetes-int-or-string") == Some(&true.into());
            if fields.get("type").is_none_or(Value::is_string) {
                for name in UNKNOWN {
                    fields.remove(name);
                }
            }
            if is_free && fields.get("type").is_some_and(Value::is_string) {
                // Its values may be of other types too.
                for name in ["type", "properties", "items", "additionalProperties"] {
                    fields.remove(name);
                }
            }
            fields.values_mut().for_each(convert);
        }
        Value::Array(items) => items.iter_mut().for_each(convert),
        _ => {}
    }
}

/// References stand alone in version 2, and are called otherwise.
fn unwrap_reference(fields: &mut Map<String, Value>) {
    let wrapped = fields.get("allOf").and_then(Value::as_array).filter(|all| all.len() == 1);
    let reference = wrapped.and_then(|all| all[0].get("$ref")).or_else(|| fields.get("$ref"));
    if let Some(name) = reference.and_then(Value::as_str).and_then(|text| text.strip_prefix(PREFIX)) {
        let reference = format!("#/definitions/{name}");
        fields.insert("$ref".to_owned(), reference.into());
        fields.remove("allOf");
    }
}
