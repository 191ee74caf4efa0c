//! The documents that are made from types against those that Cluster API publishes.

#![expect(clippy::unwrap_used, reason = "a panic in a helper fails the test that called it")]

use std::{fs, path::Path};

use kapstan_api::{crd, openapi};
use serde_json::Value;

fn upstream(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upstream").join(file);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Where two documents differ.
fn differences(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            for name in a.keys().chain(b.keys().filter(|name| !a.contains_key(*name))) {
                let here = format!("{path}.{name}");
                differences(
                    &here,
                    ours.get(name).unwrap_or(&Value::Null),
                    theirs.get(name).unwrap_or(&Value::Null),
                    found,
                );
            }
        }
        // The order of required fields and of enumerated values means nothing.
        (Value::Array(a), Value::Array(b))
            if [Some("required"), Some("enum")].contains(&path.rsplit('.').next()) =>
        {
            let sorted = |list: &[Value]| {
                let mut list: Vec<_> = list.iter().map(Value::to_string).collect();
                list.sort();
                list
            };
            if sorted(a) != sorted(b) {
                found.push(format!("{path}: ours {ours}, upstream {theirs}"));
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}[{index}]"), a, b, found);
            }
        }
        _ if ours != theirs => found.push(format!("{path}: ours {ours}, upstream {theirs}")),
        _ => {}
    }
}

fn assert_equal(ours: &Value, theirs: &Value) {
    let mut found = Vec::new();
    differences("", ours, theirs, &mut found);
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found[..found.len().min(60)].join("\n"));
}

#[test]
fn the_crd_of_extension_configs_is_upstreams() {
    assert_equal(&crd::extension_config(), &upstream("runtime.cluster.x-k8s.io_extensionconfigs.json"));
}

#[test]
fn the_crd_of_cluster_classes_is_upstreams() {
    assert_equal(&crd::cluster_class(), &upstream("cluster.x-k8s.io_clusterclasses.json"));
}

#[test]
fn the_openapi_document_of_hooks_is_upstreams() {
    assert_equal(&openapi::document(), &upstream("runtime-hooks.json"));
}
