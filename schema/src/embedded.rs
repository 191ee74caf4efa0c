//! Type and object metadata of embedded resources.
//!
//! Behaviour: apiextensions-apiserver `pkg/apiserver/schema/objectmeta`. Of the metadata's own rules the
//! types of the fields and the name are checked; the syntax of labels and annotations, owner references,
//! finalizers and managed fields are not.

use serde_json::{Map, Value};

use crate::error::{FieldError, MAX_ERRORS};
use crate::format::is_label;
use crate::node::Node;
use crate::path::Path;

pub(crate) fn check(value: &Value, node: &Node, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    match value {
        _ if errors.len() >= MAX_ERRORS => {}
        Value::Object(fields) => {
            if node.embedded {
                resource(fields, path, errors);
            }
            for (name, value) in fields {
                if let Some(property) = node.properties.get(name) {
                    check(value, property, &path.field(name), errors);
                } else if let Some(values) = node.map_values() {
                    check(value, values, &path.key(name), errors);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = node.items() else { return };
            for (index, item) in items.iter().enumerate() {
                check(item, schema, &path.index(index), errors);
            }
        }
        _ => {}
    }
}

fn resource(fields: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        let path = path.field(name).text();
        match fields.get(name) {
            None => errors.push(FieldError::required(path, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(path, text.clone().into(), "must not be empty"));
            }
            Some(Value::String(text)) => {
                if let Some(why) = wrong(name, text) {
                    errors.push(FieldError::invalid(path, text.clone().into(), why));
                }
            }
            Some(other) => errors.push(FieldError::invalid(path, other.clone(), "must be a string")),
        }
    }
    let here = path.field("metadata");
    match fields.get("metadata") {
        Some(Value::Object(metadata)) => meta(metadata, &here, errors),
        Some(Value::Null) | None => {}
        Some(other) => errors.push(FieldError::invalid(here.text(), other.clone(), "must be an object")),
    }
}

const DNS_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

fn wrong(name: &str, text: &str) -> Option<String> {
    if name == "apiVersion" {
        return (text.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {text}"));
    }
    let lower = text.to_lowercase();
    let valid = is_label(&lower) && lower.starts_with(|c: char| c.is_ascii_lowercase()) && lower.len() <= 63;
    (!valid).then(|| format!("may have mixed case, but should otherwise match: {DNS_1035}"))
}

fn meta(metadata: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for name in ["name", "generateName", "namespace", "uid", "resourceVersion", "selfLink"] {
        if let Some(other) = metadata.get(name).filter(|value| !value.is_string() && !value.is_null()) {
            errors.push(FieldError::invalid(path.field(name).text(), other.clone(), "must be a string"));
        }
    }
    if let Some(Value::String(name)) = metadata.get("name")
        && (name == "." || name == ".." || name.contains(['/', '%']))
    {
        let why = if name == "." || name == ".." {
            format!("may not be '{name}'")
        } else {
            format!("may not contain '{}'", if name.contains('/') { '/' } else { '%' })
        };
        errors.push(FieldError::invalid(path.field("name").text(), name.clone().into(), why));
    }
    for name in ["labels", "annotations"] {
        let path = path.field(name);
        match metadata.get(name) {
            Some(Value::Object(entries)) => {
                for value in entries.values().filter(|value| !value.is_string()) {
                    errors.push(FieldError::invalid(path.text(), value.clone(), "must be a string"));
                }
            }
            Some(Value::Null) | None => {}
            Some(other) => errors.push(FieldError::invalid(path.text(), other.clone(), "must be an object")),
        }
    }
}
