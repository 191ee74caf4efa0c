//! The OpenAPI document of all hooks, made from the [types](crate::types).
//!
//! Equal to the one that Cluster API publishes, apart from descriptions, which are left out.

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::{
    crd::{reference, single_type},
    hooks::catalog::{self, Descriptor},
    types::hooks as messages,
};

const COMPONENTS: &str = "#/components/schemas/";
const MESSAGES: &str = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1";

/// The whole document.
#[must_use]
pub fn document() -> Value {
    let paths = catalog::HOOKS.iter().map(path).collect::<Map<_, _>>();
    json!({
        "openapi": "3.0.0",
        "info": {"title": "runtime hooks", "version": catalog::VERSION},
        "paths": paths,
        "components": {"schemas": schemas()},
    })
}

fn path(hook: &Descriptor) -> (String, Value) {
    let path = hook.group_version_hook().path(None);
    let mut operation = json!({
        "operationId": format!("hooksRuntimeClusterV1alpha1{}", hook.hook),
        "tags": [hook.tag],
        "requestBody": {"content": {"application/json": {"schema": to(&hook.request_kind())}}},
        "responses": {"200": {
            "description": "",
            "content": {"application/json": {"schema": to(&hook.response_kind())}},
        }},
    });
    if hook.is_singleton {
        return (path, json!({"post": operation}));
    }
    operation["parameters"] =
        json!([{"in": "path", "name": "name", "required": true, "schema": {"type": "string"}}]);
    (format!("{path}/{{name}}"), json!({"post": operation}))
}

fn to(kind: &str) -> Value {
    json!({"$ref": format!("{COMPONENTS}{MESSAGES}.{kind}")})
}

macro_rules! collect {
    ($generator:ident: $($message:ident),*) => {
        $(let _ = $generator.subschema_for::<messages::$message>();)*
    };
}

fn schemas() -> Map<String, Value> {
    let mut generator = SchemaGenerator::new(SchemaSettings::draft2020_12());
    collect!(
        generator: AfterClusterUpgradeRequest, AfterClusterUpgradeResponse, AfterControlPlaneInitializedRequest,
        AfterControlPlaneInitializedResponse, AfterControlPlaneUpgradeRequest, AfterControlPlaneUpgradeResponse,
        AfterWorkersUpgradeRequest, AfterWorkersUpgradeResponse, BeforeClusterCreateRequest,
        BeforeClusterCreateResponse, BeforeClusterDeleteRequest, BeforeClusterDeleteResponse,
        BeforeClusterUpgradeRequest, BeforeClusterUpgradeResponse, BeforeControlPlaneUpgradeRequest,
        BeforeControlPlaneUpgradeResponse, BeforeWorkersUpgradeRequest, BeforeWorkersUpgradeResponse,
        CanUpdateMachineRequest, CanUpdateMachineResponse, CanUpdateMachineSetRequest, CanUpdateMachineSetResponse,
        DiscoverVariablesRequest, DiscoverVariablesResponse, DiscoveryRequest, DiscoveryResponse,
        GeneratePatchesRequest, GeneratePatchesResponse, GenerateUpgradePlanRequest, GenerateUpgradePlanResponse,
        UpdateMachineRequest, UpdateMachineResponse, ValidateTopologyRequest, ValidateTopologyResponse
    );
    let definitions = generator.take_definitions(true);
    definitions.iter().map(|(name, node)| (name.clone(), component(name, node, &definitions))).collect()
}

fn component(name: &str, node: &Value, definitions: &Map<String, Value>) -> Value {
    match name {
        "k8s.io.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON" => return json!({}),
        "k8s.io.apimachinery.pkg.util.intstr.IntOrString" => {
            return json!({
                "format": "int-or-string",
                "oneOf": [{"type": "integer"}, {"type": "string"}],
                "x-kubernetes-v2-schema": {"format": "int-or-string", "type": "string"},
            });
        }
        _ => {}
    }
    let mut out = json!({});
    copy(node, &mut out);
    if let Some(properties) = node.get("properties").and_then(Value::as_object) {
        let properties = properties.iter().map(|(name, node)| (name.clone(), field(node, definitions)));
        out["properties"] = properties.collect::<Map<_, _>>().into();
    }
    let required = node.get("x-openapi-required").or_else(|| node.get("required"));
    if let Some(required) = required.filter(|list| list.as_array().is_some_and(|list| !list.is_empty())) {
        out["required"] = required.clone();
    }
    if name == "k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta" {
        // Cluster API's document still has this field, which the type has lost.
        out["properties"]["clusterName"] = json!({"type": "string"});
        // The one time that has a default: `creationTimestamp` was written as null for long.
        out["properties"]["creationTimestamp"]["default"] = json!({});
    }
    out
}

/// Keywords that mean the same in both documents.
fn copy(node: &Value, out: &mut Value) {
    for (keyword, value) in node.as_object().into_iter().flatten() {
        let is_kept = keyword == "format"
            || keyword.starts_with("x-kubernetes-list")
            || keyword.starts_with("x-kubernetes-map")
            || keyword.starts_with("x-kubernetes-patch");
        if is_kept {
            out[keyword] = value.clone();
        }
    }
    if let Some(found) = node.get("type").and_then(single_type) {
        out["type"] = found;
    }
    if let Some(values) = node.get("x-openapi-enum") {
        out["enum"] = values.clone();
    }
}

/// A field: what its type says, and the zero value that it has when it is absent.
fn field(node: &Value, definitions: &Map<String, Value>) -> Value {
    let is_optional = node.get("anyOf").is_some() || node.get("type").is_some_and(Value::is_array);
    let is_always_written = node.get("x-go").is_some_and(|mode| mode == "always");
    let mut out = value(node, definitions);
    if let Some(default) = node.get("x-crd-default") {
        out["default"] = default.clone();
    } else if !is_optional && let Some(zero) = zero(node, definitions, is_always_written) {
        out["default"] = zero;
    }
    out
}

fn value(node: &Value, definitions: &Map<String, Value>) -> Value {
    let mut out = json!({});
    copy(node, &mut out);
    if let Some(name) = reference(node) {
        out["$ref"] = format!("{COMPONENTS}{name}").into();
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(inside) = node.get(keyword) {
            let mut rendered = value(inside, definitions);
            if inside.get("anyOf").is_none()
                && let Some(zero) = zero(inside, definitions, true)
            {
                rendered["default"] = zero;
            }
            out[keyword] = rendered;
        }
    }
    out
}

/// The zero value of a field that is no pointer. Structures always have one, others where it is written.
fn zero(node: &Value, definitions: &Map<String, Value>, is_written: bool) -> Option<Value> {
    if let Some(name) = reference(node) {
        let is_structure = definitions.get(name)?.get("properties").is_some();
        return is_structure.then(|| json!({}));
    }
    match node.get("type").and_then(Value::as_str)? {
        "string" if node.get("format").is_none() && is_written => Some("".into()),
        "integer" if is_written => Some(0.into()),
        "boolean" if is_written => Some(false.into()),
        _ => None,
    }
}
