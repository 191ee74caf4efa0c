//! Custom resources of two versions, each with a schema of its own.

use anyhow::Result;
use serde_json::{Value, json};

use crate::custom::{CRDS, until_served};
use crate::world::{MERGE, Step, compare, worlds};

const GROUP: &str = "versions.example.com";

/// A version with a default, a limit and a field of its own.
fn version(name: &str, is_stored: bool, properties: &Value) -> Value {
    json!({ "name": name, "served": true, "storage": is_stored, "schema": { "openAPIV3Schema": {
        "type": "object",
        "properties": { "spec": { "type": "object", "properties": properties } },
    } } })
}

fn crd() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("widgets.{GROUP}") },
        "spec": {
            "group": GROUP,
            "names": { "kind": "Widget", "plural": "widgets" },
            "scope": "Namespaced",
            "versions": [
                version("v1", true, &json!({
                    "size": { "type": "integer", "maximum": 5 },
                    "color": { "type": "string", "default": "red" },
                    "old": { "type": "string" },
                })),
                version("v2", false, &json!({
                    "size": { "type": "integer", "maximum": 9 },
                    "color": { "type": "string", "default": "blue" },
                    "shape": { "type": "string", "default": "round" },
                    "new": { "type": "string" },
                })),
            ],
        },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn each_version_has_defaults_pruning_and_validation_of_its_own() -> Result<()> {
    let worlds = worlds("versions").await?;
    for world in &worlds {
        world.ask(&Step::post(CRDS, crd())).await?;
    }
    until_served(&worlds, GROUP).await?;
    let all = |version: &str| format!("/apis/{GROUP}/{version}/namespaces/{{ns}}/widgets");
    let at = |version: &str, name: &str| format!("{}/{name}", all(version));
    let object = |version: &str, name: &str, spec: &Value| json!({ "apiVersion": format!("{GROUP}/{version}"), "kind": "Widget", "metadata": { "name": name }, "spec": spec });
    let everything = json!({ "size": 1, "old": "o", "new": "n", "bogus": 1 });
    let steps = [
        ("create in v1", Step::post(all("v1"), object("v1", "one", &everything))),
        ("it in v2", Step::get(at("v2", "one"))),
        ("create in v2", Step::post(all("v2"), object("v2", "two", &everything))),
        ("it in v1", Step::get(at("v1", "two"))),
        ("it in v2 again", Step::get(at("v2", "two"))),
        ("too large for v1", Step::post(all("v1"), object("v1", "large", &json!({ "size": 7 })))),
        ("not for v2", Step::post(all("v2"), object("v2", "large", &json!({ "size": 7 })))),
        ("too large for both", Step::post(all("v2"), object("v2", "larger", &json!({ "size": 10 })))),
        ("large, in v1", Step::get(at("v1", "large"))),
        (
            "what was wrong may stay",
            Step::patch(MERGE, at("v1", "large"), json!({ "metadata": { "labels": { "a": "b" } } })),
        ),
        (
            "what was wrong may not change",
            Step::patch(MERGE, at("v1", "large"), json!({ "spec": { "size": 8 } })),
        ),
        ("list in v1", Step::get(all("v1"))),
        ("list in v2", Step::get(all("v2"))),
        (
            "metadata in v2",
            Step::get(all("v2")).accept("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
        ),
    ];
    compare(&worlds, &steps).await
}
