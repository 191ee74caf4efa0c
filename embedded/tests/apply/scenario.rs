//! What is done, told once and run on both servers.

use kapstan_embedded::apply::Types;
use serde_json::{Value, json};

/// A kind that scenarios are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) api_version: &'static str,
    pub(crate) name: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) namespaced: bool,
}

const fn kind(api_version: &'static str, name: &'static str, plural: &'static str, namespaced: bool) -> Kind {
    Kind { api_version, name, plural, namespaced }
}

/// All kinds that scenarios may be about.
pub(crate) const KINDS: [Kind; 16] = [
    CONFIG_MAP,
    SECRET,
    SERVICE,
    NAMESPACE,
    EVENT,
    CRD,
    WIDGET,
    GADGET,
    SERVICE_ACCOUNT,
    kind("coordination.k8s.io/v1", "Lease", "leases", true),
    kind("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", true),
    kind("rbac.authorization.k8s.io/v1", "Role", "roles", true),
    kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", true),
    kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false),
    kind(
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        false,
    ),
    kind(
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        false,
    ),
];
pub(crate) const CONFIG_MAP: Kind = kind("v1", "ConfigMap", "configmaps", true);
pub(crate) const SECRET: Kind = kind("v1", "Secret", "secrets", true);
pub(crate) const SERVICE: Kind = kind("v1", "Service", "services", true);
pub(crate) const SERVICE_ACCOUNT: Kind = kind("v1", "ServiceAccount", "serviceaccounts", true);
pub(crate) const EVENT: Kind = kind("v1", "Event", "events", true);
pub(crate) const NAMESPACE: Kind = kind("v1", "Namespace", "namespaces", false);
pub(crate) const CRD: Kind =
    kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", false);
/// A custom resource with a field of every type and a status of its own.
pub(crate) const WIDGET: Kind = kind("test.example.com/v1", "Widget", "widgets", true);
/// A custom resource without the status subresource.
pub(crate) const GADGET: Kind = kind("test.example.com/v1", "Gadget", "gadgets", true);

impl Kind {
    /// The collection's path on a server.
    pub(crate) fn path(self, namespace: &str) -> String {
        let prefix = if self.api_version.contains('/') { "/apis" } else { "/api" };
        let namespace = if self.namespaced { format!("/namespaces/{namespace}") } else { String::new() };
        format!("{prefix}/{}{namespace}/{}", self.api_version, self.plural)
    }

    pub(crate) fn is_custom(self) -> bool {
        self.api_version == WIDGET.api_version
    }

    pub(crate) fn has_status(self) -> bool {
        self == WIDGET || self == NAMESPACE || self == SERVICE || self == CRD
    }

    pub(crate) fn types(self) -> Types {
        if self.is_custom() {
            Types::custom(&schema(), self.has_status())
        } else {
            Types::builtin(self.api_version, self.name).expect("the kind must be in the table").clone()
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Create,
    /// Replaces with the body; the runner adds the resource version.
    Put,
    Apply,
    Merge,
    Strategic,
    Delete,
}

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) verb: Verb,
    pub(crate) manager: String,
    pub(crate) force: bool,
    pub(crate) subresource: &'static str,
    pub(crate) body: Value,
}

impl Step {
    pub(crate) fn force(mut self) -> Self {
        self.force = true;
        self
    }

    pub(crate) fn status(mut self) -> Self {
        self.subresource = "status";
        self
    }
}

fn step(verb: Verb, manager: &str, body: Value) -> Step {
    Step { verb, manager: manager.to_owned(), force: false, subresource: "", body }
}

pub(crate) fn create(manager: &str, body: Value) -> Step {
    step(Verb::Create, manager, body)
}

pub(crate) fn strategic(manager: &str, body: Value) -> Step {
    step(Verb::Strategic, manager, body)
}

pub(crate) fn put(manager: &str, body: Value) -> Step {
    step(Verb::Put, manager, body)
}

pub(crate) fn apply(manager: &str, body: Value) -> Step {
    step(Verb::Apply, manager, body)
}

pub(crate) fn merge(manager: &str, body: Value) -> Step {
    step(Verb::Merge, manager, body)
}

/// Requests about one object, in order.
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) steps: Vec<Step>,
}

pub(crate) fn scenario(name: &str, kind: Kind, steps: impl IntoIterator<Item = Step>) -> Scenario {
    Scenario { name: name.to_owned(), kind, steps: steps.into_iter().collect() }
}

/// The schema of both custom resources.
pub(crate) fn schema() -> Value {
    let text = json!({"type": "string"});
    let item = json!({
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": text, "port": {"type": "integer", "default": 80}, "value": text,
            "tags": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
            "inner": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
                "items": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}, "v": text}},
            },
        },
    });
    let pair = json!({"a": text, "b": text});
    json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "text": text, "number": {"type": "integer"}, "real": {"type": "number"},
                    "flag": {"type": "boolean"}, "nothing": {"type": "string", "nullable": true},
                    "defaulted": {"type": "string", "default": "made"},
                    "struct": {"type": "object", "properties": pair},
                    "atomicStruct": {"type": "object", "properties": pair, "x-kubernetes-map-type": "atomic"},
                    "map": {"type": "object", "additionalProperties": text},
                    "deepMap": {"type": "object", "additionalProperties": {"type": "object", "properties": pair}},
                    "atomicMap": {
                        "type": "object", "additionalProperties": text, "x-kubernetes-map-type": "atomic",
                    },
                    "set": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
                    "numbers": {
                        "type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set",
                    },
                    "keyed": {
                        "type": "array", "items": item, "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name", "port"],
                    },
                    "atomicList": {"type": "array", "items": text, "x-kubernetes-list-type": "atomic"},
                    "plainList": {"type": "array", "items": {"type": "object", "properties": pair}},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    "either": {"x-kubernetes-int-or-string": true},
                    "embedded": {
                        "type": "object", "x-kubernetes-embedded-resource": true,
                        "x-kubernetes-preserve-unknown-fields": true,
                    },
                },
            },
            "status": {
                "type": "object",
                "properties": {
                    "phase": text,
                    "conditions": {
                        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
                        "items": {"type": "object", "required": ["type"], "properties": {"type": text, "status": text}},
                    },
                },
            },
        },
    })
}

/// The definitions of both custom resources.
pub(crate) fn crds() -> Vec<Value> {
    let crd = |kind: Kind, subresources: Value| {
        json!({
            "apiVersion": CRD.api_version,
            "kind": CRD.name,
            "metadata": {"name": format!("{}.test.example.com", kind.plural)},
            "spec": {
                "group": "test.example.com", "scope": "Namespaced",
                "names": {"kind": kind.name, "plural": kind.plural},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": schema()}, "subresources": subresources,
                }],
            },
        })
    };
    vec![crd(WIDGET, json!({"status": {}})), crd(GADGET, json!({}))]
}
