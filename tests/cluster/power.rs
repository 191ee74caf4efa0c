//! A switch that takes the embedded API server away from its clients, as the end of its process would.

use std::{io, sync::Arc};

use futures::{StreamExt as _, stream};
use http::{Request, Response};
use http_body_util::BodyDataStream;
use kube::{Client, client::Body};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Power(Arc<Mutex<CancellationToken>>);

impl Power {
    /// Breaks every answer off and refuses every request, until it is on again.
    pub(crate) fn off(&self) {
        self.0.lock().cancel();
    }

    pub(crate) fn on(&self) {
        *self.0.lock() = CancellationToken::new();
    }

    /// A client whose requests reach `inner` while there is power.
    pub(crate) fn before(&self, inner: Client) -> Client {
        let power = self.clone();
        let namespace = inner.default_namespace().to_owned();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (off, inner) = (power.0.lock().clone(), inner.clone());
            async move {
                let answer = off.run_until_cancelled(inner.send(request)).await;
                Ok::<_, kube::Error>(cut(answer.unwrap_or_else(|| Err(gone()))?, off))
            }
        });
        Client::new(service, namespace)
    }
}

fn gone() -> kube::Error {
    kube::Error::Service("connection refused".into())
}

/// An answer that breaks off when the power does.
fn cut(answer: Response<Body>, off: CancellationToken) -> Response<axum::body::Body> {
    answer.map(|body| {
        let pieces = BodyDataStream::new(body).map(|piece| piece.map_err(axum::Error::new));
        let over = off.clone().cancelled_owned();
        let end = stream::once(async move {
            let broken = || Err(axum::Error::new(io::Error::from(io::ErrorKind::ConnectionReset)));
            off.is_cancelled().then(broken)
        });
        let whole = pieces.take_until(over).chain(end.filter_map(std::future::ready));
        axum::body::Body::from_stream(whole)
    })
}
