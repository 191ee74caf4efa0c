//! The client against an extension in the same process, in paused time.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use futures::future::join_all;
use kapstan_api::extension_config::ExtensionHandler;
use rstest::rstest;
use similar_asserts::assert_eq;

use super::super::error::Phase;
use super::super::tests::in_process::{Behaviour, InProcess, handler};
use super::super::{MAX_ANSWER_BYTES, settings};
use super::*;

const ADDRESS: &str = "ext.test:9443";

fn question(extension: &Arc<Extension>) -> Question {
    question_with(extension, &[("zone", "b")])
}

fn question_with(extension: &Arc<Extension>, patch: &[(&str, &str)]) -> Question {
    let patch: BTreeMap<_, _> =
        patch.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    Question::new(extension.clone(), &handler("dv.ext-a"), &patch).unwrap()
}

/// Asks once and gives the failure, and how long it took.
async fn fails(server: &Arc<InProcess>) -> (Failure, Duration) {
    let client = server.client(Options::default());
    let start = Instant::now();
    let error = client.discover(&server.extension("ext-a"), Cause::Change).await.unwrap_err();
    (error.failure.clone(), start.elapsed())
}

fn names(answer: &Answer) -> Vec<&str> {
    answer.response.variables.iter().map(|variable| variable.name.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn discovery_sends_what_upstream_sends() {
    let server = InProcess::new();
    server.behave(Behaviour::answer(200, r#"{"status":"Success","handlers":[{"name":"dv"}]} tail"#));
    let client = server.client(Options::default());
    let response = client.discover(&server.extension("ext-a"), Cause::Change).await.unwrap();
    assert_eq!(response.handlers[0].name, "dv");
    let expected = (
        "/hooks.runtime.cluster.x-k8s.io/v1alpha1/discovery?timeout=10s".to_owned(),
        r#"{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","kind":"DiscoveryRequest"}"#.to_owned(),
    );
    assert_eq!(*server.requests.lock(), [expected]);
}

#[tokio::test(start_paused = true)]
async fn a_question_sends_merged_settings_to_the_handlers_path() {
    let server = InProcess::new();
    let client = server.client(Options::default());
    let handler = ExtensionHandler { timeout_seconds: Some(60), ..handler("DV-Two.ext-a") };
    let patch = BTreeMap::from([("zone".to_owned(), String::new())]);
    let question = Question::new(server.extension("ext-a"), &handler, &patch).unwrap();
    let answer = client.discover_variables(&question, Cause::Change).await.unwrap();
    assert_eq!(names(&answer), ["region"]);
    let expected = (
        "/hooks.runtime.cluster.x-k8s.io/v1alpha1/discovervariables/dv-two?timeout=1m0s".to_owned(),
        concat!(
            r#"{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","kind":"DiscoverVariablesRequest","#,
            r#""settings":{"tier":"gold","zone":""}}"#
        )
        .to_owned(),
    );
    assert_eq!(*server.requests.lock(), [expected]);
    assert_eq!(question.settings, settings::merge(&question.extension.settings, &patch));
}

#[rstest]
#[case::while_dialing(Behaviour::HangInDial, Phase::Connecting)]
#[case::in_the_handshake(Behaviour::HangInHandshake, Phase::Connecting)]
#[case::before_headers(Behaviour::HangBeforeHeaders, Phase::AwaitingHeaders)]
#[case::in_a_body_that_trickles(Behaviour::Trickle { status: 200 }, Phase::ReadingBody)]
#[tokio::test(start_paused = true)]
async fn time_runs_out_at_every_stage(#[case] behaviour: Behaviour, #[case] phase: Phase) {
    for server in [InProcess::new(), InProcess::old()] {
        server.behave(behaviour.clone());
        let after = Duration::from_secs(10);
        let (failure, took) = fails(&server).await;
        assert_eq!(failure, Failure::TimedOut { after, phase });
        assert!(took >= after && took < after + Duration::from_millis(10), "{took:?}");
    }
}

#[rstest]
#[case::announced(Behaviour::Huge { status: 200, mebibytes: 40, announce: true }, Some(40 << 20))]
#[case::found_out_while_reading(Behaviour::Huge { status: 200, mebibytes: 40, announce: false }, None)]
#[tokio::test(start_paused = true)]
async fn a_huge_answer_is_given_up_early(#[case] behaviour: Behaviour, #[case] announced: Option<u64>) {
    for server in [InProcess::new(), InProcess::old()] {
        server.behave(behaviour.clone());
        assert_eq!(fails(&server).await.0, Failure::TooLarge { limit: MAX_ANSWER_BYTES, announced });
        let sent = server.sent.load(Ordering::SeqCst);
        assert!(sent <= 8 << 20, "{sent} bytes were sent");
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_huge_error_only_the_beginning_is_read() {
    for server in [InProcess::new(), InProcess::old()] {
        server.behave(Behaviour::Huge { status: 500, mebibytes: 40, announce: false });
        let Failure::Status { code: 500, location: None, words } = fails(&server).await.0 else { panic!() };
        assert!(words.as_str().len() <= Text::MAX && words.as_str().ends_with("x…"));
        let sent = server.sent.load(Ordering::SeqCst);
        assert!(sent <= 4 << 20, "{sent} bytes were sent");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_whose_body_never_ends_is_still_that_error() {
    let server = InProcess::new();
    server.behave(Behaviour::Trickle { status: 503 });
    let (failure, took) = fails(&server).await;
    assert!(matches!(failure, Failure::Status { code: 503, .. }), "{failure:?}");
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[rstest]
#[case::words(
    Behaviour::answer(500, "no\u{1b}[31m\nregion"),
    Failure::Status { code: 500, location: None, words: "no [31m region".into() }
)]
#[case::another_success(
    Behaviour::answer(201, r#"{"status":"Success"}"#),
    Failure::Status { code: 201, location: None, words: r#"{"status":"Success"}"#.into() }
)]
#[case::redirect(
    Behaviour::Redirect("https://169.254.169.254/latest"),
    Failure::Status { code: 307, location: Some("https://169.254.169.254/latest".into()), words: Text::default() }
)]
#[case::no_json(
    Behaviour::answer(200, "<html>"),
    Failure::Undecodable { reason: "not JSON: expected value at line 1 column 1".into() }
)]
#[case::empty(
    Behaviour::answer(200, ""),
    Failure::Undecodable { reason: "not JSON: the body is empty".into() }
)]
#[case::refusal(
    Behaviour::answer(200, r#"{"status":"Failure","message":"no\tregion"}"#),
    Failure::Refused { message: "no region".into() }
)]
#[case::unknown_status(
    Behaviour::answer(200, r#"{"status":"Maybe"}"#),
    Failure::UnknownStatus { status: "Maybe".into(), message: Text::default() }
)]
#[case::missing_status(
    Behaviour::answer(200, "{}"),
    Failure::UnknownStatus { status: Text::default(), message: Text::default() }
)]
#[case::refused_connection(
    Behaviour::Refuse,
    Failure::Unreachable { address: ADDRESS.into(), reason: "connection refused".into() }
)]
#[tokio::test(start_paused = true)]
async fn failures_say_what_happened(#[case] behaviour: Behaviour, #[case] expected: Failure) {
    for server in [InProcess::new(), InProcess::old()] {
        server.behave(behaviour.clone());
        assert_eq!(fails(&server).await, (expected.clone(), Duration::ZERO));
    }
}

#[rstest]
#[case::instead_of_headers(Behaviour::Reset { in_body: false })]
#[case::in_the_body(Behaviour::Reset { in_body: true })]
#[tokio::test(start_paused = true)]
async fn a_broken_connection_is_told_from_a_slow_one(#[case] behaviour: Behaviour) {
    for server in [InProcess::new(), InProcess::old()] {
        server.behave(behaviour.clone());
        let (failure, took) = fails(&server).await;
        assert!(matches!(failure, Failure::Interrupted { .. }), "{failure:?}");
        assert_eq!(took, Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn headers_are_bounded() {
    for server in [InProcess::new(), InProcess::old()] {
        server.behave(Behaviour::LongHeader(200 << 10));
        let failure = fails(&server).await.0;
        assert!(matches!(failure, Failure::Undecodable { .. } | Failure::Interrupted { .. }), "{failure:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_callers_are_one_call_and_the_first_may_leave() {
    let server = InProcess::new();
    let client = server.client(Options::default());
    let extension = server.extension("ext-a");
    let mut first = Box::pin(client.discover(&extension, Cause::Change));
    assert!(futures::poll!(&mut first).is_pending());
    server.behave(Behaviour::Answer {
        status: 200,
        body: r#"{"status":"Success"}"#.into(),
        after: Duration::from_secs(3),
    });
    let others = join_all((1..1000).map(|_| client.discover(&extension, Cause::Change)));
    tokio::pin!(others);
    assert!(futures::poll!(&mut others).is_pending());
    drop(first);
    let answers = others.await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!((answers.len(), server.calls()), (999, 1));
    let text = client.metrics.render();
    let expected =
        r#"kapstan_extension_calls_avoided_total{extension="ext-a",hook="Discovery",why="shared"} 999"#;
    assert!(text.contains(expected), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_shared_too() {
    let server = InProcess::new();
    server.behave(Behaviour::HangBeforeHeaders);
    let client = server.client(Options::default());
    let question = question(&server.extension("ext-a"));
    let answers = join_all((0..20).map(|_| client.discover_variables(&question, Cause::Change))).await;
    let errors: Vec<_> = answers.into_iter().map(Result::unwrap_err).collect();
    assert!(errors.iter().all(|error| Arc::ptr_eq(error, &errors[0])));
    assert_eq!(
        errors[0].describe(),
        "failed to call handler dv.ext-a for hook DiscoverVariables: gave up after 10s while waiting for the response"
    );
    assert_eq!(server.calls(), 1);
    assert_eq!(client.answer(&question, Duration::MAX), None);
}

#[tokio::test(start_paused = true)]
async fn a_panic_under_a_call_is_an_error_for_all_and_wedges_nobody() {
    struct Panics;
    impl Dial for Panics {
        fn dial<'a>(
            &'a self,
            _: &'a str,
            _: u16,
        ) -> futures::future::BoxFuture<'a, std::io::Result<super::super::transport::BoxedIo>> {
            panic!("on purpose")
        }
    }
    let server = InProcess::new();
    let client = Client::new(Options::default(), Arc::new(Panics), Clock::system(), Metrics::new());
    let extension = server.extension("ext-a");
    for _ in 0..2 {
        let answers = join_all((0..3).map(|_| client.discover(&extension, Cause::Change))).await;
        for answer in answers {
            assert_eq!(answer.unwrap_err().failure, Failure::internal("the call panicked"));
        }
    }
    let text = client.metrics.render();
    assert!(text.contains(r#"kapstan_extension_in_flight{extension="ext-a"} 0"#), "{text}");
}

#[tokio::test(start_paused = true)]
async fn answers_age_by_our_clock() {
    let server = InProcess::new();
    let client = server.client(Options::default());
    let question = question(&server.extension("ext-a"));
    let period = Duration::from_mins(10);
    assert_eq!(client.answer(&question, period), None);
    let asked_at = Instant::now();
    let answer = client.discover_variables(&question, Cause::Change).await.unwrap();
    assert_eq!(answer.asked_at, asked_at);
    tokio::time::sleep_until(asked_at + period).await;
    assert_eq!(client.answer(&question, period), Some(answer.clone()));
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(client.answer(&question, period), None);
    assert_eq!(client.answer(&question, period * 2), Some(answer));
    let text = client.metrics.render();
    let avoided =
        r#"kapstan_extension_calls_avoided_total{extension="ext-a",hook="DiscoverVariables",why="cached"} 2"#;
    assert!(text.contains(avoided), "{text}");
    assert!(text.contains(r#"kapstan_answer_age_seconds_count{hook="DiscoverVariables"} 2"#), "{text}");
}

#[tokio::test(start_paused = true)]
async fn asking_again_calls_again_and_equal_variables_have_equal_digests() {
    let server = InProcess::new();
    let client = server.client(Options::default());
    let question = question(&server.extension("ext-a"));
    let first = client.discover_variables(&question, Cause::Change).await.unwrap();
    let body = r#"{"variables":[{"schema":{"openAPIV3Schema":{"type":"string"}},"required":true,"name":"region"}],
        "message":"again","status":"Success"}"#;
    server.behave(Behaviour::answer(200, body));
    let second = client.discover_variables(&question, Cause::Refresh).await.unwrap();
    assert_eq!((server.calls(), second.digest), (2, first.digest));
    server.behave(Behaviour::variable("zone"));
    let third = client.discover_variables(&question, Cause::Refresh).await.unwrap();
    assert_ne!(third.digest, first.digest);
    assert_eq!(client.answer(&question, Duration::ZERO), None);
    assert_eq!(client.answer(&question, Duration::MAX), Some(third));
}

#[tokio::test(start_paused = true)]
async fn a_call_in_flight_cannot_undo_an_invalidation() {
    let server = InProcess::new();
    let client = server.client(Options::default());
    let question = question(&server.extension("ext-a"));
    let other = question_with(&server.extension("ext-b"), &[]);
    client.discover_variables(&other, Cause::Change).await.unwrap();
    client.discover_variables(&question, Cause::Change).await.unwrap();
    let before = tokio::spawn({
        let (client, question) = (client.clone(), question.clone());
        async move { client.discover_variables(&question, Cause::Refresh).await }
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    client.invalidate(&question.extension.uid);
    assert_eq!(client.answer(&question, Duration::MAX), None, "gone at once");
    server.behave(Behaviour::variable("zone"));
    let after = client.discover_variables(&question, Cause::Change).await.unwrap();
    assert_eq!(names(&before.await.unwrap().unwrap()), ["region"], "those who waited are served");
    assert_eq!(names(&after), ["zone"], "those who came later have an answer of their own");
    assert_eq!(client.answer(&question, Duration::MAX), Some(after));
    assert!(client.answer(&other, Duration::MAX).is_some(), "others keep theirs");
}

#[tokio::test(start_paused = true)]
async fn calls_at_once_to_one_address_are_limited_whoever_is_behind_it() {
    let server = InProcess::new();
    let client = server.client(Options { max_in_flight: 3, ..Options::default() });
    let questions: Vec<_> =
        (0..20).map(|n| question_with(&server.extension(&format!("ext-{n}")), &[])).collect();
    let start = Instant::now();
    let answers =
        join_all(questions.iter().map(|question| client.discover_variables(question, Cause::Change))).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!((server.calls(), server.max_in_flight.load(Ordering::SeqCst)), (20, 3));
    assert_eq!(start.elapsed().as_secs(), 7, "20 calls of a second, 3 at a time");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_slot_is_bounded_and_another_address_does_not_wait() {
    let server = InProcess::new();
    server.behave(Behaviour::HangBeforeHeaders);
    let options = Options { max_in_flight: 1, max_wait: Duration::from_secs(4), ..Options::default() };
    let client = server.client(options);
    let (hanging, waiting) = (server.extension("ext-a"), server.extension("ext-b"));
    let elsewhere = server.extension_at("ext-c", "https://other.test:9443");
    let (first, second, third) = tokio::join!(
        client.discover(&hanging, Cause::Change),
        async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            client.discover(&waiting, Cause::Change).await
        },
        async {
            tokio::time::sleep(Duration::from_millis(2)).await;
            client.discover(&elsewhere, Cause::Change).await
        }
    );
    assert_eq!(first.unwrap_err().label(), "timeout");
    let expected = Failure::Throttled { address: ADDRESS.into(), waited: Duration::from_secs(4) };
    assert_eq!(second.unwrap_err().failure, expected);
    assert_eq!(third.unwrap_err().label(), "certificate", "its name is not in the certificate");
    let text = client.metrics.render();
    assert!(text.contains(r#"{extension="ext-b",hook="Discovery",why="throttled"} 1"#), "{text}");
    assert!(!text.contains(r#"kapstan_extension_calls_total{cause="change",extension="ext-b""#), "{text}");
}

#[tokio::test(start_paused = true)]
async fn connections_are_used_again_but_never_after_time_ran_out_on_them() {
    for server in [InProcess::new(), InProcess::old()] {
        let client = server.client(Options::default());
        let extension = server.extension("ext-a");
        let ok = || Behaviour::answer(200, r#"{"status":"Success"}"#);
        server.behave(ok());
        for _ in 0..3 {
            client.discover(&extension, Cause::Change).await.unwrap();
        }
        assert_eq!(server.dials(), 1);
        server.behave(Behaviour::HangBeforeHeaders);
        client.discover(&extension, Cause::Change).await.unwrap_err();
        server.behave(ok());
        client.discover(&extension, Cause::Change).await.unwrap();
        assert_eq!(server.dials(), 2);
        tokio::time::sleep(Duration::from_mins(2)).await;
        client.discover(&extension, Cause::Change).await.unwrap();
        assert_eq!(server.dials(), 3, "an idle connection is closed");
    }
}

#[tokio::test(start_paused = true)]
async fn many_calls_at_once_share_a_connection_where_http2_is_offered() {
    let server = InProcess::new();
    let client = server.client(Options::default());
    let extension = server.extension("ext-a");
    client.discover_variables(&question_with(&extension, &[]), Cause::Change).await.unwrap();
    let questions: Vec<_> = (0..8).map(|n| question_with(&extension, &[("n", &n.to_string())])).collect();
    join_all(questions.iter().map(|question| client.discover_variables(question, Cause::Change))).await;
    assert_eq!((server.calls(), server.dials()), (9, 1));
}

#[tokio::test(start_paused = true)]
async fn calls_are_counted_as_upstream_counts_them_and_as_we_do() {
    let server = InProcess::new();
    let client = server.client(Options::default());
    let extension = server.extension("ext-a");
    server.behave(Behaviour::answer(200, r#"{"status":"Failure"}"#));
    client.discover(&extension, Cause::Probe).await.unwrap_err();
    server.behave(Behaviour::answer(200, r#"{"status":"a status of its own making"}"#));
    client.discover(&extension, Cause::Refresh).await.unwrap_err();
    server.behave(Behaviour::variable("region"));
    client.discover_variables(&question(&extension), Cause::Restart).await.unwrap();
    let text = client.metrics.render();
    for line in [
        r#"capi_runtime_sdk_requests_total{code="200",group="hooks.runtime.cluster.x-k8s.io",hook="Discovery",host="ext.test:9443",status="Failure",version="v1alpha1"} 1"#,
        r#"capi_runtime_sdk_requests_total{code="200",group="hooks.runtime.cluster.x-k8s.io",hook="Discovery",host="ext.test:9443",status="Unknown",version="v1alpha1"} 1"#,
        r#"capi_runtime_sdk_request_duration_seconds_bucket{group="hooks.runtime.cluster.x-k8s.io",hook="DiscoverVariables",host="ext.test:9443",version="v1alpha1",le="1"} 1"#,
        r#"kapstan_extension_calls_total{cause="probe",extension="ext-a",hook="Discovery",result="refused"} 1"#,
        r#"kapstan_extension_calls_total{cause="refresh",extension="ext-a",hook="Discovery",result="unknown_status"} 1"#,
        r#"kapstan_extension_calls_total{cause="restart",extension="ext-a",hook="DiscoverVariables",result="ok"} 1"#,
        r#"kapstan_extension_wait_seconds_count{extension="ext-a"} 3"#,
        r#"kapstan_extension_in_flight{extension="ext-a"} 0"#,
    ] {
        assert!(text.contains(line), "{line} not in\n{text}");
    }
    client.metrics.forget_extension("ext-a");
    let text = client.metrics.render();
    assert!(!text.contains("ext-a") && !text.contains("ext.test"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_called_says_which_field_is_wrong() {
    let server = InProcess::new();
    let client = server.client(Options::default());
    let plain = server.extension_at("ext-a", "http://ext.test");
    let error = client.discover(&plain, Cause::Change).await.unwrap_err();
    assert_eq!(
        error.describe(),
        "failed to call extension ext-a for hook Discovery: spec.clientConfig.url cannot be used: the scheme must be \
         https"
    );
    assert!(!error.is_failed_call());
    assert_eq!(server.dials(), 0);
}
