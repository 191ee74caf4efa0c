//! What this server does not do, it says.

use anyhow::Result;
use http::{Method, Request};
use kapstan_embedded::Server;
use kube::client::Body;
use rstest::rstest;
use serde_json::Value;

const CRD: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: scaled.example.com}
spec:
  group: example.com
  names: {kind: Scaled, plural: scaled, singular: scaled, listKind: ScaledList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
{apiVersion: example.com/v1, kind: Scaled, metadata: {name: x}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: x}}
---
{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {ports: [{port: 80}]}}
";

/// Each is refused, and the answer names what it is that is not there.
#[rstest]
#[case::scale("GET", "/apis/example.com/v1/namespaces/default/scaled/x/scale", 501, "scale")]
#[case::write_scale("PATCH", "/apis/example.com/v1/namespaces/default/scaled/x/scale", 501, "scale")]
#[case::proxy("GET", "/api/v1/namespaces/default/services/x/proxy", 501, "proxy")]
#[case::proxied_path("GET", "/api/v1/namespaces/default/services/x/proxy/a/b", 501, "proxy")]
#[case::tokens("POST", "/api/v1/namespaces/default/serviceaccounts/x/token", 501, "token")]
#[case::pods("GET", "/api/v1/namespaces/default/pods", 404, "pods")]
#[case::logs("GET", "/api/v1/namespaces/default/pods/x/log", 404, "pods/log")]
#[case::exec("POST", "/api/v1/namespaces/default/pods/x/exec?command=ls", 404, "pods/exec")]
#[case::nodes("GET", "/api/v1/nodes", 404, "nodes")]
#[case::deployments("GET", "/apis/apps/v1/namespaces/default/deployments", 404, "deployments.apps")]
#[case::policies(
    "GET",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    404,
    "validatingadmissionpolicies"
)]
#[case::reviews(
    "POST",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    404,
    "selfsubjectaccessreviews"
)]
#[case::watch_path("GET", "/api/v1/watch/namespaces", 501, "watch")]
#[case::proxy_path("GET", "/api/v1/proxy/namespaces", 501, "proxy")]
#[case::selector("GET", "/apis/example.com/v1/scaled?fieldSelector=spec.size%3D1", 400, "spec.size")]
#[case::impersonation("IMPERSONATE", "/api/v1/namespaces", 501, "impersonation")]
#[case::protobuf("PROTOBUF", "/api/v1/namespaces", 406, "application/json")]
#[tokio::test]
async fn what_is_not_supported_is_refused_by_name(
    #[case] method: &str,
    #[case] path: &str,
    #[case] code: u16,
    #[case] named: &str,
) -> Result<()> {
    let server = Server::builder().start();
    server.load(CRD)?;
    let mut request = Request::builder().uri(path).header("content-type", "application/merge-patch+json");
    request = match method {
        "IMPERSONATE" => request.header("impersonate-user", "someone"),
        "PROTOBUF" => request.header("accept", "application/vnd.kubernetes.protobuf"),
        method => request.method(Method::from_bytes(method.as_bytes())?),
    };
    let body = if path.ends_with("scale") || method == "POST" { "{}" } else { "" };
    let response = server.client().send(request.body(Body::from(body.as_bytes().to_vec()))?).await?;
    let found = response.status().as_u16();
    let bytes = response.into_body().collect_bytes().await?;
    let status: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let message = status["message"].as_str().unwrap_or_default().to_owned();
    assert_eq!(found, code, "{}", String::from_utf8_lossy(&bytes));
    assert!(message.contains(named), "{message:?} does not name {named}");
    Ok(())
}
