//! One handler: how it is announced, and how a request body becomes a response body.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::StatusCode;
use futures::FutureExt;
use futures::future::BoxFuture;
use kapstan_api::extension_config::FailurePolicy;
use kapstan_api::hooks::catalog::GroupVersionHook;
use serde::Serialize;
use serde_json::{Map, Value};

/// How a handler is announced by Discovery. A plain name does for most: `"my-variables".into()`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handler {
    pub(crate) name: String,
    pub(crate) timeout: Option<Duration>,
    pub(crate) failure_policy: Option<FailurePolicy>,
}

impl Handler {
    /// A handler of this name, a DNS label (lower-case letters, digits, `-`; at most 63 characters) that no
    /// other handler of the extension has. In a ClusterClass it is written `<name>.<ExtensionConfig>`.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), timeout: None, failure_policy: None }
    }

    /// How long a call may take: whole seconds, 1 to 30. Unset: Cluster API takes 10 s.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// What a call that fails means for the caller. Unset: Cluster API takes `Fail`.
    #[must_use]
    pub fn failure_policy(mut self, policy: FailurePolicy) -> Self {
        self.failure_policy = Some(policy);
        self
    }
}

impl From<&str> for Handler {
    fn from(name: &str) -> Self {
        Self::named(name)
    }
}

impl From<String> for Handler {
    fn from(name: String) -> Self {
        Self::named(name)
    }
}

/// Why a handler has no answer. The caller gets 200 with `status: Failure` and this message.
///
/// Any error becomes one by `?`, its causes joined with `: `; a text becomes one by [`HandlerError::new`].
#[derive(Clone, PartialEq, Eq)]
pub struct HandlerError {
    message: String,
}

impl HandlerError {
    /// A failure with this message, which the operator will read in a condition.
    #[must_use]
    pub fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string() }
    }

    /// What the caller is told.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Debug for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.message, f)
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// That `HandlerError` is no `std::error::Error` itself is what makes this conversion possible.
impl<E: std::error::Error> From<E> for HandlerError {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            message.push_str(": ");
            message.push_str(&error.to_string());
            cause = error.source();
        }
        Self { message }
    }
}

/// Why a call was not answered with 200 and `Success`.
enum Refusal {
    /// The body is not the hook's request: 400.
    Unreadable(String),
    /// The handler said no: 200 with `Failure`.
    Failed(HandlerError),
    /// The handler broke: 500.
    Broken(String),
}

type Call = dyn Fn(Bytes) -> BoxFuture<'static, Result<Value, Refusal>> + Send + Sync;

/// A handler behind its path.
#[derive(Clone)]
pub(crate) struct Registered {
    pub(crate) handler: Handler,
    pub(crate) hook: GroupVersionHook,
    call: Arc<Call>,
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered")
            .field("handler", &self.handler)
            .field("hook", &self.hook)
            .finish_non_exhaustive()
    }
}

impl Registered {
    /// Wraps a function of request and response messages; `read` says how a body becomes a request.
    pub(crate) fn new<Q, E, R, F, Fut>(
        handler: Handler,
        hook: GroupVersionHook,
        read: fn(&[u8]) -> Result<Q, E>,
        function: F,
    ) -> Self
    where
        Q: 'static,
        E: fmt::Display + 'static,
        R: Serialize + 'static,
        F: Fn(Q) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, HandlerError>> + Send + 'static,
    {
        let function = Arc::new(function);
        let call = move |body: Bytes| {
            let function = function.clone();
            async move {
                let request = read(&body).map_err(|error| Refusal::Unreadable(error.to_string()))?;
                // Let go before the handler runs: large requests would be held twice.
                drop(body);
                let response = function(request).await.map_err(Refusal::Failed)?;
                serde_json::to_value(response).map_err(|error| Refusal::Broken(error.to_string()))
            }
            .boxed()
        };
        Self { handler, hook, call: Arc::new(call) }
    }

    /// Answers one call. Nothing the request or the handler does makes this panic.
    pub(crate) async fn answer(&self, body: Bytes) -> (StatusCode, Value) {
        let outcome = AssertUnwindSafe((self.call)(body)).catch_unwind().await;
        match outcome.unwrap_or_else(|_panic| Err(Refusal::Broken("panic, see its log".into()))) {
            Ok(response) => self.complete(response),
            Err(Refusal::Failed(error)) => (StatusCode::OK, failure(&self.hook, error.message())),
            Err(Refusal::Unreadable(error)) => {
                let message = format!("failed to read the {} request: {error}", self.hook.hook);
                (StatusCode::BAD_REQUEST, failure(&self.hook, &message))
            }
            Err(Refusal::Broken(why)) => self.broken(&why),
        }
    }

    fn broken(&self, why: &str) -> (StatusCode, Value) {
        let name = &self.handler.name;
        tracing::error!(handler = %name, hook = %self.hook, why, "handler broke");
        let message = format!("handler {name} broke: {why}");
        (StatusCode::INTERNAL_SERVER_ERROR, failure(&self.hook, &message))
    }

    /// Sets what every response has and an author should not have to: version, kind and, where it says nothing
    /// else, success.
    fn complete(&self, response: Value) -> (StatusCode, Value) {
        let mut fields = match response {
            Value::Object(fields) => fields,
            Value::Null => Map::new(),
            _ => return self.broken("its response is no JSON object"),
        };
        for (name, value) in identity(&self.hook) {
            fields.insert(name, value);
        }
        if fields.get("status").is_none_or(|status| status.is_null() || status == "") {
            fields.insert("status".into(), "Success".into());
        }
        (StatusCode::OK, Value::Object(fields))
    }
}

/// The hook's response saying `Failure`.
pub(crate) fn failure(hook: &GroupVersionHook, message: &str) -> Value {
    let mut fields: Map<_, _> = identity(hook).into_iter().collect();
    fields.insert("status".into(), "Failure".into());
    fields.insert("message".into(), message.into());
    Value::Object(fields)
}

fn identity(hook: &GroupVersionHook) -> [(String, Value); 2] {
    [
        ("apiVersion".into(), hook.api_version().into()),
        ("kind".into(), format!("{}Response", hook.hook).into()),
    ]
}
