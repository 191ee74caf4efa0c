//! The table of built-in kinds against what the real server serves.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use anyhow::{Context as _, Result};
use http::Method;
use serde_json::{Map, Value, json};

use crate::real::Real;

const TABLE: &str = "src/apply/builtin.json";

/// The kinds that are served, by the `OpenAPI` document that describes them.
const KINDS: [(&str, &[&str]); 7] = [
    ("api/v1", &["ConfigMap", "Event", "Namespace", "Secret", "Service", "ServiceAccount"]),
    (
        "apis/admissionregistration.k8s.io/v1",
        &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
    ),
    ("apis/apiextensions.k8s.io/v1", &["CustomResourceDefinition"]),
    ("apis/coordination.k8s.io/v1", &["Lease"]),
    ("apis/discovery.k8s.io/v1", &["EndpointSlice"]),
    ("apis/events.k8s.io/v1", &["Event"]),
    ("apis/rbac.authorization.k8s.io/v1", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
];

/// What of a schema decides about merging.
const KEPT: [&str; 9] = [
    "type",
    "format",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-preserve-unknown-fields",
];

/// A schema without what is not looked at. The names of the schemas that it refers to are collected.
fn trimmed(schema: &Value, names: &mut Vec<String>) -> Value {
    let mut kept: Map<_, _> =
        KEPT.iter().filter_map(|name| Some(((*name).to_owned(), schema.get(name)?.clone()))).collect();
    let reference = schema["$ref"].as_str().or_else(|| match schema["allOf"].as_array()?.as_slice() {
        [one] => one["$ref"].as_str(),
        _ => None,
    });
    if let Some(name) = reference.and_then(|reference| reference.rsplit('/').next()) {
        kept.insert("$ref".to_owned(), json!(name));
        names.push(name.to_owned());
    }
    if let Some(default) = schema.get("default").filter(|default| !default.is_object() && !default.is_array())
    {
        kept.insert("default".to_owned(), default.clone());
    }
    for name in ["items", "additionalProperties"] {
        if let Some(below) = schema.get(name) {
            let below = if below.is_object() { trimmed(below, names) } else { below.clone() };
            kept.insert(name.to_owned(), below);
        }
    }
    if let Some(Value::Object(properties)) = schema.get("properties") {
        let below = properties.iter().map(|(name, field)| (name.clone(), trimmed(field, names))).collect();
        kept.insert("properties".to_owned(), Value::Object(below));
    }
    Value::Object(kept)
}

async fn served(real: &Real) -> Result<Value> {
    let (mut kinds, mut definitions) = (BTreeMap::new(), BTreeMap::new());
    for (path, wanted) in KINDS {
        let (_, document) = real.send(Method::GET, &format!("/openapi/v3/{path}"), "", &Value::Null).await?;
        let schemas = document["components"]["schemas"].as_object().context("no schemas")?;
        let api_version = path.split_once('/').context("a path has two parts")?.1;
        let mut names = Vec::new();
        for (name, schema) in schemas {
            let of_kind = schema["x-kubernetes-group-version-kind"].as_array().cloned().unwrap_or_default();
            for kind in
                of_kind.iter().filter_map(|kind| kind["kind"].as_str()).filter(|kind| wanted.contains(kind))
            {
                kinds.insert(format!("{api_version} {kind}"), name.clone());
                names.push(name.clone());
            }
        }
        while let Some(name) = names.pop() {
            if let Entry::Vacant(definition) = definitions.entry(name) {
                let schema = trimmed(&schemas[definition.key()], &mut names);
                definition.insert(schema);
            }
        }
    }
    Ok(json!({"kinds": kinds, "definitions": definitions}))
}

/// With `UPDATE` set the table is written anew.
#[tokio::test]
async fn the_table_of_built_in_kinds_is_what_the_real_server_serves() -> Result<()> {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE);
    let served = format!("{:#}\n", served(&Real::start().await?).await?);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&table, &served)?;
    }
    similar_asserts::assert_eq!(std::fs::read_to_string(&table)?, served, "run with UPDATE=1");
    Ok(())
}
