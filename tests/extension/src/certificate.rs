//! Certificates of every sort that a client meets: good ones, and each fault on its own.
//!
//! All are ECDSA P-256. "Expired" and "not yet valid" are decades away from today, so no clock is asked here
//! and a client may run on any.

use std::fs;
use std::path::Path;

use kapstan_sdk::{CertificateFiles, Pem};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};

/// The names a certificate has unless other ones are asked for.
pub const DEFAULT_NAMES: [&str; 4] = ["localhost", "127.0.0.1", "::1", crate::IN_PROCESS_HOST];

/// A certificate authority that issues certificates for tests.
#[derive(Debug)]
pub struct TestCa {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl TestCa {
    /// A new authority with a key of its own; `name` is its common name.
    ///
    /// # Errors
    /// When no key can be made.
    pub fn new(name: &str) -> anyhow::Result<Self> {
        let mut params = params(name, Validity::Now);
        as_ca(&mut params);
        Ok(Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)? })
    }

    /// The authority's certificate: what a CA bundle contains.
    #[must_use]
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Begins a certificate signed by this authority: [`DEFAULT_NAMES`], valid now, for servers, CA:false.
    pub fn server(&self) -> CertificateBuilder<'_> {
        CertificateBuilder::new(Some(&self.issuer), Usage::Server)
    }

    /// Begins a certificate for a client of this authority (mTLS).
    pub fn client(&self) -> CertificateBuilder<'_> {
        CertificateBuilder::new(Some(&self.issuer), Usage::Client)
    }
}

/// A certificate with its key, and the bundle by which a client is to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestCertificate {
    /// The certificate, PEM.
    pub certificate: String,
    /// Its key, PKCS#8 in PEM.
    pub key: String,
    /// The certificate of who signed it, PEM; of a self-signed one, itself.
    pub ca_bundle: String,
}

impl TestCertificate {
    /// Begins a certificate that signs itself: [`DEFAULT_NAMES`], valid now, for servers, CA:false. It is its
    /// own bundle.
    pub fn self_signed() -> CertificateBuilder<'static> {
        CertificateBuilder::new(None, Usage::Server)
    }

    /// What the sdk serves.
    #[must_use]
    pub fn to_pem(&self) -> Pem {
        Pem {
            certificate: self.certificate.clone().into_bytes(),
            key: self.key.clone().into_bytes(),
            client_ca: None,
        }
    }

    /// Writes `tls.crt`, `tls.key` and `ca.crt` into an existing directory.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_to(&self, directory: &Path) -> anyhow::Result<CertificateFiles> {
        fs::write(directory.join("tls.crt"), &self.certificate)?;
        fs::write(directory.join("tls.key"), &self.key)?;
        fs::write(directory.join("ca.crt"), &self.ca_bundle)?;
        Ok(CertificateFiles::in_directory(directory))
    }
}

#[derive(Clone, Copy, Debug)]
enum Validity {
    Past,
    Now,
    Future,
}

#[derive(Clone, Copy, Debug)]
enum Usage {
    Server,
    Client,
    Any,
}

/// A certificate to be; see [`TestCa::server`] and [`TestCertificate::self_signed`].
#[derive(Debug)]
#[must_use]
pub struct CertificateBuilder<'a> {
    issuer: Option<&'a CertifiedIssuer<'static, KeyPair>>,
    names: Vec<String>,
    common_name: String,
    validity: Validity,
    usage: Usage,
    ca: bool,
}

impl<'a> CertificateBuilder<'a> {
    fn new(issuer: Option<&'a CertifiedIssuer<'static, KeyPair>>, usage: Usage) -> Self {
        let names = DEFAULT_NAMES.map(str::to_owned).to_vec();
        Self { issuer, names, common_name: "extension".into(), validity: Validity::Now, usage, ca: false }
    }

    /// Exactly these DNS names and IP addresses.
    pub fn names<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.names = names.into_iter().map(Into::into).collect();
        self
    }

    /// No subject alternative name at all; only the common name says `localhost`, which no current client looks
    /// at.
    pub fn without_names(mut self) -> Self {
        self.names.clear();
        self.common_name = "localhost".into();
        self
    }

    /// The subject's common name; `extension` unless set. A client's identity is here.
    pub fn common_name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.common_name);
        self
    }

    /// Valid in the years 2000 to 2010 only.
    pub fn expired(mut self) -> Self {
        self.validity = Validity::Past;
        self
    }

    /// Valid in the years 2090 to 2100 only.
    pub fn not_yet_valid(mut self) -> Self {
        self.validity = Validity::Future;
        self
    }

    /// Extended key usage `clientAuth` only: not fit for a server.
    pub fn client_only(mut self) -> Self {
        self.usage = Usage::Client;
        self
    }

    /// No extended key usage at all, which allows any.
    pub fn any_usage(mut self) -> Self {
        self.usage = Usage::Any;
        self
    }

    /// basicConstraints CA:true, as a self-signed issuer with `isCA` makes them.
    pub fn ca(mut self) -> Self {
        self.ca = true;
        self
    }

    /// Makes the key and the certificate.
    ///
    /// # Errors
    /// When no key can be made or a name is neither a DNS name nor an address.
    pub fn issue(self) -> anyhow::Result<TestCertificate> {
        let mut params = params(&self.common_name, self.validity);
        params.subject_alt_names = CertificateParams::new(self.names)?.subject_alt_names;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        if self.ca {
            as_ca(&mut params);
        }
        params.extended_key_usages = match self.usage {
            Usage::Server => vec![ExtendedKeyUsagePurpose::ServerAuth],
            Usage::Client => vec![ExtendedKeyUsagePurpose::ClientAuth],
            Usage::Any => vec![],
        };
        let key = KeyPair::generate()?;
        let certificate = match self.issuer {
            Some(issuer) => params.signed_by(&key, issuer as &Issuer<'_, KeyPair>)?,
            None => params.self_signed(&key)?,
        };
        Ok(TestCertificate {
            ca_bundle: self.issuer.map_or_else(|| certificate.pem(), CertifiedIssuer::pem),
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }
}

fn params(common_name: &str, validity: Validity) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    let (from, to) = match validity {
        Validity::Past => (2000, 2010),
        Validity::Now => (2020, 2080),
        Validity::Future => (2090, 2100),
    };
    params.not_before = date_time_ymd(from, 1, 1);
    params.not_after = date_time_ymd(to, 1, 1);
    params
}

fn as_ca(params: &mut CertificateParams) {
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages =
        vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
}
