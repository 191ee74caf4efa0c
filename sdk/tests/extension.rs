//! What an extension made with the sdk answers, asked through its router.

// Clippy knows `#[test]` functions as tests, but not their helpers.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::http::{HeaderMap, Request, StatusCode};
use kapstan_sdk::api::extension_config::FailurePolicy;
use kapstan_sdk::api::hooks::catalog::{GroupVersionHook, HOOKS};
use kapstan_sdk::api::hooks::{DiscoverVariablesRequest, DiscoverVariablesResponse};
use kapstan_sdk::{Extension, ExtensionBuilder, Handler, HandlerError, Problem};
use rstest::rstest;
use serde_json::{Value, json};
use tower::ServiceExt;

const VARIABLES: &str = "/hooks.runtime.cluster.x-k8s.io/v1alpha1/discovervariables/vars";
const DISCOVERY: &str = "/hooks.runtime.cluster.x-k8s.io/v1alpha1/discovery";

async fn ask(
    router: Router,
    method: &str,
    path: &str,
    body: impl Into<Body>,
) -> (StatusCode, HeaderMap, Value) {
    let request = Request::builder().method(method).uri(path).body(body.into()).unwrap();
    let (parts, body) = router.oneshot(request).await.unwrap().into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    (parts.status, parts.headers, serde_json::from_slice(&body).unwrap())
}

async fn post(builder: ExtensionBuilder, path: &str, body: impl Into<Body>) -> (StatusCode, Value) {
    let (status, headers, body) = ask(builder.build().unwrap().into_router(), "POST", path, body).await;
    assert_eq!(headers[CONTENT_TYPE], "application/json");
    (status, body)
}

fn response(status: &str, message: &str) -> Value {
    json!({
        "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1",
        "kind": "DiscoverVariablesResponse",
        "status": status,
        "message": message,
    })
}

async fn zones(request: DiscoverVariablesRequest) -> Result<DiscoverVariablesResponse, HandlerError> {
    let variable =
        json!({"name": request.settings["zone"], "required": true, "schema": {"openAPIV3Schema": {}}});
    Ok(DiscoverVariablesResponse { variables: vec![serde_json::from_value(variable)?], ..Default::default() })
}

#[tokio::test]
async fn a_typed_handler_answers_with_version_kind_and_success_filled_in() {
    let builder = Extension::builder("x").discover_variables("vars", zones);
    let (status, body) = post(builder, VARIABLES, r#"{"settings":{"zone":"north"}}"#).await;
    assert_eq!(status, StatusCode::OK);
    let mut expected = response("Success", "");
    expected.as_object_mut().unwrap().remove("message");
    expected["variables"] = json!([{"name": "north", "required": true, "schema": {"openAPIV3Schema": {}}}]);
    assert_eq!(body, expected);
}

#[tokio::test]
async fn discovery_announces_what_is_registered_in_that_order() {
    let builder = Extension::builder("x").discover_variables("vars", zones).handler(
        Handler::named("veto").timeout(Duration::from_secs(7)).failure_policy(FailurePolicy::Ignore),
        GroupVersionHook::named("BeforeClusterDelete"),
        |_| async { Ok(Value::Null) },
    );
    let (status, body) = post(builder, DISCOVERY, "{}").await;
    assert_eq!(status, StatusCode::OK);
    let api_version = "hooks.runtime.cluster.x-k8s.io/v1alpha1";
    assert_eq!(
        body,
        json!({
            "apiVersion": api_version,
            "kind": "DiscoveryResponse",
            "status": "Success",
            "handlers": [
                {"name": "vars", "requestHook": {"apiVersion": api_version, "hook": "DiscoverVariables"}},
                {
                    "name": "veto",
                    "requestHook": {"apiVersion": api_version, "hook": "BeforeClusterDelete"},
                    "timeoutSeconds": 7,
                    "failurePolicy": "Ignore",
                },
            ],
        })
    );
}

#[tokio::test]
async fn every_hook_but_discovery_can_be_served_as_json() {
    for hook in HOOKS.iter().filter(|hook| !hook.is_singleton) {
        let hook = hook.group_version_hook();
        let path = hook.path(Some("any"));
        let builder = Extension::builder("x")
            .handler("any", hook.clone(), |request| async move { Ok(json!({"message": request["ask"]})) });
        let (status, body) = post(builder, &path, r#"{"ask":"heron"}"#).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(body["kind"], format!("{}Response", hook.hook));
        assert_eq!((&body["status"], &body["message"]), (&json!("Success"), &json!("heron")));
    }
}

#[tokio::test]
async fn an_error_is_an_answer_that_says_failure_with_all_causes() {
    let builder = Extension::builder("x").discover_variables("vars", |_| async {
        let number: i32 = "seven".parse()?;
        Err(HandlerError::new(number))
    });
    let (status, body) = post(builder, VARIABLES, "{}").await;
    assert_eq!((status, body), (StatusCode::OK, response("Failure", "invalid digit found in string")));
}

#[tokio::test]
async fn a_panic_is_one_failed_answer_before_and_after_the_first_await() {
    let builder = Extension::builder("x")
        .discover_variables("vars", |_| async {
            tokio::task::yield_now().await;
            panic!("late")
        })
        .handler("early", GroupVersionHook::named("GeneratePatches"), |_| -> std::future::Ready<_> {
            panic!("early")
        })
        .handler("fine", GroupVersionHook::named("ValidateTopology"), |_| async { Ok(Value::Null) });
    let router = builder.build().unwrap().into_router();
    let broken = |name: &str| json!(format!("handler {name} broke: panic, see its log"));
    let (status, _, body) = ask(router.clone(), "POST", VARIABLES, "{}").await;
    assert_eq!((status, &body["message"]), (StatusCode::INTERNAL_SERVER_ERROR, &broken("vars")));
    let early = GroupVersionHook::named("GeneratePatches").path(Some("early"));
    let (status, _, body) = ask(router.clone(), "POST", &early, "{}").await;
    assert_eq!((status, &body["message"]), (StatusCode::INTERNAL_SERVER_ERROR, &broken("early")));
    let fine = GroupVersionHook::named("ValidateTopology").path(Some("fine"));
    assert_eq!(ask(router, "POST", &fine, "{}").await.0, StatusCode::OK);
}

#[rstest]
#[case::no_json(
    "POST",
    VARIABLES,
    "{",
    StatusCode::BAD_REQUEST,
    "failed to read the DiscoverVariables request: "
)]
#[case::nothing(
    "POST",
    VARIABLES,
    "",
    StatusCode::BAD_REQUEST,
    "failed to read the DiscoverVariables request: "
)]
#[case::other_type(
    "POST",
    VARIABLES,
    r#"{"settings":7}"#,
    StatusCode::BAD_REQUEST,
    "failed to read the DiscoverVariables request: "
)]
#[case::too_large("POST", VARIABLES, r#"{"settings":{"a":"0123456789"}}"#, StatusCode::PAYLOAD_TOO_LARGE, "")]
#[case::wrong_method("GET", VARIABLES, "", StatusCode::METHOD_NOT_ALLOWED, "hooks are called by POST")]
#[case::unknown_handler(
    "POST",
    "/hooks.runtime.cluster.x-k8s.io/v1alpha1/discovervariables/x",
    "{}",
    StatusCode::NOT_FOUND,
    "no such hook or handler"
)]
#[case::root("GET", "/", "", StatusCode::NOT_FOUND, "no such hook or handler")]
#[tokio::test]
async fn a_wrong_request_is_refused_with_a_reason(
    #[case] method: &str,
    #[case] path: &str,
    #[case] body: &'static str,
    #[case] expected: StatusCode,
    #[case] message: &str,
) {
    let builder = Extension::builder("x").body_limit(20).discover_variables("vars", zones);
    let router = builder.build().unwrap().into_router();
    let (status, headers, answer) = ask(router, method, path, body).await;
    assert_eq!((status, &answer["status"]), (expected, &json!("Failure")));
    let said = answer["message"].as_str().unwrap();
    assert!(said.starts_with(message) && !said.is_empty(), "{said}");
    assert_eq!(headers[CONTENT_TYPE], "application/json");
    assert_eq!(headers.contains_key(ALLOW), expected == StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_is_given_up() {
    let endless = Body::from_stream(futures::stream::pending::<Result<&[u8], std::io::Error>>());
    let (status, body) =
        post(Extension::builder("x").discover_variables("vars", zones), VARIABLES, endless).await;
    assert_eq!(status, StatusCode::REQUEST_TIMEOUT);
    assert_eq!(body, response("Failure", "the request's body took longer than 30s"));
}

#[tokio::test]
async fn a_response_that_is_no_object_is_the_handlers_fault() {
    let hook = GroupVersionHook::named("GeneratePatches");
    let path = hook.path(Some("list"));
    let builder = Extension::builder("x").handler("list", hook, |_| async { Ok(json!([1])) });
    let (status, body) = post(builder, &path, "{}").await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(body["message"], "handler list broke: its response is no JSON object");
}

#[test]
fn everything_that_discovery_would_refuse_is_a_build_error_that_names_it() {
    let serve = |_: Value| async { Ok(Value::Null) };
    let patches = || GroupVersionHook::named("GeneratePatches");
    let unknown = GroupVersionHook::named("BeforeLunch");
    let long = "a".repeat(64);
    let wrong = |name: &str, seconds: f32| {
        (Handler::named(name).timeout(Duration::from_secs_f32(seconds)), Duration::from_secs_f32(seconds))
    };
    let ((zero, none), (over, much), (half, some)) =
        (wrong("zero", 0.0), wrong("over", 31.0), wrong("half", 1.5));
    let error = Extension::builder("ebb")
        .discover_variables("twice", zones)
        .handler("twice", patches(), serve)
        .handler("Upper", patches(), serve)
        .handler("", patches(), serve)
        .handler("-a", patches(), serve)
        .handler("a.b", patches(), serve)
        .handler(long.clone(), patches(), serve)
        .handler("lunch", unknown.clone(), serve)
        .handler("self", GroupVersionHook::named("Discovery"), serve)
        .handler(zero, patches(), serve)
        .handler(over, patches(), serve)
        .handler(half, patches(), serve)
        .build()
        .unwrap_err();
    let timeout = |name: &str, timeout| Problem::Timeout { handler: name.into(), timeout };
    assert_eq!(
        error.problems,
        [
            Problem::DuplicateName("twice".into()),
            Problem::InvalidName("Upper".into()),
            Problem::InvalidName(String::new()),
            Problem::InvalidName("-a".into()),
            Problem::InvalidName("a.b".into()),
            Problem::InvalidName(long),
            Problem::UnknownHook { handler: "lunch".into(), hook: unknown },
            Problem::Singleton("self".into()),
            timeout("zero", none),
            timeout("over", much),
            timeout("half", some),
        ]
    );
    let text = error.to_string();
    assert!(
        text.starts_with(r#"failed to build extension ebb: handler name "twice" is used more than once; "#)
    );
}
