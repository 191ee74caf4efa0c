//! The certificate of a server, and its renewal while the server runs.
//!
//! A renewal replaces the whole TLS configuration: what the old one handed out for session resumption is then
//! worthless, so every new handshake shows the new certificate. Connections that are open stay open.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_util::sync::CancellationToken;

/// How often files are read that keep changing under the reader.
const MAX_READS: usize = 3;

/// Why certificates cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file is missing or unreadable.
    #[error("failed to read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// There is no certificate, no key or no client CA where one should be, or it is not PEM.
    #[error("failed to find a {what} in PEM form")]
    NotPem {
        /// `certificate`, `private key` or `client CA certificate`.
        what: &'static str,
        /// Where the text stops being PEM; unset when it is PEM without what was looked for.
        #[source]
        source: Option<rustls_pki_types::pem::Error>,
    },
    /// The key does not belong to the certificate, or one of them is of a kind that is not supported.
    #[error("failed to use the certificate with its key")]
    Pair(#[source] rustls::Error),
    /// The client CA cannot vouch for anybody.
    #[error("failed to use the client CA")]
    ClientCa(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A certificate chain, its key and the CA of clients, as PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Pem {
    /// The server's certificate, then its intermediates.
    pub certificate: Vec<u8>,
    /// The key of the first certificate: PKCS#8, SEC1 or PKCS#1.
    pub key: Vec<u8>,
    /// Who signs client certificates. When set, only clients with such a certificate are served; unset: anybody
    /// is.
    pub client_ca: Option<Vec<u8>>,
}

/// Shows no key.
impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pem").field("client_ca", &self.client_ca.is_some()).finish_non_exhaustive()
    }
}

/// The files that a [`Pem`] is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// See [`Pem::certificate`].
    pub certificate: PathBuf,
    /// See [`Pem::key`].
    pub key: PathBuf,
    /// See [`Pem::client_ca`].
    pub client_ca: Option<PathBuf>,
}

impl CertificateFiles {
    /// `tls.crt` and `tls.key` in `directory`, as a mounted Kubernetes Secret of type `kubernetes.io/tls` has
    /// them.
    #[must_use]
    pub fn in_directory(directory: impl AsRef<Path>) -> Self {
        let directory = directory.as_ref();
        Self { certificate: directory.join("tls.crt"), key: directory.join("tls.key"), client_ca: None }
    }

    /// Asks clients for a certificate of this CA.
    #[must_use]
    pub fn with_client_ca(mut self, file: impl Into<PathBuf>) -> Self {
        self.client_ca = Some(file.into());
        self
    }

    /// Reads again when the certificate changed meanwhile, so that a swap between two files is not taken for a
    /// bad pair.
    fn read(&self) -> Result<Pem, CertificateError> {
        let mut certificate = read(&self.certificate)?;
        let mut attempts = 0;
        loop {
            let key = read(&self.key)?;
            let client_ca = self.client_ca.as_deref().map(read).transpose()?;
            let certificate_now = read(&self.certificate)?;
            attempts += 1;
            if certificate_now == certificate || attempts == MAX_READS {
                return Ok(Pem { certificate, key, client_ca });
            }
            certificate = certificate_now;
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CertificateError> {
    fs::read(path).map_err(|source| CertificateError::Read { path: path.to_owned(), source })
}

/// What a [`Server`](super::Server) shows its peers, replaceable while it serves. Clones share it.
#[derive(Clone)]
pub struct Certificates {
    shared: Arc<Shared>,
}

struct Shared {
    files: Option<CertificateFiles>,
    config: RwLock<Arc<ServerConfig>>,
    /// What was tried last, good or bad, and what came of it: the same bad pair is tried and reported once.
    tried: Mutex<Tried>,
    failed_reloads: AtomicU64,
}

struct Tried {
    pem: Option<Pem>,
    failure: Option<String>,
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates").field("files", &self.shared.files).finish_non_exhaustive()
    }
}

impl Certificates {
    /// Certificates that change only by [`replace`](Self::replace).
    ///
    /// # Errors
    /// When the PEM cannot be served.
    pub fn from_pem(pem: Pem) -> Result<Self, CertificateError> {
        Self::try_new(pem, None)
    }

    /// Certificates of files, read now and again by [`reload`](Self::reload) and [`watch`](Self::watch).
    ///
    /// # Errors
    /// When a file cannot be read or its content cannot be served.
    pub fn from_files(files: CertificateFiles) -> Result<Self, CertificateError> {
        Self::try_new(files.read()?, Some(files))
    }

    fn try_new(pem: Pem, files: Option<CertificateFiles>) -> Result<Self, CertificateError> {
        let config = RwLock::new(server_config(&pem)?);
        let tried = Mutex::new(Tried { pem: Some(pem), failure: None });
        Ok(Self { shared: Arc::new(Shared { files, config, tried, failed_reloads: AtomicU64::new(0) }) })
    }

    /// Shows `pem` in every handshake that begins from now on.
    ///
    /// # Errors
    /// When the PEM cannot be served; then the old one stays.
    pub fn replace(&self, pem: Pem) -> Result<(), CertificateError> {
        let config = server_config(&pem)?;
        self.shared.tried.lock().pem = Some(pem);
        *self.shared.config.write() = config;
        Ok(())
    }

    /// Reads the files again, by content: a swapped symbolic link (how Kubernetes renews a Secret volume)
    /// counts, a touched file does not. Answers whether there is a new certificate now; false where there are
    /// no files. Blocks on the file system.
    ///
    /// A file that is missing, or a pair that does not fit (a half-written renewal), keeps the old certificate,
    /// is logged when it is first seen, and counts in [`failed_reloads`](Self::failed_reloads).
    ///
    /// # Errors
    /// What is wrong with the files, when it was not said before.
    pub fn reload(&self) -> Result<bool, CertificateError> {
        let Some(files) = &self.shared.files else { return Ok(false) };
        let mut tried = self.shared.tried.lock();
        let outcome = files.read().and_then(|pem| {
            if tried.pem.as_ref() == Some(&pem) {
                return Ok(false);
            }
            let config = server_config(&pem);
            tried.pem = Some(pem);
            *self.shared.config.write() = config?;
            Ok(true)
        });
        self.settle(&mut tried, outcome)
    }

    /// Counts and reports a failure when it is not the one before.
    fn settle(
        &self,
        tried: &mut Tried,
        outcome: Result<bool, CertificateError>,
    ) -> Result<bool, CertificateError> {
        match outcome {
            Ok(changed) => {
                tried.failure = None;
                if changed {
                    tracing::info!("serving a new certificate");
                }
                Ok(changed)
            }
            Err(error) => {
                let failure = Some(format!("{error:?}"));
                if tried.failure == failure && matches!(error, CertificateError::Read { .. }) {
                    return Ok(false);
                }
                tried.failure = failure;
                self.shared.failed_reloads.fetch_add(1, Ordering::Relaxed);
                let cause = &error as &dyn std::error::Error;
                tracing::warn!(error = cause, "keeping the old certificate");
                Err(error)
            }
        }
    }

    /// How often files were found that cannot be served. The same bad content counts once.
    #[must_use]
    pub fn failed_reloads(&self) -> u64 {
        self.shared.failed_reloads.load(Ordering::Relaxed)
    }

    /// Calls [`reload`](Self::reload) every `period` until `shutdown`. [`Server::serve`](super::Server::serve)
    /// does this by itself.
    pub async fn watch(self, period: Duration, shutdown: CancellationToken) {
        if self.shared.files.is_none() {
            return;
        }
        loop {
            let pause = tokio::time::sleep(period);
            if shutdown.run_until_cancelled(pause).await.is_none() {
                return;
            }
            let certificates = self.clone();
            // Failures are logged and counted where they are found.
            let _reloaded = tokio::task::spawn_blocking(move || certificates.reload()).await;
        }
    }

    /// The TLS configuration for the next handshake.
    #[must_use]
    pub fn config(&self) -> Arc<ServerConfig> {
        self.shared.config.read().clone()
    }
}

fn server_config(pem: &Pem) -> Result<Arc<ServerConfig>, CertificateError> {
    let chain = certificates(&pem.certificate, "certificate")?;
    let key = PrivateKeyDer::from_pem_slice(&pem.key).map_err(|source| not_pem("private key", source))?;
    // Explicit: whoever links this crate may have another provider as the process default, or none.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(CertificateError::Pair)?;
    let builder = match &pem.client_ca {
        Some(ca) => builder.with_client_cert_verifier(client_verifier(ca, provider)?),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(chain, key).map_err(CertificateError::Pair)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn client_verifier(
    ca: &[u8],
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, CertificateError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(ca, "client CA certificate")? {
        roots.add(certificate).map_err(|error| CertificateError::ClientCa(error.into()))?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| CertificateError::ClientCa(error.into()))
}

fn certificates(pem: &[u8], what: &'static str) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let found: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|source| not_pem(what, source))?;
    if found.is_empty() {
        return Err(CertificateError::NotPem { what, source: None });
    }
    Ok(found)
}

fn not_pem(what: &'static str, source: rustls_pki_types::pem::Error) -> CertificateError {
    CertificateError::NotPem { what, source: Some(source) }
}
