//! Serves an axum router over TLS: HTTP/1.1 and HTTP/2 by ALPN, every wait and every buffer bounded.
//!
//! Owns accepting, handshakes, connection limits and graceful shutdown. Certificates and their renewal are in
//! [`Certificates`]; what is answered is the router's business. One connection can be served without a socket
//! ([`Server::serve_io`]), so that a paused tokio clock runs the same code as a real server.

mod tls;

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use tls::{CertificateError, CertificateFiles, Certificates, Pem};

/// How long accepting pauses after the system refused a connection (out of file descriptors, mostly).
const ACCEPT_PAUSE: Duration = Duration::from_millis(500);

/// What one server grants its peers. Start from [`Limits::default`].
#[derive(Clone, Debug)]
pub struct Limits {
    /// From the first byte of a connection to the end of its TLS handshake; 10 s.
    pub handshake: Duration,
    /// How long an HTTP/1.1 connection may take to send the next request head, idle time included; 120 s, which
    /// is more than Go's client keeps an idle connection (90 s), so that it is the client who closes. On
    /// HTTP/2, a ping goes out after half of it and the connection ends when nothing comes back for the other
    /// half.
    pub head: Duration,
    /// Bytes of a request head; 64 KiB, never less than 8 KiB. More is answered with 431.
    pub head_bytes: u32,
    /// Connections at a time; 1024. Further ones wait unaccepted.
    pub connections: usize,
    /// Calls at a time on one HTTP/2 connection; 250.
    pub streams: u32,
    /// How long calls under way may go on after shutdown began; 30 s, the longest a hook may take.
    pub drain: Duration,
    /// How often certificate files are read again; 10 s.
    pub reload_every: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            head: Duration::from_mins(2),
            head_bytes: 64 * 1024,
            connections: 1024,
            streams: 250,
            drain: Duration::from_secs(30),
            reload_every: Duration::from_secs(10),
        }
    }
}

/// Why a connection ended otherwise than by either side closing it.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The peer and we did not agree on TLS, or it hung up while doing so.
    #[error("failed to complete the TLS handshake")]
    Handshake(#[source] io::Error),
    /// The handshake took longer than [`Limits::handshake`].
    #[error("gave up a TLS handshake after {0:?}")]
    HandshakeTimeout(Duration),
    /// The peer broke HTTP, was too slow with a request head, or the connection broke.
    #[error("failed to serve the connection")]
    Http(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Calls were still under way [`Limits::drain`] after shutdown began.
    #[error("gave up calls under way {0:?} after shutdown began")]
    Drain(Duration),
}

/// A router behind TLS. Clones share certificates.
#[derive(Clone, Debug)]
pub struct Server {
    router: axum::Router,
    certificates: Certificates,
    limits: Limits,
}

impl Server {
    /// A server of `router` (see [`Extension::into_router`](crate::Extension::into_router)) with the default
    /// limits.
    #[must_use]
    pub fn new(router: axum::Router, certificates: Certificates) -> Self {
        Self { router, certificates, limits: Limits::default() }
    }

    /// Replaces the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Replaces the router, for instance by one that knows which connection it serves.
    #[must_use]
    pub fn with_router(mut self, router: axum::Router) -> Self {
        self.router = router;
        self
    }

    /// Accepts connections until `shutdown` is cancelled, then lets calls under way finish for
    /// [`Limits::drain`].
    ///
    /// Certificate files are read again every [`Limits::reload_every`] meanwhile. Nothing a peer does ends
    /// this; dropping the future begins the shutdown too, without waiting for its end.
    pub async fn serve(&self, listener: TcpListener, shutdown: CancellationToken) {
        let stop = shutdown.child_token();
        let _stop_when_dropped = stop.clone().drop_guard();
        let connections = TaskTracker::new();
        let reload = self.certificates.clone();
        connections.spawn(reload.watch(self.limits.reload_every, stop.clone()));

        let accepting = self.accept(&listener, &connections, &stop);
        stop.run_until_cancelled(accepting).await;
        drop(listener);
        connections.close();
        connections.wait().await;
    }

    /// Serves one connection from its TLS handshake to its end, on any transport.
    ///
    /// # Errors
    /// Says why the connection ended early; see [`ConnectionError`].
    pub async fn serve_io<I>(&self, io: I, shutdown: CancellationToken) -> Result<(), ConnectionError>
    where
        I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        match shutdown.run_until_cancelled(self.handshake(io)).await {
            Some(stream) => self.serve_http(stream?, &shutdown).await,
            None => Ok(()),
        }
    }

    async fn accept(&self, listener: &TcpListener, connections: &TaskTracker, stop: &CancellationToken) {
        let slots = Arc::new(Semaphore::new(self.limits.connections));
        while let Ok(slot) = slots.clone().acquire_owned().await {
            match listener.accept().await {
                Ok((stream, _peer)) => {
                    connections.spawn(self.clone().serve_tcp(stream, slot, stop.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    async fn serve_tcp(self, stream: TcpStream, _slot: OwnedSemaphorePermit, stop: CancellationToken) {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "failed to disable delayed sending");
        }
        if let Err(error) = self.serve_io(stream, stop).await {
            tracing::debug!(error = &error as &dyn std::error::Error, "connection ended early");
        }
    }

    async fn handshake<I>(&self, io: I) -> Result<TlsStream<I>, ConnectionError>
    where
        I: AsyncRead + AsyncWrite + Unpin,
    {
        let acceptor = TlsAcceptor::from(self.certificates.config());
        match timeout(self.limits.handshake, acceptor.accept(io)).await {
            Ok(result) => result.map_err(ConnectionError::Handshake),
            Err(_elapsed) => Err(ConnectionError::HandshakeTimeout(self.limits.handshake)),
        }
    }

    async fn serve_http<I>(
        &self,
        stream: TlsStream<I>,
        shutdown: &CancellationToken,
    ) -> Result<(), ConnectionError>
    where
        I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let builder = self.http_builder(stream.get_ref().1.alpn_protocol());
        let service = TowerToHyperService::new(self.router.clone());
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        if let Some(result) = first(connection.as_mut(), shutdown).await {
            return result.map_err(ConnectionError::Http);
        }
        connection.as_mut().graceful_shutdown();
        match timeout(self.limits.drain, connection).await {
            Ok(result) => result.map_err(ConnectionError::Http),
            Err(_elapsed) => Err(ConnectionError::Drain(self.limits.drain)),
        }
    }

    /// ALPN decided already, so no time is spent on guessing the protocol from the first bytes (a guess that
    /// nothing would bound).
    fn http_builder(&self, protocol: Option<&[u8]>) -> auto::Builder<TokioExecutor> {
        let builder = auto::Builder::new(TokioExecutor::new());
        let mut builder = if protocol == Some(b"h2") { builder.http2_only() } else { builder.http1_only() };
        let limits = &self.limits;
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head)
            .max_buf_size((limits.head_bytes as usize).max(8 * 1024));
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_header_list_size(limits.head_bytes)
            .max_concurrent_streams(limits.streams)
            .keep_alive_interval(limits.head / 2)
            .keep_alive_timeout(limits.head / 2);
        builder
    }
}

/// The output of `future`, or `None` when `shutdown` comes first. Unlike
/// [`CancellationToken::run_until_cancelled`] it borrows the future, which goes on afterwards.
async fn first<F: Future + Unpin>(future: F, shutdown: &CancellationToken) -> Option<F::Output> {
    tokio::select! {
        output = future => Some(output),
        () = shutdown.cancelled() => None,
    }
}
