//! The real manager and the real client under a paused clock: the API server and the extension are in process, so
//! hours pass in seconds.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::{future::BoxFuture, stream};
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use kapstan::{
    clock::Clock,
    manager::{Manager, Options},
    metrics::Metrics,
    runtime::transport::{BoxedIo, Dial},
};
use kapstan_test_extension::{Behaviour, Target, TestExtension};
use kube::client::Body;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Connects to the extension without a socket, whatever the host.
struct InProcess(Arc<TestExtension>);

impl Dial for InProcess {
    fn dial<'a>(&'a self, _host: &'a str, _port: u16) -> BoxFuture<'a, io::Result<BoxedIo>> {
        Box::pin(async { Ok(Box::new(self.0.connect()?) as BoxedIo) })
    }
}

/// As much of an API server as one `ExtensionConfig` needs: it lists, merges patches, and has nothing to tell in a watch.
#[derive(Clone)]
struct Api(Arc<Mutex<Value>>);

impl Api {
    fn answer(
        &self,
        method: &Method,
        path: &str,
        is_watch: bool,
        body: &[u8],
    ) -> Response<http_body_util::combinators::UnsyncBoxBody<bytes::Bytes, Infallible>> {
        if is_watch {
            let silence = StreamBody::new(stream::pending::<Result<Frame<bytes::Bytes>, Infallible>>());
            return Response::new(silence.boxed_unsync());
        }
        let mut config = self.0.lock().expect("no test panics with the lock");
        let answer = match (method, path) {
            (&Method::PATCH, _) => {
                merge(&mut config, &serde_json::from_slice(body).expect("a patch is JSON"));
                let next = config["metadata"]["resourceVersion"]
                    .as_str()
                    .and_then(|version| version.parse::<u64>().ok())
                    .map_or(1, |version| version + 1);
                config["metadata"]["resourceVersion"] = json!(next.to_string());
                config.clone()
            }
            (_, "/apis/runtime.cluster.x-k8s.io/v1beta2/extensionconfigs") => {
                json!({ "metadata": { "resourceVersion": "1" }, "items": [*config] })
            }
            _ => json!({ "metadata": { "resourceVersion": "1" }, "items": [] }),
        };
        let body = http_body_util::Full::new(bytes::Bytes::from(answer.to_string()));
        Response::new(body.boxed_unsync())
    }
}

fn merge(target: &mut Value, patch: &Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (field, value) in patch {
                merge(target.entry(field).or_insert(Value::Null), value);
            }
        }
        (target, patch) => *target = patch.clone(),
    }
}

fn client(api: Api) -> kube::Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let api = api.clone();
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let is_watch = head.uri.query().is_some_and(|query| query.contains("watch=true"));
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(api.answer(
                &head.method,
                head.uri.path(),
                is_watch,
                &body,
            ))
        }
    });
    kube::Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn an_hour_passes_in_no_time_with_the_calls_of_an_hour() {
    let extension = Arc::new(TestExtension::builder().in_process().unwrap());
    let config = json!({
        "apiVersion": "runtime.cluster.x-k8s.io/v1beta2", "kind": "ExtensionConfig",
        "metadata": { "name": "ext", "uid": "uid-ext", "generation": 1, "resourceVersion": "1" },
        "spec": { "clientConfig": {
            "url": extension.url(),
            "caBundle": k8s_openapi::ByteString(extension.ca_bundle()),
        } },
    });
    let api = Api(Arc::new(Mutex::new(config)));
    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    let manager = Manager::new(
        Options::default(),
        client(api.clone()),
        Arc::new(InProcess(Arc::clone(&extension))),
        clock.clone(),
        Metrics::new(),
    );
    let stop = CancellationToken::new();
    let running = tokio::spawn(manager.run(stop.clone()));

    extension.until_calls(Target::discovery(""), 1).await;
    tokio::time::sleep(Duration::from_mins(61)).await;
    assert_eq!(
        extension.calls(Target::discovery("")),
        1 + 6,
        "one at the start and one in each period of 10 min"
    );
    let status = api.0.lock().unwrap()["status"].clone();
    let conditions: BTreeMap<String, String> = status["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|condition| {
            (
                condition["type"].as_str().unwrap().to_owned(),
                condition["lastTransitionTime"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    assert_eq!(conditions["Discovered"], "2026-01-01T00:00:00Z");

    extension.behave(Target::All, Behaviour::hang());
    extension.reset_counts();
    tokio::time::sleep(Duration::from_hours(1)).await;
    // A call takes its 10 s to be given up; the waits between are 5, 10, 20, 40, 80, 160 and then 300 s.
    let attempts = extension.calls(Target::discovery(""));
    assert!((14..=17).contains(&attempts), "{attempts} attempts in an hour of silence");
    assert_eq!(clock.timestamp(), "2026-01-01T02:01:00Z".parse::<jiff::Timestamp>().unwrap());

    stop.cancel();
    running.await.unwrap();
}
