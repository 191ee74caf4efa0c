//! The client: asks extensions, once for everybody who wants to know.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kapstan_api::hooks::catalog::{self, GroupVersionHook};
use kapstan_api::hooks::{
    self, DiscoverVariables, DiscoverVariablesRequest, Discovery, DiscoveryRequest, DiscoveryResponse, Hook,
    Message as _, Response as _, ResponseStatus,
};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::cache::{Answer, Answers};
use super::endpoint::Endpoint;
use super::error::{CallError, Failure, Target, Text};
use super::extension::{DEFAULT_TIMEOUT, Extension, Question, QuestionKey};
use super::flight::{Flights, Lost, Seat};
use super::http::{self, HttpClient, Post, Reply};
use super::limits::Limits;
use super::registry::Registration;
use super::tls::{Identity, Tls};
use super::transport::Dial;
use crate::clock::Clock;
use crate::digest::Digest;
use crate::metrics::{Avoided, Exchange, Metrics};

#[cfg(test)]
mod tests;

/// TLS configurations that nobody used for so long are dropped, with their idle connections.
const POOL_LIFETIME: Duration = Duration::from_mins(10);

/// How the client treats extensions.
#[derive(Clone, Debug)]
pub struct Options {
    /// Calls in flight at once to one host and port. 0 is taken as 1.
    pub max_in_flight: usize,
    /// How long a call waits for its turn before it fails; not counted in the call's own time.
    pub max_wait: Duration,
    /// Bytes that cached answers may take, roughly.
    pub cache_bytes: u64,
    /// Client certificate for extensions that ask for one. `None` shows none.
    pub identity: Option<Arc<Identity>>,
}

impl Default for Options {
    /// 8 calls at once to one address, half a minute for waiting, 64 MiB of answers, no client certificate.
    fn default() -> Self {
        Self { max_in_flight: 8, max_wait: Duration::from_secs(30), cache_bytes: 64 << 20, identity: None }
    }
}

/// Why a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Something changed.
    Change,
    /// It is time to ask again.
    Refresh,
    /// The manager started and knows no answer yet.
    Restart,
    /// To find out whether the extension is back.
    Probe,
}

impl Cause {
    /// Whether nothing changed but the time.
    #[must_use]
    pub const fn is_clock(self) -> bool {
        matches!(self, Self::Refresh | Self::Probe)
    }

    /// The value in metrics.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Change => "change",
            Self::Refresh => "refresh",
            Self::Restart => "restart",
            Self::Probe => "probe",
        }
    }
}

type Called<T> = Result<T, Arc<CallError>>;

/// An answer of success, and the length of its body.
type Answered<H> = Result<(<H as Hook>::Response, usize), Failure>;

/// Calls extensions: bounded, at most once at a time for one question, and remembers answers about variables.
///
/// Calls run in tasks of their own; dropping a future that waits for one changes nothing for others. No policy is
/// applied: an ignored failure is a failure here (see [`super::policy::settle`]), so that whoever schedules calls
/// sees it.
pub struct Client {
    tls: Tls,
    dialer: Arc<dyn Dial>,
    clock: Clock,
    metrics: Metrics,
    limits: Limits,
    pools: Mutex<HashMap<Digest, Pool>>,
    answers: Arc<Answers>,
    discoveries: Flights<Digest, Called<Arc<DiscoveryResponse>>>,
    variables: Flights<QuestionKey, Called<Answer>>,
}

struct Pool {
    client: HttpClient,
    used: Instant,
}

impl Client {
    /// A client that connects by `dialer`.
    #[must_use]
    pub fn new(options: Options, dialer: Arc<dyn Dial>, clock: Clock, metrics: Metrics) -> Arc<Self> {
        let Options { max_in_flight, max_wait, cache_bytes, identity } = options;
        Arc::new(Self {
            tls: Tls::new(clock.clone(), identity),
            dialer,
            clock,
            metrics,
            limits: Limits::new(max_in_flight, max_wait),
            pools: Mutex::default(),
            answers: Arc::new(Answers::new(cache_bytes)),
            discoveries: Flights::new(),
            variables: Flights::new(),
        })
    }

    /// Asks an extension what it can do. Joins a call under way; an answer is never taken from a cache.
    ///
    /// The answer is one of success, but not judged otherwise (`kapstan_api::discovery` does that).
    ///
    /// # Errors
    /// The call's, shared with everybody who waits for it.
    pub async fn discover(
        self: &Arc<Self>,
        extension: &Arc<Extension>,
        cause: Cause,
    ) -> Called<Arc<DiscoveryResponse>> {
        let target =
            Target { extension: extension.name.clone(), handler: None, hook: Discovery::NAME.into() };
        let (client, called, of_call) = (self.clone(), extension.clone(), target.clone());
        let load = move || async move {
            let call = Call {
                extension: &called,
                handler: None,
                hook: Discovery::group_version_hook(),
                timeout: DEFAULT_TIMEOUT,
                cause,
            };
            let answer = client.call::<Discovery>(call, &DiscoveryRequest::default()).await;
            let (response, _) = answer.map_err(|failure| failed(of_call, failure))?;
            Ok(Arc::new(response))
        };
        let seat = self.discoveries.join(extension.digest(), &extension.uid, load, |_| ());
        self.outcome(seat, target).await
    }

    /// Asks a handler for variables, whatever is in the cache, and stores its answer there. Joins a call under way.
    ///
    /// # Errors
    /// The call's, shared with everybody who waits for it.
    pub async fn discover_variables(self: &Arc<Self>, question: &Question, cause: Cause) -> Called<Answer> {
        let target = Target {
            extension: question.extension.name.clone(),
            handler: Some(question.handler.clone()),
            hook: DiscoverVariables::NAME.into(),
        };
        let (client, asked, of_call) = (self.clone(), question.clone(), target.clone());
        let load = move || async move {
            let asked_at = client.clock.now();
            let answer = client.ask(&asked, cause).await;
            let (response, bytes) = answer.map_err(|failure| failed(of_call, failure))?;
            Ok(Answer::new(response, asked_at, bytes))
        };
        let (answers, uid, key) = (self.answers.clone(), question.extension.uid.clone(), question.key());
        let keep = move |outcome: &Called<Answer>| {
            if let Ok(answer) = outcome {
                answers.insert(&uid, key, answer.clone());
            }
        };
        let seat = self.variables.join(key, &question.extension.uid, load, keep);
        self.outcome(seat, target).await
    }

    /// Calls a handler of any hook, now; nothing is shared or remembered. The answer is one of success; no failure policy is
    /// applied.
    ///
    /// # Errors
    /// The call's.
    pub(super) async fn call_hook<H: Hook>(
        &self,
        registration: &Registration,
        request: &H::Request,
        cause: Cause,
    ) -> Called<H::Response> {
        let target = Target {
            extension: registration.extension.name.clone(),
            handler: Some(registration.name.clone()),
            hook: H::NAME.into(),
        };
        let call = Call {
            extension: &registration.extension,
            handler: Some(registration.handler_in_extension()),
            hook: registration.hook.clone(),
            timeout: registration.timeout(),
            cause,
        };
        let answer = self.call::<H>(call, request).await;
        answer.map(|(response, _)| response).map_err(|failure| failed(target, failure))
    }

    /// The last answer to a question, when it is at hand and was asked for within `max_age`.
    #[must_use]
    pub fn answer(&self, question: &Question, max_age: Duration) -> Option<Answer> {
        let answer = self.answers.get(question.key())?;
        let age = self.clock.now().saturating_duration_since(answer.asked_at);
        if age > max_age {
            return None;
        }
        self.metrics.answer_used(DiscoverVariables::NAME, age);
        self.metrics.extension(&question.extension.name).avoided(DiscoverVariables::NAME, Avoided::Cached);
        Some(answer)
    }

    /// Forgets all answers of the extension with this UID. A call under way cannot put its answer back, and later
    /// callers do not join it.
    pub fn invalidate(&self, uid: &str) {
        self.discoveries.invalidate(uid, || ());
        self.variables.invalidate(uid, || self.answers.forget(uid));
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    async fn outcome<T: Clone>(&self, seat: Seat<Called<T>>, target: Target) -> Called<T> {
        if seat.is_shared {
            self.metrics.extension(&target.extension).avoided(&target.hook, Avoided::Shared);
        }
        seat.outcome().await.unwrap_or_else(|lost| {
            let reason = match lost {
                Lost::Panicked => "the call panicked",
                Lost::Stopped => "the call was stopped",
            };
            Err(failed(target, Failure::internal(reason)))
        })
    }

    async fn ask(&self, question: &Question, cause: Cause) -> Answered<DiscoverVariables> {
        let request = DiscoverVariablesRequest { settings: question.settings.clone(), ..Default::default() };
        let call = Call {
            extension: &question.extension,
            handler: Some(question.handler_in_extension()),
            hook: question.hook.clone(),
            timeout: question.timeout,
            cause,
        };
        self.call::<DiscoverVariables>(call, &request).await
    }

    /// One call, in its turn and with everything that is counted about it.
    async fn call<H: Hook>(&self, call: Call<'_>, request: &H::Request) -> Answered<H> {
        let extension = self.metrics.extension(&call.extension.name);
        let endpoint = Endpoint::try_from(&call.extension.client_config)?;
        let post = Post {
            uri: endpoint.uri(&call.hook, call.handler, call.timeout)?,
            address: endpoint.address_text(),
            authorization: endpoint.authorization().cloned(),
            body: body::<H>(&call.hook, request)?,
            timeout: call.timeout,
        };
        let http = self.http_client(call.extension).await?;
        let asked = self.clock.now();
        let slot = self.limits.slot(&endpoint.address()).await.map_err(|no_slot| {
            extension.avoided(H::NAME, Avoided::Throttled);
            Failure::Throttled { address: endpoint.address_text().into(), waited: no_slot.waited }
        })?;
        extension.waited(self.clock.now().saturating_duration_since(asked));
        let in_flight = extension.in_flight();
        tracing::debug!(extension = %call.extension.name, handler = call.handler, hook = H::NAME, "calling extension");
        let sent = self.clock.now();
        let Reply { code, body } = http::post(&http, post).await;
        drop((in_flight, slot));
        let (status, result) = read::<H>(body);
        extension.exchanged(&Exchange {
            host: endpoint.url_host(),
            group: catalog::GROUP,
            version: catalog::VERSION,
            hook: H::NAME,
            code,
            status,
            duration: self.clock.now().saturating_duration_since(sent),
        });
        extension.called(H::NAME, call.cause.label(), result.as_ref().map_or_else(Failure::label, |_| "ok"));
        result
    }

    /// The pooled client for the extension's CA bundle and our own certificate as it is now.
    async fn http_client(&self, extension: &Extension) -> Result<HttpClient, Failure> {
        self.tls.refresh().await;
        let bundle = extension.client_config.ca_bundle.as_ref().map(|bundle| bundle.0.as_slice());
        let digest = self.tls.digest(bundle);
        let now = self.clock.now();
        let mut pools = self.pools.lock();
        if let Some(pool) = pools.get_mut(&digest) {
            pool.used = now;
            return Ok(pool.client.clone());
        }
        let client = http::client(self.dialer.clone(), self.tls.config(bundle)?);
        pools.retain(|_, pool| now.saturating_duration_since(pool.used) < POOL_LIFETIME);
        pools.insert(digest, Pool { client: client.clone(), used: now });
        Ok(client)
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("tls", &self.tls).finish_non_exhaustive()
    }
}

/// What is called, and why.
struct Call<'a> {
    extension: &'a Extension,
    /// Name inside the extension.
    handler: Option<&'a str>,
    hook: GroupVersionHook,
    timeout: Duration,
    cause: Cause,
}

/// A request as it is sent: with its type, in the version that the handler serves.
fn body<H: Hook>(hook: &GroupVersionHook, request: &H::Request) -> Result<Vec<u8>, Failure> {
    let internal = |error: serde_json::Error| Failure::internal(&error.to_string());
    let mut body = serde_json::to_value(request).map_err(internal)?;
    body["apiVersion"] = hook.api_version().into();
    body["kind"] = H::Request::KIND.into();
    serde_json::to_vec(&body).map_err(internal)
}

fn failed(target: Target, failure: Failure) -> Arc<CallError> {
    Arc::new(CallError { target, failure })
}

/// Reads the body of an answer: its status for upstream's metric, and the answer when it is one of success.
fn read<H: Hook>(body: Result<bytes::Bytes, Failure>) -> (Option<&'static str>, Answered<H>) {
    let body = match body {
        Ok(body) => body,
        Err(failure) => return (None, Err(failure)),
    };
    let response: H::Response = match hooks::decode(&body) {
        Ok(response) => response,
        Err(error) => return (None, Err(Failure::Undecodable { reason: Text::from_error(&error) })),
    };
    let message = || Text::from(response.message());
    match response.status() {
        ResponseStatus::Success => (Some("Success"), Ok((response, body.len()))),
        ResponseStatus::Failure => (Some("Failure"), Err(Failure::Refused { message: message() })),
        ResponseStatus::Unknown(status) => {
            (None, Err(Failure::UnknownStatus { status: status.as_str().into(), message: message() }))
        }
    }
}
