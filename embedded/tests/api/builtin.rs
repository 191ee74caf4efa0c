//! Built-in kinds: every verb, on objects that are there, that are not, and that changed.

use anyhow::Result;
use serde_json::json;

use crate::world::{APPLY, JSON_PATCH, MERGE, STRATEGIC, Step, compare, worlds};

const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";

fn at(name: &str) -> String {
    format!("{MAPS}/{name}")
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn config_maps_are_created_as_on_the_real_server() -> Result<()> {
    let worlds = worlds("create").await?;
    let steps = [
        ("absent", Step::get(at("x"))),
        ("create", Step::post(MAPS, json!({ "metadata": { "name": "x" }, "data": { "a": "1" } }))),
        ("exists", Step::post(MAPS, json!({ "metadata": { "name": "x" }, "data": { "a": "1" } }))),
        (
            "typed",
            Step::post(MAPS, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "t" } })),
        ),
        ("get", Step::get(at("x"))),
        ("bad name", Step::post(MAPS, json!({ "metadata": { "name": "X y" } }))),
        ("no name", Step::post(MAPS, json!({ "metadata": {} }))),
        ("no metadata", Step::post(MAPS, json!({ "data": {} }))),
        ("bad type", Step::post(MAPS, json!({ "metadata": { "name": "y" }, "data": { "a": 1 } }))),
        ("bad label", Step::post(MAPS, json!({ "metadata": { "name": "y", "labels": { "a b": "c d" } } }))),
        (
            "bad annotation",
            Step::post(MAPS, json!({ "metadata": { "name": "y", "annotations": { "a b": "c d" } } })),
        ),
        (
            "bad owner",
            Step::post(MAPS, json!({ "metadata": { "name": "y", "ownerReferences": [{ "name": "a" }] } })),
        ),
        ("bad finalizer", Step::post(MAPS, json!({ "metadata": { "name": "y", "finalizers": ["a b"] } }))),
        ("other namespace", Step::post(MAPS, json!({ "metadata": { "name": "y", "namespace": "other" } }))),
        (
            "absent namespace",
            Step::post("/api/v1/namespaces/nope/configmaps", json!({ "metadata": { "name": "y" } })),
        ),
        ("unknown field", Step::post(MAPS, json!({ "metadata": { "name": "u" }, "bogus": 1 }))),
        (
            "unknown field, ignored",
            Step::post(
                format!("{MAPS}?fieldValidation=Ignore"),
                json!({ "metadata": { "name": "u2" }, "bogus": 1 }),
            ),
        ),
        (
            "unknown field, strict",
            Step::post(
                format!("{MAPS}?fieldValidation=Strict"),
                json!({ "metadata": { "name": "y", "foo": 1 }, "bogus": 1 }),
            ),
        ),
        (
            "bad validation",
            Step::post(format!("{MAPS}?fieldValidation=Bad"), json!({ "metadata": { "name": "y" } })),
        ),
        (
            "other kind",
            Step::post(MAPS, json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "y" } })),
        ),
        ("bad key", Step::post(MAPS, json!({ "metadata": { "name": "y" }, "data": { "a b": "" } }))),
        ("null entry", Step::post(MAPS, json!({ "metadata": { "name": "n" }, "data": { "a": null } }))),
        ("not JSON", Step::new(http::Method::POST, MAPS, "{\"metadata\":")),
        (
            "empties",
            Step::post(
                MAPS,
                json!({ "metadata": { "name": "e", "labels": {}, "annotations": null, "finalizers": [] }, "data": {} }),
            ),
        ),
        (
            "dry run",
            Step::post(
                format!("{MAPS}?dryRun=All"),
                json!({ "metadata": { "name": "d" }, "data": { "a": "1" } }),
            ),
        ),
        ("dry run left nothing", Step::get(at("d"))),
        (
            "dry run of one that exists",
            Step::post(format!("{MAPS}?dryRun=All"), json!({ "metadata": { "name": "x" } })),
        ),
        ("bad dry run", Step::post(format!("{MAPS}?dryRun=Some"), json!({ "metadata": { "name": "d" } }))),
        ("named by its path", Step::post(at("x"), json!({ "metadata": { "name": "x" } }))),
        ("revision", Step::post(MAPS, json!({ "metadata": { "name": "r", "resourceVersion": "5" } }))),
        (
            "manager",
            Step::post(
                format!("{MAPS}?fieldManager=me"),
                json!({ "metadata": { "name": "m", "labels": { "a": "b" } }, "data": { "a": "1" } }),
            ),
        ),
        ("no such resource", Step::get("/api/v1/namespaces/{ns}/nopes")),
        (
            "deletion by update",
            Step::post(
                MAPS,
                json!({ "metadata": { "name": "del", "deletionTimestamp": "2026-01-01T00:00:00Z", "uid": "abc", "generation": 7 } }),
            ),
        ),
        (
            "unknown media type",
            Step::new(http::Method::POST, MAPS, "x").content_type("application/nonsense").loosely(),
        ),
    ];
    compare(&worlds, &steps).await
}

/// A patch that doubles a text with each operation.
fn copies(count: usize) -> serde_json::Value {
    let mut operations = vec![json!({ "op": "add", "path": "/data", "value": { "a": { "b": "x" } } })];
    for number in 0..count {
        operations.push(json!({ "op": "copy", "from": "/data/a", "path": format!("/data/a/c{number}") }));
    }
    operations.into()
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn config_maps_are_changed_as_on_the_real_server() -> Result<()> {
    let worlds = worlds("change").await?;
    let steps = [
        ("put absent", Step::put(at("x"), json!({ "metadata": { "name": "x" } }))),
        ("patch absent", Step::patch(MERGE, at("x"), json!({ "data": { "a": "1" } }))),
        ("create", Step::post(MAPS, json!({ "metadata": { "name": "x" }, "data": { "a": "1" } }))),
        ("put", Step::put(at("x"), json!({ "metadata": { "name": "x" }, "data": { "a": "2" } }))),
        ("put, no change", Step::put(at("x"), json!({ "metadata": { "name": "x" }, "data": { "a": "2" } }))),
        (
            "put, conflict",
            Step::put(
                at("x"),
                json!({ "metadata": { "name": "x", "resourceVersion": "1" }, "data": { "a": "3" } }),
            ),
        ),
        (
            "put, other UID",
            Step::put(at("x"), json!({ "metadata": { "name": "x", "uid": "abc" }, "data": { "a": "3" } }))
                .loosely(),
        ),
        ("put, other name", Step::put(at("x"), json!({ "metadata": { "name": "y" } }))),
        ("put, no name", Step::put(at("x"), json!({ "metadata": {} }))),
        (
            "put, other namespace",
            Step::put(at("x"), json!({ "metadata": { "name": "x", "namespace": "other" } })),
        ),
        (
            "put, bad revision",
            Step::put(at("x"), json!({ "metadata": { "name": "x", "resourceVersion": "abc" } })),
        ),
        (
            "put, dry run",
            Step::put(
                format!("{}?dryRun=All", at("x")),
                json!({ "metadata": { "name": "x" }, "data": { "a": "9" } }),
            ),
        ),
        ("put left no trace", Step::get(at("x"))),
        (
            "merge",
            Step::patch(
                MERGE,
                at("x"),
                json!({ "data": { "b": "1", "a": null }, "metadata": { "labels": { "l": "1" } } }),
            ),
        ),
        ("merge, no change", Step::patch(MERGE, at("x"), json!({ "data": { "b": "1" } }))),
        ("merge, conflict", Step::patch(MERGE, at("x"), json!({ "metadata": { "resourceVersion": "1" } }))),
        ("merge, other name", Step::patch(MERGE, at("x"), json!({ "metadata": { "name": "y" } }))),
        ("merge, bad type", Step::patch(MERGE, at("x"), json!({ "data": { "a": 1 } })).loosely()),
        ("merge, unknown field", Step::patch(MERGE, at("x"), json!({ "bogus": 1 }))),
        (
            "merge, unknown field, strict",
            Step::patch(MERGE, format!("{}?fieldValidation=Strict", at("x")), json!({ "bogus": 1 }))
                .loosely(),
        ),
        ("merge, not JSON", Step::new(http::Method::PATCH, at("x"), "{").content_type(MERGE)),
        ("merge, force", Step::patch(MERGE, format!("{}?force=true", at("x")), json!({}))),
        (
            "JSON patch",
            Step::patch(JSON_PATCH, at("x"), json!([{ "op": "add", "path": "/data/c", "value": "1" }])),
        ),
        (
            "JSON patch, test",
            Step::patch(JSON_PATCH, at("x"), json!([{ "op": "test", "path": "/data/c", "value": "7" }])),
        ),
        (
            "JSON patch, absent",
            Step::patch(JSON_PATCH, at("x"), json!([{ "op": "remove", "path": "/data/q" }])),
        ),
        ("JSON patch, not JSON", Step::new(http::Method::PATCH, at("x"), "[{").content_type(JSON_PATCH)),
        ("strategic", Step::patch(STRATEGIC, at("x"), json!({ "data": { "d": "1", "c": null } }))),
        ("strategic, a list", Step::patch(STRATEGIC, at("x"), json!([]))),
        ("strategic, a text", Step::patch(STRATEGIC, at("x"), json!("a"))),
        ("strategic, a number", Step::patch(STRATEGIC, at("x"), json!(1))),
        ("strategic, true", Step::patch(STRATEGIC, at("x"), json!(true))),
        ("strategic, null", Step::patch(STRATEGIC, at("x"), json!(null))),
        ("strategic, not JSON", Step::new(http::Method::PATCH, at("x"), "{").content_type(STRATEGIC)),
        ("merge, a list", Step::patch(MERGE, at("x"), json!([]))),
        ("merge, a text", Step::patch(MERGE, at("x"), json!("a"))),
        ("merge, null", Step::patch(MERGE, at("x"), json!(null))),
        ("JSON patch, an object", Step::patch(JSON_PATCH, at("x"), json!({})).loosely()),
        ("JSON patch, no path", Step::patch(JSON_PATCH, at("x"), json!([{ "op": "add", "value": 1 }]))),
        ("JSON patch, copies of copies", Step::patch(JSON_PATCH, at("x"), copies(30))),
        ("JSON patch, null", Step::patch(JSON_PATCH, at("x"), json!(null))),
        (
            "JSON patch, no operation",
            Step::patch(JSON_PATCH, at("x"), json!([{ "op": "nope", "path": "/data" }])),
        ),
        ("apply, a list", Step::patch(APPLY, format!("{}?fieldManager=a", at("x")), json!([]))),
        ("apply, a text", Step::patch(APPLY, format!("{}?fieldManager=a", at("x")), json!("a"))),
        (
            "apply, not YAML",
            Step::new(http::Method::PATCH, format!("{}?fieldManager=a", at("x")), "a: [")
                .content_type(APPLY)
                .loosely(),
        ),
        (
            "finalizer",
            Step::patch(MERGE, at("x"), json!({ "metadata": { "finalizers": ["a.example.com/b"] } })),
        ),
        ("immutable", Step::patch(MERGE, at("x"), json!({ "immutable": true }))),
        ("immutable data", Step::patch(MERGE, at("x"), json!({ "data": { "z": "1" } }))),
        (
            "creation time",
            Step::patch(
                MERGE,
                at("x"),
                json!({ "metadata": { "creationTimestamp": "2020-01-01T00:00:00Z" } }),
            ),
        ),
        ("collection", Step::put(MAPS, json!({}))),
        ("patched collection", Step::patch(MERGE, MAPS, json!({}))),
    ];
    compare(&worlds, &steps).await
}

#[tokio::test(flavor = "multi_thread")]
async fn config_maps_are_deleted_as_on_the_real_server() -> Result<()> {
    let worlds = worlds("delete").await?;
    let steps = [
        ("absent", Step::delete(at("x"))),
        ("create", Step::post(MAPS, json!({ "metadata": { "name": "x" } }))),
        ("other UID", Step::delete_with(at("x"), json!({ "preconditions": { "uid": "abc" } }))),
        (
            "other revision",
            Step::delete_with(at("x"), json!({ "preconditions": { "resourceVersion": "1" } })),
        ),
        ("bad policy", Step::delete_with(at("x"), json!({ "propagationPolicy": "Bad" }))),
        ("dry run", Step::delete_with(at("x"), json!({ "dryRun": ["All"] }))),
        ("still there", Step::get(at("x"))),
        ("delete", Step::delete(at("x"))),
        ("gone", Step::get(at("x"))),
        (
            "create with a finalizer",
            Step::post(MAPS, json!({ "metadata": { "name": "f", "finalizers": ["a.example.com/b"] } })),
        ),
        ("delete with a finalizer", Step::delete(at("f"))),
        ("again", Step::delete(at("f"))),
        ("change while deleting", Step::patch(MERGE, at("f"), json!({ "data": { "a": "b" } }))),
        (
            "another finalizer",
            Step::patch(
                MERGE,
                at("f"),
                json!({ "metadata": { "finalizers": ["a.example.com/b", "a.example.com/c"] } }),
            ),
        ),
        ("last finalizer", Step::patch(MERGE, at("f"), json!({ "metadata": { "finalizers": null } }))),
        ("gone too", Step::get(at("f"))),
        ("one", Step::post(MAPS, json!({ "metadata": { "name": "one", "labels": { "set": "a" } } }))),
        ("two", Step::post(MAPS, json!({ "metadata": { "name": "two", "labels": { "set": "a" } } }))),
        ("three", Step::post(MAPS, json!({ "metadata": { "name": "three", "labels": { "set": "b" } } }))),
        ("some", Step::delete(format!("{MAPS}?labelSelector=set%3Da"))),
        ("what is left", Step::get(format!("{MAPS}?labelSelector=set"))),
        ("everywhere", Step::delete("/api/v1/configmaps")),
    ];
    compare(&worlds, &steps).await
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_narrowed_as_on_the_real_server() -> Result<()> {
    let worlds = worlds("list").await?;
    let map = |name: &str, labels: serde_json::Value| {
        Step::post(MAPS, json!({ "metadata": { "name": name, "labels": labels } }))
    };
    let list = |query: &str| Step::get(format!("{MAPS}?{query}"));
    let steps = [
        ("a", map("a", json!({ "app": "web", "tier": "1" }))),
        ("b", map("b", json!({ "app": "db" }))),
        ("c", map("c", json!({}))),
        ("all", list("")),
        ("label", list("labelSelector=app%3Dweb")),
        ("set", list("labelSelector=app+in+(web,db)")),
        ("absent label", list("labelSelector=!app")),
        ("not", list("labelSelector=app!%3Dweb")),
        ("name", list("fieldSelector=metadata.name%3Db")),
        ("not name", list("fieldSelector=metadata.name!%3Db")),
        ("both", list("fieldSelector=metadata.name%3Db&labelSelector=app%3Dweb")),
        ("namespace", Step::get("/api/v1/configmaps?fieldSelector=metadata.namespace%3D{ns}")),
        ("bad field", list("fieldSelector=data.a%3Db").loosely()),
        ("escape at the end", list("fieldSelector=metadata.name%3D%5C")),
        ("escaped", list("fieldSelector=metadata.name%3Da%5C%2Cb")),
        ("odd escape", list("fieldSelector=metadata.name%3Da%5Cb")),
        ("two signs", list("fieldSelector=metadata.name%3D%3Da")),
        ("three signs", list("fieldSelector=metadata.name%3D%3D%3Da")),
        ("not and a sign", list("fieldSelector=metadata.name!%3D%3Da")),
        ("no sign", list("fieldSelector=metadata.name")),
        ("empty terms", list("fieldSelector=,metadata.name%3Da,,")),
        ("two fields", list("fieldSelector=metadata.name%3Da,metadata.namespace%3D{ns}")),
        ("other namespace", list("fieldSelector=metadata.namespace%3Dother")),
        ("bad selector", list("labelSelector=a%3Db%3Dc,,").loosely()),
        ("bad revision", list("resourceVersion=abc")),
        ("match without revision", list("resourceVersionMatch=Exact")),
        ("zero", list("resourceVersion=0")),
        ("initial events", list("sendInitialEvents=true")),
        ("metadata", list("").accept("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")),
        (
            "metadata of one",
            Step::get(at("a")).accept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"),
        ),
        ("absent namespace", Step::get("/api/v1/namespaces/nope/configmaps")),
        ("other media type", list("").accept("application/nonsense").loosely()),
        ("JSON among others", list("").accept("application/nonsense, application/json")),
    ];
    compare(&worlds, &steps).await
}
