//! The other built-in kinds: what each fills in, keeps and refuses.

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{MERGE, Step, compare, worlds};

const CORE: &str = "/api/v1/namespaces/{ns}";

/// Creates an object, creates it again, reads it, changes a label, changes it back, deletes it.
fn life(all: &str, name: &str, object: &Value) -> Vec<(&'static str, Step)> {
    let at = format!("{all}/{name}");
    let mut named = object.clone();
    named["metadata"]["name"] = name.into();
    let mut relabelled = named.clone();
    relabelled["metadata"]["labels"] = json!({ "a": "b" });
    vec![
        ("absent", Step::get(&at)),
        (
            "put absent",
            Step::put(format!("{all}/{name}-put"), {
                let mut put = named.clone();
                put["metadata"]["name"] = format!("{name}-put").into();
                put
            }),
        ),
        ("patch absent", Step::patch(MERGE, &at, json!({}))),
        ("delete absent", Step::delete(&at)),
        ("dry run", Step::post(format!("{all}?dryRun=All"), named.clone())),
        ("create", Step::post(all, named.clone())),
        ("exists", Step::post(all, named.clone())),
        ("get", Step::get(&at)),
        ("put", Step::put(&at, relabelled.clone())),
        ("merge", Step::patch(MERGE, &at, json!({ "metadata": { "labels": { "a": null, "c": "d" } } }))),
        ("conflict", Step::patch(MERGE, &at, json!({ "metadata": { "resourceVersion": "1" } }))),
        ("metadata", Step::get(&at).accept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")),
        ("delete", Step::delete(&at)),
        ("gone", Step::get(&at)),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_and_service_accounts() -> Result<()> {
    let worlds = worlds("secrets").await?;
    let secrets = format!("{CORE}/secrets");
    let at = format!("{secrets}/x");
    let mut steps = life(&secrets, "life", &json!({ "data": { "a": "eA==" }, "stringData": { "b": "y" } }));
    steps.extend(life(&format!("{CORE}/serviceaccounts"), "life", &json!({})));
    steps.extend([
        ("create", Step::post(&secrets, json!({ "metadata": { "name": "x" }, "type": "example.com/t" }))),
        ("no base64", Step::post(&secrets, json!({ "metadata": { "name": "y" }, "data": { "a": "e" } }))),
        ("TLS without a key", Step::post(&secrets, json!({ "metadata": { "name": "y" }, "type": "kubernetes.io/tls", "data": { "tls.crt": "" } }))),
        ("other type", Step::patch(MERGE, &at, json!({ "type": "Opaque" }))),
        ("text", Step::patch(MERGE, &at, json!({ "stringData": { "k": "v" } }))),
        ("by type", Step::get(format!("{secrets}?fieldSelector=type%3Dexample.com/t"))),
    ]);
    compare(&worlds, &steps).await
}

#[tokio::test(flavor = "multi_thread")]
async fn leases_and_endpoint_slices() -> Result<()> {
    let worlds = worlds("leases").await?;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases";
    let slices = "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices";
    let spec = json!({ "holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z" });
    let slice = json!({
        "addressType": "IPv4",
        "endpoints": [{ "addresses": ["10.1.2.3"], "conditions": { "ready": true } }],
        "ports": [{ "port": 80 }],
    });
    let mut steps = life(leases, "life", &json!({ "spec": spec }));
    steps.extend(life(slices, "life", &slice));
    steps.extend([
        ("no spec", Step::post(leases, json!({ "metadata": { "name": "x" } }))),
        ("put without a revision", Step::put(format!("{leases}/x"), json!({ "metadata": { "name": "x" }, "spec": spec }))),
        ("zero", Step::post(leases, json!({ "metadata": { "name": "y" }, "spec": { "leaseDurationSeconds": 0 } }))),
        ("bad time", Step::post(leases, json!({ "metadata": { "name": "y" }, "spec": { "renewTime": "yesterday" } })).loosely()),
        ("no addresses", Step::post(slices, json!({ "metadata": { "name": "y" }, "addressType": "IPv4", "endpoints": [{ "addresses": [] }] }))),
        ("bad address type", Step::post(slices, json!({ "metadata": { "name": "y" }, "addressType": "IPv5", "endpoints": [] }))),
        ("slice", Step::post(slices, json!({ "metadata": { "name": "x" }, "addressType": "IPv4", "endpoints": [] }))),
        ("ready", Step::patch(MERGE, format!("{slices}/x"), json!({ "endpoints": [{ "addresses": ["10.1.2.3"] }] }))),
        ("other address type", Step::patch(MERGE, format!("{slices}/x"), json!({ "addressType": "IPv6" })).loosely()),
    ]);
    compare(&worlds, &steps).await
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_both_groups() -> Result<()> {
    let worlds = worlds("events").await?;
    let core = format!("{CORE}/events");
    let new = "/apis/events.k8s.io/v1/namespaces/{ns}/events";
    let about = json!({ "kind": "Widget", "name": "w", "namespace": "{ns}", "uid": "abc", "apiVersion": "example.com/v1" });
    let old = json!({
        "involvedObject": about, "reason": "Made", "message": "it was made", "type": "Normal", "count": 1,
        "source": { "component": "tester" },
        "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z",
    });
    let newer = json!({
        "regarding": about, "reason": "Made", "note": "it was made", "type": "Normal", "action": "Make",
        "eventTime": "2026-01-01T00:00:00.000001Z", "reportingController": "example.com/tester", "reportingInstance": "t-1",
    });
    let named = |object: &Value, name: &str| {
        let mut object = object.clone();
        object["metadata"]["name"] = name.into();
        object
    };
    let list = |query: &str| Step::get(format!("{core}?fieldSelector={query}"));
    let mut steps = life(&core, "life", &old);
    steps.extend(life(new, "newlife", &newer));
    steps.extend([
        ("old", Step::post(&core, named(&old, "old"))),
        ("new", Step::post(new, named(&newer, "new"))),
        ("old as new", Step::get(format!("{new}/old"))),
        ("new as old", Step::get(format!("{core}/new"))),
        ("nothing new", Step::post(new, json!({ "metadata": { "name": "bad" }, "regarding": about }))),
        (
            "elsewhere",
            Step::post(
                &core,
                json!({ "metadata": { "name": "bad" }, "involvedObject": { "namespace": "other" } }),
            ),
        ),
        ("by object", list("involvedObject.name%3Dw,involvedObject.kind%3DWidget")),
        ("by UID", list("involvedObject.uid%3Dabc")),
        ("by other UID", list("involvedObject.uid%3Dabcd")),
        ("by type", list("type!%3DNormal")),
        ("by unknown field", list("message%3Da").loosely()),
        (
            "again",
            Step::patch(
                MERGE,
                format!("{core}/old"),
                json!({ "count": 2, "lastTimestamp": "2026-01-01T00:01:00Z" }),
            ),
        ),
        (
            "again, new",
            Step::patch(
                MERGE,
                format!("{new}/new"),
                json!({ "series": { "count": 2, "lastObservedTime": "2026-01-01T00:01:00.000000Z" } }),
            ),
        ),
    ]);
    compare(&worlds, &steps).await
}

#[tokio::test(flavor = "multi_thread")]
async fn services() -> Result<()> {
    let worlds = worlds("services").await?;
    let all = format!("{CORE}/services");
    // The addresses are of different networks, so only headless services are compared whole.
    let headless = json!({ "spec": { "clusterIP": "None", "selector": { "a": "b" }, "ports": [{ "port": 80, "name": "http", "targetPort": "web" }] } });
    let mut steps = life(&all, "life", &headless);
    steps.extend([
        ("no ports", Step::post(&all, json!({ "metadata": { "name": "y" } }))),
        ("digit first", Step::post(&all, json!({ "metadata": { "name": "1y" }, "spec": { "ports": [{ "port": 80 }] } })).loosely()),
        ("bad port", Step::post(&all, json!({ "metadata": { "name": "y" }, "spec": { "ports": [{ "port": 0 }] } })).loosely()),
        ("bad protocol", Step::post(&all, json!({ "metadata": { "name": "y" }, "spec": { "ports": [{ "port": 80, "protocol": "X" }] } }))),
        ("addressed", Step::post(&all, json!({ "metadata": { "name": "y" }, "spec": { "ports": [{ "port": 80 }] } })).loosely()),
        ("kept", Step::patch(MERGE, format!("{all}/y"), json!({ "spec": { "selector": { "a": "b" } } })).loosely()),
        ("other address", Step::patch(MERGE, format!("{all}/y"), json!({ "spec": { "clusterIP": "10.0.0.77" } })).loosely()),
        ("status", Step::patch(MERGE, format!("{all}/y/status"), json!({ "status": { "loadBalancer": { "ingress": [{ "ip": "1.2.3.4" }] } } })).loosely()),
    ]);
    compare(&worlds, &steps).await
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn roles_and_bindings() -> Result<()> {
    let worlds = worlds("rbac").await?;
    let group = "/apis/rbac.authorization.k8s.io/v1";
    let roles = format!("{group}/namespaces/{{ns}}/roles");
    let bound_in = format!("{group}/namespaces/{{ns}}/rolebindings");
    let allowed = json!({ "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }] });
    let bound = json!({ "roleRef": { "kind": "Role", "name": "r" }, "subjects": [{ "kind": "User", "name": "a" }, { "kind": "ServiceAccount", "name": "b", "namespace": "{ns}" }] });
    let mut steps = life(&roles, "life:x", &allowed);
    steps.extend(life(&bound_in, "life", &bound));
    steps.extend(life(&format!("{group}/clusterroles"), "{ns}-life", &allowed));
    let bound_everywhere = format!("{group}/clusterrolebindings");
    let mut cluster_bound = bound.clone();
    cluster_bound["roleRef"]["kind"] = "ClusterRole".into();
    steps.extend(life(&bound_everywhere, "{ns}-life", &cluster_bound));
    let with = |subjects: Value| {
        let mut object = cluster_bound.clone();
        object["subjects"] = subjects;
        object["metadata"] = json!({ "name": "{ns}-bad" });
        object
    };
    for all in [&bound_in, &bound_everywhere] {
        steps.extend([
            (
                "account of no namespace",
                Step::post(
                    format!("{all}?dryRun=All"),
                    with(json!([{ "kind": "ServiceAccount", "name": "b" }])),
                ),
            ),
            (
                "bad account",
                Step::post(all, with(json!([{ "kind": "ServiceAccount", "name": "B C", "apiGroup": "x" }]))),
            ),
            ("bad user", Step::post(all, with(json!([{ "kind": "User", "name": "", "apiGroup": "x" }])))),
        ]);
    }
    steps.extend([
        ("no rules", Step::post(&roles, json!({ "metadata": { "name": "y" } }))),
        (
            "bad rule",
            Step::post(&roles, json!({ "metadata": { "name": "z" }, "rules": [{ "verbs": ["get"] }] })),
        ),
        (
            "no verbs",
            Step::post(
                &roles,
                json!({ "metadata": { "name": "z" }, "rules": [{ "apiGroups": [""], "resources": ["a"] }] }),
            ),
        ),
        (
            "binding",
            Step::post(&bound_in, {
                let mut object = bound.clone();
                object["metadata"] = json!({ "name": "y" });
                object
            }),
        ),
        (
            "other role",
            Step::patch(MERGE, format!("{bound_in}/y"), json!({ "roleRef": { "name": "other" } })).loosely(),
        ),
        (
            "bad subject",
            Step::patch(
                MERGE,
                format!("{bound_in}/y"),
                json!({ "subjects": [{ "kind": "Nobody", "name": "a" }] }),
            ),
        ),
    ]);
    compare(&worlds, &steps).await
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_configurations() -> Result<()> {
    let worlds = worlds("webhooks").await?;
    let group = "/apis/admissionregistration.k8s.io/v1";
    let webhook = json!({
        "name": "a.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "clientConfig": { "service": { "namespace": "{ns}", "name": "hook", "path": "/x" } },
        "rules": [{ "apiGroups": ["nobody.example.com"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["nothings"] }],
    });
    let mut steps = Vec::new();
    for plural in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        let all = format!("{group}/{plural}");
        steps.extend(life(&all, "{ns}-life", &json!({ "webhooks": [webhook] })));
        steps.push((
            "short name",
            Step::post(&all, json!({ "metadata": { "name": "{ns}-y" }, "webhooks": [{ "name": "a" }] }))
                .loosely(),
        ));
        steps.push(("no webhooks", Step::post(&all, json!({ "metadata": { "name": "{ns}-z" } }))));
        steps.push((
            "one comes",
            Step::patch(MERGE, format!("{all}/{{ns}}-z"), json!({ "webhooks": [webhook] })),
        ));
        steps.push(("goes", Step::delete(format!("{all}/{{ns}}-z"))));
    }
    compare(&worlds, &steps).await
}

#[tokio::test(flavor = "multi_thread")]
async fn namespaces() -> Result<()> {
    let worlds = worlds("namespaces").await?;
    let all = "/api/v1/namespaces";
    let at = |name: &str| format!("{all}/{{ns}}-{name}");
    let steps = [
        ("absent", Step::get(at("x"))),
        ("create", Step::post(all, json!({ "metadata": { "name": "{ns}-x" } }))),
        ("exists", Step::post(all, json!({ "metadata": { "name": "{ns}-x" } }))),
        ("bad name", Step::post(all, json!({ "metadata": { "name": "a.b" } }))),
        ("merge", Step::patch(MERGE, at("x"), json!({ "metadata": { "labels": { "a": "b" } } }))),
        ("spec is kept", Step::patch(MERGE, at("x"), json!({ "spec": { "finalizers": [] } }))),
        (
            "its own label stays",
            Step::patch(
                MERGE,
                at("x"),
                json!({ "metadata": { "labels": { "kubernetes.io/metadata.name": null } } }),
            ),
        ),
        ("status", Step::get(format!("{}/status", at("x")))),
        (
            "held",
            Step::post(
                format!("{all}/{{ns}}-x/configmaps"),
                json!({ "metadata": { "name": "held", "finalizers": ["a.example.com/b"] } }),
            ),
        ),
        ("delete", Step::delete(at("x"))),
        (
            "nothing new",
            Step::post(format!("{all}/{{ns}}-x/configmaps"), json!({ "metadata": { "name": "late" } })),
        ),
        (
            "changes are fine",
            Step::patch(MERGE, format!("{all}/{{ns}}-x/configmaps/held"), json!({ "data": { "a": "b" } }))
                .loosely(),
        ),
        ("default stays", Step::delete("/api/v1/namespaces/default")),
        ("collection", Step::delete(all)),
        ("in a namespace", Step::get("/api/v1/namespaces/{ns}/namespaces")),
    ];
    compare(&worlds, &steps).await
}
