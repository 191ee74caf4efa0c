//! Answers, put together from stored objects.

use std::collections::{HashSet, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::{Frame, SizeHint};
use jiff::Timestamp;
use serde_json::Value;

use super::accept::{Form, Include};
use super::table;
use crate::registry::Endpoint;
use crate::status::Status;
use crate::store::{Object, write};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache, private");

/// An answer with a JSON body.
pub(crate) fn json(code: StatusCode, value: &Value) -> Response<Body> {
    let mut body = Vec::new();
    write(&mut body, value);
    body.push(b'\n');
    bytes(code, [body.into()])
}

/// An answer whose JSON body is these pieces.
pub(crate) fn bytes(code: StatusCode, pieces: impl IntoIterator<Item = Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::new(Pieces::new(pieces)));
    *response.status_mut() = code;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response.headers_mut().insert(header::CACHE_CONTROL, NO_CACHE);
    response
}

/// The answer to a request that is refused.
pub(crate) fn refusal(status: &Status) -> Response<Body> {
    let mut response = json(status.code(), &status.to_value());
    if let Some(seconds) = status.retry_after() {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// The most characters of all warnings, and of each once there are too many.
const WARNINGS_LIMIT: usize = 4 * 1024;
const WARNING_LIMIT: usize = 256;

/// Adds a `Warning` header for each text. When they are too long together, each is cut, and then the last
/// ones are left out.
///
/// Behaviour: apiserver `pkg/endpoints/filters/warning.go`.
pub(crate) fn warn(response: &mut Response<Body>, warnings: &[String]) {
    let mut seen = HashSet::new();
    let length = |text: &str| text.chars().count();
    let unique: Vec<_> = warnings.iter().filter(|warning| seen.insert(*warning)).collect();
    let total: usize = unique.iter().map(|warning| length(warning)).sum();
    let mut written = 0;
    for warning in unique {
        let mut text = warning.clone();
        if total > WARNINGS_LIMIT {
            if written >= WARNINGS_LIMIT {
                break;
            }
            text = text.chars().take(WARNING_LIMIT).collect();
            written += length(&text);
        }
        let text = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{text}\"")) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
}

/// One object.
pub(crate) fn object(
    endpoint: &Endpoint,
    object: &Arc<Object>,
    form: Form,
    code: StatusCode,
    now: Timestamp,
) -> Response<Body> {
    match form {
        Form::Plain => bytes(code, plain(endpoint, object)),
        Form::Metadata => bytes(code, metadata(object)),
        Form::Table(include) => {
            let head = table::head(endpoint, Some(&object.revision.to_string()), None, None);
            json(code, &table::table(&head, endpoint, std::slice::from_ref(object), include, true, now))
        }
    }
}

/// The pieces of an object.
pub(crate) fn plain(endpoint: &Endpoint, object: &Object) -> [Bytes; 2] {
    [endpoint.head(), endpoint.tail(object)]
}

/// The pieces of an object's metadata.
pub(crate) fn metadata(object: &Object) -> [Bytes; 3] {
    const HEAD: &[u8] =
        b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":";
    [Bytes::from_static(HEAD), object.metadata(), Bytes::from_static(b"}")]
}

/// A list of objects.
pub(crate) struct List<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) objects: &'a [Arc<Object>],
    pub(crate) revision: u64,
    /// The token of the next page.
    pub(crate) next: Option<String>,
    pub(crate) remaining: Option<usize>,
}

impl List<'_> {
    pub(crate) fn answer(&self, form: Form, now: Timestamp) -> Response<Body> {
        match form {
            Form::Plain => self.pieces(
                &self.endpoint.names().list_kind,
                self.endpoint.api_version(),
                |object, pieces| {
                    // Items of built-in kinds say neither their version nor their kind; Go leaves it out.
                    if self.endpoint.strategy().is_some() {
                        pieces.extend([Bytes::from_static(b"{"), self.endpoint.tail(object)]);
                    } else {
                        pieces.extend(plain(self.endpoint, object));
                    }
                },
            ),
            Form::Metadata => {
                let kind = "PartialObjectMetadataList";
                self.pieces(kind, "meta.k8s.io/v1", |object, pieces| pieces.extend(metadata(object)))
            }
            Form::Table(include) => self.table(include, now),
        }
    }

    fn pieces(
        &self,
        kind: &str,
        api_version: &str,
        item: impl Fn(&Object, &mut Vec<Bytes>),
    ) -> Response<Body> {
        let mut pieces = vec![self.head(kind, api_version)];
        for (index, object) in self.objects.iter().enumerate() {
            if index > 0 {
                pieces.push(Bytes::from_static(b","));
            }
            item(object, &mut pieces);
        }
        pieces.push(Bytes::from_static(b"]}\n"));
        bytes(StatusCode::OK, pieces)
    }

    fn head(&self, kind: &str, api_version: &str) -> Bytes {
        let mut metadata = serde_json::json!({ "resourceVersion": self.revision.to_string() });
        if self.endpoint.strategy().is_none() && kind == &*self.endpoint.names().list_kind {
            metadata["continue"] = "".into();
        }
        if let Some(next) = &self.next {
            metadata["continue"] = next.as_str().into();
        }
        if let Some(remaining) = self.remaining {
            metadata["remainingItemCount"] = remaining.into();
        }
        let (kind, api_version) = (Value::from(kind), Value::from(api_version));
        format!("{{\"kind\":{kind},\"apiVersion\":{api_version},\"metadata\":{metadata},\"items\":[").into()
    }

    fn table(&self, include: Include, now: Timestamp) -> Response<Body> {
        let revision = self.revision.to_string();
        let head = table::head(self.endpoint, Some(&revision), self.next.as_deref(), self.remaining);
        json(StatusCode::OK, &table::table(&head, self.endpoint, self.objects, include, true, now))
    }
}

/// A body that is there already, in pieces.
struct Pieces {
    pieces: VecDeque<Bytes>,
    left: u64,
}

impl Pieces {
    fn new(pieces: impl IntoIterator<Item = Bytes>) -> Self {
        let pieces: VecDeque<Bytes> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
        let left = pieces.iter().map(|piece| piece.len() as u64).sum();
        Self { pieces, left }
    }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.pieces.pop_front();
        self.left -= piece.as_ref().map_or(0, |piece| piece.len() as u64);
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
