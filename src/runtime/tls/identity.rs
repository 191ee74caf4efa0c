//! The client certificate shown to extensions, and its renewal.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::time::Instant;

use super::super::error::Text;
use crate::digest::Digest;

/// How often the files are looked at, when there are calls. As often as upstream's certificate watcher does.
const INTERVAL: Duration = Duration::from_secs(10);

/// A client certificate and its key, read from two PEM files and read again when their content changes.
///
/// A pair that does not fit together, as in the middle of a renewal, is passed over: the old one stays in use.
#[derive(Debug)]
pub struct Identity {
    certificate: PathBuf,
    key: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    current: Arc<CertifiedKey>,
    /// Of the files that `current` was read from.
    digest: Digest,
    /// Of the files as last seen, good or bad.
    seen: Digest,
    looked: Option<Instant>,
}

/// A client certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// A file cannot be read.
    #[error("failed to read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// What the files hold is not a certificate and its key.
    #[error("{certificate} and {key} are not a certificate and its key")]
    Invalid {
        /// The file with the certificate.
        certificate: PathBuf,
        /// The file with the key.
        key: PathBuf,
        /// Why.
        #[source]
        reason: Text,
    },
}

impl Identity {
    /// Reads the pair for the first time.
    ///
    /// # Errors
    /// When a file cannot be read, or the two are not a certificate (with its chain) and its key.
    pub fn from_files(
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Result<Self, IdentityError> {
        let (certificate, key) = (certificate.into(), key.into());
        let files = Files::read(&certificate, &key)?;
        let digest = files.digest();
        let current = files.pair(&certificate, &key)?;
        let state = Mutex::new(State { current, digest, seen: digest, looked: None });
        Ok(Self { certificate, key, state })
    }

    /// Stands for the pair in use.
    pub(super) fn digest(&self) -> Digest {
        self.state.lock().digest
    }

    pub(super) fn resolver(&self) -> Arc<dyn ResolvesClientCert> {
        Arc::new(Fixed(self.state.lock().current.clone()))
    }

    /// Looks at the files unless that was done a moment ago.
    pub(super) async fn refresh(&self, now: Instant) {
        {
            let mut state = self.state.lock();
            if state.looked.is_some_and(|looked| now.saturating_duration_since(looked) < INTERVAL) {
                return;
            }
            state.looked = Some(now);
        }
        let (certificate, key) = (self.certificate.clone(), self.key.clone());
        let files = tokio::task::spawn_blocking(move || Files::read(&certificate, &key)).await;
        match files {
            Ok(Ok(files)) => self.renew(&files),
            Ok(Err(error)) => tracing::warn!(%error, "failed to look for a renewed client certificate"),
            // The task is never aborted, and reading does not panic.
            Err(error) => tracing::warn!(%error, "failed to look for a renewed client certificate"),
        }
    }

    fn renew(&self, files: &Files) {
        let digest = files.digest();
        if std::mem::replace(&mut self.state.lock().seen, digest) == digest {
            return;
        }
        match files.pair(&self.certificate, &self.key) {
            Ok(current) => {
                let mut state = self.state.lock();
                (state.current, state.digest) = (current, digest);
                tracing::info!("renewed the client certificate");
            }
            Err(error) => tracing::warn!(%error, "passed over a client certificate that cannot be used"),
        }
    }
}

struct Files {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Files {
    fn read(certificate: &Path, key: &Path) -> Result<Self, IdentityError> {
        let read = |path: &Path| {
            std::fs::read(path).map_err(|source| IdentityError::Read { path: path.to_owned(), source })
        };
        Ok(Self { certificate: read(certificate)?, key: read(key)? })
    }

    fn digest(&self) -> Digest {
        Digest::of_all([Digest::of_bytes(&self.certificate), Digest::of_bytes(&self.key)])
    }

    fn pair(&self, certificate: &Path, key: &Path) -> Result<Arc<CertifiedKey>, IdentityError> {
        self.parse().map(Arc::new).map_err(|reason| IdentityError::Invalid {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            reason,
        })
    }

    fn parse(&self) -> Result<CertifiedKey, Text> {
        let chain = CertificateDer::pem_slice_iter(&self.certificate).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| Text::from_error(&error))?;
        if chain.is_empty() {
            return Err("there is no PEM encoded certificate".into());
        }
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|error| Text::from_error(&error))?;
        let provider = rustls::crypto::ring::default_provider();
        CertifiedKey::from_der(chain, key, &provider).map_err(|error| Text::from_error(&error))
    }
}

#[derive(Debug)]
struct Fixed(Arc<CertifiedKey>);

impl ResolvesClientCert for Fixed {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}
