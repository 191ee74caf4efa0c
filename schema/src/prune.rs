//! Removal of what a schema does not know.
//!
//! Behaviour: apiextensions-apiserver `pkg/apiserver/schema/pruning`, `defaulting/prunenulls.go`,
//! `objectmeta/coerce.go`.

use serde_json::{Map, Value};

use crate::node::Node;
use crate::path::Path;

/// What every resource has, whatever its schema says.
pub(crate) fn is_meta(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

/// The fields of `ObjectMeta`.
const OBJECT_META: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Removes unknown fields and says which, in the notation of `fieldValidation`.
pub(crate) fn unknown_fields(value: &mut Value, node: &Node, is_resource: bool) -> Vec<String> {
    let mut unknown = Unknown::default();
    prune(value, Some(node), is_resource || node.embedded, &Path::Root, &mut unknown);
    unknown.paths.sort();
    unknown.paths
}

/// The fields that were unknown, as far as their paths fit into a bound.
#[derive(Default)]
struct Unknown {
    paths: Vec<String>,
    bytes: usize,
}

impl Unknown {
    /// The most bytes of paths that are told.
    const LIMIT: usize = 1024 * 1024;

    fn push(&mut self, path: &Path<'_>) {
        if self.bytes < Self::LIMIT {
            let path = path.dotted();
            self.bytes += path.len();
            self.paths.push(path);
        }
    }
}

fn prune(value: &mut Value, node: Option<&Node>, is_resource: bool, path: &Path<'_>, unknown: &mut Unknown) {
    if let Some(node) = node.filter(|node| node.preserves_unknown_fields()) {
        return skip(value, node, is_resource, path, unknown);
    }
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            if node.is_some() && is_resource && is_meta(name) {
                return true;
            }
            let path = path.field(name);
            match node.map(|node| (node, node.properties.get(name))) {
                Some((_, Some(property))) => prune(value, Some(property), property.embedded, &path, unknown),
                Some((node, None)) if node.additional.is_some() => {
                    let values = node.map_values();
                    prune(value, values, values.is_some_and(|node| node.embedded), &path, unknown);
                }
                _ => {
                    unknown.push(&path);
                    return false;
                }
            }
            true
        }),
        Value::Array(items) => {
            let schema = node.and_then(Node::items);
            for (index, item) in items.iter_mut().enumerate() {
                prune(item, schema, schema.is_some_and(|node| node.embedded), &path.index(index), unknown);
            }
        }
        _ => {}
    }
}

/// Below preserved unknown fields: only what the schema names again is pruned.
fn skip(value: &mut Value, node: &Node, is_resource: bool, path: &Path<'_>, unknown: &mut Unknown) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut().filter(|(name, _)| !(is_resource && is_meta(name))) {
                let path = path.field(name);
                if let Some(property) = node.properties.get(name) {
                    prune(value, Some(property), property.embedded, &path, unknown);
                } else if node.additional.is_some() {
                    let values = node.map_values();
                    prune(value, values, values.is_some_and(|node| node.embedded), &path, unknown);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = node.items() else { return };
            for (index, item) in items.iter_mut().enumerate() {
                skip(item, schema, schema.embedded, &path.index(index), unknown);
            }
        }
        _ => {}
    }
}

/// Removes nulls that are no value of their field and that no default replaces.
pub(crate) fn nulls(value: &mut Value, node: Option<&Node>) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let schema = node.and_then(|node| node.child(name));
            if value.is_null() && schema.is_some_and(|schema| !schema.nullable && schema.default.is_none()) {
                return false;
            }
            nulls(value, schema);
            true
        }),
        Value::Array(items) => {
            let schema = node.and_then(Node::items);
            for item in items {
                nulls(item, schema);
            }
        }
        _ => {}
    }
}

/// Removes from the metadata of embedded resources what `ObjectMeta` does not have. The root is the
/// business of whoever decodes resources.
pub(crate) fn embedded_metadata(value: &mut Value, node: &Node, is_root: bool) {
    match value {
        Value::Object(fields) => {
            if node.embedded && !is_root {
                coerce(fields);
            }
            for (name, value) in fields {
                if let Some(schema) = node.child(name) {
                    embedded_metadata(value, schema, false);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = node.items() else { return };
            for item in items {
                embedded_metadata(item, schema, false);
            }
        }
        _ => {}
    }
}

fn coerce(fields: &mut Map<String, Value>) {
    if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
        metadata.retain(|name, value| OBJECT_META.contains(&name.as_str()) && !value.is_null());
    }
}
