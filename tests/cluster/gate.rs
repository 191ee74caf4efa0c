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

    /// Lets the next request of this method to exactly this path pass, and loses the answer to it, which is noticed when
    /// what is given back is dropped.
    pub(crate) fn lose_answer(&self, method: Method, path: &str) -> Hold {
        Hold(self.expect(method, path, true))
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
                let held = gate.arrived(&parts.method, parts.uri.path());
                let request = Request::from_parts(parts, body);
                match held {
                    None => inner.send(request).await,
                    Some(held) if held.is_answer_lost => {
                        inner.send(request).await?;
                        held.passes.cancelled().await;
                        Err(kube::Error::Service("the answer was lost".into()))
                    }
                    Some(held) => {
                        held.passes.cancelled().await;
                        inner.send(request).await
                    }
                }
            }
        });
        Client::new(service, namespace)
    }

    /// What is to be done to a request that has come, if anything.
    fn arrived(&self, method: &Method, path: &str) -> Option<Held> {
        let mut awaited = self.0.lock();
        let place = awaited.iter().position(|held| held.method == *method && held.path == path)?;
        let held = awaited.remove(place);
        held.arrived.cancel();
        Some(held)
    }
}

/// The test's end of a request that is held back; it passes when this is dropped.
pub(crate) struct Hold(Held);

impl Hold {
    /// Waits until the request is at the gate.
    pub(crate) async fn arrived(&self) -> anyhow::Result<()> {
        let waiting = tokio::time::timeout(crate::server::DEADLINE, self.0.arrived.cancelled());
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
