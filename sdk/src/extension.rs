//! An extension: named handlers, the Discovery answer that follows from them, and the router that serves both.

use std::collections::BTreeSet;
use std::fmt;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest, Request};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use kapstan_api::hooks::catalog::GroupVersionHook;
use kapstan_api::hooks::{
    DiscoverVariables, DiscoverVariablesRequest, DiscoverVariablesResponse, DiscoveredHandler, Discovery,
    DiscoveryRequest, DiscoveryResponse, Hook, Response as _, decode,
};
use serde_json::{Value, json};

use crate::handler::{self, Handler, HandlerError, Registered};

/// The largest request body unless set, in bytes: 20 MiB, the limit of Cluster API's own extension server,
/// above any legitimate request.
pub const DEFAULT_BODY_LIMIT: usize = 20 * 1024 * 1024;

/// How long a request body may take to arrive. No hook may take longer altogether.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest timeout that Discovery lets a handler ask for.
const MAX_TIMEOUT: Duration = Duration::from_secs(30);

/// What is wrong with one handler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The name is no DNS label.
    #[error("handler name {0:?} is no DNS label (a-z, 0-9 and -, at most 63 characters, no - at either end)")]
    InvalidName(String),
    /// Two handlers, of whatever hooks, have this name.
    #[error("handler name {0:?} is used more than once")]
    DuplicateName(String),
    /// Cluster API has no such hook in this version.
    #[error("handler {handler:?} is for an unknown hook: {hook}")]
    UnknownHook {
        /// The handler's name.
        handler: String,
        /// The hook.
        hook: GroupVersionHook,
    },
    /// Discovery cannot have a handler; its answer follows from what is registered.
    #[error("handler {0:?} is for Discovery, which the sdk answers by itself")]
    Singleton(String),
    /// The timeout is not a whole number of seconds between 1 and 30.
    #[error("handler {handler:?} asks for a timeout of {timeout:?}, not 1 to 30 whole seconds")]
    Timeout {
        /// The handler's name.
        handler: String,
        /// What it asks for.
        timeout: Duration,
    },
}

/// An extension that Cluster API would refuse in Discovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    /// The extension's name.
    pub extension: String,
    /// Everything that is wrong, in the order of registration.
    pub problems: Vec<Problem>,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to build extension {}", self.extension)?;
        let mut separator = ": ";
        for problem in &self.problems {
            write!(f, "{separator}{problem}")?;
            separator = "; ";
        }
        Ok(())
    }
}

impl std::error::Error for BuildError {}

/// Collects the handlers of an extension; see [`Extension::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct ExtensionBuilder {
    name: String,
    body_limit: usize,
    handlers: Vec<Registered>,
}

impl ExtensionBuilder {
    /// The largest request body in bytes; more is answered with 413. Unset: [`DEFAULT_BODY_LIMIT`].
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }

    /// Adds a handler of the hook `DiscoverVariables`: which variables a ClusterClass patch understands.
    pub fn discover_variables<F, Fut>(self, handler: impl Into<Handler>, function: F) -> Self
    where
        F: Fn(DiscoverVariablesRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<DiscoverVariablesResponse, HandlerError>> + Send + 'static,
    {
        self.on::<DiscoverVariables, _, _>(handler, function)
    }

    /// Adds a handler of any hook that kapstan-api has messages for. Requests are read as leniently as a Go
    /// extension reads them.
    pub fn on<H, F, Fut>(mut self, handler: impl Into<Handler>, function: F) -> Self
    where
        H: Hook,
        F: Fn(H::Request) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<H::Response, HandlerError>> + Send + 'static,
    {
        let hook = H::group_version_hook();
        self.handlers.push(Registered::new(handler.into(), hook, decode::<H::Request>, function));
        self
    }

    /// Adds a handler of any hook of the catalog, with the messages as JSON.
    ///
    /// The response needs only what the hook wants to say: `apiVersion`, `kind` and, unless set, `status:
    /// Success` are filled in; `null` is a plain success.
    pub fn handler<F, Fut>(mut self, handler: impl Into<Handler>, hook: GroupVersionHook, function: F) -> Self
    where
        F: Fn(Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, HandlerError>> + Send + 'static,
    {
        let read = |body: &[u8]| serde_json::from_slice::<Value>(body);
        self.handlers.push(Registered::new(handler.into(), hook, read, function));
        self
    }

    /// Checks all handlers as Discovery will.
    ///
    /// # Errors
    /// Names every handler that Cluster API would refuse, and why.
    pub fn build(self) -> Result<Extension, BuildError> {
        let mut names = BTreeSet::new();
        let problems: Vec<_> =
            self.handlers.iter().flat_map(|handler| problems(handler, &mut names)).collect();
        if problems.is_empty() {
            Ok(Extension { name: self.name, body_limit: self.body_limit, handlers: self.handlers })
        } else {
            Err(BuildError { extension: self.name, problems })
        }
    }
}

fn problems<'a>(registered: &'a Registered, names: &mut BTreeSet<&'a str>) -> Vec<Problem> {
    let Registered { handler, hook, .. } = registered;
    let name = || handler.name.clone();
    let mut problems = Vec::new();
    if !is_dns_label(&handler.name) {
        problems.push(Problem::InvalidName(name()));
    }
    if !names.insert(&handler.name) {
        problems.push(Problem::DuplicateName(name()));
    }
    match hook.descriptor() {
        None => problems.push(Problem::UnknownHook { handler: name(), hook: hook.clone() }),
        Some(known) if known.is_singleton => problems.push(Problem::Singleton(name())),
        Some(_) => {}
    }
    if let Some(timeout) = handler.timeout
        && (timeout.is_zero() || timeout > MAX_TIMEOUT || timeout.subsec_nanos() != 0)
    {
        problems.push(Problem::Timeout { handler: name(), timeout });
    }
    problems
}

/// RFC 1123, as Kubernetes checks names of this kind.
fn is_dns_label(name: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    let ends_well = |c: Option<&u8>| c.is_some_and(|c| *c != b'-');
    let bytes = name.as_bytes();
    bytes.len() <= 63
        && bytes.iter().all(|c| inner(*c))
        && ends_well(bytes.first())
        && ends_well(bytes.last())
}

/// A Runtime Extension, ready to be served.
#[derive(Clone, Debug)]
pub struct Extension {
    name: String,
    body_limit: usize,
    handlers: Vec<Registered>,
}

impl Extension {
    /// Begins an extension. The name is for logs and errors; Cluster API knows it by its ExtensionConfig's
    /// name.
    pub fn builder(name: impl Into<String>) -> ExtensionBuilder {
        ExtensionBuilder { name: name.into(), body_limit: DEFAULT_BODY_LIMIT, handlers: Vec::new() }
    }

    /// The name given to [`Extension::builder`].
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What Discovery answers: the handlers in the order of registration.
    #[must_use]
    pub fn discovery(&self) -> DiscoveryResponse {
        let handlers = self.handlers.iter().map(announced).collect();
        DiscoveryResponse { handlers, ..DiscoveryResponse::success() }
    }

    /// Everything that is served, as `POST` on the catalog's paths. Serve it with [`Server`](crate::Server), or
    /// put it below a path of your own with [`Router::nest`].
    ///
    /// A handler's error is 200 with `status: Failure`; a body that is not the request is 400; a panic is 500.
    /// Every one of them has the hook's response as its body, with a message.
    pub fn into_router(self) -> Router {
        let discovery = self.discovery();
        let hook = Discovery::group_version_hook();
        let read = |body: &[u8]| match body {
            // Curious people send nothing at all.
            [] => Ok(DiscoveryRequest::default()),
            body => decode::<DiscoveryRequest>(body),
        };
        let discovery =
            Registered::new("discovery".into(), hook.clone(), read, move |_| ready(Ok(discovery.clone())));
        let mut router = route(Router::new(), &hook.path(None), discovery);
        for registered in self.handlers {
            let path = registered.hook.path(Some(&registered.handler.name));
            router = route(router, &path, registered);
        }
        router
            .fallback(|| refuse(StatusCode::NOT_FOUND, "no such hook or handler"))
            .method_not_allowed_fallback(|| {
                refuse(StatusCode::METHOD_NOT_ALLOWED, "hooks are called by POST")
            })
            .layer(DefaultBodyLimit::max(self.body_limit))
    }
}

fn announced(registered: &Registered) -> DiscoveredHandler {
    let Registered { handler, hook, .. } = registered;
    // `build` saw to it that the seconds are few and whole.
    let seconds = handler.timeout.and_then(|timeout| i32::try_from(timeout.as_secs()).ok());
    DiscoveredHandler {
        name: handler.name.clone(),
        request_hook: hook.clone().into(),
        timeout_seconds: seconds,
        failure_policy: handler.failure_policy.clone(),
    }
}

fn route(router: Router, path: &str, registered: Registered) -> Router {
    let registered = Arc::new(registered);
    router.route(path, post(move |request: Request| call(registered.clone(), request)))
}

async fn call(registered: Arc<Registered>, request: Request) -> Response {
    let body = match tokio::time::timeout(BODY_TIMEOUT, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => body,
        Ok(Err(refused)) => {
            return answer(refused.status(), &handler::failure(&registered.hook, &refused.body_text()));
        }
        Err(_elapsed) => {
            let message = format!("the request's body took longer than {BODY_TIMEOUT:?}");
            return answer(StatusCode::REQUEST_TIMEOUT, &handler::failure(&registered.hook, &message));
        }
    };
    let (status, response) = registered.answer(body).await;
    answer(status, &response)
}

fn refuse(status: StatusCode, message: &str) -> Ready<Response> {
    ready(answer(status, &json!({"status": "Failure", "message": message})))
}

fn answer(status: StatusCode, body: &Value) -> Response {
    (status, axum::Json(body)).into_response()
}
