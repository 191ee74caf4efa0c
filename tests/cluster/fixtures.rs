//! Objects that tests are about, each with as little in it as possible.

use kapstan_api::{cluster_class::ClusterClass, conditions, extension_config::ExtensionConfig};
use kapstan_test_extension::TestExtension;
use serde_json::{Value, json};

/// An `ExtensionConfig` whose extension is served at `/<name>` of the test extension.
pub(crate) fn config(name: &str, extension: &TestExtension) -> ExtensionConfig {
    config_at(name, &extension.url_of(&format!("/{name}")), &extension.ca_bundle())
}

/// An `ExtensionConfig` with this URL and CA bundle.
pub(crate) fn config_at(name: &str, url: &str, ca_bundle: &[u8]) -> ExtensionConfig {
    let mut config: ExtensionConfig =
        parsed(json!({ "metadata": { "name": name }, "spec": { "clientConfig": { "url": url } } }));
    if !ca_bundle.is_empty() {
        config.spec.client_config.ca_bundle = Some(k8s_openapi::ByteString(ca_bundle.to_vec()));
    }
    config
}

/// A `ClusterClass` that gets variables from these extensions' `discovervariables` handlers, one patch each.
pub(crate) fn class(namespace: &str, name: &str, configs: &[&str]) -> ClusterClass {
    class_at(namespace, name, &Templates::none(), configs)
}

/// The same with these templates.
pub(crate) fn class_at(namespace: &str, name: &str, templates: &Templates, configs: &[&str]) -> ClusterClass {
    let patches: Vec<Value> = configs
        .iter()
        .map(|config| {
            json!({ "name": format!("patch-{config}"), "external": {
                "generatePatchesExtension": format!("generatepatches.{config}"),
                "discoverVariablesExtension": format!("discovervariables.{config}"),
                "settings": { "team": "a" },
            }})
        })
        .collect();
    class_with(namespace, name, templates, json!({ "patches": patches }))
}

/// The templates that a class refers to, one of each kind.
pub(crate) struct Templates(Option<String>);

impl Templates {
    /// Names of templates that nobody has made, of kinds that nobody serves, are avoided by referring to ones that
    /// the test makes; a class must refer to some, so this names the set `default`.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// The set of this name.
    pub(crate) fn set(name: &str) -> Self {
        Self(Some(name.to_owned()))
    }

    /// The set's name.
    pub(crate) fn name(&self) -> &str {
        self.0.as_deref().unwrap_or("default")
    }

    /// Path and body of each template.
    pub(crate) fn objects(&self, namespace: &str) -> Vec<(String, Value)> {
        let name = self.name();
        let at = |group: &str, plural: &str| {
            format!("/apis/{group}.cluster.x-k8s.io/v1beta2/namespaces/{namespace}/{plural}")
        };
        let object = |group: &str, kind: &str, spec: Value| json!({ "apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind, "metadata": { "name": name, "namespace": namespace }, "spec": spec });
        vec![
            (
                at("infrastructure", "devclustertemplates"),
                object(
                    "infrastructure",
                    "DevClusterTemplate",
                    json!({ "template": { "spec": { "backend": { "inMemory": {} } } } }),
                ),
            ),
            (
                at("infrastructure", "devmachinetemplates"),
                object(
                    "infrastructure",
                    "DevMachineTemplate",
                    json!({ "template": { "spec": { "backend": { "inMemory": {} } } } }),
                ),
            ),
            (
                at("bootstrap", "kubeadmconfigtemplates"),
                object(
                    "bootstrap",
                    "KubeadmConfigTemplate",
                    json!({ "template": { "spec": { "verbosity": 2 } } }),
                ),
            ),
            (
                at("controlplane", "kubeadmcontrolplanetemplates"),
                object(
                    "controlplane",
                    "KubeadmControlPlaneTemplate",
                    json!({ "template": { "spec": { "kubeadmConfigSpec": { "verbosity": 2 } } } }),
                ),
            ),
        ]
    }
}

/// A `ClusterClass` with these templates and whatever else is in `spec`.
#[expect(clippy::needless_pass_by_value, reason = "callers write the spec in place")]
pub(crate) fn class_with(namespace: &str, name: &str, templates: &Templates, spec: Value) -> ClusterClass {
    let set = templates.name();
    let reference = |group: &str, kind: &str| json!({ "apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind, "name": set });
    let mut object = json!({
        "metadata": { "name": name, "namespace": namespace },
        "spec": {
            "infrastructure": { "templateRef": reference("infrastructure", "DevClusterTemplate") },
            "controlPlane": {
                "templateRef": reference("controlplane", "KubeadmControlPlaneTemplate"),
                "machineInfrastructure": { "templateRef": reference("infrastructure", "DevMachineTemplate") },
            },
            "workers": { "machineDeployments": [{
                "class": "default-worker",
                "bootstrap": { "templateRef": reference("bootstrap", "KubeadmConfigTemplate") },
                "infrastructure": { "templateRef": reference("infrastructure", "DevMachineTemplate") },
            }] },
        },
    });
    for (field, value) in spec.as_object().into_iter().flatten() {
        object["spec"][field] = value.clone();
    }
    parsed(object)
}

pub(crate) fn parsed<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a fixture must be of its type")
}

pub(crate) fn is_discovered(config: &ExtensionConfig) -> bool {
    let generation = config.metadata.generation;
    config.status.as_ref().is_some_and(|status| {
        conditions::get(&status.conditions, "Discovered").is_some_and(|condition| {
            condition.status == "True" && condition.observed_generation == generation
        })
    })
}

pub(crate) fn is_ready(class: &ClusterClass) -> bool {
    class.status.as_ref().is_some_and(|status| {
        status.observed_generation == class.metadata.generation
            && conditions::is_true(&status.conditions, "VariablesReady")
            && conditions::is_true(&status.conditions, "RefVersionsUpToDate")
    })
}
