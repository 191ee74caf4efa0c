//! What a call gets instead of the usual answer.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt};
use http_body_util::{BodyExt, Collected, StreamBody};
use hyper::body::Frame;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Bytes of one piece of a body that is large only to be large.
const PIECE: usize = 64 * 1024;

/// How calls are answered: an answer, and how it gets onto the wire. Start with one of the constructors, refine
/// with the methods: `Behaviour::status(503).header("retry-after", "7").times(2)`.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Behaviour {
    answer: Answer,
    delivery: Delivery,
    delay: Option<Duration>,
    held: Option<CancellationToken>,
    headers: HeaderMap,
    times: Option<u64>,
}

#[derive(Clone, Debug, Default)]
enum Answer {
    #[default]
    Usual,
    Fixed(StatusCode, Bytes),
    Failure(String),
    Sized {
        status: StatusCode,
        bytes: u64,
        announced: bool,
    },
}

#[derive(Clone, Debug, Default)]
enum Delivery {
    #[default]
    Whole,
    HangBeforeHeaders,
    HangInBody {
        after: usize,
    },
    Trickle {
        piece: usize,
        every: Duration,
    },
    Cut(Cut),
}

/// How a connection is broken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    Reset,
    HangUp,
}

impl Behaviour {
    /// The usual answer, as if nothing had been set; lets one extension be healthy where all others are not.
    pub fn usual() -> Self {
        Self::default()
    }

    /// This status with an empty body.
    pub fn status(status: StatusCode) -> Self {
        Self::body(status, Bytes::new())
    }

    /// This status with this body, byte for byte. The content type is JSON's unless set.
    pub fn body(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self { answer: Answer::Fixed(status, body.into()), ..Self::default() }
    }

    /// 200 with this JSON.
    pub fn json(value: &Value) -> Self {
        Self::body(StatusCode::OK, value.to_string())
    }

    /// 200 with the hook's response saying `Failure` and this message.
    pub fn failure(message: impl Into<String>) -> Self {
        Self { answer: Answer::Failure(message.into()), ..Self::default() }
    }

    /// This status with a JSON object of exactly so many bytes (at least 16), its length announced.
    pub fn sized(status: StatusCode, bytes: u64) -> Self {
        Self { answer: Answer::Sized { status, bytes, announced: true }, ..Self::default() }
    }

    /// As [`sized`](Self::sized), the length not announced: the reader learns it by reading.
    pub fn sized_unannounced(status: StatusCode, bytes: u64) -> Self {
        Self { answer: Answer::Sized { status, bytes, announced: false }, ..Self::default() }
    }

    /// A redirect (301, 302, 307 or 308) to `location`.
    ///
    /// # Panics
    /// When `location` has characters that no header may have.
    pub fn redirect(status: StatusCode, location: &str) -> Self {
        Self::status(status).header(LOCATION.as_str(), location)
    }

    /// No answer ever; the connection stays open until the client gives up.
    pub fn hang() -> Self {
        Self { delivery: Delivery::HangBeforeHeaders, ..Self::default() }
    }

    /// Headers and the first `after` bytes of the answer, then nothing more; the connection stays open.
    pub fn hang_in_body(after: usize) -> Self {
        Self { delivery: Delivery::HangInBody { after }, ..Self::default() }
    }

    /// The connection is reset (RST) before the answer; in process, its server end is dropped.
    pub fn reset() -> Self {
        Self { delivery: Delivery::Cut(Cut::Reset), ..Self::default() }
    }

    /// The connection is closed (FIN) before the answer.
    pub fn hang_up() -> Self {
        Self { delivery: Delivery::Cut(Cut::HangUp), ..Self::default() }
    }

    /// Sends the body `piece` bytes at a time, one piece `every` so often, the first at once.
    pub fn trickle(mut self, piece: usize, every: Duration) -> Self {
        self.delivery = Delivery::Trickle { piece: piece.max(1), every };
        self
    }

    /// Waits so long before the answer, in place of the extension's latency. The answer is made when the call
    /// comes.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    /// Keeps the answer back until `gate` is cancelled. The answer is made when the call comes: what was
    /// changed meanwhile is not in it.
    pub fn hold_until(mut self, gate: CancellationToken) -> Self {
        self.held = Some(gate);
        self
    }

    /// Replaces the content type.
    ///
    /// # Panics
    /// When the value has characters that no header may have.
    pub fn content_type(self, value: &str) -> Self {
        self.header(CONTENT_TYPE.as_str(), value)
    }

    /// Sets a header of the answer.
    ///
    /// # Panics
    /// When the name or the value has characters that no header may have.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().expect("header name must be valid");
        let value: HeaderValue = value.parse().expect("header value must be valid");
        self.headers.insert(name, value);
        self
    }

    /// Holds for the next `calls` calls only; afterwards the next less specific setting counts.
    pub fn times(mut self, calls: u64) -> Self {
        self.times = Some(calls);
        self
    }

    /// Takes one of the calls this holds for; false when there is none left.
    pub(crate) fn take(&mut self) -> bool {
        match &mut self.times {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }

    /// Waits out delay and gate.
    pub(crate) async fn wait(&self, latency: Duration) {
        let delay = self.delay.unwrap_or(latency);
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        if let Some(gate) = &self.held {
            gate.cancelled().await;
        }
    }

    pub(crate) fn cut(&self) -> Option<Cut> {
        match self.delivery {
            Delivery::Cut(cut) => Some(cut),
            _ => None,
        }
    }

    pub(crate) fn is_hang(&self) -> bool {
        matches!(self.delivery, Delivery::HangBeforeHeaders)
    }

    /// The message of a `Failure` answer.
    pub(crate) fn failure_message(&self) -> Option<&str> {
        match &self.answer {
            Answer::Failure(message) => Some(message),
            _ => None,
        }
    }

    /// The answer that needs nothing of the call; `None` when the usual one or a hook's `Failure` is wanted.
    pub(crate) fn made_up(&self) -> Option<Response> {
        let (status, body) = match &self.answer {
            Answer::Usual | Answer::Failure(_) => return None,
            Answer::Fixed(status, body) => (*status, Body::from(body.clone())),
            Answer::Sized { status, bytes, announced } => (*status, sized(*bytes, *announced)),
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Some(response)
    }

    /// Applies headers and delivery to an answer.
    pub(crate) async fn deliver(&self, response: Response) -> Response {
        let (mut parts, body) = response.into_parts();
        for (name, value) in &self.headers {
            parts.headers.insert(name, value.clone());
        }
        let body = match self.delivery {
            Delivery::HangInBody { after } => {
                let start = collect(body).await;
                let start = start.slice(..after.min(start.len()));
                body_of(stream::iter(Some(start)).chain(stream::pending()))
            }
            Delivery::Trickle { piece, every } => body_of(trickle(collect(body).await, piece, every)),
            Delivery::Whole | Delivery::HangBeforeHeaders | Delivery::Cut(_) => body,
        };
        Response::from_parts(parts, body)
    }
}

async fn collect(body: Body) -> Bytes {
    // Every body here is made in this process; none fails.
    body.collect().await.map(Collected::to_bytes).unwrap_or_default()
}

fn trickle(whole: Bytes, piece: usize, every: Duration) -> impl Stream<Item = Bytes> + Send {
    stream::unfold((whole, false), move |(mut rest, started)| async move {
        if rest.is_empty() {
            return None;
        }
        if started {
            tokio::time::sleep(every).await;
        }
        let next = rest.split_to(piece.min(rest.len()));
        Some((next, (rest, true)))
    })
}

/// `{"message":"aaa…"}` of exactly `bytes` bytes.
fn sized(bytes: u64, announced: bool) -> Body {
    const OPEN: &str = "{\"message\":\"";
    const CLOSE: &str = "\"}";
    let filling = bytes.saturating_sub((OPEN.len() + CLOSE.len()) as u64);
    let piece = Bytes::from(vec![b'a'; PIECE]);
    let pieces = stream::unfold(filling, move |left| {
        let take = left.min(PIECE as u64);
        let next = (take > 0).then(|| (piece.slice(..usize::try_from(take).unwrap_or(PIECE)), left - take));
        std::future::ready(next)
    });
    let whole = stream::iter([Bytes::from_static(OPEN.as_bytes())])
        .chain(pieces)
        .chain(stream::iter([Bytes::from_static(CLOSE.as_bytes())]));
    if announced { Body::new(Announced { body: body_of(whole), left: filling + 14 }) } else { body_of(whole) }
}

fn body_of(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Body {
    Body::new(StreamBody::new(pieces.map(|piece| Ok::<_, Infallible>(Frame::data(piece)))))
}

/// A streamed body whose length is known beforehand.
struct Announced {
    body: Body,
    left: u64,
}

impl hyper::body::Body for Announced {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = std::task::ready!(std::pin::Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            self.left = self.left.saturating_sub(data.len() as u64);
        }
        std::task::Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        hyper::body::SizeHint::with_exact(self.left)
    }
}
