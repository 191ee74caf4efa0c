//! Certificates, as a server in the same process shows them.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyUsagePurpose, date_time_ymd,
};
use rstest::rstest;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use similar_asserts::assert_eq;

use super::super::client::{Cause, Options};
use super::super::error::Failure;
use super::super::tests::in_process::{Behaviour, Certificate, InProcess, START};
use super::{CertificateProblem, Identity, IdentityError};

const NAME: &str = "ext.test";

fn leaf(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name = named("an extension");
    params
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

fn ca(name: &str) -> CertificateParams {
    let mut params = leaf(&[]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name = named(name);
    params
}

fn with(mut params: CertificateParams, change: impl FnOnce(&mut CertificateParams)) -> CertificateParams {
    change(&mut params);
    params
}

fn as_ca(params: CertificateParams) -> CertificateParams {
    with(params, |params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained))
}

fn expired(params: CertificateParams) -> CertificateParams {
    with(params, |params| {
        params.not_before = date_time_ymd(2024, 1, 1);
        params.not_after = date_time_ymd(2025, 1, 1);
    })
}

fn of_the_future(params: CertificateParams) -> CertificateParams {
    with(params, |params| params.not_before = date_time_ymd(2027, 1, 1))
}

fn only_for_clients(params: CertificateParams) -> CertificateParams {
    with(params, |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth])
}

/// A certificate that stands in the bundle itself.
fn in_bundle(params: CertificateParams) -> (Certificate, String) {
    let certificate = Certificate::self_signed(params);
    let pem = certificate.pem();
    (certificate, pem)
}

/// A certificate signed by a CA that stands in the bundle.
fn signed(params: CertificateParams) -> (Certificate, String) {
    signed_by(ca("a root"), params)
}

fn signed_by(issuer: CertificateParams, params: CertificateParams) -> (Certificate, String) {
    let issuer = Certificate::self_signed(issuer);
    (Certificate::signed_by(params, &issuer), issuer.pem())
}

/// A certificate below an intermediate that is shown, below a CA that stands in the bundle.
fn below_intermediate(root: CertificateParams, params: CertificateParams) -> (Certificate, String) {
    let root = Certificate::self_signed(root);
    let intermediate = Certificate::signed_by(ca("an intermediate"), &root);
    (Certificate::signed_by(params, &intermediate).with_intermediate(&intermediate), root.pem())
}

/// A certificate of an issuer that the bundle does not know.
fn of_a_stranger(params: CertificateParams) -> (Certificate, String) {
    let stranger = Certificate::self_signed(ca("a stranger"));
    (Certificate::signed_by(params, &stranger), Certificate::self_signed(ca("a root")).pem())
}

/// A CA of the same name as the one in the bundle, with another key.
fn of_a_namesake(params: CertificateParams) -> (Certificate, String) {
    let namesake = Certificate::self_signed(ca("a root"));
    (Certificate::signed_by(params, &namesake), Certificate::self_signed(ca("a root")).pem())
}

fn among_junk((certificate, pem): (Certificate, String)) -> (Certificate, String) {
    let other = Certificate::self_signed(ca("another")).pem();
    let broken = "-----BEGIN CERTIFICATE-----\nbm90IGEgY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n";
    (
        certificate,
        format!("# the CA of the platform\n{other}\nBag Attributes: x\n{broken}{pem}\ntrailing words"),
    )
}

async fn judged(certificate: &Certificate, bundle: &str) -> Result<(), Failure> {
    let server = InProcess::with_certificate(certificate, bundle, &[b"h2"]);
    server.behave(Behaviour::answer(200, r#"{"status":"Success"}"#));
    let client = server.client(Options::default());
    let answer = client.discover(&server.extension("ext-a"), Cause::Change).await;
    answer.map(|_| ()).map_err(|error| error.failure.clone())
}

#[rstest]
#[case::signed_by_a_ca_of_the_bundle(signed(leaf(&[NAME])))]
#[case::below_an_intermediate(below_intermediate(ca("a root"), leaf(&[NAME])))]
#[case::self_signed(in_bundle(leaf(&[NAME])))]
#[case::self_signed_and_ca(in_bundle(as_ca(leaf(&[NAME]))))]
#[case::self_signed_and_only_for_signing(in_bundle(with(as_ca(leaf(&[NAME])), |params| {
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
})))]
#[case::ca_signed_by_another_ca_of_the_bundle(signed(as_ca(leaf(&[NAME]))))]
#[case::ca_for_servers_signed_by_another(signed(with(as_ca(leaf(&[NAME])), |params| {
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
})))]
#[case::ca_below_an_intermediate(below_intermediate(ca("a root"), as_ca(leaf(&[NAME]))))]
#[case::ca_without_a_wanted_path_length(in_bundle(with(leaf(&[NAME]), |params| {
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
})))]
#[case::in_the_bundle_without_its_issuer({
    let (certificate, _) = of_a_stranger(leaf(&[NAME]));
    let pem = certificate.pem();
    (certificate, pem)
})]
#[case::bundle_with_junk(among_junk(signed(leaf(&[NAME]))))]
#[case::bundle_with_junk_and_a_ca_as_leaf(among_junk(in_bundle(as_ca(leaf(&[NAME])))))]
#[tokio::test(start_paused = true)]
async fn accepted(#[case] (certificate, bundle): (Certificate, String)) {
    assert_eq!(judged(&certificate, &bundle).await, Ok(()));
}

#[rstest]
#[case::four("192.0.2.7", "https://192.0.2.7:9443")]
#[case::six("2001:db8::7", "https://[2001:db8::7]:9443")]
#[tokio::test(start_paused = true)]
async fn an_address_is_a_name_too(#[case] address: &str, #[case] url: &str) {
    for params in [leaf(&[address]), as_ca(leaf(&[address]))] {
        let (certificate, bundle) = in_bundle(params);
        let server = InProcess::with_certificate(&certificate, &bundle, &[b"h2"]);
        server.behave(Behaviour::answer(200, r#"{"status":"Success"}"#));
        let client = server.client(Options::default());
        let answer = client.discover(&server.extension_at("ext-a", url), Cause::Change).await;
        assert_eq!(answer.err(), None);
    }
}

#[rstest]
#[case::wrong_name(signed(leaf(&["other.test", "192.0.2.7"])), "it is for other.test, 192.0.2.7, not for ext.test")]
#[case::wrong_name_of_a_ca(in_bundle(as_ca(leaf(&["other.test"]))), "it is for other.test, not for ext.test")]
#[case::no_names(
    signed(leaf(&[])),
    "it has no subject alternative name, so it is not for ext.test; a common name is not used"
)]
#[case::no_names_but_a_common_name(
    in_bundle(with(as_ca(leaf(&[])), |params| params.distinguished_name = named(NAME))),
    "it has no subject alternative name, so it is not for ext.test; a common name is not used"
)]
#[case::expired(
    signed(expired(leaf(&[NAME]))),
    "it expired at 2025-01-01T00:00:00Z, and it is 2026-01-01T00:00:00Z now"
)]
#[case::expired_ca(
    in_bundle(expired(as_ca(leaf(&[NAME])))),
    "it expired at 2025-01-01T00:00:00Z, and it is 2026-01-01T00:00:00Z now"
)]
#[case::not_yet_valid(
    signed(of_the_future(leaf(&[NAME]))),
    "it is valid from 2027-01-01T00:00:00Z on, and it is 2026-01-01T00:00:00Z now"
)]
#[case::ca_not_yet_valid(
    in_bundle(of_the_future(as_ca(leaf(&[NAME])))),
    "it is valid from 2027-01-01T00:00:00Z on, and it is 2026-01-01T00:00:00Z now"
)]
#[case::only_for_clients(
    signed(only_for_clients(leaf(&[NAME]))),
    "its extended key usage does not include server authentication"
)]
#[case::ca_only_for_clients(
    in_bundle(only_for_clients(as_ca(leaf(&[NAME])))),
    "its extended key usage does not include server authentication"
)]
#[case::unknown_issuer(
    of_a_stranger(leaf(&[NAME])),
    r#"it is issued by "CN=a stranger", and no certificate in spec.clientConfig.caBundle vouches for it"#
)]
#[case::ca_of_an_unknown_issuer(
    of_a_stranger(as_ca(leaf(&[NAME]))),
    r#"it is issued by "CN=a stranger", and no certificate in spec.clientConfig.caBundle vouches for it"#
)]
#[case::issuer_with_another_key(
    of_a_namesake(leaf(&[NAME])),
    r#"it is issued by "CN=a root", and no certificate in spec.clientConfig.caBundle vouches for it"#
)]
#[case::ca_of_an_issuer_with_another_key(
    of_a_namesake(as_ca(leaf(&[NAME]))),
    r#"it is issued by "CN=a root", and no certificate in spec.clientConfig.caBundle vouches for it"#
)]
#[case::ca_of_an_issuer_that_is_none(
    signed_by(with(leaf(&[]), |params| params.is_ca = IsCa::ExplicitNoCa), as_ca(leaf(&[NAME]))),
    r#"it is issued by "CN=an extension", and no certificate in spec.clientConfig.caBundle vouches for it"#
)]
#[case::ca_of_an_issuer_that_may_not_sign(
    signed_by(
        with(ca("a root"), |params| params.key_usages = vec![KeyUsagePurpose::DigitalSignature]),
        as_ca(leaf(&[NAME]))
    ),
    r#"it is issued by "CN=a root", and no certificate in spec.clientConfig.caBundle vouches for it"#
)]
#[case::ca_of_an_expired_issuer(
    signed_by(expired(ca("a root")), as_ca(leaf(&[NAME]))),
    r#"it is issued by "CN=a root", and no certificate in spec.clientConfig.caBundle vouches for it"#
)]
#[case::ca_too_far_below(
    below_intermediate(
        with(ca("a root"), |params| params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0))),
        as_ca(leaf(&[NAME]))
    ),
    r#"it is issued by "CN=an intermediate", and no certificate in spec.clientConfig.caBundle vouches for it"#
)]
#[tokio::test(start_paused = true)]
async fn refused_for_its_real_reason(
    #[case] (certificate, bundle): (Certificate, String),
    #[case] reason: &str,
) {
    let expected = Failure::Certificate { address: "ext.test:9443".into(), reason: reason.into() };
    assert_eq!(judged(&certificate, &bundle).await, Err(expected));
}

/// webpki looks at time and purpose first, so that only a direct question shows that they are asked for here too.
#[rstest]
#[case::expired(expired(as_ca(leaf(&[NAME]))))]
#[case::not_yet_valid(of_the_future(as_ca(leaf(&[NAME]))))]
#[case::only_for_clients(only_for_clients(as_ca(leaf(&[NAME]))))]
fn standing_in_the_bundle_is_not_enough(#[case] params: CertificateParams) {
    let certificate = Certificate::self_signed(params).chain.remove(0);
    let start: jiff::Timestamp = START.parse().unwrap();
    let now = UnixTime::since_unix_epoch(start.duration_since(jiff::Timestamp::UNIX_EPOCH).unsigned_abs());
    let bundle = super::ca_leaf::Bundle { certificates: std::slice::from_ref(&certificate), now };
    let judged = bundle.vouch(&certificate, &[], &ServerName::try_from(NAME).unwrap());
    assert!(
        matches!(
            judged,
            Err(CertificateProblem::Expired { .. }
                | CertificateProblem::NotYetValid { .. }
                | CertificateProblem::NotForServers)
        ),
        "{judged:?}"
    );
}

#[rstest]
#[case::words("not a certificate")]
#[case::blank(" \n")]
#[case::only_a_key("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")]
#[case::cut_off("-----BEGIN CERTIFICATE-----\nAAAA")]
#[case::not_a_certificate_inside("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")]
#[tokio::test(start_paused = true)]
async fn a_bundle_without_a_certificate_is_named(#[case] bundle: &str) {
    let (certificate, _) = in_bundle(leaf(&[NAME]));
    let expected =
        Failure::misconfigured("spec.clientConfig.caBundle", "there is no PEM encoded certificate in it");
    assert_eq!(judged(&certificate, bundle).await, Err(expected));
}

#[tokio::test(start_paused = true)]
async fn whoever_shows_a_trusted_certificate_must_have_its_key() {
    let (mut impostor, _) = in_bundle(as_ca(leaf(&[NAME])));
    let (trusted, bundle) = in_bundle(as_ca(leaf(&[NAME])));
    impostor.chain = trusted.chain;
    let server = InProcess::with_certificate(&impostor, &bundle, &[]);
    let error = server.client(Options::default()).discover(&server.extension("ext-a"), Cause::Change).await;
    let failure = error.unwrap_err().failure.clone();
    assert!(matches!(failure, Failure::Unreachable { .. }), "{failure:?}");
}

#[test]
fn a_long_list_of_names_is_cut() {
    let names: Vec<_> = (0..30).map(|number| format!("n{number}.test").as_str().into()).collect();
    let text = CertificateProblem::WrongName { wanted: NAME.into(), names }.to_string();
    assert!(text.ends_with("n8.test, n9.test, …, not for ext.test"), "{text}");
}

/// The certificates that the server saw of us.
fn shown(server: &InProcess) -> Vec<Option<CertificateDer<'static>>> {
    server.connected.lock().clone()
}

#[tokio::test(start_paused = true)]
async fn the_client_certificate_is_shown_and_renewed_but_a_bad_pair_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let (crt, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    let write = |certificate: &Certificate| {
        std::fs::write(&crt, certificate.pem()).unwrap();
        std::fs::write(&key, certificate.key_pem()).unwrap();
    };
    let (old, new) = (Certificate::self_signed(leaf(&["me"])), Certificate::self_signed(leaf(&["me"])));
    write(&old);
    let identity = Some(Arc::new(Identity::from_files(&crt, &key).unwrap()));
    let server = InProcess::new();
    server.behave(Behaviour::answer(200, r#"{"status":"Success"}"#));
    let client = server.client(Options { identity, ..Options::default() });
    let extension = server.extension("ext-a");
    let call = async || {
        client.discover(&extension, Cause::Change).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(11)).await;
    };
    call().await;
    std::fs::write(&crt, new.pem()).unwrap(); // the key is not there yet
    call().await;
    assert_eq!(shown(&server), [Some(old.chain[0].clone())], "the old pair, on the same connection");
    write(&new);
    call().await;
    call().await;
    assert_eq!(shown(&server), [Some(old.chain[0].clone()), Some(new.chain[0].clone())]);
}

#[test]
fn a_client_certificate_that_cannot_be_used_names_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let (crt, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    let error = Identity::from_files(&crt, &key).unwrap_err();
    assert!(matches!(&error, IdentityError::Read { path, .. } if *path == crt), "{error:?}");
    let (one, other) = (Certificate::self_signed(leaf(&[])), Certificate::self_signed(leaf(&[])));
    std::fs::write(&crt, one.pem()).unwrap();
    std::fs::write(&key, other.key_pem()).unwrap();
    let error = Identity::from_files(&crt, &key).unwrap_err();
    assert!(matches!(error, IdentityError::Invalid { .. }), "{error:?}");
}
