//! For tests: an extension in this process, served over TLS on a pipe, so that a paused clock runs all of it.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream;
use http::header::{CONTENT_LENGTH, LOCATION};
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use k8s_openapi::ByteString;
use kapstan_api::extension_config::{ClientConfig, ExtensionHandler, GroupVersionHookRef};
use kapstan_api::hooks::catalog;
use parking_lot::Mutex;
use rcgen::{CertificateParams, Issuer, KeyPair};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{DigitallySignedStruct, DistinguishedName, SignatureScheme};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use serde_json::json;
use tokio_rustls::TlsAcceptor;

use super::super::transport::{BoxedIo, Dial};
use super::super::{Client, Extension, Options};
use crate::clock::Clock;
use crate::metrics::Metrics;

/// The time at which tests begin.
pub(crate) const START: &str = "2026-01-01T00:00:00Z";

/// What the extension does with the next calls.
#[derive(Clone, Debug)]
pub(crate) enum Behaviour {
    /// Answers after a while.
    Answer { status: u16, body: Bytes, after: Duration },
    /// Answers with a redirect.
    Redirect(&'static str),
    /// Never connects.
    HangInDial,
    /// Refuses connections.
    Refuse,
    /// Accepts, and says nothing, not even in TLS.
    HangInHandshake,
    /// Takes the request, and says nothing.
    HangBeforeHeaders,
    /// A byte of the body every second.
    Trickle { status: u16 },
    /// A body of so many MiB.
    Huge { status: u16, mebibytes: u64, announce: bool },
    /// Closes the connection instead of answering, or in the middle of the body.
    Reset { in_body: bool },
    /// A header of so many bytes.
    LongHeader(usize),
}

impl Behaviour {
    pub(crate) fn answer(status: u16, body: impl Into<Bytes>) -> Self {
        Self::Answer { status, body: body.into(), after: Duration::ZERO }
    }

    /// An answer of success with one variable of this name, after a second.
    pub(crate) fn variable(name: &str) -> Self {
        let schema = json!({"openAPIV3Schema": {"type": "string"}});
        let body =
            json!({"status": "Success", "variables": [{"name": name, "required": true, "schema": schema}]});
        Self::Answer { status: 200, body: body.to_string().into(), after: Duration::from_secs(1) }
    }
}

/// A certificate with its key and what signed it.
pub(crate) struct Certificate {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    pub(crate) issuer: Issuer<'static, KeyPair>,
}

impl Certificate {
    pub(crate) fn self_signed(params: CertificateParams) -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().der().clone();
        let der = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        Self { chain: vec![certificate], key: der, issuer: Issuer::new(params, key) }
    }

    pub(crate) fn signed_by(params: CertificateParams, issuer: &Certificate) -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &issuer.issuer).unwrap().der().clone();
        let der = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        Self { chain: vec![certificate], key: der, issuer: Issuer::new(params, key) }
    }

    pub(crate) fn with_intermediate(mut self, intermediate: &Certificate) -> Self {
        self.chain.push(intermediate.chain[0].clone());
        self
    }

    pub(crate) fn pem(&self) -> String {
        let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &self.chain[0]);
        let lines: Vec<&str> =
            (0..encoded.len()).step_by(64).map(|at| &encoded[at..(at + 64).min(encoded.len())]).collect();
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
    }

    pub(crate) fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }
}

/// An extension at `https://ext.test:9443`, and what it saw.
pub(crate) struct InProcess {
    behaviour: Mutex<Behaviour>,
    acceptor: TlsAcceptor,
    pub(crate) bundle: Vec<u8>,
    pub(crate) dials: AtomicUsize,
    pub(crate) calls: AtomicUsize,
    in_flight: AtomicUsize,
    pub(crate) max_in_flight: AtomicUsize,
    /// Path with query, and body, of each call.
    pub(crate) requests: Mutex<Vec<(String, String)>>,
    /// Subject of the client certificate of each connection.
    pub(crate) connected: Mutex<Vec<Option<CertificateDer<'static>>>>,
    /// Bytes of bodies handed out.
    pub(crate) sent: Arc<AtomicUsize>,
}

impl InProcess {
    /// With a certificate of its own that the bundle holds.
    pub(crate) fn new() -> Arc<Self> {
        Self::self_signed(&[b"h2", b"http/1.1"])
    }

    /// Only HTTP/1.1.
    pub(crate) fn old() -> Arc<Self> {
        Self::self_signed(&[])
    }

    fn self_signed(alpn: &[&[u8]]) -> Arc<Self> {
        let params = CertificateParams::new(vec!["ext.test".to_owned()]).unwrap();
        let certificate = Certificate::self_signed(params);
        Self::with_certificate(&certificate, &certificate.pem(), alpn)
    }

    pub(crate) fn with_certificate(certificate: &Certificate, bundle: &str, alpn: &[&[u8]]) -> Arc<Self> {
        let key = rustls::crypto::ring::sign::any_supported_type(&certificate.key).unwrap();
        let shown = CertifiedKey::new(certificate.chain.clone(), key);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        // By a resolver, which lets a certificate go with a key that is not its own.
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(Arc::new(AnyClient))
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(shown)));
        config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
        Arc::new(Self {
            behaviour: Mutex::new(Behaviour::variable("region")),
            acceptor: TlsAcceptor::from(Arc::new(config)),
            bundle: bundle.as_bytes().to_vec(),
            dials: AtomicUsize::new(0),
            calls: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            max_in_flight: AtomicUsize::new(0),
            requests: Mutex::default(),
            connected: Mutex::default(),
            sent: Arc::default(),
        })
    }

    pub(crate) fn behave(&self, behaviour: Behaviour) {
        *self.behaviour.lock() = behaviour;
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    pub(crate) fn dials(&self) -> usize {
        self.dials.load(Ordering::SeqCst)
    }

    /// The extension as an `ExtensionConfig` describes it, under this name.
    pub(crate) fn extension(&self, name: &str) -> Arc<Extension> {
        self.extension_at(name, "https://ext.test:9443")
    }

    pub(crate) fn extension_at(&self, name: &str, url: &str) -> Arc<Extension> {
        let client_config = ClientConfig {
            url: Some(url.to_owned()),
            ca_bundle: Some(ByteString(self.bundle.clone())),
            ..ClientConfig::default()
        };
        Arc::new(Extension::new(
            name,
            format!("uid-{name}"),
            client_config,
            [("tier".into(), "gold".into())].into(),
        ))
    }

    /// A client that reaches only this extension.
    pub(crate) fn client(self: &Arc<Self>, options: Options) -> Arc<Client> {
        let clock = Clock::starting_at(START.parse().unwrap());
        Client::new(options, Arc::new(Pipe(self.clone())), clock, Metrics::new())
    }

    async fn serve(self: Arc<Self>, pipe: tokio::io::DuplexStream) {
        let Ok(stream) = self.acceptor.accept(pipe).await else { return };
        let shown = stream
            .get_ref()
            .1
            .peer_certificates()
            .and_then(|chain| chain.first())
            .map(|c| c.clone().into_owned());
        self.connected.lock().push(shown);
        let service = service_fn(|request| self.clone().handle(request));
        // Errors are part of the game.
        let _ =
            auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
    }

    async fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> io::Result<Response<UnsyncBoxBody<Bytes, io::Error>>> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let in_flight = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.max_in_flight.fetch_max(in_flight, Ordering::SeqCst);
        let path = request.uri().path_and_query().unwrap().to_string();
        let body = request.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
        self.requests.lock().push((path, String::from_utf8(body.to_vec()).unwrap()));
        let response = self.respond().await;
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
        response
    }

    async fn respond(&self) -> io::Result<Response<UnsyncBoxBody<Bytes, io::Error>>> {
        let full = |body: Bytes| Full::new(body).map_err(|never: Infallible| match never {}).boxed_unsync();
        let behaviour = self.behaviour.lock().clone();
        let response = match behaviour {
            Behaviour::Answer { status, body, after } => {
                tokio::time::sleep(after).await;
                Response::builder().status(status).body(full(body))
            }
            Behaviour::Redirect(to) => {
                Response::builder().status(307).header(LOCATION, to).body(full(Bytes::new()))
            }
            Behaviour::HangBeforeHeaders => std::future::pending().await,
            Behaviour::Trickle { status } => {
                let drops = stream::unfold((), |()| async {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    Some((Ok(Frame::data(Bytes::from_static(b"."))), ()))
                });
                Response::builder().status(status).body(StreamBody::new(drops).boxed_unsync())
            }
            Behaviour::Huge { status, mebibytes, announce } => {
                let sent = self.sent.clone();
                let blocks = stream::iter(0..mebibytes).map(move |_| {
                    sent.fetch_add(1 << 20, Ordering::SeqCst);
                    Ok(Frame::data(Bytes::from(vec![b'x'; 1 << 20])))
                });
                let mut response = Response::builder().status(status);
                if announce {
                    response = response.header(CONTENT_LENGTH, mebibytes << 20);
                }
                response.body(StreamBody::new(blocks).boxed_unsync())
            }
            Behaviour::Reset { in_body: true } => {
                let parts = [Ok(Frame::data(Bytes::from_static(b"{\"sta"))), Err(io::Error::other("reset"))];
                Response::builder().body(StreamBody::new(stream::iter(parts)).boxed_unsync())
            }
            Behaviour::LongHeader(length) => {
                Response::builder().header("x-long", "a".repeat(length)).body(full(Bytes::new()))
            }
            Behaviour::Reset { in_body: false }
            | Behaviour::HangInDial
            | Behaviour::Refuse
            | Behaviour::HangInHandshake => return Err(io::Error::other("reset")),
        };
        Ok(response.unwrap())
    }
}

/// A pipe to the extension, whatever the host.
pub(crate) struct Pipe(pub(crate) Arc<InProcess>);

impl Dial for Pipe {
    fn dial<'a>(&'a self, _: &'a str, _: u16) -> BoxFuture<'a, io::Result<BoxedIo>> {
        let extension = self.0.clone();
        extension.dials.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            let behaviour = extension.behaviour.lock().clone();
            let (ours, theirs) = tokio::io::duplex(64 << 10);
            match behaviour {
                Behaviour::HangInDial => std::future::pending().await,
                Behaviour::Refuse => return Err(io::ErrorKind::ConnectionRefused.into()),
                Behaviour::HangInHandshake => drop(tokio::spawn(async move {
                    let _kept = theirs;
                    std::future::pending::<()>().await;
                })),
                _ => drop(tokio::spawn(extension.serve(theirs))),
            }
            Ok(Box::new(ours) as BoxedIo)
        })
    }
}

/// A handler of `DiscoverVariables` as it stands in a status.
pub(crate) fn handler(name: &str) -> ExtensionHandler {
    let request_hook = GroupVersionHookRef {
        api_version: catalog::API_VERSION.to_owned(),
        hook: "DiscoverVariables".to_owned(),
        ..GroupVersionHookRef::default()
    };
    ExtensionHandler { name: name.to_owned(), request_hook, ..ExtensionHandler::default() }
}

/// Asks for a client certificate, and takes any or none.
#[derive(Debug)]
struct AnyClient;

impl ClientCertVerifier for AnyClient {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}
