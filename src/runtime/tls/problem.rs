//! Why a certificate is not accepted, in words that help.

use std::fmt;
use std::net::IpAddr;

use jiff::Timestamp;
use rustls::CertificateError;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

use super::super::error::Text;

/// How many of a certificate's names are shown.
const NAMES_SHOWN: usize = 10;

/// Why an extension's certificate is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateProblem {
    /// Its time is over.
    #[error("it expired at {not_after}, and it is {now} now")]
    Expired {
        /// The end of its time.
        not_after: Timestamp,
        /// The time at which it was judged.
        now: Timestamp,
    },
    /// Its time has not come.
    #[error("it is valid from {not_before} on, and it is {now} now")]
    NotYetValid {
        /// The beginning of its time.
        not_before: Timestamp,
        /// The time at which it was judged.
        now: Timestamp,
    },
    /// It is for others.
    #[error("it is for {}, not for {wanted}", List(.names))]
    WrongName {
        /// The name that was dialed.
        wanted: Text,
        /// The names it has.
        names: Vec<Text>,
    },
    /// It names nobody in a way that counts.
    #[error("it has no subject alternative name, so it is not for {wanted}; a common name is not used")]
    NoNames {
        /// The name that was dialed.
        wanted: Text,
    },
    /// It is not for servers.
    #[error("its extended key usage does not include server authentication")]
    NotForServers,
    /// Nothing that is trusted has signed it.
    #[error("it is issued by {issuer:?}, and no certificate in {} vouches for it", Trust(*.has_bundle))]
    UnknownIssuer {
        /// Its issuer's distinguished name.
        issuer: Text,
        /// Whether a CA bundle is set; if not, the system's roots are trusted.
        has_bundle: bool,
    },
    /// Something in it is marked as critical, and is not understood.
    #[error("it has a critical extension {oid} that is not supported")]
    CriticalExtension {
        /// The extension's object identifier.
        oid: Text,
    },
    /// Anything else.
    #[error("{0}")]
    Other(Text),
}

impl CertificateProblem {
    /// The problem behind a refusal of webpki's, with what the certificate says.
    pub(super) fn explain(
        refusal: &rustls::Error,
        leaf: &CertificateDer<'_>,
        name: &ServerName<'_>,
        now: UnixTime,
        has_bundle: bool,
    ) -> Self {
        let Ok((_, leaf)) = X509Certificate::from_der(leaf) else {
            return Self::Other(refusal.to_string().into());
        };
        let rustls::Error::InvalidCertificate(refusal) = refusal else {
            return Self::Other(refusal.to_string().into());
        };
        match refusal {
            CertificateError::ExpiredContext { not_after, .. } => {
                Self::Expired { not_after: timestamp(*not_after), now: timestamp(now) }
            }
            CertificateError::NotValidYetContext { not_before, .. } => {
                Self::NotYetValid { not_before: timestamp(*not_before), now: timestamp(now) }
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Self::wrong_name(&leaf, name)
            }
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
                Self::NotForServers
            }
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                Self::unknown_issuer(&leaf, has_bundle)
            }
            other => Self::Other(other.to_string().into()),
        }
    }

    pub(super) fn wrong_name(leaf: &X509Certificate<'_>, name: &ServerName<'_>) -> Self {
        let (wanted, names) = (name.to_str().as_ref().into(), names(leaf));
        if names.is_empty() { Self::NoNames { wanted } } else { Self::WrongName { wanted, names } }
    }

    pub(super) fn unknown_issuer(leaf: &X509Certificate<'_>, has_bundle: bool) -> Self {
        Self::UnknownIssuer { issuer: leaf.issuer().to_string().into(), has_bundle }
    }
}

/// The names that a server can have in a certificate: DNS names and addresses.
fn names(leaf: &X509Certificate<'_>) -> Vec<Text> {
    let Ok(Some(extension)) = leaf.subject_alternative_name() else { return Vec::new() };
    let shown = extension.value.general_names.iter().filter_map(|name| match name {
        GeneralName::DNSName(name) => Some((*name).into()),
        GeneralName::IPAddress(octets) => address(octets).map(|address| address.to_string().into()),
        _ => None,
    });
    shown.take(NAMES_SHOWN + 1).collect()
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from)).ok()
}

pub(super) fn timestamp(time: UnixTime) -> Timestamp {
    i64::try_from(time.as_secs()).ok().and_then(|s| Timestamp::from_second(s).ok()).unwrap_or(Timestamp::MAX)
}

struct List<'a>(&'a [Text]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().take(NAMES_SHOWN).enumerate() {
            write!(f, "{}{name}", if index == 0 { "" } else { ", " })?;
        }
        if self.0.len() > NAMES_SHOWN { f.write_str(", …") } else { Ok(()) }
    }
}

struct Trust(bool);

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 { super::CA_BUNDLE } else { "the system's roots" })
    }
}
