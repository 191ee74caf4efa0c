//! A second look at certificates that webpki refuses and Go's `crypto/x509` accepts.
//!
//! webpki refuses a CA as a server's certificate, and one that is trusted by standing in the bundle itself. Both are
//! what a self-signed issuer gives. They are accepted when the bundle vouches for them: it has this very certificate,
//! or a CA in it signed it, directly or through the intermediates shown. Name, time and purpose are checked in
//! any case; that the server has the key is still proved in the handshake.
//!
//! As in Go, the key usage of the leaf does not matter (webpki does not ask for it either); that of an issuer does.
//! Stricter than Go: an issuer with name constraints vouches for nothing here.
//!
//! Behaviour: Go `crypto/x509` `Certificate.Verify`.

use std::cell::Cell;

use rustls::client::verify_server_name;
use rustls::server::ParsedCertificate;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use x509_parser::oid_registry as oid;
use x509_parser::prelude::{FromDer as _, ParsedExtension, X509Certificate, X509Version};

use super::problem::{CertificateProblem, timestamp};

/// Intermediates between a leaf and the bundle.
const MAX_INTERMEDIATES: u32 = 4;
/// Signatures looked at for one handshake; what a server shows must not keep us busy.
const MAX_SIGNATURES: u32 = 32;

/// What is trusted, and when.
pub(super) struct Bundle<'a> {
    pub(super) certificates: &'a [CertificateDer<'a>],
    pub(super) now: UnixTime,
}

/// One search for a chain.
struct Search<'a> {
    roots: Vec<X509Certificate<'a>>,
    intermediates: Vec<X509Certificate<'a>>,
    now: i64,
    signatures_left: Cell<u32>,
}

impl Bundle<'_> {
    /// Whether the bundle vouches for `leaf` as a certificate of the server `name`.
    pub(super) fn vouch(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
    ) -> Result<(), CertificateProblem> {
        let parsed = parse(leaf)?;
        self.check_time(&parsed)?;
        check_purpose(&parsed)?;
        check_critical_extensions(&parsed)?;
        check_name(leaf, &parsed, name)?;
        let is_in_bundle = self.certificates.iter().any(|trusted| trusted.as_ref() == leaf.as_ref());
        if is_in_bundle || (parsed.is_ca() && self.search(intermediates).finds_chain(&parsed, 0)) {
            return Ok(());
        }
        Err(CertificateProblem::unknown_issuer(&parsed, true))
    }

    fn check_time(&self, certificate: &X509Certificate<'_>) -> Result<(), CertificateProblem> {
        let (now, validity) = (timestamp(self.now), certificate.validity());
        let of = |time: x509_parser::time::ASN1Time| jiff::Timestamp::from_second(time.timestamp());
        match (of(validity.not_before), of(validity.not_after)) {
            (Ok(not_before), _) if now < not_before => {
                Err(CertificateProblem::NotYetValid { not_before, now })
            }
            (_, Ok(not_after)) if now > not_after => Err(CertificateProblem::Expired { not_after, now }),
            (Ok(_), Ok(_)) => Ok(()),
            _ => Err(CertificateProblem::Other("its time of validity is out of range".into())),
        }
    }

    fn search<'a>(&'a self, intermediates: &'a [CertificateDer<'a>]) -> Search<'a> {
        let parse_all =
            |all: &'a [CertificateDer<'a>]| all.iter().filter_map(|one| parse(one).ok()).collect();
        Search {
            roots: parse_all(self.certificates),
            intermediates: parse_all(intermediates),
            now: i64::try_from(self.now.as_secs()).unwrap_or(i64::MAX),
            signatures_left: Cell::new(MAX_SIGNATURES),
        }
    }
}

impl Search<'_> {
    /// Whether a chain leads from `certificate`, with `below` intermediates under it, to a CA of the bundle.
    fn finds_chain(&self, certificate: &X509Certificate<'_>, below: u32) -> bool {
        let is_root = |root| self.has_signed(root, certificate, below);
        let leads_on =
            |issuer| self.has_signed(issuer, certificate, below) && self.finds_chain(issuer, below + 1);
        self.roots.iter().any(is_root)
            || (below < MAX_INTERMEDIATES && self.intermediates.iter().any(leads_on))
    }

    fn has_signed(
        &self,
        issuer: &X509Certificate<'_>,
        certificate: &X509Certificate<'_>,
        below: u32,
    ) -> bool {
        let left = self.signatures_left.get();
        if issuer.subject().as_raw() != certificate.issuer().as_raw()
            || !may_issue(issuer, below)
            || !is_valid_at(issuer, self.now)
            || !is_strong(certificate)
            || left == 0
        {
            return false;
        }
        self.signatures_left.set(left - 1);
        certificate.verify_signature(Some(issuer.public_key())).is_ok()
    }
}

fn parse<'a>(certificate: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, CertificateProblem> {
    match X509Certificate::from_der(certificate) {
        Ok(([], parsed)) => Ok(parsed),
        _ => Err(CertificateProblem::Other("it is not correctly encoded".into())),
    }
}

fn check_name(
    leaf: &CertificateDer<'_>,
    parsed: &X509Certificate<'_>,
    name: &ServerName<'_>,
) -> Result<(), CertificateProblem> {
    // webpki's own rules for names: alternative names only, a wildcard for one whole label.
    ParsedCertificate::try_from(leaf)
        .and_then(|leaf| verify_server_name(&leaf, name))
        .map_err(|_| CertificateProblem::wrong_name(parsed, name))
}

fn check_purpose(certificate: &X509Certificate<'_>) -> Result<(), CertificateProblem> {
    match certificate.extended_key_usage() {
        Ok(None) => Ok(()),
        Ok(Some(usage)) if usage.value.any || usage.value.server_auth => Ok(()),
        Ok(Some(_)) | Err(_) => Err(CertificateProblem::NotForServers),
    }
}

fn check_critical_extensions(certificate: &X509Certificate<'_>) -> Result<(), CertificateProblem> {
    let is_understood = |extension: &ParsedExtension<'_>| {
        matches!(
            extension,
            ParsedExtension::BasicConstraints(_)
                | ParsedExtension::KeyUsage(_)
                | ParsedExtension::ExtendedKeyUsage(_)
                | ParsedExtension::SubjectAlternativeName(_)
                | ParsedExtension::SubjectKeyIdentifier(_)
                | ParsedExtension::AuthorityKeyIdentifier(_)
                | ParsedExtension::NameConstraints(_)
                | ParsedExtension::CertificatePolicies(_)
        )
    };
    let mut extensions = certificate.iter_extensions();
    match extensions.find(|extension| extension.critical && !is_understood(extension.parsed_extension())) {
        Some(extension) => {
            Err(CertificateProblem::CriticalExtension { oid: extension.oid.to_id_string().into() })
        }
        None => Ok(()),
    }
}

/// Whether a certificate is a CA that may have `below` intermediates between itself and a server's certificate.
fn may_issue(issuer: &X509Certificate<'_>, below: u32) -> bool {
    let is_ca = match issuer.basic_constraints() {
        Ok(Some(constraints)) => {
            constraints.value.ca && constraints.value.path_len_constraint.is_none_or(|most| below <= most)
        }
        _ => false,
    };
    let may_sign = match issuer.key_usage() {
        Ok(usage) => usage.is_none_or(|usage| usage.value.key_cert_sign()),
        Err(_) => false,
    };
    issuer.version() == X509Version::V3
        && is_ca
        && may_sign
        && matches!(issuer.name_constraints(), Ok(None))
        && check_purpose(issuer).is_ok()
        && check_critical_extensions(issuer).is_ok()
}

fn is_valid_at(certificate: &X509Certificate<'_>, now: i64) -> bool {
    let validity = certificate.validity();
    (validity.not_before.timestamp()..=validity.not_after.timestamp()).contains(&now)
}

/// Whether a certificate is signed with an algorithm that still counts; SHA-1 does not.
fn is_strong(certificate: &X509Certificate<'_>) -> bool {
    [
        oid::OID_PKCS1_SHA256WITHRSA,
        oid::OID_PKCS1_SHA384WITHRSA,
        oid::OID_PKCS1_SHA512WITHRSA,
        oid::OID_PKCS1_RSASSAPSS,
        oid::OID_SIG_ECDSA_WITH_SHA256,
        oid::OID_SIG_ECDSA_WITH_SHA384,
        oid::OID_SIG_ED25519,
    ]
    .contains(&certificate.signature_algorithm.algorithm)
}
