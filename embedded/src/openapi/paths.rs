//! The paths of kinds, with what kubectl asks of them: which kind they are about, and which parameters
//! writes take.

use serde_json::{Map, Value, json};

use super::schemas::{PREFIX, name, type_of};
use crate::registry::{Kind, Registry, Version};
use crate::rest::served;

const PATCHES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// The paths of a version of a group.
pub(super) fn of(registry: &Registry, group: &str, version: &str) -> Map<String, Value> {
    let mut paths = Map::new();
    for (kind, version) in served(registry, group, version) {
        let all = root(kind, version);
        let one = format!("{all}/{{name}}");
        paths.insert(all, collection(kind, version));
        if version.has_status {
            paths.insert(format!("{one}/status"), object(kind, version, false));
        }
        paths.insert(one, object(kind, version, true));
    }
    paths
}

/// The path of all objects of a kind, in a namespace if it is in one.
pub(super) fn root(kind: &Kind, version: &Version) -> String {
    let names = &kind.names;
    let base = if names.group.is_empty() {
        format!("/api/{}", version.name)
    } else {
        format!("/apis/{}/{}", names.group, version.name)
    };
    let namespace = if kind.is_namespaced { "/namespaces/{namespace}" } else { "" };
    format!("{base}{namespace}/{}", names.plural)
}

fn collection(kind: &Kind, version: &Version) -> Value {
    let list = format!("{}List", name(kind, version));
    json!({
        "get": operation(kind, version, "list", &list, &[]),
        "post": with_body(operation(kind, version, "post", &name(kind, version), &["dryRun", "fieldManager", "fieldValidation"]), kind, version),
        "parameters": path_parameters(kind, false),
    })
}

fn object(kind: &Kind, version: &Version, is_whole: bool) -> Value {
    let schema = name(kind, version);
    let write = ["dryRun", "fieldManager", "fieldValidation"];
    let mut patch =
        operation(kind, version, "patch", &schema, &["dryRun", "fieldManager", "fieldValidation", "force"]);
    let patch_schema =
        json!({ "schema": { "$ref": format!("{PREFIX}io.k8s.apimachinery.pkg.apis.meta.v1.Patch") } });
    let accepted = PATCHES.iter().filter(|one| kind.is_builtin() || !one.contains("strategic"));
    let content: Map<String, Value> = accepted.map(|one| ((*one).to_owned(), patch_schema.clone())).collect();
    patch["requestBody"] = json!({ "content": content, "required": true });
    let mut item = json!({
        "get": operation(kind, version, "get", &schema, &[]),
        "put": with_body(operation(kind, version, "put", &schema, &write), kind, version),
        "patch": patch,
        "parameters": path_parameters(kind, true),
    });
    if is_whole {
        item["delete"] = operation(
            kind,
            version,
            "delete",
            "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
            &["dryRun", "propagationPolicy"],
        );
    }
    item
}

fn operation(kind: &Kind, version: &Version, action: &str, schema: &str, parameters: &[&str]) -> Value {
    let parameter = |name: &&str| {
        let value_type = if *name == "force" { "boolean" } else { "string" };
        json!({ "name": name, "in": "query", "schema": { "type": value_type, "uniqueItems": true } })
    };
    let parameters: Vec<_> = parameters.iter().map(parameter).collect();
    let content = json!({ "application/json": { "schema": { "$ref": format!("{PREFIX}{schema}") } } });
    json!({
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": type_of(kind, version),
        "parameters": parameters,
        "responses": { "200": { "description": "OK", "content": content } },
    })
}

fn with_body(mut operation: Value, kind: &Kind, version: &Version) -> Value {
    let schema = json!({ "schema": { "$ref": format!("{PREFIX}{}", name(kind, version)) } });
    operation["requestBody"] = json!({ "content": { "*/*": schema }, "required": true });
    operation
}

fn path_parameters(kind: &Kind, is_named: bool) -> Vec<Value> {
    let names = kind.is_namespaced.then_some("namespace").into_iter().chain(is_named.then_some("name"));
    names
        .map(|name| {
            json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string", "uniqueItems": true } })
        })
        .collect()
}
