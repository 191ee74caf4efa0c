//! A TCP connection that can be reset, and the task that serves one connection of any kind.

use std::future::pending;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use kapstan_sdk::ConnectionError;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

/// The handle by which a call breaks the connection it came on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Breaker {
    broken: CancellationToken,
    /// Whether the socket is to answer with RST when it closes.
    reset: Arc<AtomicBool>,
}

impl Breaker {
    /// Breaks the connection, with RST or with FIN; the call that asks for it never gets an answer.
    pub(crate) async fn cut<T>(&self, with_reset: bool) -> T {
        self.reset.store(with_reset, Ordering::SeqCst);
        self.broken.cancel();
        pending().await
    }

    /// Runs a connection until it ends or is broken.
    pub(crate) async fn run<F>(&self, connection: F) -> Option<Result<(), ConnectionError>>
    where
        F: Future<Output = Result<(), ConnectionError>>,
    {
        self.broken.run_until_cancelled(connection).await
    }

    pub(crate) fn guard(&self, stream: TcpStream) -> Resettable {
        Resettable { stream, reset: self.reset.clone() }
    }
}

/// A socket that closes with RST instead of FIN when its [`Breaker`] says so.
pub(crate) struct Resettable {
    stream: TcpStream,
    reset: Arc<AtomicBool>,
}

impl Drop for Resettable {
    fn drop(&mut self) {
        if self.reset.load(Ordering::SeqCst)
            && let Err(error) = self.stream.set_zero_linger()
        {
            tracing::warn!(%error, "failed to make a connection end with a reset");
        }
    }
}

impl AsyncRead for Resettable {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Resettable {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
