//! Requests that nobody should send: each has an answer, and the server works on.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result};
use futures::{StreamExt as _, TryStreamExt as _};
use http::{Method, Request};
use k8s_openapi::api::core::v1::ConfigMap;
use kapstan_embedded::Server;
use kube::Api;
use kube::api::{Patch, PatchParams, WatchEvent, WatchParams};
use kube::client::Body;
use rstest::rstest;
use serde_json::{Map, Value, json};

use crate::custom::{crd, widget};
use crate::world::{APPLY, JSON, JSON_PATCH, MERGE, STRATEGIC, Step, compare, worlds};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const GROUP: &str = "hostile.example.com";

/// A server with a config map `x` and a widget `x`.
fn server() -> Result<Server> {
    let server = Server::builder().seed(1).history(16).start();
    server.load(&crd(GROUP).to_string())?;
    server.load("{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {a: b}}, data: {a: b}}")?;
    server.load(&widget(GROUP, "x", &json!({ "size": 1, "parts": [{ "name": "p" }] })).to_string())?;
    Ok(server)
}

fn widgets() -> String {
    format!("/apis/{GROUP}/v1/namespaces/default/widgets")
}

/// Sends a request and reads the whole answer, or the beginning of what may never end.
async fn send(
    server: &Server,
    method: &str,
    path: &str,
    content_type: &str,
    body: Vec<u8>,
) -> Result<(u16, Value)> {
    let request = Request::builder().method(Method::from_bytes(method.as_bytes())?).uri(path);
    let request = request.header("content-type", content_type).body(Body::from(body))?;
    let response = server.client().send(request).await?;
    let code = response.status().as_u16();
    if path.contains("watch=") && code == 200 {
        return Ok((code, Value::Null));
    }
    let bytes = response.into_body().collect_bytes().await?;
    Ok((code, serde_json::from_slice(&bytes).unwrap_or_default()))
}

async fn assert_works(server: &Server) -> Result<()> {
    let maps = Api::<ConfigMap>::namespaced(server.client(), "default");
    let patch = Patch::Merge(json!({ "data": { "after": server.revision().to_string() } }));
    maps.patch("x", &PatchParams::default(), &patch).await?;
    Ok(())
}

fn deep(open: &str, close: &str, depth: usize) -> String {
    format!("{}1{}", open.repeat(depth), close.repeat(depth))
}

fn aliases() -> String {
    let mut yaml = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for number in 1..12 {
        let alias = format!("*a{}", number - 1);
        let items = [alias.as_str(); 9].join(", ");
        let _ = writeln!(yaml, "a{number}: &a{number} [{items}]");
    }
    yaml
}

/// An object whose one key is as long as it may be, with this many fields below, each of them wrong.
fn long_paths(key: usize, fields: usize) -> String {
    let below: Map<_, _> = (0..fields).map(|number| (format!("f{number}"), json!(number))).collect();
    let mut object = widget(GROUP, "y", &json!({ "size": 1 }));
    object["spec"]["k".repeat(key)] = below.into();
    object.to_string()
}

fn wrong_items(items: usize) -> String {
    let tags: Vec<_> = (0..items).map(Value::from).collect();
    widget(GROUP, "y", &json!({ "size": 1, "tags": tags })).to_string()
}

fn doubled_fields(fields: usize) -> String {
    let doubled: Vec<_> = (0..fields).map(|number| format!(r#""f{number}":"a","f{number}":"b""#)).collect();
    format!(r#"{{"metadata":{{"name":"y"}},"data":{{{}}}}}"#, doubled.join(","))
}

#[rstest]
#[case::too_large("POST", MAPS, JSON, "x".repeat(4 * 1024 * 1024), 413)]
#[case::deep_lists("POST", MAPS, JSON, deep("[", "]", 200_000), 400)]
#[case::deep_objects("PUT", &format!("{MAPS}/x"), JSON, deep(r#"{"a":"#, "}", 200_000), 400)]
#[case::deep_enough("POST", &widgets(), JSON, widget(GROUP, "y", &serde_json::from_str(&deep(r#"{"a":"#, "}", 121)).unwrap()).to_string(), 400)]
#[case::deep_merge("PATCH", &format!("{MAPS}/x"), MERGE, deep(r#"{"a":"#, "}", 200_000), 400)]
#[case::deep_strategic("PATCH", &format!("{MAPS}/x"), STRATEGIC, deep(r#"{"a":"#, "}", 200_000), 400)]
#[case::deep_apply("PATCH", &format!("{MAPS}/x?fieldManager=a"), APPLY, deep("{a: ", "}", 100_000), 400)]
#[case::deep_json_patch("PATCH", &format!("{MAPS}/x"), JSON_PATCH, deep("[", "]", 100_000), 400)]
#[case::deep_pointer("PATCH", &format!("{MAPS}/x"), JSON_PATCH, json!([{ "op": "add", "path": "/a".repeat(100_000), "value": 1 }]).to_string(), 422)]
#[case::huge_index("PATCH", &format!("{}/x", widgets()), JSON_PATCH, json!([{ "op": "add", "path": "/spec/parts/18446744073709551615", "value": 1 }]).to_string(), 422)]
#[case::aliases("PATCH", &format!("{MAPS}/x?fieldManager=a"), APPLY, aliases(), 400)]
#[case::alias_body("POST", MAPS, "application/yaml", aliases(), 400)]
#[case::long_key("POST", &widgets(), JSON, long_paths(40_000, 1), 400)]
#[case::unknown_fields("POST", &widgets(), JSON, long_paths(30_000, 50_000), 201)]
#[case::unknown_strict("POST", &format!("{}?fieldValidation=Strict", widgets()), JSON, long_paths(30_000, 50_000), 400)]
#[case::wrong_items("POST", &widgets(), JSON, wrong_items(200_000), 422)]
#[case::doubled_fields("POST", MAPS, JSON, doubled_fields(60_000), 201)]
#[case::long_selector("GET", &format!("{MAPS}?labelSelector={}", "a,".repeat(20_000)), JSON, String::new(), 400)]
#[case::many_terms("GET", &format!("{MAPS}?labelSelector={}a", "a,".repeat(20_000)), JSON, String::new(), 200)]
#[case::open_selector("GET", &format!("{MAPS}?labelSelector=a+in+(((("), JSON, String::new(), 400)]
#[case::plain_text("POST", MAPS, "text/plain", "{}".to_owned(), 415)]
#[case::no_type("PATCH", &format!("{MAPS}/x"), "", "{}".to_owned(), 415)]
#[case::long_name("GET", &format!("{MAPS}/{}", "n".repeat(50_000)), JSON, String::new(), 404)]
#[case::no_status("GET", &format!("{MAPS}/x/status"), JSON, String::new(), 404)]
#[tokio::test]
async fn hostile_requests_are_refused(
    #[case] method: &str,
    #[case] path: &str,
    #[case] content_type: &str,
    #[case] body: String,
    #[case] expected: u16,
) -> Result<()> {
    let server = server()?;
    let (code, answer) = send(&server, method, path, content_type, body.into_bytes()).await?;
    let message: String = answer["message"].as_str().unwrap_or_default().chars().take(300).collect();
    assert_eq!(code, expected, "{message}");
    assert_works(&server).await
}

#[rstest]
#[case::latin(JSON, b"{\"metadata\":{\"name\":\"\xe4\"}}".to_vec())]
#[case::utf_16(JSON, "{\"metadata\":{\"name\":\"a\"}}".encode_utf16().flat_map(u16::to_le_bytes).collect())]
#[case::byte_order_mark(JSON, b"\xef\xbb\xbf{\"metadata\":{\"name\":\"a\"}}".to_vec())]
#[case::half_a_character(JSON, br#"{"metadata":{"name":"\ud800"}}"#.to_vec())]
#[case::nul(JSON, b"{\"metadata\":{\"name\":\"a\0\"}}".to_vec())]
#[case::escaped_nul(JSON, br#"{"metadata":{"name":"a\u0000"}}"#.to_vec())]
#[case::latin_yaml("application/yaml", b"metadata: {name: \xe4}".to_vec())]
#[case::gzip(JSON, vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0])]
#[case::not_a_number(JSON, br#"{"metadata":{"name":"a"},"data":{"a":NaN}}"#.to_vec())]
#[case::infinite(JSON, br#"{"metadata":{"name":"a"},"data":{"a":1e999}}"#.to_vec())]
#[case::protobuf("application/vnd.kubernetes.protobuf", b"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\x7f".to_vec())]
#[tokio::test]
async fn odd_encodings_are_refused(#[case] content_type: &str, #[case] body: Vec<u8>) -> Result<()> {
    let server = server()?;
    let (code, answer) = send(&server, "POST", MAPS, content_type, body).await?;
    assert!((400..500).contains(&code), "{code} {answer}");
    assert_works(&server).await
}

/// The server's own words about too many mistakes are bounded.
#[tokio::test]
async fn an_answer_about_many_mistakes_is_short() -> Result<()> {
    let server = server()?;
    let (code, answer) = send(&server, "POST", &widgets(), JSON, wrong_items(200_000).into_bytes()).await?;
    let causes = answer["details"]["causes"].as_array().context("there are causes")?.len();
    assert_eq!((code, causes), (422, 1001));
    let strict = format!("{}?fieldValidation=Strict", widgets());
    let body = long_paths(30_000, 50_000).into_bytes();
    let (code, answer) = send(&server, "POST", &strict, JSON, body).await?;
    assert_eq!(code, 400);
    assert!(answer.to_string().len() < 2 * 1024 * 1024);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn many_warnings_are_cut_as_on_the_real_server() -> Result<()> {
    let worlds = worlds("warnings").await?;
    let all = "/api/v1/namespaces/{ns}/configmaps";
    let unknown = |name: &str, count: usize, length: usize| {
        let mut object = json!({ "metadata": { "name": name } });
        for number in 0..count {
            object[format!("u{number:03}{}", "x".repeat(length))] = 1.into();
        }
        Step::post(all, object)
    };
    let steps = [
        ("few", unknown("few", 3, 10)),
        ("one long", unknown("long", 1, 1000)),
        ("many", unknown("many", 80, 50)),
        ("many long", unknown("many-long", 30, 1000)),
    ];
    compare(&worlds, &steps).await
}

/// A small generator of random numbers, the same ones in every run.
struct Dice(AtomicU64);

impl Dice {
    fn below(&self, limit: usize) -> usize {
        let state = self.0.load(Ordering::Relaxed).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.0.store(state, Ordering::Relaxed);
        usize::try_from(state >> 33).unwrap_or_default() % limit
    }

    fn one_of<'a, T>(&self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// Something else in the place of something in the value.
    fn twist(&self, value: &mut Value) {
        let inner: Option<&mut Value> = match value {
            Value::Object(fields) if !fields.is_empty() && self.below(4) > 0 => {
                let at = self.below(fields.len());
                fields.values_mut().nth(at)
            }
            Value::Array(items) if !items.is_empty() && self.below(4) > 0 => {
                let at = self.below(items.len());
                items.get_mut(at)
            }
            _ => None,
        };
        match inner {
            Some(inner) => self.twist(inner),
            None => *value = self.anything(),
        }
    }

    fn anything(&self) -> Value {
        let values = [
            json!(null),
            json!(true),
            json!(-1),
            json!(1.5e300),
            json!(u64::MAX),
            json!(""),
            json!("a/b"),
            json!("2026-01-01T00:00:00Z"),
            json!("\u{0}\u{1f980}"),
            json!([]),
            json!([null]),
            json!([{ "name": "a" }, "b", 3]),
            json!({}),
            json!({ "": "", "a": null, "$patch": "delete" }),
            json!({ "f:metadata": { "k:{": {}, "v:1": {}, ".": {} } }),
            json!("x".repeat(300)),
        ];
        self.one_of(&values).clone()
    }
}

/// The bodies that are twisted, with where they go. Each names what is there or could be made.
#[expect(clippy::too_many_lines, reason = "a table")]
fn sound_requests() -> Vec<(&'static str, String, &'static str, Value)> {
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "x", "namespace": "default", "labels": { "a": "b" }, "annotations": { "a": "b" },
            "finalizers": ["a.example.com/b"],
            "ownerReferences": [{ "apiVersion": "v1", "kind": "A", "name": "a", "uid": "u", "controller": true }],
            "managedFields": [{ "manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": { "f:data": { "f:a": {} } } }],
        },
        "data": { "a": "b" }, "binaryData": { "c": "eA==" },
    });
    let mut made = map.clone();
    made["metadata"]["name"] = "y".into();
    let wide = widget(
        GROUP,
        "x",
        &json!({ "size": 1, "color": "red", "tags": ["a"], "parts": [{ "name": "p", "count": 1 }] }),
    );
    let service = json!({ "metadata": { "name": "s" }, "spec": { "clusterIP": "None", "selector": { "a": "b" }, "ports": [{ "port": 80, "targetPort": "web", "name": "http" }] } });
    let slice = json!({ "metadata": { "name": "s" }, "addressType": "IPv4", "endpoints": [{ "addresses": ["10.1.2.3"], "conditions": { "ready": true } }], "ports": [{ "port": 80 }] });
    let event = json!({ "metadata": { "name": "e" }, "involvedObject": { "kind": "A", "namespace": "default" }, "source": { "component": "a" }, "firstTimestamp": "2026-01-01T00:00:00Z", "count": 1, "series": { "count": 1 } });
    let role = json!({ "metadata": { "name": "r" }, "roleRef": { "kind": "Role", "name": "r", "apiGroup": "rbac.authorization.k8s.io" }, "subjects": [{ "kind": "User", "name": "a" }] });
    let mut other = crd("other.example.com");
    other["status"] = json!({ "conditions": [{ "type": "a", "status": "b" }], "storedVersions": ["v1"] });
    let namespace = json!({ "metadata": { "name": "n" }, "spec": { "finalizers": ["kubernetes"] }, "status": { "phase": "Active" } });
    let hooks = json!({ "metadata": { "name": "h" }, "webhooks": [{ "name": "a.b.c", "clientConfig": { "url": "https://a/" }, "sideEffects": "None", "admissionReviewVersions": ["v1"], "rules": [{ "operations": ["*"] }] }] });
    let operations = json!([{ "op": "add", "path": "/data/c", "value": "d" }, { "op": "copy", "from": "/data", "path": "/metadata/annotations" }, { "op": "test", "path": "/kind", "value": "ConfigMap" }, { "op": "move", "from": "/data/a", "path": "/data/z" }]);
    let strategic = json!({ "metadata": { "finalizers": ["c/d"], "$deleteFromPrimitiveList/finalizers": ["a.example.com/b"], "$setElementOrder/finalizers": ["c/d"], "ownerReferences": [{ "uid": "u", "$patch": "delete" }] }, "data": { "$retainKeys": ["a"], "$patch": "merge" } });
    let options = json!({ "propagationPolicy": "Foreground", "preconditions": { "uid": "u", "resourceVersion": "1" }, "dryRun": ["All"], "orphanDependents": null });
    let at = |all: &str, name: &str| format!("{all}/{name}");
    let widgets = widgets();
    vec![
        ("POST", MAPS.to_owned(), JSON, made.clone()),
        ("PUT", at(MAPS, "x"), JSON, map.clone()),
        ("PATCH", at(MAPS, "x"), MERGE, map.clone()),
        ("PATCH", at(MAPS, "x"), STRATEGIC, map.clone()),
        ("PATCH", at(MAPS, "x"), STRATEGIC, strategic),
        ("PATCH", at(MAPS, "x"), JSON_PATCH, operations),
        ("PATCH", at(MAPS, "x?fieldManager=a&force=true"), APPLY, map),
        ("PATCH", at(MAPS, "y?fieldManager=a"), APPLY, made),
        ("DELETE", at(MAPS, "y"), JSON, options),
        ("POST", widgets.clone(), JSON, wide.clone()),
        ("PUT", at(&widgets, "x"), JSON, wide.clone()),
        ("PATCH", at(&widgets, "x"), MERGE, wide.clone()),
        (
            "PATCH",
            at(&widgets, "x/status"),
            MERGE,
            json!({ "status": { "ready": true, "conditions": [{ "type": "a" }] } }),
        ),
        ("PATCH", at(&widgets, "x?fieldManager=a&force=true"), APPLY, wide),
        ("POST", "/api/v1/namespaces/default/services".to_owned(), JSON, service),
        ("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices".to_owned(), JSON, slice),
        ("POST", "/api/v1/namespaces/default/events".to_owned(), JSON, event.clone()),
        ("POST", "/apis/events.k8s.io/v1/namespaces/default/events".to_owned(), JSON, event),
        ("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings".to_owned(), JSON, role),
        ("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned(), JSON, other.clone()),
        (
            "PATCH",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.hostile.example.com".to_owned(),
            MERGE,
            other,
        ),
        ("POST", "/api/v1/namespaces".to_owned(), JSON, namespace.clone()),
        ("PUT", "/api/v1/namespaces/default/finalize".to_owned(), JSON, namespace),
        (
            "POST",
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations".to_owned(),
            JSON,
            hooks,
        ),
        (
            "POST",
            "/apis/coordination.k8s.io/v1/namespaces/default/leases".to_owned(),
            JSON,
            json!({ "metadata": { "name": "l" }, "spec": { "holderIdentity": "a", "leaseDurationSeconds": 1, "renewTime": "2026-01-01T00:00:00.000000Z" } }),
        ),
        (
            "POST",
            "/api/v1/namespaces/default/secrets".to_owned(),
            JSON,
            json!({ "metadata": { "generateName": "s-" }, "type": "kubernetes.io/tls", "data": { "tls.crt": "", "tls.key": "" }, "stringData": { "a": "b" } }),
        ),
    ]
}

/// `ROUNDS` tries more, `SEED` tries others.
#[tokio::test]
async fn whatever_is_in_a_body_there_is_an_answer() -> Result<()> {
    let number = |name: &str, default| {
        std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
    };
    let dice = Dice(AtomicU64::new(number("SEED", 1)));
    let server = server()?;
    let requests = sound_requests();
    let mut codes = std::collections::BTreeMap::new();
    for _ in 0..number("ROUNDS", 4000) {
        let (method, path, content_type, body) = dice.one_of(&requests);
        let mut body = body.clone();
        (0..=dice.below(3)).for_each(|_| dice.twist(&mut body));
        let (code, answer) = send(&server, method, path, content_type, body.to_string().into_bytes()).await?;
        // The API server calls some of the client's mistakes its own; it says which.
        let is_explained = code < 500 || !answer["message"].as_str().unwrap_or_default().is_empty();
        assert!(is_explained, "{method} {path} {body}: {code} {answer}");
        *codes.entry(code).or_insert(0) += 1;
    }
    assert!([200, 201, 400, 422].iter().all(|code| codes.contains_key(code)), "{codes:?}");
    // The namespace may be gone by now, the server is not.
    let (code, _) = send(&server, "GET", "/api/v1/namespaces", JSON, Vec::new()).await?;
    assert_eq!(code, 200);
    Ok(())
}

/// Nothing is kept for a watch that does not read: when it does, it begins where it was, or is told that
/// this is gone.
#[tokio::test]
async fn a_slow_watch_costs_nothing_and_is_told_what_it_missed() -> Result<()> {
    let server = Server::builder().history(8).start();
    server.load("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: b}}")?;
    let maps = Api::<ConfigMap>::namespaced(server.client(), "default");
    let revision = server.revision().to_string();
    let mut behind = maps.watch(&WatchParams::default(), &revision).await?.boxed();
    let mut late = maps.watch(&WatchParams::default(), &revision).await?.boxed();
    for number in 0..8 {
        let patch = Patch::Merge(json!({ "data": { "a": number.to_string() } }));
        maps.patch("x", &PatchParams::default(), &patch).await?;
    }
    for number in 0..8 {
        let Some(WatchEvent::Modified(map)) = behind.try_next().await? else { anyhow::bail!("no change") };
        assert_eq!(map.data.context("it has data")?["a"], number.to_string());
    }
    maps.patch("x", &PatchParams::default(), &Patch::Merge(json!({ "data": { "a": "x" } }))).await?;
    let Some(WatchEvent::Error(status)) = late.try_next().await? else { anyhow::bail!("it went on") };
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
    assert!(behind.try_next().await?.is_some());
    Ok(())
}

#[tokio::test]
async fn a_thousand_watches_each_see_a_write_and_forget_it_when_dropped() -> Result<()> {
    let server = server()?;
    let maps = Api::<ConfigMap>::namespaced(server.client(), "default");
    let revision = server.revision().to_string();
    let mut watches = Vec::new();
    for _ in 0..1000 {
        watches.push(maps.watch(&WatchParams::default(), &revision).await?.boxed());
    }
    assert_works(&server).await?;
    for watch in &mut watches {
        assert!(matches!(watch.try_next().await?, Some(WatchEvent::Modified(_))));
    }
    drop(watches);
    assert_works(&server).await
}
