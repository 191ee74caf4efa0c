//! Defaults.
//!
//! Behaviour: apiextensions-apiserver `pkg/apiserver/schema/defaulting`.

use serde_json::Value;

use crate::node::Node;

/// Puts defaults where a field is missing, or null without being nullable.
pub(crate) fn apply(value: &mut Value, node: &Node) {
    match value {
        Value::Object(fields) => {
            for (name, property) in &node.properties {
                let Some(default) = &property.default else { continue };
                match fields.get_mut(name) {
                    None => drop(fields.insert(name.clone(), default.clone())),
                    Some(value) => replace_null(value, property),
                }
            }
            for (name, value) in fields {
                if let Some(property) = node.properties.get(name) {
                    apply(value, property);
                } else if let Some(values) = node.map_values() {
                    replace_null(value, values);
                    apply(value, values);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = node.items() else { return };
            for item in items {
                replace_null(item, schema);
                apply(item, schema);
            }
        }
        _ => {}
    }
}

/// Puts the default where a value is null without being nullable.
pub(crate) fn replace_null(value: &mut Value, node: &Node) {
    if value.is_null()
        && !node.nullable
        && let Some(default) = &node.default
    {
        *value = default.clone();
    }
}
