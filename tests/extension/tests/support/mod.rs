//! A client that makes one call on one connection and reports what it met.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use kapstan_test_extension::{TestCertificate, TestExtension, hook_path};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Bounds every wait for something that must come.
pub(crate) const LONG: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

pub(crate) fn discovery(prefix: &str) -> String {
    prefix.to_owned() + &hook_path("Discovery", None)
}

pub(crate) fn variables(prefix: &str) -> String {
    prefix.to_owned() + &hook_path("DiscoverVariables", Some("discovervariables"))
}

pub(crate) async fn tls<I>(
    io: I,
    ca_bundle: &[u8],
    identity: Option<&TestCertificate>,
    alpn: &[&str],
) -> std::io::Result<TlsStream<I>>
where
    I: AsyncRead + AsyncWrite + Unpin,
{
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(ca_bundle).map(Result::unwrap));
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap();
            let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
            builder.with_client_auth_cert(vec![certificate], key).unwrap()
        }
    };
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, io).await
}

/// The answer's head and its body, not yet read.
pub(crate) async fn head<I>(
    io: I,
    ca_bundle: &[u8],
    path: &str,
    body: &str,
) -> anyhow::Result<Response<Incoming>>
where
    I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let stream = tls(io, ca_bundle, None, &[]).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let body = Full::new(Bytes::from(body.to_owned()));
    Ok(sender.send_request(Request::post(path).header("host", "localhost").body(body)?).await?)
}

async fn whole(response: Response<Incoming>) -> anyhow::Result<Answer> {
    let (parts, body) = response.into_parts();
    let body = body.collect().await?.to_bytes();
    Ok(Answer { status: parts.status, headers: parts.headers, body })
}

/// One call over TCP.
pub(crate) async fn call(extension: &TestExtension, path: &str, body: &str) -> anyhow::Result<Answer> {
    let stream = TcpStream::connect(extension.address().unwrap()).await?;
    whole(head(stream, &extension.ca_bundle(), path, body).await?).await
}

/// One call in process.
pub(crate) async fn call_in_process(
    extension: &TestExtension,
    path: &str,
    body: &str,
) -> anyhow::Result<Answer> {
    whole(head(extension.connect()?, &extension.ca_bundle(), path, body).await?).await
}
