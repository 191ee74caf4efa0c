//! One POST to an extension, with every bound there is: total time, length of the answer, length of the headers,
//! idle connections. Redirects are not followed.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderValue};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ClientConfig;
use tokio::time::{Instant, timeout_at};
use tower::BoxError;
use tower::timeout::Timeout;
use tower::util::BoxCloneSyncService;

use super::error::{Failure, Phase, Text};
use super::tls::certificate_problem;
use super::transport::{Connector, Dial, Stream};

/// Bytes of an answer that are read, for the hooks called here.
///
/// Upstream limits the body of an error only, to 20 MiB; an answer of variables is a few KiB.
pub const MAX_ANSWER_BYTES: u64 = 4 << 20;
/// Bytes of response headers.
const MAX_HEADER_BYTES: u32 = 32 << 10;
/// What hyper holds of a response before its body begins, headers included. Must be 8 KiB at least.
const MAX_BUFFER_BYTES: usize = 64 << 10;
/// How long the beginning of an error's body is waited for; what went wrong is known by then.
const WORDS_PATIENCE: Duration = Duration::from_secs(1);
/// Connecting goes on in the background when a call finds another connection first; this ends it in any case.
const MAX_CONNECT_TIME: Duration = Duration::from_secs(30);
/// Idle connections end before a server or a load balancer usually ends them.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_IDLE_PER_HOST: usize = 8;
/// HTTP/2: a connection without a sign of life for both together is given up.
const PING_INTERVAL: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// An HTTPS client with a pool of connections; one for each TLS configuration.
pub(super) type HttpClient =
    legacy::Client<BoxCloneSyncService<Uri, MaybeHttpsStream<TokioIo<Stream>>, BoxError>, Full<Bytes>>;

/// What is sent.
pub(super) struct Post {
    pub(super) uri: Uri,
    /// Host and port for error texts.
    pub(super) address: String,
    pub(super) authorization: Option<HeaderValue>,
    pub(super) body: Vec<u8>,
    /// From now to the last byte.
    pub(super) timeout: Duration,
}

/// What came back.
pub(super) struct Reply {
    /// The HTTP status. `None` when there was no response.
    pub(super) code: Option<u16>,
    /// The body of a response with status 200.
    pub(super) body: Result<Bytes, Failure>,
}

pub(super) fn client(dialer: Arc<dyn Dial>, tls: Arc<ClientConfig>) -> HttpClient {
    let mut https = HttpsConnector::from((Connector(dialer), tls));
    https.enforce_https();
    legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(MAX_IDLE_PER_HOST)
        .http1_max_buf_size(MAX_BUFFER_BYTES)
        .http2_max_header_list_size(MAX_HEADER_BYTES)
        .http2_keep_alive_interval(PING_INTERVAL)
        .http2_keep_alive_timeout(PING_TIMEOUT)
        .http2_keep_alive_while_idle(true)
        .build(BoxCloneSyncService::new(Timeout::new(https, MAX_CONNECT_TIME)))
}

/// Sends one request and reads its answer.
pub(super) async fn post(client: &HttpClient, post: Post) -> Reply {
    let Post { uri, address, authorization, body, timeout } = post;
    let deadline = Instant::now() + timeout;
    let mut request = request(uri, authorization, body);
    let connection = capture_connection(&mut request);
    let timed_out = |phase| Failure::TimedOut { after: timeout, phase };
    match timeout_at(deadline, client.request(request)).await {
        Err(_) => Reply { code: None, body: Err(timed_out(give_up(&connection))) },
        Ok(Err(error)) => Reply { code: None, body: Err(failed_to_send(&error, &address)) },
        Ok(Ok(response)) if response.status() == StatusCode::OK => {
            let body = timeout_at(deadline, read(response.into_body())).await.unwrap_or_else(|_| {
                give_up(&connection);
                Err(timed_out(Phase::ReadingBody))
            });
            Reply { code: Some(StatusCode::OK.as_u16()), body }
        }
        Ok(Ok(response)) => {
            let code = response.status().as_u16();
            let failure = refused(response, deadline.min(Instant::now() + WORDS_PATIENCE)).await;
            Reply { code: Some(code), body: Err(failure) }
        }
    }
}

fn request(uri: Uri, authorization: Option<HeaderValue>, body: Vec<u8>) -> Request<Full<Bytes>> {
    let json = HeaderValue::from_static("application/json");
    let mut request = Request::new(Full::from(body));
    *request.method_mut() = http::Method::POST;
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    headers.insert(header::ACCEPT, json.clone());
    headers.insert(header::CONTENT_TYPE, json);
    headers
        .insert(header::USER_AGENT, HeaderValue::from_static(concat!("kapstan/", env!("CARGO_PKG_VERSION"))));
    if let Some(authorization) = authorization {
        headers.insert(header::AUTHORIZATION, authorization);
    }
    request
}

/// Keeps a connection on which time ran out from being used again, and says how far the call had come.
fn give_up(connection: &CaptureConnection) -> Phase {
    match &*connection.connection_metadata() {
        Some(connected) => {
            connected.poison();
            Phase::AwaitingHeaders
        }
        None => Phase::Connecting,
    }
}

async fn read(mut body: Incoming) -> Result<Bytes, Failure> {
    let too_large = |announced| Failure::TooLarge { limit: MAX_ANSWER_BYTES, announced };
    let announced = body.size_hint().lower();
    if announced > MAX_ANSWER_BYTES {
        return Err(too_large(Some(announced)));
    }
    let mut answer = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| interrupted(&error))?;
        let Ok(data) = frame.into_data() else { continue };
        if (answer.len() + data.len()) as u64 > MAX_ANSWER_BYTES {
            return Err(too_large(None));
        }
        answer.extend_from_slice(&data);
    }
    Ok(answer.freeze())
}

/// What a response with another status than 200 says.
async fn refused(response: Response<Incoming>, deadline: Instant) -> Failure {
    let code = response.status().as_u16();
    let location = response.headers().get(header::LOCATION);
    let location = location.filter(|_| response.status().is_redirection());
    let location = location.map(|location| Text::from_bytes(location.as_bytes()));
    let mut words = Vec::new();
    // Whatever stops it: the status is what counts, and what was read until then is shown.
    let _ = timeout_at(deadline, read_words(response.into_body(), &mut words)).await;
    Failure::Status { code, location, words: Text::from_bytes(&words) }
}

async fn read_words(mut body: Incoming, words: &mut Vec<u8>) {
    while words.len() <= Text::MAX
        && let Some(Ok(frame)) = body.frame().await
    {
        if let Ok(data) = frame.into_data() {
            // One byte more than is shown, so that the cut is seen.
            let room = (Text::MAX + 1).saturating_sub(words.len());
            words.extend(data.iter().take(room));
        }
    }
}

fn failed_to_send(error: &legacy::Error, address: &str) -> Failure {
    // The outermost text only says "client error".
    let reason = || error.source().map_or_else(|| error.to_string().into(), Text::from_error);
    if let Some(problem) = certificate_problem(error) {
        return Failure::Certificate { address: address.into(), reason: problem.into() };
    }
    if error.is_connect() {
        return Failure::Unreachable { address: address.into(), reason: reason() };
    }
    match error.source().and_then(|source| source.downcast_ref::<hyper::Error>()) {
        Some(error) if error.is_parse() => Failure::Undecodable { reason: reason() },
        _ => interrupted(error.source().unwrap_or(error)),
    }
}

/// The same words for the same fault: whether a closed connection is noticed when writing or when reading is chance.
fn interrupted(error: &(dyn Error + 'static)) -> Failure {
    let mut causes = std::iter::successors(Some(error), |&error| error.source());
    let reason = if causes.any(says_closed) { "it was closed".into() } else { Text::from_error(error) };
    Failure::Interrupted { reason }
}

fn says_closed(error: &(dyn Error + 'static)) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    let is_over =
        |error: &hyper::Error| error.is_incomplete_message() || error.is_canceled() || error.is_closed();
    let is_over = error.downcast_ref::<hyper::Error>().is_some_and(is_over);
    is_over
        || matches!(
            kind,
            Some(BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof)
        )
}
