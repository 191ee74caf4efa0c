//! The CRDs of `ExtensionConfig` and `ClusterClass`, every version, made from the [types](crate::types).
//!
//! Equal to Cluster API's apart from descriptions, which are left out: fields, bounds, enums, list types, defaults,
//! printer columns.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::types::{core_v1beta1, core_v1beta2, runtime_v1alpha1, runtime_v1beta2};

/// Both CRDs, as they are applied.
#[must_use]
pub fn all() -> Vec<Value> {
    vec![cluster_class(), extension_config()]
}

/// The CRD of `ExtensionConfig`: `v1alpha1` (deprecated) and `v1beta2` (stored).
#[must_use]
pub fn extension_config() -> Value {
    let age = json!({"jsonPath": ".metadata.creationTimestamp", "name": "Age", "type": "date"});
    let old = Version {
        name: "v1alpha1",
        is_deprecated: true,
        columns: json!([age]),
        schema: schema::<runtime_v1alpha1::ExtensionConfig>(),
    };
    let new = Version {
        name: "v1beta2",
        is_deprecated: false,
        columns: json!([condition("Paused", Some(10)), condition("Discovered", None), age]),
        schema: schema::<runtime_v1beta2::ExtensionConfig>(),
    };
    definition(
        "runtime.cluster.x-k8s.io",
        "Cluster",
        &json!({
            "categories": ["cluster-api"],
            "kind": "ExtensionConfig",
            "listKind": "ExtensionConfigList",
            "plural": "extensionconfigs",
            "shortNames": ["ext"],
            "singular": "extensionconfig",
        }),
        &json!({"cluster.x-k8s.io/v1beta2": "v1beta2"}),
        [old, new],
    )
}

/// The CRD of `ClusterClass`: `v1beta1` (deprecated) and `v1beta2` (stored).
#[must_use]
pub fn cluster_class() -> Value {
    let age = json!({"jsonPath": ".metadata.creationTimestamp", "name": "Age", "type": "date"});
    let old = Version {
        name: "v1beta1",
        is_deprecated: true,
        columns: json!([age]),
        schema: schema::<core_v1beta1::ClusterClass>(),
    };
    let new = Version {
        name: "v1beta2",
        is_deprecated: false,
        columns: json!([
            condition("Paused", Some(10)),
            {"jsonPath": ".status.conditions[?(@.type==\"VariablesReady\")].status", "name": "Variables Ready", "type": "string"},
            age,
        ]),
        schema: schema::<core_v1beta2::ClusterClass>(),
    };
    definition(
        "cluster.x-k8s.io",
        "Namespaced",
        &json!({
            "categories": ["cluster-api"],
            "kind": "ClusterClass",
            "listKind": "ClusterClassList",
            "plural": "clusterclasses",
            "shortNames": ["cc"],
            "singular": "clusterclass",
        }),
        &json!({"cluster.x-k8s.io/v1beta1": "v1beta1", "cluster.x-k8s.io/v1beta2": "v1beta2"}),
        [old, new],
    )
}

struct Version {
    name: &'static str,
    is_deprecated: bool,
    columns: Value,
    schema: Value,
}

fn condition(name: &str, priority: Option<i32>) -> Value {
    let path = format!(".status.conditions[?(@.type==\"{name}\")].status");
    let mut column = json!({"jsonPath": path, "name": name, "type": "string"});
    if let Some(priority) = priority {
        column["priority"] = priority.into();
    }
    column
}

/// The last version is the one that is stored.
fn definition(group: &str, scope: &str, names: &Value, labels: &Value, versions: [Version; 2]) -> Value {
    let name = format!("{}.{group}", names["plural"].as_str().unwrap_or_default());
    let count = versions.len();
    let versions = versions.into_iter().enumerate().map(|(index, version)| {
        let mut described = json!({
            "name": version.name,
            "served": true,
            "storage": index + 1 == count,
            "additionalPrinterColumns": version.columns,
            "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": version.schema},
        });
        if version.is_deprecated {
            described["deprecated"] = true.into();
        }
        described
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "group": group,
            "names": names,
            "scope": scope,
            "versions": versions.collect::<Vec<_>>(),
        },
    })
}

/// What a schema says for itself or for another document.
const NOT_OURS: [&str; 5] = ["$ref", "anyOf", "title", "description", "default"];

/// The structural schema of a type.
fn schema<T: JsonSchema>() -> Value {
    let mut generator = SchemaGenerator::new(SchemaSettings::draft2020_12());
    let root = generator.subschema_for::<T>().to_value();
    let definitions = generator.take_definitions(true);
    structural(&root, &definitions)
}

fn structural(node: &Value, definitions: &Map<String, Value>) -> Value {
    if let Some(literal) = node.get("x-crd") {
        return literal.clone();
    }
    let mut out = match referenced(node, definitions) {
        Some(definition) => structural(definition, definitions),
        None => json!({}),
    };
    for (keyword, value) in node.as_object().into_iter().flatten() {
        let rendered = match keyword.as_str() {
            "type" => single_type(value),
            "properties" => properties(value, definitions),
            "items" => Some(with(structural(value, definitions), node.get("x-crd-items"))),
            "additionalProperties" => Some(with(structural(value, definitions), node.get("x-crd-values"))),
            "x-crd-default" => {
                out["default"] = value.clone();
                None
            }
            "anyOf" if node.get("x-kubernetes-int-or-string").is_some() => Some(value.clone()),
            other if NOT_OURS.contains(&other) => None,
            other if ["x-go", "x-crd", "x-openapi"].iter().any(|mark| other.starts_with(mark)) => None,
            _ => Some(value.clone()),
        };
        if let Some(rendered) = rendered {
            out[keyword] = rendered;
        }
    }
    out
}

fn properties(value: &Value, definitions: &Map<String, Value>) -> Option<Value> {
    let properties = value.as_object()?.iter();
    Some(
        properties
            .map(|(name, node)| (name.clone(), structural(node, definitions)))
            .collect::<Map<_, _>>()
            .into(),
    )
}

/// The definition that a node refers to, also an optional one.
pub(crate) fn referenced<'d>(node: &Value, definitions: &'d Map<String, Value>) -> Option<&'d Value> {
    definitions.get(reference(node)?)
}

/// The name of the definition that a node refers to.
pub(crate) fn reference(node: &Value) -> Option<&str> {
    let direct = node.get("$ref");
    let optional = || node.get("anyOf")?.as_array()?.iter().find_map(|node| node.get("$ref"));
    direct.or_else(optional)?.as_str()?.strip_prefix("#/$defs/")
}

/// `null` beside a type says that a field is optional.
pub(crate) fn single_type(value: &Value) -> Option<Value> {
    match value {
        Value::Array(types) => types.iter().find(|name| **name != "null").cloned(),
        other => Some(other.clone()),
    }
}

fn with(mut node: Value, more: Option<&Value>) -> Value {
    for (keyword, value) in more.and_then(Value::as_object).into_iter().flatten() {
        node[keyword] = value.clone();
    }
    node
}
