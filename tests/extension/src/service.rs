//! Answers calls: counts, reads, chooses the behaviour, delivers.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Extension, Request, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;
use tower::ServiceExt;

use crate::behaviour::{Behaviour, Cut};
use crate::connection::Breaker;
use crate::content::{Content, HandlerSpec, Variables};
use crate::record::{InFlight, RecordedRequest, Recorder};
use crate::target::{Target, split};

/// The largest request body that is read.
const BODY_LIMIT: usize = 64 * 1024 * 1024;

/// What can be switched, and the record.
pub(crate) struct Service {
    pub(crate) recorder: Arc<Recorder>,
    switches: Mutex<Switches>,
    /// Whether only the very prefixes that have a content of their own are served.
    only_where_set: bool,
}

struct Switches {
    latency: Duration,
    behaviours: Vec<(Target, Behaviour)>,
    /// The first one covers everything and is never removed.
    contents: Vec<(Target, Content)>,
}

impl Service {
    pub(crate) fn new(
        recorder: Arc<Recorder>,
        content: Content,
        latency: Duration,
        only_where_set: bool,
    ) -> Arc<Self> {
        let contents = vec![(Target::All, content)];
        let switches = Mutex::new(Switches { latency, behaviours: Vec::new(), contents });
        Arc::new(Self { recorder, switches, only_where_set })
    }

    /// The router for one connection.
    pub(crate) fn router(self: &Arc<Self>, breaker: Breaker) -> Router {
        Router::new().fallback(serve).layer(Extension(breaker)).with_state(self.clone())
    }

    pub(crate) fn set_latency(&self, latency: Duration) {
        self.switches.lock().latency = latency;
    }

    pub(crate) fn behave(&self, target: Target, behaviour: Behaviour) {
        put(&mut self.switches.lock().behaviours, target, behaviour);
    }

    pub(crate) fn behave_as_usual(&self) {
        self.switches.lock().behaviours.clear();
    }

    /// Changes the handlers, the variables, or both of what covers `target`.
    pub(crate) fn set_content(
        &self,
        target: Target,
        handlers: Option<Vec<HandlerSpec>>,
        variables: Option<Variables>,
    ) -> anyhow::Result<()> {
        let mut switches = self.switches.lock();
        let old = switches.contents.iter().find(|(at, _)| *at == target).or(switches.contents.first());
        let old = old.map(|(_, content)| content);
        let handlers = handlers.or_else(|| old.map(|old| old.handlers.clone())).unwrap_or_default();
        let variables = variables.or_else(|| old.map(|old| old.variables.clone()));
        let content = Content::try_new(handlers, variables.unwrap_or(Variables::count(0)))?;
        put(&mut switches.contents, target, content);
        Ok(())
    }

    /// What one call gets, taken at once so that the call is not torn by a switch.
    fn choose(&self, path: &str) -> (Behaviour, Duration, Router) {
        let mut switches = self.switches.lock();
        let latency = switches.latency;
        let mut covering: Vec<_> =
            switches.behaviours.iter_mut().filter(|(target, _)| target.covers(path)).collect();
        covering.sort_by_key(|(target, _)| std::cmp::Reverse(target.specificity()));
        let chosen =
            covering.into_iter().find_map(|(_, behaviour)| behaviour.take().then(|| behaviour.clone()));
        let content = switches
            .contents
            .iter()
            .filter(|(target, _)| match target {
                Target::Under(prefix) if self.only_where_set => split(path).0 == prefix,
                _ if self.only_where_set => false,
                target => target.covers(path),
            })
            .max_by_key(|(target, _)| target.specificity());
        let router = content.map(|(_, content)| content.router.clone()).unwrap_or_default();
        (chosen.unwrap_or_default(), latency, router)
    }

    async fn read(&self, path: Arc<str>, at: Instant, request: Request) -> Request {
        let (parts, body) = request.into_parts();
        let body = axum::body::to_bytes(body, BODY_LIMIT).await.unwrap_or_default();
        self.recorder.read(RecordedRequest {
            path,
            query: parts.uri.query().map(str::to_owned),
            headers: parts.headers.clone(),
            version: parts.version,
            body: serde_json::from_slice(&body).ok(),
            at,
        });
        Request::from_parts(parts, Body::from(body))
    }
}

/// Puts a value at a target, in place of the one there.
fn put<T>(list: &mut Vec<(Target, T)>, target: Target, value: T) {
    match list.iter_mut().find(|(at, _)| *at == target) {
        Some((_, old)) => *old = value,
        None => list.push((target, value)),
    }
}

async fn serve(
    State(service): State<Arc<Service>>,
    Extension(breaker): Extension<Breaker>,
    request: Request,
) -> Response {
    let at = Instant::now();
    let (path, in_flight) = service.recorder.arrived(request.uri().path(), at);
    let (behaviour, latency, router) = service.choose(&path);
    let request = service.read(path, at, request).await;

    let answer = answer(&behaviour, router, request).await;
    behaviour.wait(latency).await;
    if let Some(cut) = behaviour.cut() {
        return breaker.cut(cut == Cut::Reset).await;
    }
    if behaviour.is_hang() {
        return std::future::pending().await;
    }
    let answer = behaviour.deliver(answer).await;
    answer.map(|body| Body::new(Counted { body, in_flight: Some(in_flight) }))
}

async fn answer(behaviour: &Behaviour, router: Router, request: Request) -> Response {
    if let Some(response) = behaviour.made_up() {
        return response;
    }
    let usual = usual(router, request).await;
    match behaviour.failure_message() {
        Some(message) => failed(usual, message).await,
        None => usual,
    }
}

/// The sdk's answer to the call without its prefix.
async fn usual(router: Router, mut request: Request) -> Response {
    let rest = split(request.uri().path()).1.to_owned();
    match rest.parse::<Uri>() {
        Ok(uri) => *request.uri_mut() = uri,
        Err(_empty) => return (StatusCode::NOT_FOUND, "no hook in this path").into_response(),
    }
    match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Turns the usual answer, which names version and kind, into one that says `Failure`.
async fn failed(usual: Response, message: &str) -> Response {
    let body = axum::body::to_bytes(usual.into_body(), BODY_LIMIT).await.unwrap_or_default();
    let usual: Value = serde_json::from_slice(&body).unwrap_or_default();
    axum::Json(json!({
        "apiVersion": usual["apiVersion"].as_str().unwrap_or_default(),
        "kind": usual["kind"].as_str().unwrap_or_default(),
        "status": "Failure",
        "message": message,
    }))
    .into_response()
}

/// A body that ends its call in the record when its last piece is handed over: before the client can have read
/// it, so a client that keeps to a limit is never seen above it.
struct Counted {
    body: Body,
    in_flight: Option<InFlight>,
}

impl hyper::body::Body for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = std::task::ready!(std::pin::Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() || self.body.is_end_stream() {
            self.in_flight = None;
        }
        std::task::Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
