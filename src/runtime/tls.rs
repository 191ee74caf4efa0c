//! TLS towards extensions: whom to trust, what to show, what time it is.
//!
//! One configuration for each CA bundle; certificates are checked by webpki. Where webpki refuses what a Go client
//! accepts, `ca_leaf` looks again. A refusal says its real reason ([`CertificateProblem`]).
//!
//! The crypto provider is passed explicitly and never the process's default.

use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::time_provider::TimeProvider;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme,
};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use super::error::{Failure, Text};
use crate::clock::Clock;
use crate::digest::Digest;

mod ca_leaf;
mod identity;
mod problem;

#[cfg(test)]
mod tests;

pub use identity::{Identity, IdentityError};
pub use problem::CertificateProblem;

/// The field that holds the certificates an extension is trusted by.
const CA_BUNDLE: &str = "spec.clientConfig.caBundle";

/// Makes TLS configurations for calling extensions.
pub struct Tls {
    provider: Arc<CryptoProvider>,
    clock: Clock,
    identity: Option<Arc<Identity>>,
    system: OnceLock<Arc<RootCertStore>>,
}

impl Tls {
    /// Certificates are judged at the time of `clock`; `identity` is what is shown to extensions that ask for a client
    /// certificate. `None` shows nothing.
    #[must_use]
    pub fn new(clock: Clock, identity: Option<Arc<Identity>>) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        Self { provider, clock, identity, system: OnceLock::new() }
    }

    /// Looks for a renewed client certificate, at most every few seconds.
    pub(super) async fn refresh(&self) {
        if let Some(identity) = &self.identity {
            identity.refresh(self.clock.now()).await;
        }
    }

    /// Stands for everything that goes into [`Tls::config`].
    pub(super) fn digest(&self, ca_bundle: Option<&[u8]>) -> Digest {
        let identity = self.identity.as_ref().map(|identity| identity.digest());
        Digest::of_all([Digest::of_bytes(ca_bundle.unwrap_or_default())].into_iter().chain(identity))
    }

    /// The configuration for an extension with this CA bundle, PEM encoded. Without one, or with an empty one, the
    /// system's roots are trusted.
    ///
    /// # Errors
    /// [`Failure::Misconfigured`] when nothing is left to trust.
    pub fn config(&self, ca_bundle: Option<&[u8]>) -> Result<Arc<ClientConfig>, Failure> {
        let verifier = match ca_bundle.filter(|bundle| !bundle.is_empty()) {
            Some(bundle) => self.verifier_of_bundle(bundle)?,
            None => Verifier { webpki: self.webpki(self.system_roots()?)?, bundle: None },
        };
        let builder = ClientConfig::builder_with_details(
            self.provider.clone(),
            Arc::new(ClockTime(self.clock.clone())),
        )
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::internal(&error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match &self.identity {
            Some(identity) => builder.with_client_cert_resolver(identity.resolver()),
            None => builder.with_no_client_auth(),
        };
        // As in Go's client: every connection sees the certificate again.
        config.resumption = Resumption::disabled();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    fn verifier_of_bundle(&self, bundle: &[u8]) -> Result<Verifier, Failure> {
        let mut roots = RootCertStore::empty();
        // As upstream: what cannot be used is skipped, and one good certificate is enough.
        let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(bundle)
            .filter_map(Result::ok)
            .filter(|certificate| roots.add(certificate.clone()).is_ok())
            .collect();
        if certificates.is_empty() {
            return Err(Failure::misconfigured(CA_BUNDLE, "there is no PEM encoded certificate in it"));
        }
        Ok(Verifier { webpki: self.webpki(Arc::new(roots))?, bundle: Some(certificates) })
    }

    fn webpki(&self, roots: Arc<RootCertStore>) -> Result<Arc<WebPkiServerVerifier>, Failure> {
        WebPkiServerVerifier::builder_with_provider(roots, self.provider.clone())
            .build()
            .map_err(|error| Failure::internal(&error.to_string()))
    }

    /// The system's roots, read from disk the first time they are needed.
    fn system_roots(&self) -> Result<Arc<RootCertStore>, Failure> {
        if let Some(roots) = self.system.get() {
            return Ok(roots.clone());
        }
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        let (added, ignored) = roots.add_parsable_certificates(found.certs);
        tracing::debug!(added, ignored, errors = found.errors.len(), "read the system's root certificates");
        if roots.is_empty() {
            let problem = "it is empty, and the system has no root certificates to trust instead";
            return Err(Failure::misconfigured(CA_BUNDLE, problem));
        }
        Ok(self.system.get_or_init(|| Arc::new(roots)).clone())
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("identity", &self.identity).finish_non_exhaustive()
    }
}

/// What went wrong in a TLS handshake, when it was the certificate; looked for in the chain of `error`.
pub(super) fn certificate_problem<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a CertificateProblem> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(problem)))) =
            error.downcast_ref()
        {
            return problem.downcast_ref();
        }
        // An io::Error passes over what it wraps.
        let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        cause =
            wrapped.map(|wrapped| wrapped as &(dyn std::error::Error + 'static)).or_else(|| error.source());
    }
    None
}

#[derive(Debug)]
struct ClockTime(Clock);

impl TimeProvider for ClockTime {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = u64::try_from(self.0.timestamp().as_second()).ok()?;
        Some(UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds)))
    }
}

/// webpki, and a second look at certificates that the bundle itself vouches for.
#[derive(Debug)]
struct Verifier {
    webpki: Arc<WebPkiServerVerifier>,
    /// `None` when the system's roots are trusted; among those there is no second look.
    bundle: Option<Vec<CertificateDer<'static>>>,
}

impl Verifier {
    fn judge(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        now: UnixTime,
        refusal: &rustls::Error,
    ) -> Result<(), CertificateProblem> {
        // A CA as leaf is `Other`; a leaf that stands in the bundle without being a CA is of an unknown issuer.
        let can_be_vouched_for = matches!(
            refusal,
            rustls::Error::InvalidCertificate(CertificateError::Other(_) | CertificateError::UnknownIssuer)
        );
        match &self.bundle {
            Some(bundle) if can_be_vouched_for => {
                ca_leaf::Bundle { certificates: bundle, now }.vouch(leaf, intermediates, name)
            }
            bundle => Err(CertificateProblem::explain(refusal, leaf, name, now, bundle.is_some())),
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Err(refusal) = self.webpki.verify_server_cert(leaf, intermediates, name, ocsp_response, now)
        else {
            return Ok(ServerCertVerified::assertion());
        };
        match self.judge(leaf, intermediates, name, now, &refusal) {
            Ok(()) => Ok(ServerCertVerified::assertion()),
            Err(problem) => Err(CertificateError::Other(OtherError(Arc::new(problem))).into()),
        }
    }

    // Whoever shows a certificate still proves that it has the key.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.webpki.verify_tls12_signature(message, leaf, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.webpki.verify_tls13_signature(message, leaf, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.webpki.supported_verify_schemes()
    }
}

impl From<&CertificateProblem> for Text {
    fn from(problem: &CertificateProblem) -> Self {
        problem.to_string().into()
    }
}
