//! The authority of one control plane, and what it signs.

use anyhow::{Context as _, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// A certificate and its key, both PEM.
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// The authority that the API server trusts for clients, and clients trust for the API server.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    der: Vec<u8>,
}

impl Authority {
    pub(crate) fn new() -> Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "kapstan-envtest");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().context("failed to generate the authority's key")?;
        let certificate = params.self_signed(&key).context("failed to sign the authority")?;
        let (pem, der) = (certificate.pem(), certificate.der().to_vec());
        Ok(Self { issuer: Issuer::new(params, key), pem, der })
    }

    /// The authority's certificate, PEM.
    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// The authority's certificate, DER.
    pub(crate) fn der(&self) -> &[u8] {
        &self.der
    }

    /// A certificate for a server under these DNS names and IP addresses.
    pub(crate) fn server(&self, names: &[&str]) -> Result<Pair> {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).context("a name is not fit for a certificate")?;
        params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params)
    }

    /// A certificate for a client that Kubernetes knows under this user name, in this group.
    pub(crate) fn client(&self, user: &str, group: Option<&str>) -> Result<Pair> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, user);
        if let Some(group) = group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    fn sign(&self, mut params: CertificateParams) -> Result<Pair> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().context("failed to generate a key")?;
        let certificate = params.signed_by(&key, &self.issuer).context("failed to sign a certificate")?;
        Ok(Pair { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

/// The keys for the tokens of service accounts, PEM: private and public.
pub(crate) fn token_keys() -> Result<(String, String)> {
    let key = KeyPair::generate().context("failed to generate the token key")?;
    Ok((key.serialize_pem(), key.public_key_pem()))
}
