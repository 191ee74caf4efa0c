//! Custom resources: CRDs, and every verb on what they define.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{JSON_PATCH, MERGE, STRATEGIC, Step, World, compare, worlds};

pub(crate) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A CRD of a group of the test's own.
pub(crate) fn crd(group: &str) -> Value {
    let mut crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("widgets.{group}") },
        "spec": {
            "group": group,
            "names": { "kind": "Widget", "plural": "widgets", "shortNames": ["wd"], "categories": ["all"] },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1", "served": true, "storage": true,
                    "subresources": { "status": {} },
                    "additionalPrinterColumns": [
                        { "name": "Size", "type": "integer", "jsonPath": ".spec.size" },
                        { "name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status" },
                        { "name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1, "description": "What it looks like." },
                    ],
                    "schema": { "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["size"],
                                "x-kubernetes-validations": [
                                    { "rule": "self.size < 100 || self.color == 'blue'", "message": "what is big is blue" },
                                    { "rule": "self.color == oldSelf.color", "messageExpression": "'it was ' + oldSelf.color", "fieldPath": ".color", "reason": "FieldValueForbidden" },
                                ],
                                "properties": {
                                    "size": { "type": "integer", "minimum": 1 },
                                    "color": { "type": "string", "default": "red", "enum": ["red", "blue"] },
                                    "tags": { "type": "array", "items": { "type": "string" } },
                                    "parts": { "type": "array", "items": { "type": "object", "required": ["name"], "properties": { "name": { "type": "string" }, "count": { "type": "integer", "default": 1 } } } },
                                },
                            },
                            "status": { "type": "object", "properties": {
                                "ready": { "type": "boolean" },
                                "made": { "type": "integer", "maximum": 50 },
                                "conditions": { "type": "array", "items": { "type": "object", "properties": { "type": { "type": "string" }, "status": { "type": "string" } } } },
                            } },
                        },
                    } },
                },
                {
                    "name": "v1beta1", "served": true, "storage": false,
                    "schema": { "openAPIV3Schema": {
                        "type": "object",
                        "properties": { "spec": { "type": "object", "properties": { "size": { "type": "integer" } } } },
                    } },
                },
            ],
        },
    });
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = json!([{
        "rule": "!has(self.status) || !has(self.status.made) || self.status.made <= self.spec.size",
        "message": "no more are made than asked for",
    }]);
    crd
}

/// Waits until the kind is served.
pub(crate) async fn until_served(worlds: &[World; 2], group: &str) -> Result<()> {
    for world in worlds {
        kapstan_envtest::until(Duration::from_secs(30), "the kind to be served", async || {
            let crd = world.ask(&Step::get(format!("{CRDS}/widgets.{group}"))).await?;
            let conditions = crd.body["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let is_established = conditions
                .iter()
                .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
            let list = world.ask(&Step::get(format!("/apis/{group}/v1/widgets"))).await?;
            Ok((is_established && list.code == 200).then_some(()))
        })
        .await?;
    }
    Ok(())
}

pub(crate) fn widget(group: &str, name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": { "name": name }, "spec": spec })
}

#[tokio::test(flavor = "multi_thread")]
async fn crds_are_served_as_on_the_real_server() -> Result<()> {
    let worlds = worlds("crds").await?;
    let group = "served.example.com";
    let mut broken = crd(group);
    broken["metadata"]["name"] = "other.served.example.com".into();
    broken["spec"]["versions"][1]["schema"] = Value::Null;
    let with_rule = |rule: &str| {
        let mut crd = crd(group);
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"]
            [0]["rule"] = rule.into();
        crd
    };
    compare(
        &worlds,
        &[
            ("absent", Step::get(format!("{CRDS}/widgets.{group}"))),
            ("broken", Step::post(CRDS, broken)),
            ("bad rule", Step::post(CRDS, with_rule("self.sise < 100"))),
            ("unknown function", Step::post(CRDS, with_rule("self.nope() == 1"))),
            (
                "authorizer",
                Step::post(CRDS, with_rule("authorizer.path('/').check('get').allowed()")).loosely(),
            ),
            ("rule of another type", Step::post(CRDS, with_rule("1"))),
            (
                "too costly a rule",
                Step::post(
                    CRDS,
                    with_rule("self.tags.all(a, self.tags.all(b, self.tags.all(c, a + b + c != 'x')))"),
                ),
            ),
            ("dry run", Step::post(format!("{CRDS}?dryRun=All"), crd(group))),
            ("create", Step::post(CRDS, crd(group))),
            ("exists", Step::post(CRDS, crd(group))),
        ],
    )
    .await?;
    until_served(&worlds, group).await?;
    compare(
        &worlds,
        &[
            ("established", Step::get(format!("{CRDS}/widgets.{group}"))),
            ("empty list", Step::get(format!("/apis/{group}/v1/widgets"))),
            ("no such version", Step::get(format!("/apis/{group}/v2/widgets")).loosely()),
            ("no such kind", Step::get(format!("/apis/{group}/v1/gadgets")).loosely()),
            ("group", Step::get(format!("/apis/{group}"))),
            ("put without a revision", Step::put(format!("{CRDS}/widgets.{group}"), crd(group))),
            ("delete", Step::delete(format!("{CRDS}/widgets.{group}"))),
        ],
    )
    .await
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn custom_resources_are_written_as_on_the_real_server() -> Result<()> {
    let worlds = worlds("write").await?;
    let group = "write.example.com";
    for world in &worlds {
        world.ask(&Step::post(CRDS, crd(group))).await?;
    }
    until_served(&worlds, group).await?;
    let all = format!("/apis/{group}/v1/namespaces/{{ns}}/widgets");
    let at = |name: &str| format!("{all}/{name}");
    let create = |name: &str, spec: Value| Step::post(&all, widget(group, name, &spec));
    let mut with_status = widget(group, "s", &json!({ "size": 1 }));
    with_status["status"] = json!({ "ready": true });
    let steps = [
        ("absent", Step::get(at("x"))),
        ("create", create("x", json!({ "size": 1, "bogus": 2 }))),
        ("exists", create("x", json!({ "size": 1 }))),
        ("get", Step::get(at("x"))),
        ("with a status", Step::post(&all, with_status)),
        ("no type", Step::post(&all, json!({ "metadata": { "name": "y" }, "spec": { "size": 1 } }))),
        (
            "other kind",
            Step::post(
                &all,
                json!({ "apiVersion": format!("{group}/v1"), "kind": "Foo", "metadata": { "name": "y" } }),
            ),
        ),
        (
            "other version",
            Step::post(
                &all,
                json!({ "apiVersion": format!("{group}/v1beta1"), "kind": "Widget", "metadata": { "name": "y" } }),
            ),
        ),
        ("wrong type", create("y", json!({ "size": "a", "color": "green" }))),
        ("missing", create("y", json!({ "color": "green" }))),
        ("too small", create("y", json!({ "size": 0 }))),
        (
            "nested",
            create(
                "n",
                json!({ "size": 1, "parts": [{ "name": "p", "extra": 1 }, { "name": "q", "count": 5 }] }),
            ),
        ),
        ("nested, missing", create("y", json!({ "size": 1, "parts": [{}] }))),
        ("bad name", create("Y Z", json!({ "size": 1 }))),
        (
            "no name",
            Step::post(
                &all,
                json!({ "apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": {}, "spec": { "size": 1 } }),
            ),
        ),
        (
            "strict",
            Step::new(
                http::Method::POST,
                format!("{all}?fieldValidation=Strict"),
                format!(
                    r#"{{"apiVersion":"{group}/v1","kind":"Widget","metadata":{{"name":"y","foo":1}},"spec":{{"size":1,"bogus":1,"size":2}}}}"#
                ),
            ),
        ),
        ("dry run", Step::post(format!("{all}?dryRun=All"), widget(group, "d", &json!({ "size": 1 })))),
        (
            "put absent",
            Step::put(at("zz"), {
                let mut object = widget(group, "zz", &json!({ "size": 1 }));
                object["metadata"]["resourceVersion"] = "5".into();
                object
            }),
        ),
        ("put without a revision", Step::put(at("x"), widget(group, "x", &json!({ "size": 2 })))),
        (
            "put, conflict",
            Step::put(at("x"), {
                let mut object = widget(group, "x", &json!({ "size": 2 }));
                object["metadata"]["resourceVersion"] = "5".into();
                object
            }),
        ),
        ("merge", Step::patch(MERGE, at("x"), json!({ "spec": { "size": 3 } }))),
        ("merge, no change", Step::patch(MERGE, at("x"), json!({ "spec": { "size": 3 } }))),
        ("merge, invalid", Step::patch(MERGE, at("x"), json!({ "spec": { "size": 0 } }))),
        ("merge, status is kept", Step::patch(MERGE, at("x"), json!({ "status": { "ready": true } }))),
        ("rule", create("y", json!({ "size": 100 }))),
        ("rule of a change", Step::patch(MERGE, at("x"), json!({ "spec": { "color": "blue" } }))),
        (
            "JSON patch",
            Step::patch(JSON_PATCH, at("x"), json!([{ "op": "replace", "path": "/spec/size", "value": 4 }])),
        ),
        ("strategic", Step::patch(STRATEGIC, at("x"), json!({ "spec": { "size": 3 } }))),
        (
            "labels do not count",
            Step::patch(MERGE, at("x"), json!({ "metadata": { "labels": { "a": "b" } } })),
        ),
        (
            "status",
            Step::patch(
                MERGE,
                format!("{}/status", at("x")),
                json!({ "spec": { "size": 9 }, "status": { "ready": true }, "metadata": { "labels": { "c": "d" } } }),
            ),
        ),
        (
            "status, invalid",
            Step::patch(MERGE, format!("{}/status", at("x")), json!({ "status": { "ready": "yes" } })),
        ),
        (
            "status against the spec",
            Step::patch(MERGE, format!("{}/status", at("x")), json!({ "status": { "made": 7 } })),
        ),
        (
            "status, invalid in two ways",
            Step::patch(MERGE, format!("{}/status", at("x")), json!({ "status": { "made": 70 } })),
        ),
        ("get status", Step::get(format!("{}/status", at("x")))),
        ("status of an absent one", Step::patch(MERGE, format!("{}/status", at("nope")), json!({}))),
        ("delete status", Step::delete(format!("{}/status", at("x")))),
        ("no scale", Step::get(format!("{}/scale", at("x")))),
        ("other version of it", Step::get(format!("/apis/{group}/v1beta1/namespaces/{{ns}}/widgets/x"))),
        (
            "changed in the other version",
            Step::patch(
                MERGE,
                format!("/apis/{group}/v1beta1/namespaces/{{ns}}/widgets/s"),
                json!({ "spec": { "size": 7 } }),
            ),
        ),
        ("and back", Step::get(at("s"))),
        ("list", Step::get(&all)),
        ("table", Step::get(&all).accept("application/json;as=Table;g=meta.k8s.io;v=v1")),
        (
            "finalizer",
            Step::patch(MERGE, at("x"), json!({ "metadata": { "finalizers": ["a.example.com/b"] } })),
        ),
        ("delete", Step::delete(at("x"))),
        ("no finalizer", Step::patch(MERGE, at("x"), json!({ "metadata": { "finalizers": [] } }))),
        ("gone", Step::get(at("x"))),
        ("delete at once", Step::delete(at("n"))),
        ("collection", Step::delete(&all)),
    ];
    compare(&worlds, &steps).await
}
