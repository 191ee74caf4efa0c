//! A certificate authority, a client and a router for the tests of serving.

use std::sync::Arc;

use axum::Router;
use axum::routing::get as on_get;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kapstan_sdk::Pem;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

pub(crate) fn router() -> Router {
    Router::new().route("/", on_get(|| async { "hello" }))
}

pub(crate) struct Ca(CertifiedIssuer<'static, KeyPair>);

impl Ca {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    pub(crate) fn issue(&self, name: &str) -> Pem {
        self.issue_for(name, ExtendedKeyUsagePurpose::ServerAuth)
    }

    pub(crate) fn issue_client(&self, name: &str) -> Pem {
        self.issue_for(name, ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn issue_for(&self, name: &str, usage: ExtendedKeyUsagePurpose) -> Pem {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Pem {
            certificate: certificate.pem().into_bytes(),
            key: key.serialize_pem().into_bytes(),
            client_ca: None,
        }
    }
}

pub(crate) fn leaf(pem: &Pem) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(&pem.certificate).unwrap()
}

pub(crate) async fn tls<I>(
    io: I,
    ca: &Ca,
    alpn: &[&str],
    identity: Option<&Pem>,
) -> std::io::Result<TlsStream<I>>
where
    I: AsyncRead + AsyncWrite + Unpin,
{
    let mut roots = RootCertStore::empty();
    roots.add(ca.0.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match identity {
        Some(pem) => {
            let key = PrivateKeyDer::from_pem_slice(&pem.key).unwrap();
            builder.with_client_auth_cert(vec![leaf(pem)], key).unwrap()
        }
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, io).await
}

enum Sender {
    Http1(hyper::client::conn::http1::SendRequest<Empty<Bytes>>),
    Http2(hyper::client::conn::http2::SendRequest<Empty<Bytes>>),
}

/// One connection.
pub(crate) struct Client {
    pub(crate) certificate: CertificateDer<'static>,
    sender: Sender,
    connection: tokio::task::JoinHandle<()>,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl Client {
    pub(crate) async fn dial(
        port: u16,
        ca: &Ca,
        alpn: &[&str],
        identity: Option<&Pem>,
    ) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        Self::over(stream, ca, alpn, identity).await
    }

    pub(crate) async fn over<I>(io: I, ca: &Ca, alpn: &[&str], identity: Option<&Pem>) -> anyhow::Result<Self>
    where
        I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let stream = tls(io, ca, alpn, identity).await?;
        let session = stream.get_ref().1;
        let certificate = session.peer_certificates().unwrap()[0].clone();
        if session.alpn_protocol() == Some(b"h2") {
            let (sender, connection) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
            let connection = tokio::spawn(async move { drop(connection.await) });
            Ok(Self { certificate, sender: Sender::Http2(sender), connection })
        } else {
            let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
            let connection = tokio::spawn(async move { drop(connection.await) });
            Ok(Self { certificate, sender: Sender::Http1(sender), connection })
        }
    }

    pub(crate) async fn get(&mut self, path: &str) -> anyhow::Result<Response<Incoming>> {
        let uri = format!("https://localhost{path}");
        let request = Request::get(uri).header("host", "localhost").body(Empty::new())?;
        Ok(match &mut self.sender {
            Sender::Http1(sender) => sender.send_request(request).await?,
            Sender::Http2(sender) => sender.send_request(request).await?,
        })
    }
}

/// The body of an answer, as text.
pub(crate) async fn get(client: &mut Client, path: &str) -> String {
    let body = client.get(path).await.unwrap().into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}
