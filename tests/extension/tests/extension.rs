//! The test extension itself, asked by a plain client: what it serves, how it is switched, what it counts.

// Clippy knows `#[test]` functions as tests, but not their helpers.
#![allow(clippy::unwrap_used)]

mod support;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kapstan_test_extension::{
    Behaviour, Counts, HandlerSpec, NullInBody, Target, TestCa, TestCertificate, TestExtension, Variables,
};
use rstest::rstest;
use rustls::{AlertDescription, CertificateError, Error as TlsError};
use serde_json::{Value, json};
use support::{LONG, call, call_in_process, discovery, head, tls, variables};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

fn in_process() -> TestExtension {
    TestExtension::builder().in_process().unwrap()
}

async fn started() -> TestExtension {
    TestExtension::builder().start().await.unwrap()
}

/// The handlers' names that Discovery announces.
async fn announced(extension: &TestExtension, prefix: &str) -> Vec<String> {
    let answer = call_in_process(extension, &discovery(prefix), "{}").await.unwrap().json();
    answer["handlers"].as_array().unwrap().iter().map(|h| h["name"].as_str().unwrap().to_owned()).collect()
}

async fn variables_for(extension: &TestExtension, settings: Value) -> Value {
    let body = json!({"settings": settings}).to_string();
    let answer = call_in_process(extension, &variables("/ext-1"), &body).await.unwrap().json();
    assert_eq!(answer["status"], "Success");
    answer["variables"].clone()
}

#[tokio::test]
async fn it_serves_three_handlers_and_ten_variables_for_any_prefix_over_tcp_and_in_process() {
    let extension = started().await;
    for prefix in ["", "/ext-1", "/some/where/ext-10"] {
        assert_eq!(
            announced(&extension, prefix).await,
            ["discovervariables", "generatepatches", "validatetopology"]
        );
        let answer = call(&extension, &variables(prefix), "{}").await.unwrap().json();
        assert_eq!(answer["variables"].as_array().unwrap().len(), 10);
        assert_eq!(extension.calls(Target::discovery(prefix)), 1);
        assert_eq!(extension.calls(Target::hook_at(prefix, "DiscoverVariables")), 1);
    }
    assert_eq!(extension.calls("/ext-1"), 2);
    assert_eq!(extension.calls(Target::Hook("Discovery".into())), 3);
    assert_eq!(extension.calls_total(), 6);
    assert_eq!(extension.calls_by_path()[discovery("/ext-1").as_str()], 1);
}

#[tokio::test]
async fn variables_depend_on_settings_and_on_nothing_else() {
    let (one, other) = (in_process(), in_process());
    let north = variables_for(&one, json!({"zone": "north", "a": "b"})).await;
    assert_eq!(north, variables_for(&other, json!({"a": "b", "zone": "north"})).await);
    let south = variables_for(&one, json!({"zone": "south"})).await;
    assert_ne!(north, south);
    assert_eq!(north[3]["name"], south[3]["name"]);
    assert_eq!(variables_for(&one, json!({"variablePrefix": "x-"})).await[9]["name"], "x-variable-9");
    one.set_variables(Target::All, Variables::Generated { count: 10, revision: 1 }).unwrap();
    assert_ne!(north, variables_for(&one, json!({"zone": "north", "a": "b"})).await);
}

#[tokio::test]
async fn handlers_and_variables_are_replaced_for_one_prefix_or_for_all() {
    let extension = in_process();
    extension.set_handlers("/ext-1", vec![HandlerSpec::new("only", "BeforeClusterCreate")]).unwrap();
    assert_eq!(announced(&extension, "/ext-1").await, ["only"]);
    assert_eq!(announced(&extension, "/ext-10").await.len(), 3);
    extension.set_handlers("", HandlerSpec::many(5)).unwrap();
    assert_eq!(announced(&extension, "/ext-10").await[4], "discovervariables-4");
    assert_eq!(announced(&extension, "/ext-1").await, ["only"]);

    let region =
        json!({"name": "region", "required": true, "schema": {"openAPIV3Schema": {"type": "string"}}});
    extension.set_handlers("/ext-1", HandlerSpec::defaults()).unwrap();
    extension.set_variables("/ext-1", Variables::Fixed(vec![region.clone()])).unwrap();
    assert_eq!(variables_for(&extension, json!({})).await, json!([region]));

    let twice = vec![HandlerSpec::new("a", "GeneratePatches"), HandlerSpec::new("a", "ValidateTopology")];
    let error = extension.set_handlers("", twice).unwrap_err().to_string();
    assert!(error.contains(r#""a" is used more than once"#), "{error}");
}

#[tokio::test]
async fn where_only_what_was_set_is_served_other_paths_are_not_found() {
    let extension = TestExtension::builder().only_where_set().in_process().unwrap();
    let status = async |path: String| call_in_process(&extension, &path, "{}").await.unwrap().status;
    assert_eq!(status(discovery("/ext-1")).await, StatusCode::NOT_FOUND);
    extension.set_variables("/ext-1", Variables::count(2)).unwrap();
    for path in ["", "/ext-10", "/ext-1/more", "/ext"] {
        assert_eq!(status(discovery(path)).await, StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(status(variables("/ext-1")).await, StatusCode::OK);
    assert_eq!(announced(&extension, "/ext-1").await.len(), 3);
}

#[tokio::test]
async fn a_port_can_be_chosen_and_is_named_when_it_is_taken() {
    let first = started().await;
    let port = first.address().unwrap().port();
    let second = TestExtension::builder().port(port).start().await.unwrap_err();
    assert_eq!(
        format!("{second:#}"),
        format!("failed to listen on 127.0.0.1:{port}: Address already in use (os error 98)")
    );
}

#[tokio::test]
async fn an_answer_is_replaced_by_status_body_header_and_content_type() {
    let extension = started().await;
    let path = discovery("");
    let plain =
        Behaviour::body(StatusCode::OK, "<html>").content_type("text/html").header("retry-after", "7");
    extension.behave("", plain);
    let answer = call(&extension, &path, "{}").await.unwrap();
    assert_eq!((answer.status, answer.body.as_ref()), (StatusCode::OK, &b"<html>"[..]));
    assert_eq!(
        (&answer.headers[CONTENT_TYPE], &answer.headers["retry-after"]),
        (&"text/html".parse().unwrap(), &"7".parse().unwrap())
    );

    extension.behave("", Behaviour::status(StatusCode::SERVICE_UNAVAILABLE));
    let answer = call(&extension, &path, "{}").await.unwrap();
    assert_eq!((answer.status, answer.body.len()), (StatusCode::SERVICE_UNAVAILABLE, 0));

    extension.behave("", Behaviour::redirect(StatusCode::TEMPORARY_REDIRECT, "https://elsewhere.test/"));
    let answer = call(&extension, &path, "{}").await.unwrap();
    assert_eq!(answer.status, StatusCode::TEMPORARY_REDIRECT);
    assert_eq!(answer.headers[LOCATION], "https://elsewhere.test/");

    extension.behave("", Behaviour::failure("not today"));
    let answer = call(&extension, &variables("/ext-1"), "{}").await.unwrap();
    let expected = json!({
        "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1",
        "kind": "DiscoverVariablesResponse",
        "status": "Failure",
        "message": "not today",
    });
    assert_eq!((answer.status, answer.json()), (StatusCode::OK, expected));

    extension.behave_as_usual();
    assert_eq!(call(&extension, &path, "{}").await.unwrap().json()["status"], "Success");
}

#[rstest]
#[case::announced(Behaviour::sized(StatusCode::OK, 1_000_000), StatusCode::OK, true)]
#[case::unannounced(
    Behaviour::sized_unannounced(StatusCode::BAD_GATEWAY, 1_000_000),
    StatusCode::BAD_GATEWAY,
    false
)]
#[tokio::test]
async fn a_body_has_the_size_that_was_asked_for(
    #[case] behaviour: Behaviour,
    #[case] status: StatusCode,
    #[case] announced: bool,
) {
    let extension = in_process();
    extension.behave("", behaviour);
    let answer = call_in_process(&extension, &discovery(""), "{}").await.unwrap();
    assert_eq!((answer.status, answer.body.len()), (status, 1_000_000));
    assert!(answer.json().is_object());
    assert_eq!(answer.headers.contains_key(CONTENT_LENGTH), announced);
    extension.until(|counts| counts.in_flight == 0).await;
}

#[tokio::test]
async fn the_most_specific_setting_counts_and_ends_after_its_calls() {
    let extension = in_process();
    let status = |code| Behaviour::status(StatusCode::from_u16(code).unwrap());
    extension.behave(Target::All, status(501));
    extension.behave(Target::Hook("Discovery".into()), status(502));
    extension.behave("/ext-1", status(503));
    extension.behave(Target::discovery("/ext-1"), status(504).times(2));
    extension.behave("/ext-ok", Behaviour::usual());
    let answers = [
        (variables("/ext-2"), 501),
        (discovery("/ext-10"), 502),
        (variables("/ext-1"), 503),
        (discovery("/ext-1"), 504),
        (discovery("/ext-1"), 504),
        (discovery("/ext-1"), 503),
        (discovery("/ext-ok"), 200),
    ];
    for (path, expected) in answers {
        let answer = call_in_process(&extension, &path, "{}").await.unwrap();
        assert_eq!(answer.status.as_u16(), expected, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn on_a_paused_clock_latency_and_delay_are_exact() {
    let extension = TestExtension::builder().latency(Duration::from_millis(50)).in_process().unwrap();
    let start = Instant::now();
    call_in_process(&extension, &discovery(""), "{}").await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(50));
    extension.behave("", Behaviour::usual().delay(Duration::from_hours(1)));
    call_in_process(&extension, &discovery(""), "{}").await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(3_600_050));
    assert_eq!(extension.histogram(start, Duration::from_millis(25)), [1, 0, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_hanging_call_never_ends_before_its_headers_or_inside_its_body() {
    let extension = in_process();
    extension.behave("", Behaviour::hang());
    let day = Duration::from_hours(24);
    assert!(timeout(day, call_in_process(&extension, &discovery(""), "{}")).await.is_err());
    extension.until(|counts| counts.in_flight == 0 && counts.open_connections == 0).await;

    extension.behave("", Behaviour::hang_in_body(5));
    let io = extension.connect().unwrap();
    let mut response = head(io, &extension.ca_bundle(), &discovery(""), "{}").await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let mut next = async || http_body_util::BodyExt::frame(response.body_mut()).await.unwrap().unwrap();
    assert_eq!(next().await.into_data().unwrap().as_ref(), br#"{"api"#);
    assert!(timeout(day, next()).await.is_err());
    drop(response);
    extension.until(|counts| counts.in_flight == 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_trickling_body_takes_its_time_and_is_whole() {
    let extension = in_process();
    extension.behave("", Behaviour::json(&json!({"a": 123})).trickle(2, Duration::from_secs(7)));
    let start = Instant::now();
    let answer = call_in_process(&extension, &discovery(""), "{}").await.unwrap();
    assert_eq!(answer.json(), json!({"a": 123}));
    assert_eq!(start.elapsed(), Duration::from_secs(4 * 7));
}

fn io_kind(error: &anyhow::Error) -> Option<io::ErrorKind> {
    error.chain().find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind)
}

#[tokio::test]
async fn a_connection_is_reset_or_closed_before_the_answer() {
    let extension = started().await;
    extension.behave("", Behaviour::reset());
    let error = call(&extension, &discovery(""), "{}").await.unwrap_err();
    assert_eq!(io_kind(&error), Some(io::ErrorKind::ConnectionReset), "{error:?}");
    extension.behave("", Behaviour::hang_up());
    let error = call(&extension, &discovery(""), "{}").await.unwrap_err();
    assert_ne!(io_kind(&error), Some(io::ErrorKind::ConnectionReset), "{error:?}");
    assert_eq!(extension.calls_total(), 2);
    let idle = |counts: &Counts| counts.in_flight == 0 && counts.open_connections == 0;
    timeout(LONG, extension.until(idle)).await.unwrap();
}

#[tokio::test]
async fn over_http_2_calls_share_a_connection_and_its_end_ends_them_all() {
    let extension = in_process();
    let stream = tls(extension.connect().unwrap(), &extension.ca_bundle(), None, &["h2"]).await.unwrap();
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let call = |prefix: &str| {
        let uri = format!("https://localhost{}", discovery(prefix));
        let request = Request::post(uri).body(Full::new(Bytes::from("{}"))).unwrap();
        let mut sender = sender.clone();
        async move { sender.send_request(request).await }
    };
    let (one, two) = tokio::join!(call("/ext-1"), call("/ext-2"));
    assert_eq!((one.unwrap().status(), two.unwrap().status()), (StatusCode::OK, StatusCode::OK));
    extension.until(|counts| counts.in_flight == 0).await;
    assert_eq!(extension.counts().connections, 1);

    extension.behave("", Behaviour::hang());
    extension.behave("/ext-3", Behaviour::reset());
    let hanging = [tokio::spawn(call("/ext-1")), tokio::spawn(call("/ext-2"))];
    extension.until(|counts| counts.in_flight == 2).await;
    assert!(call("/ext-3").await.is_err());
    for call in hanging {
        assert!(call.await.unwrap().is_err());
    }
    timeout(LONG, extension.until(|counts| counts.in_flight == 0 && counts.open_connections == 0))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_held_answer_is_made_when_the_call_comes() {
    let extension = Arc::new(in_process());
    let gate = CancellationToken::new();
    extension.behave("", Behaviour::usual().hold_until(gate.clone()));
    let held = {
        let extension = extension.clone();
        tokio::spawn(async move { announced(&extension, "").await })
    };
    extension.until_calls("", 1).await;
    // The body is read after the call is counted, and the answer made after that.
    while extension.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    extension.behave_as_usual();
    extension.set_handlers("", vec![HandlerSpec::new("new", "GeneratePatches")]).unwrap();
    assert_eq!(announced(&extension, "").await, ["new"]);
    gate.cancel();
    assert_eq!(held.await.unwrap().len(), 3);
}

#[tokio::test]
async fn calls_under_way_are_counted_to_their_end() {
    let extension = Arc::new(in_process());
    let gate = CancellationToken::new();
    extension.behave("", Behaviour::usual().hold_until(gate.clone()));
    let calls: Vec<_> = (0..7)
        .map(|i| {
            let extension = extension.clone();
            tokio::spawn(async move { announced(&extension, &format!("/ext-{i}")).await })
        })
        .collect();
    extension.until(|counts| counts.in_flight == 7).await;
    gate.cancel();
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!((extension.max_in_flight(), extension.counts().in_flight), (7, 0));
    extension.until(|counts| counts.open_connections == 0).await;
    extension.reset_counts();
    assert_eq!(extension.counts(), Counts::default());
}

#[tokio::test]
async fn requests_are_recorded_and_every_null_in_them_is_found() {
    let extension = TestExtension::builder().keep_requests(2).in_process().unwrap();
    let path = variables("/ext-1");
    call_in_process(&extension, &path, "not json").await.unwrap();
    call_in_process(&extension, &format!("{path}?timeout=10s"), r#"{"settings":null,"a":[{"b":null}]}"#)
        .await
        .unwrap();
    call_in_process(&extension, &discovery("/ext-2"), "{}").await.unwrap();
    let [first, second] = extension.requests().try_into().unwrap();
    assert_eq!((&*first.path, first.query.as_deref()), (path.as_str(), Some("timeout=10s")));
    assert_eq!(first.body, Some(json!({"settings": null, "a": [{"b": null}]})));
    assert_eq!((second.body, second.query), (Some(json!({})), None));
    let found = |pointer: &str| NullInBody { path: path.as_str().into(), pointer: pointer.into() };
    let mut nulls = extension.bodies_with_null();
    nulls.sort_by(|a, b| a.pointer.cmp(&b.pointer));
    assert_eq!(nulls, [found("/a/0/b"), found("/settings")]);
}

#[tokio::test]
async fn a_stopped_extension_refuses_and_comes_back_on_the_same_port() {
    let extension = Arc::new(started().await);
    let address = extension.address().unwrap();
    extension.behave("", Behaviour::hang());
    let cut_off = {
        let extension = extension.clone();
        tokio::spawn(async move { call(&extension, &discovery(""), "{}").await })
    };
    extension.until_calls("", 1).await;
    extension.stop().await.unwrap();
    assert!(cut_off.await.unwrap().is_err());
    let error = TcpStream::connect(address).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    assert_eq!(extension.connect().unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    extension.stop().await.unwrap();

    extension.behave_as_usual();
    extension.restart().unwrap();
    extension.restart().unwrap();
    assert_eq!(extension.address(), Some(address));
    assert_eq!(call(&extension, &discovery(""), "{}").await.unwrap().status, StatusCode::OK);
    drop(extension);
    // The task that listens ends on its own; until it has, connections are still taken.
    let gone = async {
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, gone).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stalled_extension_accepts_and_says_nothing() {
    let extension = Arc::new(in_process());
    extension.set_stalled(true);
    let waiting = {
        let extension = extension.clone();
        tokio::spawn(async move { call_in_process(&extension, &discovery(""), "{}").await })
    };
    extension.until(|counts| counts.open_connections == 1).await;
    tokio::time::sleep(Duration::from_hours(24)).await;
    assert!(!waiting.is_finished());
    extension.set_stalled(false);
    assert_eq!(waiting.await.unwrap().unwrap().status, StatusCode::OK);
}

/// What a client that knows `ca_bundle` says to the extension's certificate.
async fn verdict(extension: &TestExtension, ca_bundle: &[u8]) -> Result<(), TlsError> {
    let Err(error) = tls(extension.connect().unwrap(), ca_bundle, None, &[]).await else { return Ok(()) };
    Err(error.get_ref().unwrap().downcast_ref::<TlsError>().unwrap().clone())
}

#[tokio::test]
async fn every_fault_of_a_certificate_comes_alone() {
    let extension = in_process();
    let (ca, stranger) = (TestCa::new("ca").unwrap(), TestCa::new("stranger").unwrap());
    let bundle = ca.pem().into_bytes();
    let show = async |certificate: anyhow::Result<TestCertificate>, ca_bundle: &[u8]| {
        extension.set_certificate(certificate.unwrap()).unwrap();
        verdict(&extension, ca_bundle).await
    };
    let refused = |result: Result<(), TlsError>| match result.unwrap_err() {
        TlsError::InvalidCertificate(error) => error,
        error => panic!("{error:?}"),
    };
    assert_eq!(show(ca.server().issue(), &bundle).await, Ok(()));
    assert_eq!(show(ca.server().any_usage().issue(), &bundle).await, Ok(()));
    let expired = refused(show(ca.server().expired().issue(), &bundle).await);
    assert!(matches!(expired, CertificateError::ExpiredContext { .. }), "{expired:?}");
    let early = refused(show(ca.server().not_yet_valid().issue(), &bundle).await);
    assert!(matches!(early, CertificateError::NotValidYetContext { .. }), "{early:?}");
    for names in [ca.server().names(["elsewhere.test"]), ca.server().without_names()] {
        let name = refused(show(names.issue(), &bundle).await);
        assert!(matches!(name, CertificateError::NotValidForNameContext { .. }), "{name:?}");
    }
    let usage = refused(show(ca.server().client_only().issue(), &bundle).await);
    assert!(matches!(usage, CertificateError::InvalidPurposeContext { .. }), "{usage:?}");
    assert_eq!(refused(show(stranger.server().issue(), &bundle).await), CertificateError::UnknownIssuer);

    let is_ca = |error: CertificateError| format!("{error:?}").contains("CaUsedAsEndEntity");
    assert!(is_ca(refused(show(ca.server().ca().issue(), &bundle).await)));
    let own = TestCertificate::self_signed().ca().issue().unwrap();
    let own_bundle = own.ca_bundle.clone().into_bytes();
    assert_eq!(own.ca_bundle, own.certificate);
    assert!(is_ca(refused(show(Ok(own), &own_bundle).await)));
    assert_eq!(extension.ca_bundle(), own_bundle);
}

#[tokio::test]
async fn failed_handshakes_are_counted_and_open_connections_outlive_a_switch() {
    let extension = in_process();
    let old = extension.ca_bundle();
    let open = tls(extension.connect().unwrap(), &old, None, &[]).await.unwrap();
    let other = TestCa::new("other").unwrap().server().issue().unwrap();
    extension.set_certificate(other).unwrap();
    assert_eq!(
        verdict(&extension, &old).await,
        Err(TlsError::InvalidCertificate(CertificateError::UnknownIssuer))
    );
    // A whole call: a client that leaves right after its handshake may spoil the server's.
    call_in_process(&extension, &discovery(""), "{}").await.unwrap();
    extension.until(|counts| counts.failed_handshakes == 1 && counts.open_connections == 1).await;
    assert_eq!(extension.counts().connections, 3);
    drop(open);
    extension.until(|counts| counts.open_connections == 0).await;
}

#[tokio::test]
async fn with_a_client_ca_strangers_are_refused() {
    let clients = TestCa::new("clients").unwrap();
    let extension = TestExtension::builder().client_ca(clients.pem()).in_process().unwrap();
    let manager = clients.client().common_name("manager").issue().unwrap();
    let read = async |identity| {
        let mut stream =
            tls(extension.connect().unwrap(), &extension.ca_bundle(), identity, &[]).await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stream, b"GET / HTTP/1.0\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut answer).await.map(|_| answer)
    };
    assert!(read(Some(&manager)).await.unwrap().starts_with(b"HTTP/1.0 404"));
    let refused = read(None).await.unwrap_err();
    let refused = refused.get_ref().unwrap().downcast_ref::<TlsError>().unwrap();
    assert_eq!(*refused, TlsError::AlertReceived(AlertDescription::CertificateRequired));
}
