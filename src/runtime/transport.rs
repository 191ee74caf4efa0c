//! How a byte stream to an extension comes to be: resolving, connecting, going through a proxy.
//!
//! [`Dial`] is what the HTTPS client needs; [`TcpDialer`] is the real one. Tests and simulation plug in dialers that
//! hand out pipes to servers in the same process, so that a paused clock runs everything above this file.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use http::Uri;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tower::{Service, ServiceExt};

use super::proxy::Proxy;

/// A connected byte stream.
pub type BoxedIo = Box<dyn Io>;

/// What a byte stream must be able to do.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// Connects to a host.
pub trait Dial: Send + Sync + 'static {
    /// A stream to `port` of `host`, a name or an address (IPv6 without brackets).
    ///
    /// Needs no time limit of its own: the caller stops polling when its time is over.
    ///
    /// # Errors
    /// What the system says, without the host: the caller names it.
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<BoxedIo>>;
}

/// Finds the addresses of a name.
pub trait Resolve: Send + Sync + 'static {
    /// The addresses of `host`, best first; the port in them is ignored.
    ///
    /// # Errors
    /// When the name has none or cannot be looked up.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>>;
}

/// The system's resolver.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, 0)).await?.collect()) })
    }
}

/// Connects by TCP, through a proxy where there is one for the target.
pub struct TcpDialer {
    tcp: HttpConnector<Resolver>,
    proxy: Option<Proxy>,
    /// For a proxy that itself speaks TLS.
    proxy_tls: Option<Arc<ClientConfig>>,
}

impl TcpDialer {
    /// A dialer; without a proxy it connects directly. `proxy_tls` verifies a proxy with an `https` URL; without it
    /// such a proxy is an error when dialing.
    #[must_use]
    pub fn new(
        resolver: Arc<dyn Resolve>,
        proxy: Option<Proxy>,
        proxy_tls: Option<Arc<ClientConfig>>,
    ) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(Resolver(resolver));
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(Duration::from_secs(30)));
        Self { tcp, proxy, proxy_tls }
    }

    async fn through(&self, proxy: &Intercept, target: Uri) -> io::Result<BoxedIo> {
        let (tcp, tls) = (self.tcp.clone(), self.proxy_tls.clone());
        let to_proxy = tower::service_fn(move |proxy: Uri| connect_to_proxy(tcp.clone(), tls.clone(), proxy));
        let stream = if proxy.uri().scheme_str().is_some_and(|scheme| scheme.starts_with("socks")) {
            let mut socks = SocksV5::new(with_port(proxy.uri(), 1080)?, to_proxy);
            if let Some((user, password)) = proxy.raw_auth() {
                socks = socks.with_auth(user.to_owned(), password.to_owned());
            }
            socks.oneshot(target).await.map_err(io::Error::other)?
        } else {
            let mut tunnel = Tunnel::new(proxy.uri().clone(), to_proxy);
            if let Some(auth) = proxy.basic_auth() {
                tunnel = tunnel.with_auth(auth.clone());
            }
            tunnel.oneshot(target).await.map_err(io::Error::other)?
        };
        Ok(stream.into_inner())
    }
}

/// Connects to the proxy itself, by TLS where its URL says so.
async fn connect_to_proxy(
    tcp: HttpConnector<Resolver>,
    tls: Option<Arc<ClientConfig>>,
    proxy: Uri,
) -> io::Result<TokioIo<BoxedIo>> {
    let is_https = proxy.scheme_str() == Some("https");
    let name = proxy.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let stream = tcp.oneshot(proxy).await.map_err(io::Error::other)?.into_inner();
    if !is_https {
        return Ok(TokioIo::new(Box::new(stream)));
    }
    let tls =
        tls.ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "no TLS is set up for the proxy"))?;
    let name = ServerName::try_from(name).map_err(io::Error::other)?;
    let mut tls = ClientConfig::clone(&tls);
    tls.alpn_protocols.clear(); // a tunnel is asked for in HTTP/1.1
    let stream = tokio_rustls::TlsConnector::from(Arc::new(tls)).connect(name, stream).await?;
    Ok(TokioIo::new(Box::new(stream)))
}

impl Dial for TcpDialer {
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<BoxedIo>> {
        Box::pin(async move {
            let target = authority(host, port)?;
            if let Some(proxy) = self.proxy.as_ref().and_then(|proxy| proxy.for_target(host, port)) {
                return self.through(proxy, target).await;
            }
            let stream = self.tcp.clone().oneshot(target).await.map_err(io::Error::other)?;
            Ok(Box::new(stream.into_inner()) as BoxedIo)
        })
    }
}

impl std::fmt::Debug for TcpDialer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TcpDialer").field("proxy", &self.proxy).finish_non_exhaustive()
    }
}

fn authority(host: &str, port: u16) -> io::Result<Uri> {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let uri = Uri::builder().scheme("https").authority(format!("{host}:{port}")).path_and_query("/").build();
    uri.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

fn with_port(uri: &Uri, default: u16) -> io::Result<Uri> {
    if uri.port().is_some() {
        return Ok(uri.clone());
    }
    authority(uri.host().unwrap_or_default().trim_matches(['[', ']']), default)
}

/// [`Resolve`] as the connector wants it.
#[derive(Clone)]
struct Resolver(Arc<dyn Resolve>);

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let resolver = self.0.clone();
        Box::pin(async move { Ok(resolver.resolve(name.as_str()).await?.into_iter()) })
    }
}

/// [`Dial`] as the HTTPS client wants it.
#[derive(Clone)]
pub(super) struct Connector(pub(super) Arc<dyn Dial>);

impl Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let dialer = self.0.clone();
        Box::pin(async move {
            let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
            let stream = dialer.dial(host, uri.port_u16().unwrap_or(443)).await?;
            Ok(TokioIo::new(Stream(stream)))
        })
    }
}

/// A dialed stream, as the HTTPS client wants it.
pub(super) struct Stream(BoxedIo);

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Knows every name, at this address.
    struct Everywhere(SocketAddr);

    impl Resolve for Everywhere {
        fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
            Box::pin(async { Ok(vec![self.0]) })
        }
    }

    #[tokio::test]
    async fn names_are_looked_up_by_the_resolver_given() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let dialer = TcpDialer::new(Arc::new(Everywhere(address)), None, None);
        let (ours, accepted) = tokio::join!(dialer.dial("ext.test", address.port()), listener.accept());
        ours.unwrap().write_all(b"hello").await.unwrap();
        let mut heard = [0; 5];
        accepted.unwrap().0.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"hello");
    }

    #[tokio::test]
    async fn a_proxy_is_asked_for_a_tunnel_and_told_its_password() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = format!("http://me:secret@{}", listener.local_addr().unwrap());
        let proxy = Proxy::try_new(&proxy, "").unwrap();
        let dialer = TcpDialer::new(Arc::new(SystemResolver), Some(proxy), None);
        let serve = async {
            let mut stream = listener.accept().await.unwrap().0;
            let mut request = vec![0; 1024];
            let length = stream.read(&mut request).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            stream.write_all(b"welcome").await.unwrap();
            String::from_utf8(request[..length].to_vec()).unwrap()
        };
        let (ours, request) = tokio::join!(dialer.dial("ext.test", 9443), serve);
        assert!(request.starts_with("CONNECT ext.test:9443 HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("Proxy-Authorization: Basic bWU6c2VjcmV0\r\n"), "{request}");
        let mut heard = String::new();
        ours.unwrap().read_to_string(&mut heard).await.unwrap();
        // What came with the proxy's own answer may be lost to it; nothing is said before the tunnel stands in TLS.
        assert!("welcome".ends_with(&heard));
    }

    #[tokio::test]
    async fn a_proxy_that_speaks_tls_needs_tls_set_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Proxy::try_new(&format!("https://{}", listener.local_addr().unwrap()), "").unwrap();
        let dialer = TcpDialer::new(Arc::new(SystemResolver), Some(proxy), None);
        let error = dialer.dial("ext.test", 443).await.err().unwrap();
        assert!(crate::error::chain(&error).ends_with("no TLS is set up for the proxy"), "{error:?}");
    }
}
