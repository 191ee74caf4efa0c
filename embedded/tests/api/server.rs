//! What only the embedded server has: a listener, an audit log, faults, YAML, a seed.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kapstan_embedded::{AuditEvent, AuditLevel, Fault, LoadError, Server};
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, Resource as _};
use rstest::rstest;
use serde_json::json;
use tokio::time::Instant;

const CRD: &str = include_str!("data/gadgets.yaml");

fn map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..Default::default() },
        ..Default::default()
    }
}

fn maps(client: Client) -> Api<ConfigMap> {
    Api::namespaced(client, "default")
}

fn code<T>(answer: &kube::Result<T>) -> Option<u16> {
    match answer {
        Err(kube::Error::Api(status)) => Some(status.code),
        _ => None,
    }
}

async fn client_of(kubeconfig: &str) -> Result<Client> {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.proxy_url = None;
    Ok(Client::try_from(config)?)
}

#[tokio::test]
async fn a_listener_lets_in_who_has_a_token() -> Result<()> {
    let server = Server::builder().start();
    let listener = server.listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
    let admin = client_of(&listener.kubeconfig()).await?;
    maps(admin).create(&PostParams::default(), &map("a")).await?;
    let other = client_of(&listener.kubeconfig_of("someone")?).await?;
    maps(other).get("a").await?;
    let stranger = client_of(&listener.kubeconfig().replace(listener.token(), "guess")).await?;
    assert_eq!(code(&maps(stranger.clone()).get("a").await), Some(401));
    let health = http::Request::get("/readyz").body(Vec::new())?;
    assert_eq!(stranger.request_text(health).await?, "ok");
    let users: Vec<_> = server.audit().events().into_iter().map(|event| event.user).collect();
    assert_eq!(users, ["kapstan-embedded-admin", "someone", "system:unsecured"]);
    listener.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_listener_that_is_dropped_closes_its_port() -> Result<()> {
    let listener = Server::builder().start().listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
    let address = listener.address();
    tokio::net::TcpStream::connect(address).await?;
    drop(listener);
    kapstan_envtest::until(Duration::from_secs(10), "the port to be closed", async || {
        Ok(tokio::net::TcpStream::connect(address).await.is_err().then_some(()))
    })
    .await
}

#[tokio::test]
async fn the_audit_log_shows_who_asked_for_what() -> Result<()> {
    let server = Server::builder().start();
    let maps = maps(server.client_named("tester/1.0"));
    let mut first = map("a");
    first.data = Some([("a".to_owned(), "b".to_owned())].into());
    maps.create(&PostParams::default(), &first).await?;
    let mark = server.audit().mark();
    let params = PatchParams { field_manager: Some("me".to_owned()), ..Default::default() };
    let patch = json!({ "data": { "k": "v" } });
    let patched = maps.patch("a", &params, &Patch::Merge(&patch)).await?;
    assert_eq!(code(&maps.get("b").await), Some(404));
    let managers = patched.metadata.managed_fields.context("fields are managed")?;
    let names: Vec<_> = managers.iter().filter_map(|manager| manager.manager.as_deref()).collect();
    assert_eq!(names, ["me", "tester"]);

    let all = server.audit().events();
    assert_eq!((all[0].verb.as_str(), all[0].name.as_str(), all[0].code), ("create", "a", 201));
    let [patched, missed] = &server.audit().events_since(mark)[..] else { bail!("two requests followed") };
    assert!(patched.is_write() && !missed.is_write());
    assert_eq!((patched.verb.as_str(), patched.user_agent.as_str()), ("patch", "tester/1.0"));
    assert_eq!((patched.namespace.as_str(), patched.resource.as_str()), ("default", "configmaps"));
    assert_eq!((patched.parameter("fieldManager").as_deref(), patched.body()), (Some("me"), Some(patch)));
    assert_eq!((missed.code, missed.body()), (404, None));
    assert_eq!(server.audit().count(|event| event.code >= 400), 1);
    Ok(())
}

#[tokio::test]
async fn the_audit_log_tells_users_in_process_apart() -> Result<()> {
    let server = Server::builder().start();
    maps(server.client()).list(&ListParams::default()).await?;
    maps(server.client_of("someone")).list(&ListParams::default()).await?;
    let events = server.audit().events();
    let users: Vec<_> = events.iter().map(|event| event.user.as_str()).collect();
    assert_eq!(users, ["kapstan-embedded-admin", "someone"]);
    Ok(())
}

#[tokio::test]
async fn the_audit_log_shows_which_watches_are_open() -> Result<()> {
    let server = Server::builder().start();
    let maps = maps(server.client());
    maps.list(&ListParams::default()).await?;
    let mut watch = Box::pin(maps.watch(&WatchParams::default(), "0").await?);
    maps.create(&PostParams::default(), &map("a")).await?;
    watch.next().await.context("the watch goes on")??;
    let open = || server.audit().events().iter().map(AuditEvent::is_open).collect::<Vec<_>>();
    assert_eq!(open(), [false, true, false]);
    drop(watch);
    assert_eq!(open(), [false, false, false]);
    Ok(())
}

#[tokio::test]
async fn halted_controllers_do_their_work_when_they_go_on() -> Result<()> {
    let server = Server::builder().start();
    let maps = maps(server.client());
    let owner = maps.create(&PostParams::default(), &map("owner")).await?;
    let mut dependent = map("owned");
    dependent.metadata.owner_references = owner.owner_ref(&()).map(|owner| vec![owner]);
    maps.create(&PostParams::default(), &dependent).await?;
    let (halted, too) = (server.halt_controllers(), server.halt_controllers());
    maps.delete("owner", &DeleteParams::default()).await?;
    drop(halted);
    assert!(maps.get_opt("owned").await?.is_some());
    drop(too);
    assert!(maps.get_opt("owned").await?.is_none());
    Ok(())
}

#[tokio::test]
async fn the_audit_log_keeps_what_it_is_told_to() -> Result<()> {
    let server = Server::builder().audit(AuditLevel::Metadata, 2).start();
    let maps = maps(server.client());
    for name in ["a", "b", "c"] {
        maps.create(&PostParams::default(), &map(name)).await?;
    }
    let events = server.audit().events();
    assert_eq!((events.len(), server.audit().forgotten()), (2, 1));
    assert!(events.iter().all(|event| event.body().is_none()));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn faults_delay_and_refuse_what_they_strike() -> Result<()> {
    let server = Server::builder().start();
    let maps = maps(server.client());
    server.faults().add(Fault::delay(Duration::from_secs(5)).verb("list"));
    server.faults().add(Fault::status(409).verb("create").resource("configmaps").times(1));
    let started = Instant::now();
    assert_eq!(code(&maps.create(&PostParams::default(), &map("a")).await), Some(409));
    maps.create(&PostParams::default(), &map("a")).await?;
    assert_eq!(started.elapsed(), Duration::ZERO);
    maps.list(&ListParams::default()).await?;
    assert_eq!(started.elapsed(), Duration::from_secs(5));
    server.faults().clear();
    maps.list(&ListParams::default()).await?;
    assert_eq!(started.elapsed(), Duration::from_secs(5));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_and_requests_give_the_same_objects() -> Result<()> {
    let mut seen = Vec::new();
    for _ in 0..2 {
        let server = Server::builder().seed(7).starting_at("2026-01-01T00:00:00Z".parse()?).start();
        let maps = maps(server.client());
        let prefixed = ConfigMap {
            metadata: ObjectMeta { generate_name: Some("a-".to_owned()), ..Default::default() },
            ..Default::default()
        };
        seen.push(maps.create(&PostParams::default(), &prefixed).await?);
    }
    assert_eq!(seen[0], seen[1]);
    Ok(())
}

#[tokio::test]
async fn yaml_is_loaded_in_order_and_again() -> Result<()> {
    let server = Server::builder().start();
    let object = "{apiVersion: kubectl.example.com/v1, kind: Gadget, metadata: {name: g}, spec: {size: 1}}";
    assert_eq!(server.load(&format!("{CRD}\n---\n{object}"))?, 2);
    assert_eq!(server.load(&object.replace("size: 1", "size: 2"))?, 1);
    let path = "/apis/kubectl.example.com/v1/namespaces/default/gadgets/g";
    let gadget: serde_json::Value =
        server.client().request(http::Request::get(path).body(Vec::new())?).await?;
    assert_eq!((&gadget["spec"]["size"], &gadget["metadata"]["generation"]), (&json!(2), &json!(2)));
    Ok(())
}

#[rstest]
#[case::no_yaml("a: [", "failed to read YAML: ")]
#[case::unknown_kind(
    "{apiVersion: a/v1, kind: B}",
    "document 1 is of kind \"B\" in version \"a/v1\", which is not served"
)]
#[case::no_kind("{}", "document 1 is of kind \"\" in version \"\", which is not served")]
#[case::text("just words", "document 1 is of kind \"\" in version \"\", which is not served")]
#[case::bad_metadata(
    "{apiVersion: v1, kind: ConfigMap, metadata: words}",
    "document 1 (ConfigMap ) was refused: "
)]
#[case::invalid(
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: A B}}",
    "document 2 (ConfigMap A B) was refused: ConfigMap \"A B\" is invalid: metadata.name: "
)]
#[case::unknown_field(
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, bogus: 1}",
    "document 1 (ConfigMap a) was refused: ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: unknown field \"bogus\""
)]
#[tokio::test]
async fn what_cannot_be_loaded_is_named(#[case] yaml: &str, #[case] expected: &str) {
    let error: LoadError = Server::builder().start().load(yaml).unwrap_err();
    assert!(error.to_string().starts_with(expected), "{error}");
}

#[tokio::test]
async fn versions_that_a_webhook_converts_are_refused_by_name() -> Result<()> {
    let server = Server::builder().start();
    let crd = CRD.replace("  scope: Namespaced", "  scope: Namespaced\n  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://localhost/'}}}");
    let crd = crd.replace("  - name: v1\n", "  - {name: v0, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n  - name: v1\n");
    server.load(&crd)?;
    for (version, expected) in [("v1", 200), ("v0", 501)] {
        let request = http::Request::get(format!("/apis/kubectl.example.com/{version}/gadgets"));
        let response = server.client().send(request.body(kube::client::Body::empty())?).await?;
        assert_eq!(response.status(), expected, "{version}");
    }
    Ok(())
}

/// Whatever is asked, there is an answer, and the server still works.
#[rstest]
#[case::no_object("POST", "/api/v1/namespaces/default/configmaps", "[]", 400)]
#[case::text_metadata("POST", "/api/v1/namespaces/default/configmaps", r#"{"metadata":"x"}"#, 400)]
#[case::text_spec(
    "POST",
    "/api/v1/namespaces/default/services",
    r#"{"metadata":{"name":"x"},"spec":"x"}"#,
    400
)]
#[case::text_crd(
    "POST",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    r#"{"metadata":{"name":"x"},"spec":{"names":"x","versions":"x"}}"#,
    400
)]
#[case::odd_crd(
    "POST",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    r#"{"metadata":{"name":"x"},"spec":{"versions":[null],"conversion":{"webhook":null}}}"#,
    422
)]
#[case::deep("POST", "/api/v1/namespaces/default/configmaps", &"[".repeat(100_000), 400)]
#[case::bad_token("GET", "/api/v1/configmaps?continue=eyJydiI6MX0", "", 400)]
#[case::huge_limit("GET", "/api/v1/configmaps?limit=99999999999999999999", "", 400)]
#[case::huge_timeout("GET", "/api/v1/configmaps?timeoutSeconds=9223372036854775807", "", 200)]
#[case::empty_parts("GET", "/apis//v1/", "", 404)]
#[case::encoded("GET", "/api/v1/namespaces/%2e%2e/configmaps/%00", "", 404)]
#[case::odd_options(
    "DELETE",
    "/api/v1/namespaces/default/configmaps/x",
    r#"{"preconditions":"x","dryRun":"x"}"#,
    404
)]
#[case::connect("OPTIONS", "/api/v1/namespaces/default/configmaps/x", "", 405)]
#[case::trailing("PATCH", "/api/v1/namespaces/default/configmaps/x/y/z", "{}", 404)]
#[case::protobuf("PUT", "/api/v1/namespaces/default/configmaps/x", "k8s\0\n\u{7f}", 400)]
#[tokio::test]
async fn odd_requests_are_refused(
    #[case] method: &str,
    #[case] path: &str,
    #[case] body: &str,
    #[case] expected: u16,
) -> Result<()> {
    let server = Server::builder().start();
    let content_type =
        if body.starts_with("k8s") { "application/vnd.kubernetes.protobuf" } else { "application/json" };
    let request = http::Request::builder().method(method).uri(path).header("content-type", content_type);
    let response = server.client().send(request.body(body.as_bytes().to_vec().into())?).await?;
    assert_eq!(response.status(), expected);
    maps(server.client()).create(&PostParams::default(), &map("after")).await?;
    Ok(())
}
