//! For tests: everything that reconciles and jobs need, in this process: an API server that knows objects and merge
//! patches, and an extension over a pipe.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::controllers::{
    Context, cluster_class, extension_config,
    runner::{self, Controller},
    template_owners::{self, reconcile::Pace},
};
use crate::{
    clock::Clock,
    index::{Index, shared::Shared, tests::fixtures::Object},
    jobs,
    metrics::Metrics,
    runtime::{
        Client, Options,
        tests::in_process::{Behaviour, InProcess, Pipe, START},
        transport::Dial,
    },
};

/// What is in the API server, by path, and every patch that it took.
#[derive(Clone, Debug, Default)]
pub(crate) struct Server {
    objects: Arc<Mutex<BTreeMap<String, Value>>>,
    pub(crate) patches: Arc<Mutex<Vec<(String, Value)>>>,
    /// A field whose every patch is refused, be it in the spec or in the status.
    pub(crate) refused: Arc<Mutex<Option<&'static str>>>,
}

impl Server {
    fn client(&self) -> kube::Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { Ok::<_, std::io::Error>(server.handle(request).await) }
        });
        kube::Client::new(service, "default")
    }

    async fn handle(self, request: Request<Body>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let path = head.uri.path().trim_end_matches("/status");
        let mut objects = self.objects.lock();
        let Some(object) = objects.get_mut(path) else { return failure(StatusCode::NOT_FOUND) };
        if head.method == Method::PATCH {
            let sent: Value = serde_json::from_slice(&body).unwrap();
            let is_same = |field: &str| sent["metadata"][field] == object["metadata"][field];
            if !is_same("uid") || !is_same("resourceVersion") {
                return failure(StatusCode::CONFLICT);
            }
            let names = |field: &str| sent.to_string().contains(&format!("\"{field}\":"));
            if self.refused.lock().is_some_and(names) {
                return failure(StatusCode::UNPROCESSABLE_ENTITY);
            }
            merge(object, &sent);
            let version: u64 = object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
            object["metadata"]["resourceVersion"] = (version + 1).to_string().into();
            self.patches.lock().push((head.uri.path().to_owned(), sent));
        }
        Response::new(Body::from(object.to_string().into_bytes()))
    }

    pub(crate) fn object(&self, path: &str) -> Value {
        self.objects.lock()[path].clone()
    }
}

fn failure(code: StatusCode) -> Response<Body> {
    let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": code.to_string(), "reason": code.canonical_reason(), "code": code.as_u16() });
    let mut response = Response::new(Body::from(status.to_string().into_bytes()));
    *response.status_mut() = code;
    response
}

/// RFC 7396.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    for (name, value) in fields {
        if value.is_null() {
            target.as_object_mut().map(|object| object.remove(name));
        } else {
            merge(&mut target[name], value);
        }
    }
}

/// A manager in this process, without its watches.
pub(crate) struct Bench {
    pub(crate) server: Server,
    pub(crate) context: Context,
    pub(crate) extension: Arc<InProcess>,
    stop: CancellationToken,
}

impl Bench {
    pub(crate) fn new(options: Options) -> Self {
        let extension = InProcess::new();
        Self::dialing(options, Arc::new(Pipe(Arc::clone(&extension))), extension)
    }

    pub(crate) fn dialing(options: Options, dialer: Arc<dyn Dial>, extension: Arc<InProcess>) -> Self {
        let (server, clock, metrics) =
            (Server::default(), Clock::starting_at(START.parse().unwrap()), Metrics::new());
        let extensions = Client::new(options, dialer, clock.clone(), metrics.clone());
        let shared = Shared::new(Arc::clone(&extensions), metrics.clone());
        let pending_after = Duration::from_secs(5);
        let context = Context { kube: server.client(), shared, extensions, clock, metrics, pending_after };
        Self { server, context, extension, stop: CancellationToken::new() }
    }

    /// Starts calls and reconciles.
    pub(crate) fn run(&self) {
        tokio::spawn(jobs::run(self.context.clone(), self.stop.clone()));
        let queues = self.context.shared.queues();
        let (metrics, clock) = (self.context.metrics.clone(), self.context.clock.clone());
        let kind = extension_config::KIND;
        let (queue, workers) = (queues.configs.clone(), 2);
        let configs = Controller { kind, queue, workers, metrics: metrics.clone(), clock: clock.clone() };
        let (kind, queue) = (cluster_class::KIND, queues.classes.clone());
        let classes = Controller { kind, queue, workers, metrics: metrics.clone(), clock: clock.clone() };
        let (kind, queue) = (template_owners::KIND, queues.templates.clone());
        let templates = Controller { kind, queue, workers, metrics, clock };
        let (stop, pace) = (self.stop.clone(), Pace::default());
        let context = self.context.clone();
        tokio::spawn(runner::run(configs, stop.clone(), move |key| {
            let context = context.clone();
            async move { extension_config::reconcile::reconcile(key, &context).await }
        }));
        let context = self.context.clone();
        tokio::spawn(runner::run(classes, stop.clone(), move |key| {
            let context = context.clone();
            async move { cluster_class::reconcile::reconcile(key, &context).await }
        }));
        let context = self.context.clone();
        tokio::spawn(runner::run(templates, stop, move |key| {
            let (context, pace) = (context.clone(), pace.clone());
            async move { template_owners::reconcile::reconcile(key, &context, &pace).await }
        }));
    }

    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// The config is created, with the bundle that lets it reach the extension.
    pub(crate) fn create_config(&self, config: Object) {
        let bundle = String::from_utf8(self.extension.bundle.clone()).unwrap();
        let object = config.at_url("https://ext.test:9443").with_bundle(&bundle);
        let name = object.0["metadata"]["name"].as_str().unwrap();
        let path = format!("/apis/runtime.cluster.x-k8s.io/v1beta2/extensionconfigs/{name}");
        self.server.objects.lock().insert(path, object.0.clone());
        self.context.shared.change(|index| index.apply_config(object.config()));
    }

    pub(crate) fn create_class(&self, class: Object) {
        let metadata = &class.0["metadata"];
        let (namespace, name) = (metadata["namespace"].as_str().unwrap(), metadata["name"].as_str().unwrap());
        let path = format!("/apis/cluster.x-k8s.io/v1beta2/namespaces/{namespace}/clusterclasses/{name}");
        self.server.objects.lock().insert(path, class.0.clone());
        self.context.shared.change(|index| index.apply_class(class.class()));
    }

    pub(crate) fn with<T>(&self, read: impl FnOnce(&mut Index) -> T) -> T {
        self.context.shared.with(read)
    }

    /// What `kapstan_evaluations_total` and the like say.
    pub(crate) fn metric(&self, series: &str) -> u64 {
        let text = self.context.metrics.render();
        let line = text.lines().find(|line| line.starts_with(series));
        line.and_then(|line| line.rsplit(' ').next()).map_or(0, |value| value.parse().unwrap())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.stop();
    }
}

/// An answer to Discovery with these handlers of `DiscoverVariables`, and to their questions with this variable.
pub(crate) fn offering(handlers: &[&str], variable: &str) -> Behaviour {
    let hook =
        json!({ "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": "DiscoverVariables" });
    let handlers: Vec<Value> =
        handlers.iter().map(|name| json!({ "name": name, "requestHook": hook })).collect();
    let schema = json!({ "openAPIV3Schema": { "type": "string" } });
    let variables = [json!({ "name": variable, "required": true, "schema": schema })];
    let answer = json!({ "status": "Success", "handlers": handlers, "variables": variables });
    Behaviour::answer(200, answer.to_string())
}

/// Lets everything go on for so long.
pub(crate) async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

/// What becomes of an object when it is patched so.
pub(crate) fn patched(object: &Object, patch: &Value) -> Object {
    let mut patched = object.clone();
    merge(&mut patched.0, patch);
    patched
}

/// Panics when there is a `null` in it, which a merge patch takes for a removal.
pub(crate) fn assert_no_null(body: &Value) {
    assert!(!body.to_string().contains("null"), "{body}");
}
