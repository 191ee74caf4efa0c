//! The extension as a test holds it: started, stopped, switched and asked.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context;
use kapstan_sdk::{Certificates, ConnectionError, Limits, Pem, Server};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::IN_PROCESS_HOST;
use crate::behaviour::Behaviour;
use crate::certificate::{TestCa, TestCertificate};
use crate::connection::Breaker;
use crate::content::{Content, HandlerSpec, Variables};
use crate::record::{self, Arrival, Counts, NullInBody, OpenConnection, RecordedRequest, Recorder};
use crate::service::Service;
use crate::target::Target;

/// Bytes in each direction of an in-process connection.
const PIPE: usize = 64 * 1024;
/// Connections waiting to be accepted.
const BACKLOG: u32 = 1024;

/// An extension to be. Unset: the handlers and the ten variables of the measured baseline, no latency, a
/// certificate of an authority of its own for [`DEFAULT_NAMES`](crate::DEFAULT_NAMES).
#[derive(Debug)]
#[must_use]
pub struct Builder {
    handlers: Vec<HandlerSpec>,
    variables: Variables,
    latency: Duration,
    certificate: Option<TestCertificate>,
    client_ca: Option<String>,
    keep: usize,
    limits: Limits,
    port: u16,
    only_where_set: bool,
}

impl Builder {
    /// The handlers; see also [`HandlerSpec::many`].
    pub fn handlers(mut self, handlers: Vec<HandlerSpec>) -> Self {
        self.handlers = handlers;
        self
    }

    /// What `DiscoverVariables` answers.
    pub fn variables(mut self, variables: Variables) -> Self {
        self.variables = variables;
        self
    }

    /// How long every call takes.
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// The first certificate.
    pub fn certificate(mut self, certificate: TestCertificate) -> Self {
        self.certificate = Some(certificate);
        self
    }

    /// Serves only clients with a certificate of this CA (PEM).
    pub fn client_ca(mut self, pem: impl Into<String>) -> Self {
        self.client_ca = Some(pem.into());
        self
    }

    /// How many requests are kept, the newest; 4096.
    pub fn keep_requests(mut self, keep: usize) -> Self {
        self.keep = keep;
        self
    }

    /// Limits of the server; the sdk's unless set.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The port of 127.0.0.1 to serve on. 0, which is what it is unless set, takes one that is free.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Answers 404 at every prefix for which neither handlers nor variables were set, also below and above of those
    /// that have some. So a wrong path in a URL is noticed. What was set for all is answered nowhere.
    pub fn only_where_set(mut self) -> Self {
        self.only_where_set = true;
        self
    }

    /// Serves on a port of 127.0.0.1, and in process too.
    ///
    /// # Errors
    /// When handlers or certificate cannot be served, or no port can be had.
    // Needs a runtime to spawn on, which `async` says.
    #[allow(clippy::unused_async)]
    pub async fn start(self) -> anyhow::Result<TestExtension> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let mut extension = self.in_process()?;
        let socket = reserve(address).with_context(|| format!("failed to listen on {address}"))?;
        extension.address = Some(socket.local_addr()?);
        *extension.reserved.lock() = Some(socket);
        *extension.running.lock() = None;
        extension.restart()?;
        Ok(extension)
    }

    /// Serves in process only ([`TestExtension::connect`]): no socket is made.
    ///
    /// # Errors
    /// When handlers or certificate cannot be served.
    pub fn in_process(self) -> anyhow::Result<TestExtension> {
        let certificate = match self.certificate {
            Some(certificate) => certificate,
            None => own_ca()?.server().issue()?,
        };
        let client_ca = self.client_ca.map(String::into_bytes);
        let certificates =
            Certificates::from_pem(Pem { client_ca: client_ca.clone(), ..certificate.to_pem() })?;
        let recorder = Recorder::new(self.keep);
        let content = Content::try_new(self.handlers, self.variables)?;
        let service = Service::new(recorder.clone(), content, self.latency, self.only_where_set);
        let server = Server::new(axum::Router::new(), certificates.clone()).with_limits(self.limits);
        let connector =
            Connector { service: service.clone(), server, recorder, stalled: watch::Sender::new(false) };
        Ok(TestExtension {
            service,
            connector: Arc::new(connector),
            certificates,
            client_ca,
            certificate: Mutex::new(certificate),
            address: None,
            reserved: Mutex::new(None),
            running: Mutex::new(Some(Running::default())),
        })
    }
}

/// Authorities of different extensions differ in name, as real ones do; otherwise a client that knows another
/// one would complain of a bad signature, not of an unknown issuer.
fn own_ca() -> anyhow::Result<TestCa> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    TestCa::new(&format!("test CA {}", NUMBER.fetch_add(1, Ordering::Relaxed)))
}

/// Holds a port without listening on it: connecting is refused, and nobody else gets it.
fn reserve(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// A running (or stopped) extension. Dropping it ends it with all its connections.
///
/// One extension stands for many: the first segments of a path, up to the hook's group, tell which (`/ext-17`).
/// All answer alike until something is switched for one of them.
pub struct TestExtension {
    service: Arc<Service>,
    connector: Arc<Connector>,
    certificates: Certificates,
    client_ca: Option<Vec<u8>>,
    certificate: Mutex<TestCertificate>,
    address: Option<SocketAddr>,
    /// The port while it is closed.
    reserved: Mutex<Option<TcpSocket>>,
    /// Unset while stopped.
    running: Mutex<Option<Running>>,
}

/// Everything that ends with [`TestExtension::stop`].
struct Running {
    stop: CancellationToken,
    _stop_when_dropped: DropGuard,
    listening: Option<JoinHandle<()>>,
}

impl Default for Running {
    fn default() -> Self {
        let stop = CancellationToken::new();
        Self { _stop_when_dropped: stop.clone().drop_guard(), stop, listening: None }
    }
}

impl std::fmt::Debug for TestExtension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestExtension").field("url", &self.url()).finish_non_exhaustive()
    }
}

/// Where it is, and life and death.
impl TestExtension {
    /// Begins an extension.
    pub fn builder() -> Builder {
        Builder {
            handlers: HandlerSpec::defaults(),
            variables: Variables::count(10),
            latency: Duration::ZERO,
            certificate: None,
            client_ca: None,
            keep: 4096,
            limits: Limits::default(),
            port: 0,
            only_where_set: false,
        }
    }

    /// The address it listens on; unset when it is in process only. Stays the same over [`stop`](Self::stop)
    /// and [`restart`](Self::restart).
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// `https://127.0.0.1:<port>`, or `https://extension.test` when it is in process only.
    #[must_use]
    pub fn url(&self) -> String {
        match self.address {
            Some(address) => format!("https://{address}"),
            None => format!("https://{IN_PROCESS_HOST}"),
        }
    }

    /// The URL of the extension at `prefix` (`/ext-17`).
    #[must_use]
    pub fn url_of(&self, prefix: &str) -> String {
        self.url() + prefix
    }

    /// The PEM by which a client knows the certificate shown now.
    #[must_use]
    pub fn ca_bundle(&self) -> Vec<u8> {
        self.certificate.lock().ca_bundle.clone().into_bytes()
    }

    /// The client's end of a new in-process connection, before its TLS handshake.
    ///
    /// # Errors
    /// `ConnectionRefused` while the extension is stopped.
    pub fn connect(&self) -> io::Result<DuplexStream> {
        let stop = self.running.lock().as_ref().map(|running| running.stop.clone());
        let stop = stop.ok_or(io::ErrorKind::ConnectionRefused)?;
        let (client, server) = tokio::io::duplex(PIPE);
        let connector = self.connector.clone();
        tokio::spawn(connector.serve(server, Breaker::default(), self.service.recorder.connected(), stop));
        Ok(client)
    }

    /// Closes the port and breaks off every connection at once. The port stays ours; connecting to it is
    /// refused.
    ///
    /// # Errors
    /// When the port cannot be held.
    pub async fn stop(&self) -> anyhow::Result<()> {
        let Some(running) = self.running.lock().take() else { return Ok(()) };
        running.stop.cancel();
        if let Some(listening) = running.listening {
            listening.await.context("failed to stop accepting")?;
            let address = self.address.context("a listening extension must have an address")?;
            *self.reserved.lock() = Some(reserve(address)?);
        }
        self.until(|counts| counts.open_connections == 0).await;
        Ok(())
    }

    /// Serves again after [`stop`](Self::stop), on the same port; does nothing while it runs.
    ///
    /// # Errors
    /// When the port cannot be listened on.
    pub fn restart(&self) -> anyhow::Result<()> {
        let mut running = self.running.lock();
        if running.is_some() {
            return Ok(());
        }
        let mut next = Running::default();
        let socket = self.reserved.lock().take();
        if let Some(socket) = socket {
            let listener = socket.listen(BACKLOG)?;
            next.listening = Some(tokio::spawn(self.connector.clone().accept(listener, next.stop.clone())));
        }
        *running = Some(next);
        Ok(())
    }
}

/// What can be switched.
impl TestExtension {
    /// Answers calls of `target` so from now on; calls that came before keep what they got. Replaces what was
    /// set for the same target.
    pub fn behave(&self, target: impl Into<Target>, behaviour: Behaviour) {
        self.service.behave(target.into(), behaviour);
    }

    /// Takes back every [`behave`](Self::behave).
    pub fn behave_as_usual(&self) {
        self.service.behave_as_usual();
    }

    /// How long every call takes for which no behaviour says otherwise.
    pub fn set_latency(&self, latency: Duration) {
        self.service.set_latency(latency);
    }

    /// Replaces the handlers of the extensions `target` covers: all, or those at a prefix. What was set for a
    /// prefix stays when all others change.
    ///
    /// # Errors
    /// When the sdk would not serve them. For a Discovery answer that no sane extension gives, use
    /// [`Behaviour::json`].
    pub fn set_handlers(&self, target: impl Into<Target>, handlers: Vec<HandlerSpec>) -> anyhow::Result<()> {
        self.service.set_content(target.into(), Some(handlers), None)
    }

    /// Replaces the variables of the extensions `target` covers; see [`set_handlers`](Self::set_handlers).
    ///
    /// # Errors
    /// Never when the handlers there could be served.
    pub fn set_variables(&self, target: impl Into<Target>, variables: Variables) -> anyhow::Result<()> {
        self.service.set_content(target.into(), None, Some(variables))
    }

    /// Shows another certificate in every handshake from now on; open connections stay.
    /// [`ca_bundle`](Self::ca_bundle) becomes that of the new certificate.
    ///
    /// # Errors
    /// When the key does not fit.
    pub fn set_certificate(&self, certificate: TestCertificate) -> anyhow::Result<()> {
        self.certificates.replace(Pem { client_ca: self.client_ca.clone(), ..certificate.to_pem() })?;
        *self.certificate.lock() = certificate;
        Ok(())
    }

    /// While set, new connections are accepted and nothing is said on them, not even a handshake.
    pub fn set_stalled(&self, stalled: bool) {
        self.connector.stalled.send_replace(stalled);
    }
}

/// What it saw.
impl TestExtension {
    /// All counts, read at one time.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.service.recorder.counts()
    }

    /// Calls that `target` covers, since the last reset. A path is one: `calls("/ext-17")`.
    #[must_use]
    pub fn calls(&self, target: impl Into<Target>) -> u64 {
        self.counts().calls_of(&target.into())
    }

    /// All calls since the last reset.
    #[must_use]
    pub fn calls_total(&self) -> u64 {
        self.counts().total()
    }

    /// Calls by whole path (prefix included) since the last reset.
    #[must_use]
    pub fn calls_by_path(&self) -> BTreeMap<Arc<str>, u64> {
        self.counts().calls
    }

    /// The most calls under way at a time since the last reset.
    #[must_use]
    pub fn max_in_flight(&self) -> u64 {
        self.counts().max_in_flight
    }

    /// Connections open now.
    #[must_use]
    pub fn open_connections(&self) -> u64 {
        self.counts().open_connections
    }

    /// When each call came, in order; the first million since the last reset.
    #[must_use]
    pub fn arrivals(&self) -> Vec<Arrival> {
        self.service.recorder.arrivals()
    }

    /// Calls in each slot of `width` since `start`; a trailing slot without calls is left out.
    #[must_use]
    pub fn histogram(&self, start: Instant, width: Duration) -> Vec<u64> {
        record::histogram(&self.arrivals(), start, width)
    }

    /// The newest requests, in the order in which they had been read.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.service.recorder.requests()
    }

    /// Every `null` that was in a request body since the last reset; the first thousand.
    #[must_use]
    pub fn bodies_with_null(&self) -> Vec<NullInBody> {
        self.service.recorder.nulls()
    }

    /// Begins counting and recording anew. What is under way and open now stays counted as such.
    pub fn reset_counts(&self) {
        self.service.recorder.reset();
    }

    /// Waits until the counts are as wanted; looks at every change, so nothing is missed and no time is
    /// guessed. Bound it with a timeout of the test's own.
    pub async fn until(&self, condition: impl FnMut(&Counts) -> bool) {
        self.service.recorder.until(condition).await;
    }

    /// Waits until `target` has had at least so many calls.
    pub async fn until_calls(&self, target: impl Into<Target>, calls: u64) {
        let target = target.into();
        self.until(|counts| counts.calls_of(&target) >= calls).await;
    }
}

/// Serves connections, wherever they come from.
struct Connector {
    service: Arc<Service>,
    server: Server,
    recorder: Arc<Recorder>,
    stalled: watch::Sender<bool>,
}

impl Connector {
    async fn accept(self: Arc<Self>, listener: TcpListener, stop: CancellationToken) {
        while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
            match accepted {
                Ok((stream, _peer)) => {
                    let breaker = Breaker::default();
                    // Sockets that cannot do it only answer later.
                    let _nodelay = stream.set_nodelay(true);
                    let open = self.recorder.connected();
                    tokio::spawn(self.clone().serve(breaker.guard(stream), breaker, open, stop.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to accept a connection");
                    tokio::task::yield_now().await;
                }
            }
        }
    }

    /// Serves one connection until it ends, is cut, or the extension stops.
    async fn serve<I>(
        self: Arc<Self>,
        io: I,
        breaker: Breaker,
        _open: OpenConnection,
        stop: CancellationToken,
    ) where
        I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let serving = async {
            let mut stalled = self.stalled.subscribe();
            // The sender lives in `self`.
            let _ = stalled.wait_for(|stalled| !stalled).await;
            let server = self.server.clone().with_router(self.service.router(breaker.clone()));
            // Stopping breaks off, it does not drain; so the server is never told.
            server.serve_io(io, CancellationToken::new()).await
        };
        let Some(Some(Err(error))) = stop.run_until_cancelled(breaker.run(serving)).await else { return };
        if matches!(error, ConnectionError::Handshake(_) | ConnectionError::HandshakeTimeout(_)) {
            self.recorder.handshake_failed();
        }
        tracing::debug!(error = &error as &dyn std::error::Error, "connection ended early");
    }
}
