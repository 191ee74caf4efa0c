//! A gate that the manager's requests to the API server go through, at which a test can hold one of them back, or lose
//! the answer to it.

use std::sync::Arc;

use http::{Method, Request};
use kube::{Client, client::Body};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// Lets every request pass but the ones that a test waits for. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<Mutex<Vec<Held>>>);

/// One request that is, or will be, held back.
#[derive(Clone)]
struct Held {
    method: Method,
    path: String,
    arrived: CancellationToken,
    passes: CancellationToken,
    is_answer_lost: bool,
}

impl Gate {
    /// Holds the next request of this method to exactly this path.
    pub(crate) fn hold(&self, method: Method, path: &str) -> Hold {
        Hold(self.expect(method, path, false))
    }

    /// Lets the next request of this method to exactly this path pass, and loses the answer to it.
    pub(crate) fn lose_answer(&self, method: Method, path: &str) {
        self.expect(method, path, true).passes.cancel();
    }

    fn expect(&self, method: Method, path: &str, is_answer_lost: bool) -> Held {
        let (arrived, passes) = (CancellationToken::new(), CancellationToken::new());
        let held = Held { method, path: path.to_owned(), arrived, passes, is_answer_lost };
        self.0.lock().push(held.clone());
        held
    }

    /// A client whose requests go through the gate and then as `inner` sends them.
    pub(crate) fn before(&self, inner: Client) -> Client {
        let gate = self.clone();
        let namespace = inner.default_namespace().to_owned();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (gate, inner) = (gate.clone(), inner.clone());
            async move {
                let (parts, body) = request.into_parts();
                let is_answer_lost = gate.pass(&parts.method, parts.uri.path()).await;
                let answer = inner.send(Request::from_parts(parts, body)).await?;
                if is_answer_lost {
                    Err(kube::Error::Service("the answer was lost".into()))
                } else {
                    Ok(answer)
                }
            }
        });
        Client::new(service, namespace)
    }

    /// Waits until a request may pass, and says whether the answer to it is to be lost.
    async fn pass(&self, method: &Method, path: &str) -> bool {
        let held = {
            let mut awaited = self.0.lock();
            let place = awaited.iter().position(|held| held.method == *method && held.path == path);
            place.map(|place| awaited.remove(place))
        };
        let Some(held) = held else { return false };
        held.arrived.cancel();
        held.passes.cancelled().await;
        held.is_answer_lost
    }
}

/// The test's end of a request that is held back; it passes when this is dropped.
pub(crate) struct Hold(Held);

impl Hold {
    /// Waits until the request is at the gate.
    pub(crate) async fn arrived(&self) -> anyhow::Result<()> {
        let waiting = tokio::time::timeout(crate::world::DEADLINE, self.0.arrived.cancelled());
        waiting.await.map_err(|_| anyhow::anyhow!("no {} of {} came", self.0.method, self.0.path))
    }

    /// Lets it pass.
    pub(crate) fn release(self) {
        drop(self);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.passes.cancel();
    }
}
