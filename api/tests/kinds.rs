//! The kinds as they are read and written: nothing is lost, nothing is invented.

#![expect(clippy::unwrap_used, reason = "a panic in a helper fails the test that called it")]

use kapstan_api::{
    cluster_class::{ClusterClass, ClusterClassSpec, HandlerRole, TemplateRef},
    extension_config::{ExtensionConfig, ExtensionConfigSpec, FailurePolicy},
};
use kube_core::{Resource, ResourceExt};
use rstest::rstest;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use similar_asserts::assert_eq;

fn rewritten<K: Serialize + DeserializeOwned>(object: &Value) -> Value {
    serde_json::to_value(serde_json::from_value::<K>(object.clone()).unwrap()).unwrap()
}

/// Every field that the type has, and at every level one that it does not have.
fn full_extension_config() -> Value {
    json!({
        "apiVersion": "runtime.cluster.x-k8s.io/v1beta2",
        "kind": "ExtensionConfig",
        "metadata": {
            "name": "heron",
            "uid": "7f",
            "generation": 3,
            "resourceVersion": "17",
            "creationTimestamp": "2025-06-01T12:00:00Z",
            "annotations": {"cluster.x-k8s.io/paused": ""},
        },
        "spec": {
            "clientConfig": {
                "url": "https://heron.example/x",
                "service": {"namespace": "ns", "name": "svc", "path": "/p", "port": 0, "newField": [1]},
                "caBundle": "UEVN",
                "newField": {"a": null},
            },
            "namespaceSelector": {
                "matchLabels": {"a": "b"},
                "matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}],
            },
            "settings": {"size": ""},
            "newField": false,
        },
        "status": {
            "conditions": [{
                "type": "Discovered",
                "status": "True",
                "reason": "Discovered",
                "message": "",
                "observedGeneration": 3,
                "lastTransitionTime": "2025-06-01T12:00:00Z",
            }],
            "handlers": [{
                "name": "vars.heron",
                "requestHook": {"apiVersion": "a/b", "hook": "C", "newField": 0},
                "timeoutSeconds": 7,
                "failurePolicy": "Sometimes",
                "newField": "",
            }],
            "deprecated": {
                "v1beta1": {
                    "conditions": [{
                        "type": "Discovered",
                        "status": "False",
                        "severity": "Dire",
                        "reason": "DiscoveryFailed",
                        "message": "fog",
                        "lastTransitionTime": "2025-06-01T12:00:00Z",
                        "newField": 1.5,
                    }],
                    "newField": [],
                },
                "v1beta9": {},
            },
            "newField": {},
        },
        "newField": 18_446_744_073_709_551_615_u64,
    })
}

fn reference(kind: &str, name: &str) -> Value {
    json!({
        "templateRef": {"apiVersion": "g.example/v1", "kind": kind, "name": name, "newField": 1},
        "newField": 2,
    })
}

fn schema() -> Value {
    json!({"openAPIV3Schema": {"type": "string", "default": null, "enum": []}, "newField": 3})
}

fn worker(class: &str) -> Value {
    json!({
        "class": class,
        "bootstrap": reference("BootTemplate", "boot"),
        "infrastructure": reference("MachineTemplate", class),
        "healthCheck": {"checks": {"nodeStartupTimeoutSeconds": 0}},
    })
}

fn patches() -> Value {
    json!([
        {"name": "inline", "definitions": [{"selector": {"kind": "X"}, "jsonPatches": [{"value": null}]}]},
        {
            "name": "hull",
            "enabledIf": "{{ true }}",
            "external": {
                "generatePatchesExtension": "gen.heron",
                "validateTopologyExtension": "val.heron",
                "discoverVariablesExtension": "vars.heron",
                "settings": {"a": "b"},
                "newField": 7,
            },
        },
    ])
}

fn variables() -> Value {
    json!([
        {
            "name": "size",
            "required": false,
            "deprecatedV1Beta1Metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "newField": 5},
            "schema": schema(),
            "newField": 6,
        },
        {"name": "bare"},
    ])
}

/// As [`full_extension_config`], for the other kind.
fn full_cluster_class() -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "ClusterClass",
        "metadata": {"name": "tide", "namespace": "ns"},
        "spec": {
            "availabilityGates": [{"conditionType": "X"}],
            "infrastructure": reference("ClusterTemplate", "cluster"),
            "controlPlane": {
                "templateRef": {"apiVersion": "g.example/v1", "kind": "PlaneTemplate", "name": "plane"},
                "machineInfrastructure": reference("MachineTemplate", "plane"),
                "metadata": {"labels": {"a": ""}},
            },
            "workers": {
                "machineDeployments": [worker("md"), worker("plane")],
                "machinePools": [worker("mp")],
                "newField": 4,
            },
            "variables": variables(),
            "patches": patches(),
            "upgrade": {
                "external": {"generateUpgradePlanExtension": "plan.otter", "newField": 8},
                "newField": 9,
            },
            "kubernetesVersions": ["v1.36.0"],
        },
        "status": {
            "variables": [{
                "name": "size",
                "definitionsConflict": false,
                "definitions": [{"from": "inline", "required": false, "schema": schema(), "newField": 10}],
                "newField": 11,
            }],
            "observedGeneration": 5,
            "deprecated": {"v1beta1": {"newField": 12}},
            "newField": 13,
        },
        "newField": 14,
    })
}

#[test]
fn an_extension_config_comes_back_as_it_was_read() {
    let object = full_extension_config();
    assert_eq!(rewritten::<ExtensionConfig>(&object), object);
}

#[test]
fn a_cluster_class_comes_back_as_it_was_read() {
    let object = full_cluster_class();
    assert_eq!(rewritten::<ClusterClass>(&object), object);
}

#[rstest]
#[case::nothing(json!({}), json!({}))]
#[case::empty(json!({"spec": {}, "status": {}}), json!({}))]
#[case::null(json!({"spec": null, "status": null}), json!({}))]
#[case::deep_null(
    json!({"spec": {"clientConfig": {"url": null, "service": null, "caBundle": null}, "settings": null}}), json!({})
)]
#[case::empty_texts(
    json!({"spec": {"clientConfig": {"url": "", "service": {"name": "", "path": ""}, "caBundle": ""}}}), json!({})
)]
#[case::zero_port_is_a_port(
    json!({"spec": {"clientConfig": {"service": {"port": 0}}}}),
    json!({"spec": {"clientConfig": {"service": {"port": 0}}}})
)]
#[case::an_empty_selector_is_not_an_absent_one(
    json!({"spec": {"namespaceSelector": {}}}), json!({"spec": {"namespaceSelector": {}}})
)]
#[case::handlers(
    json!({"status": {"handlers": [{"name": "a.b", "timeoutSeconds": null, "requestHook": null}]}}),
    json!({"status": {"handlers": [{"name": "a.b"}]}})
)]
fn nothing_is_invented_in_an_extension_config(#[case] object: Value, #[case] expected: Value) {
    let mut written = rewritten::<ExtensionConfig>(&object);
    let fields = written.as_object_mut().unwrap();
    assert_eq!(fields.remove("apiVersion"), Some(json!("runtime.cluster.x-k8s.io/v1beta2")));
    assert_eq!(fields.remove("kind"), Some(json!("ExtensionConfig")));
    assert_eq!(fields.remove("metadata"), Some(json!({})));
    assert_eq!(written, expected);
}

#[rstest]
#[case::nothing(json!({}), json!({}))]
#[case::null(
    json!({"spec": {"infrastructure": null, "workers": null, "variables": null, "patches": null, "upgrade": null}}),
    json!({})
)]
#[case::bare_variable(
    json!({"spec": {"variables": [{"name": "a", "required": null, "schema": null}]}}),
    json!({"spec": {"variables": [{"name": "a"}]}})
)]
#[case::generation_zero(json!({"status": {"observedGeneration": 0}}), json!({}))]
#[case::external_without_handlers(
    json!({"spec": {"patches": [{"name": "a", "external": {"settings": null}}]}}),
    json!({"spec": {"patches": [{"name": "a", "external": {}}]}})
)]
fn nothing_is_invented_in_a_cluster_class(#[case] object: Value, #[case] expected: Value) {
    let mut written = rewritten::<ClusterClass>(&object);
    let fields = written.as_object_mut().unwrap();
    assert_eq!(fields.remove("apiVersion"), Some(json!("cluster.x-k8s.io/v1beta2")));
    assert_eq!(fields.remove("kind"), Some(json!("ClusterClass")));
    assert_eq!(fields.remove("metadata"), Some(json!({})));
    assert_eq!(written, expected);
}

#[test]
fn an_unknown_failure_policy_is_kept() {
    let config: ExtensionConfig = serde_json::from_value(full_extension_config()).unwrap();
    let handlers = config.status.unwrap().handlers;
    assert_eq!(handlers[0].failure_policy, Some(FailurePolicy::Other("Sometimes".to_owned())));
}

#[test]
fn each_distinct_template_is_referred_to_once() {
    let class: ClusterClass = serde_json::from_value(full_cluster_class()).unwrap();
    let template = |kind: &str, name: &str| TemplateRef {
        api_version: "g.example/v1".to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
    };
    assert_eq!(
        class.template_refs(),
        [
            template("BootTemplate", "boot"),
            template("ClusterTemplate", "cluster"),
            template("MachineTemplate", "md"),
            template("MachineTemplate", "mp"),
            template("MachineTemplate", "plane"),
            template("PlaneTemplate", "plane"),
        ]
    );
    assert_eq!(class.template_refs()[0].group(), "g.example");
    assert_eq!(class.template_refs()[0].version(), "v1");
}

#[test]
fn places_that_are_not_filled_in_refer_to_nothing() {
    let empty: ClusterClass = serde_json::from_value(json!({"spec": {
        "infrastructure": {"templateRef": {}},
        "controlPlane": {"machineInfrastructure": {}},
        "workers": {"machineDeployments": [{"class": "a", "bootstrap": {"templateRef": {"name": ""}}}]},
    }}))
    .unwrap();
    assert_eq!(empty.template_refs(), []);
}

#[test]
fn every_named_handler_comes_with_its_role() {
    let class: ClusterClass = serde_json::from_value(full_cluster_class()).unwrap();
    assert_eq!(
        class.named_handlers(),
        [
            (HandlerRole::GeneratePatches, "gen.heron"),
            (HandlerRole::ValidateTopology, "val.heron"),
            (HandlerRole::DiscoverVariables, "vars.heron"),
            (HandlerRole::GenerateUpgradePlan, "plan.otter"),
        ]
    );
    assert_eq!(class.external_patches().map(|patch| patch.name).collect::<Vec<_>>(), ["hull"]);
}

#[test]
fn kinds_are_found_where_the_api_server_serves_them() {
    assert_eq!(
        ExtensionConfig::url_path(&(), None),
        "/apis/runtime.cluster.x-k8s.io/v1beta2/extensionconfigs"
    );
    assert_eq!(
        ClusterClass::url_path(&(), Some("ns")),
        "/apis/cluster.x-k8s.io/v1beta2/namespaces/ns/clusterclasses"
    );
    let class = ClusterClass::new("tide", ClusterClassSpec::default());
    assert_eq!(class.name_any(), "tide");
    assert_eq!(ExtensionConfig::new("heron", ExtensionConfigSpec::default()).name_any(), "heron");
}
