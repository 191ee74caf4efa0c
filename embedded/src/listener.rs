//! The server on a socket: TLS, bearer tokens, kubeconfig files.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use http::header;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use parking_lot::RwLock;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::rest::{User, refusal};
use crate::server::{GRACE, Server};
use crate::status::Status;

/// How long a client may take to agree on TLS.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long to wait after a connection could not be taken.
const PAUSE: Duration = Duration::from_millis(50);
const ADMIN: &str = "kapstan-embedded-admin";

/// Why a server does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address cannot be listened on.
    #[error("failed to listen on {address}")]
    Address {
        /// The address that was asked for.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The certificate of the server could not be made.
    #[error("failed to make a certificate for {address}")]
    Certificate {
        /// The address that it is for.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A socket that serves a [`Server`] over TLS, to whoever has a token.
///
/// It ends when it is dropped, and open requests with it; [`Listener::stop`] waits for them a moment.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    authority: String,
    admin: String,
    tokens: Tokens,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

type Tokens = Arc<RwLock<HashMap<String, Arc<str>>>>;

impl Server {
    /// Listens on an address; port 0 takes one that is free. The certificate is for this address and
    /// `localhost`, and is signed by an authority that only this listener has.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub async fn listen(&self, address: SocketAddr) -> Result<Listener, ListenError> {
        let socket =
            TcpListener::bind(address).await.map_err(|source| ListenError::Address { address, source })?;
        let address = socket.local_addr().map_err(|source| ListenError::Address { address, source })?;
        let refused = |source| ListenError::Certificate { address, source };
        let (authority, config) = tls(address).map_err(refused)?;
        let admin = token().map_err(refused)?;
        let tokens: Tokens = Arc::new(RwLock::new(HashMap::from([(admin.clone(), Arc::from(ADMIN))])));
        let router = self.router().layer(from_fn_with_state(tokens.clone(), authenticate));
        let stop = CancellationToken::new();
        let task = tokio::spawn(serve(socket, TlsAcceptor::from(Arc::new(config)), router, stop.clone()));
        Ok(Listener { address, authority, admin, tokens, stop, task })
    }
}

impl Listener {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The authority, PEM, that signed the server's certificate.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The bearer token of the administrator.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.admin
    }

    /// A kubeconfig file, YAML, of the administrator. It holds all that it needs.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig_with(&self.admin)
    }

    /// A kubeconfig file of another user, who may do everything too; the audit log shows the name.
    ///
    /// # Errors
    /// When there is no randomness for a token.
    pub fn kubeconfig_of(&self, user: &str) -> Result<String, ListenError> {
        let address = self.address;
        let token = token().map_err(|source| ListenError::Certificate { address, source })?;
        self.tokens.write().insert(token.clone(), Arc::from(user));
        Ok(self.kubeconfig_with(&token))
    }

    fn kubeconfig_with(&self, token: &str) -> String {
        let name = "kapstan-embedded";
        let config: Value = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": name, "cluster": {
                "server": self.url(),
                "certificate-authority-data": BASE64_STANDARD.encode(&self.authority),
            }}],
            "users": [{ "name": name, "user": { "token": token } }],
            "contexts": [{ "name": name, "context": { "cluster": name, "user": name, "namespace": "default" } }],
            "current-context": name,
        });
        // JSON is YAML: should it ever fail to be written nicely, it is still a kubeconfig.
        serde_saphyr::to_string(&config).unwrap_or_else(|_| config.to_string())
    }

    /// Takes no more connections, lets open requests end for a second, and closes what is left.
    pub async fn stop(mut self) {
        self.stop.cancel();
        let _ = (&mut self.task).await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Takes connections until it is told to stop.
async fn serve(socket: TcpListener, acceptor: TlsAcceptor, router: Router, stop: CancellationToken) {
    let graceful = Arc::new(GracefulShutdown::new());
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => {}
            taken = socket.accept() => match taken {
                Ok((stream, _)) => {
                    let (acceptor, router) = (acceptor.clone(), router.clone());
                    let watcher = graceful.watcher();
                    connections.spawn(connection(stream, acceptor, router, watcher));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(PAUSE).await;
                }
            },
        }
    }
    drop(socket);
    if let Ok(graceful) = Arc::try_unwrap(graceful) {
        let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
    }
}

async fn connection(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    router: Router,
    watcher: hyper_util::server::graceful::Watcher,
) {
    // Answers are written whole; nothing is gained by waiting for more.
    let _ = stream.set_nodelay(true);
    let stream = match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return tracing::debug!(%error, "a client did not agree on TLS"),
        Err(_) => return tracing::debug!("a client took too long to agree on TLS"),
    };
    let service = TowerToHyperService::new(router);
    let builder = auto::Builder::new(TokioExecutor::new());
    let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "a connection broke");
    }
}

/// Lets requests with a known token through, and says who sent them. Whether the server lives, everybody
/// may ask.
async fn authenticate(State(tokens): State<Tokens>, mut request: Request<Body>, next: Next) -> Response {
    let value = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = value.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
    let user = tokens.read().get(token.trim()).cloned();
    let is_health = matches!(request.uri().path(), "/healthz" | "/livez" | "/readyz" | "/version");
    match user {
        Some(user) => {
            request.extensions_mut().insert(User(user));
            next.run(request).await
        }
        None if is_health => next.run(request).await,
        None => refusal(&Status::unauthorized()),
    }
}

type Made<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A secret that cannot be guessed.
fn token() -> Made<String> {
    let mut secret = [0; 32];
    let provider = rustls::crypto::ring::default_provider();
    provider.secure_random.fill(&mut secret).map_err(|_| "there is no randomness")?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(secret))
}

/// An authority, PEM, and the TLS configuration of a server that it vouches for.
fn tls(address: SocketAddr) -> Made<(String, ServerConfig)> {
    let authority_key = KeyPair::generate()?;
    let mut params = named("kapstan-embedded-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let authority = params.self_signed(&authority_key)?;
    let issuer = Issuer::new(params, authority_key);

    let key = KeyPair::generate()?;
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let ip = address.ip().to_string();
    if !names.contains(&ip) {
        names.push(ip);
    }
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = named("kapstan-embedded").distinguished_name;
    let certificate = params.signed_by(&key, &issuer)?;

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain: Vec<CertificateDer<'static>> = vec![certificate.der().clone()];
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok((authority.pem(), config))
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}
