//! A server, and what it is started with.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use jiff::Timestamp;

use crate::audit::{Audit, AuditLevel};
use crate::clock::Clock;
use crate::core::Core;
use crate::faults::Faults;
use crate::rest;
use crate::store::{Limits, Store};

/// How many writes of each kind are kept for watches and list pages.
const HISTORY: usize = 4096;
/// How many bytes of objects these may hold on to.
const HISTORY_BYTES: usize = 64 * 1024 * 1024;
/// How many requests the audit log keeps.
const AUDIT_CAPACITY: usize = 100_000;

/// What a [`Server`] is started with. Without any option: the wall clock, random UIDs, an audit log with
/// bodies.
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    origin: Option<Timestamp>,
    seed: Option<u64>,
    history: Limits,
    audit: AuditLevel,
    audit_capacity: usize,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            origin: None,
            seed: None,
            history: Limits { writes: HISTORY, bytes: HISTORY_BYTES },
            audit: AuditLevel::default(),
            audit_capacity: AUDIT_CAPACITY,
        }
    }
}

impl Builder {
    /// The wall-clock time at which the server starts; from there it follows tokio's clock. Unset: now.
    pub fn starting_at(mut self, origin: Timestamp) -> Self {
        self.origin = Some(origin);
        self
    }

    /// UIDs and generated names are the same for the same seed and the same requests. Unset: random.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// How many writes of each kind are kept, at least 1. A watch or a list page that needs more is
    /// answered with 410. Unset: 4096.
    pub fn history(mut self, writes: usize) -> Self {
        self.history.writes = writes;
        self
    }

    /// How many bytes of objects the history of each kind may hold on to; older writes are forgotten, but
    /// for the latest. Unset: 64 MiB.
    pub fn history_bytes(mut self, bytes: usize) -> Self {
        self.history.bytes = bytes;
        self
    }

    /// How much of each request the audit log keeps, and of how many requests; older ones are dropped, also
    /// when all together take more than 256 MiB. Unset: bodies too, of the last 100,000.
    pub fn audit(mut self, level: AuditLevel, capacity: usize) -> Self {
        (self.audit, self.audit_capacity) = (level, capacity);
        self
    }

    /// Starts the server. It listens nowhere yet; see [`Server::client`] and [`Server::listen`].
    ///
    /// It takes tokio's clock as it is here, so start it within the runtime whose clock it is to follow.
    #[must_use]
    pub fn start(self) -> Server {
        let Self { origin, seed, history, audit, audit_capacity } = self;
        let clock = Clock::starting_at(origin.unwrap_or_else(Timestamp::now));
        let core = Core::new(clock, Store::new(history), Audit::new(audit, audit_capacity), seed);
        let server = Server { core: Arc::new(core) };
        if let Err(error) = server.load(FURNITURE) {
            tracing::error!(%error, "the server's own objects were not made");
        }
        server
    }
}

/// An API server in memory; cheap to clone. It is gone when the last clone and the last client are.
#[derive(Clone)]
pub struct Server {
    pub(crate) core: Arc<Core>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Server")
            .field("revision", &self.core.store.revision())
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Where to begin.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The whole API as a tower service. Whoever can call it may do everything.
    pub fn router(&self) -> Router {
        rest::router(self.core.clone())
    }

    /// The requests that the server was sent.
    #[must_use]
    pub fn audit(&self) -> &Audit {
        &self.core.audit
    }

    /// What the server does wrong.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.core.faults
    }

    /// Forgets the history, as an API server does every few minutes: watches that have not read it yet,
    /// and list pages begun earlier, are answered with 410.
    pub fn compact(&self) {
        self.core.store.compact();
    }

    /// The revision of the latest write.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.core.store.revision()
    }

    /// The bytes that all objects take up now; indexes and history are not counted.
    #[must_use]
    pub fn size(&self) -> usize {
        self.core.store.size()
    }

    /// The wall-clock time that the server shows.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.core.clock.timestamp()
    }
}

/// What every cluster has: its namespaces, and the service of the API server itself.
const FURNITURE: &str = "
{apiVersion: v1, kind: Namespace, metadata: {name: default}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: kube-node-lease}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: kube-public}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: kube-system}}
---
apiVersion: v1
kind: Service
metadata:
  name: kubernetes
  labels: {component: apiserver, provider: kubernetes}
spec:
  clusterIP: 10.96.0.1
  clusterIPs: [10.96.0.1]
  ports: [{name: https, port: 443, targetPort: 6443}]
";

/// How long a server that stops waits for open requests.
pub(crate) const GRACE: Duration = Duration::from_secs(1);
