//! Certificates of every sort, seen by the manager over real TLS.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use kapstan::{
    manager::Options,
    runtime::{self, tls::Identity},
};
use kapstan_api::extension_config::ExtensionConfig;
use kapstan_test_extension::{Target, TestCa, TestCertificate, TestExtension};
use rstest::rstest;
use serde_json::json;

use crate::{
    fixtures::{config_at, is_discovered, parsed},
    said::{assert_says, why_undiscovered},
    server::Server::{self, Embedded, Real},
    world::World,
};

/// A name that only the service network of the test knows.
const SERVICE: (&str, &str) = ("signer", "apps");
const SERVICE_NAME: &str = "signer.apps.svc";

#[rstest]
fn a_certificate_is_accepted_or_refused_for_its_real_reason(
    #[values(Embedded, Real)] server: Server,
) -> Result<()> {
    server.run(async {
        let shop = Shop::open()?;
        let world = World::start(server).await?;
        world.network.name(SERVICE_NAME);
        let mut served = Vec::new();
        for case in shop.cases()? {
            let builder = TestExtension::builder().certificate(case.shown.clone());
            served.push((world.extension(builder).await?, case));
        }
        let (_folder, identity) = shop.identity()?;
        let picky = world.extension(TestExtension::builder().client_ca(shop.clients.pem())).await?;
        let pickier = world.extension(TestExtension::builder().client_ca(shop.unknown.pem())).await?;

        let runtime = runtime::Options { identity: Some(Arc::new(identity)), ..runtime::Options::default() };
        let options = Options { sync_period: Duration::ZERO, runtime, ..Options::default() };
        let _manager = world.manager(options)?;
        for (extension, case) in &served {
            world.create(&case.config(extension)).await?;
        }
        world.create(&config_at("asks-for-our-certificate", &picky.url(), &picky.ca_bundle())).await?;
        world.create(&config_at("asks-for-another", &pickier.url(), &pickier.ca_bundle())).await?;

        for (extension, case) in &served {
            assert_verdict(&world, extension, case).await?;
        }
        world.until_config("asks-for-our-certificate", is_discovered).await?;
        let refused =
            world.until_config("asks-for-another", |config| why_undiscovered(config).is_some()).await?;
        // TLS 1.3 tells a client after its own part is over; whether it still hears why is chance.
        assert_says(
            "asks-for-another",
            &why_undiscovered(&refused).unwrap_or_default(),
            &["the connection broke"],
        );
        assert_eq!(pickier.calls_total(), 0);
        good_certificates_heal(&world, &served, &shop).await
    })
}

async fn assert_verdict(world: &World, extension: &TestExtension, case: &Case) -> Result<()> {
    let Case { name, says, .. } = case;
    if says.is_empty() {
        world.until_config(name, is_discovered).await?;
        assert_eq!(extension.calls(Target::discovery("")), 1, "{name}");
        return Ok(());
    }
    let config = world.until_config(name, |config| why_undiscovered(config).is_some()).await?;
    assert_says(name, &why_undiscovered(&config).unwrap_or_default(), says);
    assert_eq!(extension.calls_total(), 0, "{name}: nothing is said to a server that is not trusted");
    Ok(())
}

/// A good certificate in place of a bad one is all it takes.
async fn good_certificates_heal(
    world: &World,
    served: &[(Arc<TestExtension>, Case)],
    shop: &Shop,
) -> Result<()> {
    let healed: Vec<_> = served.iter().filter(|(_, case)| case.bundle == shop.ca.pem()).collect();
    for (extension, _) in &healed {
        extension.set_certificate(shop.ca.server().names(["127.0.0.1", SERVICE_NAME]).issue()?)?;
    }
    for (_, case) in &healed {
        world.until_config(case.name, is_discovered).await?;
    }
    Ok(())
}

/// An extension that shows a certificate, to a manager that has this bundle.
struct Case {
    name: &'static str,
    shown: TestCertificate,
    bundle: String,
    is_service: bool,
    /// What the condition has to say; nothing when it is accepted.
    says: &'static [&'static str],
}

impl Case {
    fn new(
        name: &'static str,
        shown: TestCertificate,
        bundle: impl Into<String>,
        says: &'static [&'static str],
    ) -> Self {
        Self { name, shown, bundle: bundle.into(), is_service: false, says }
    }

    /// With itself as the bundle.
    fn own_bundle(name: &'static str, shown: TestCertificate, says: &'static [&'static str]) -> Self {
        let bundle = shown.certificate.clone();
        Self::new(name, shown, bundle, says)
    }

    /// Reached by the name of its Service, each on a port of its own.
    fn by_service(mut self) -> Self {
        self.is_service = true;
        self
    }

    fn config(&self, extension: &TestExtension) -> ExtensionConfig {
        if !self.is_service {
            return config_at(self.name, &extension.url(), self.bundle.as_bytes());
        }
        let port = extension.address().map(|address| address.port());
        let mut config: ExtensionConfig = parsed(json!({
            "metadata": { "name": self.name },
            "spec": { "clientConfig": { "service": { "name": SERVICE.0, "namespace": SERVICE.1, "port": port } } },
        }));
        config.spec.client_config.ca_bundle = Some(k8s_openapi::ByteString(self.bundle.clone().into_bytes()));
        config
    }
}

/// Whom certificates are had from.
struct Shop {
    ca: TestCa,
    other: TestCa,
    unknown: TestCa,
    clients: TestCa,
}

impl Shop {
    fn open() -> Result<Self> {
        Ok(Self {
            ca: TestCa::new("known CA")?,
            other: TestCa::new("other CA")?,
            unknown: TestCa::new("unknown CA")?,
            clients: TestCa::new("CA of clients")?,
        })
    }

    /// The manager's own certificate, in files that live as long as the folder.
    fn identity(&self) -> Result<(tempfile::TempDir, Identity)> {
        let folder = tempfile::tempdir()?;
        let files = self.clients.client().common_name("kapstan").issue()?.write_to(folder.path())?;
        Ok((folder, Identity::from_files(files.certificate, files.key)?))
    }

    fn cases(&self) -> Result<Vec<Case>> {
        let mut cases = self.accepted()?;
        cases.extend(self.refused()?);
        cases.extend(self.refused_authorities()?);
        Ok(cases)
    }

    fn accepted(&self) -> Result<Vec<Case>> {
        let (ca, other) = (&self.ca, &self.other);
        let both = other.pem() + &ca.pem();
        Ok(vec![
            Case::new("signed", ca.server().issue()?, ca.pem(), &[]),
            Case::own_bundle("self-signed", TestCertificate::self_signed().issue()?, &[]),
            Case::own_bundle("self-signed-authority", TestCertificate::self_signed().ca().issue()?, &[]),
            Case::new("authority-signed-by-another", ca.server().ca().issue()?, both, &[]),
            Case::new("any-usage", ca.server().ca().any_usage().issue()?, ca.pem(), &[]),
            Case::new("service", ca.server().names([SERVICE_NAME]).issue()?, ca.pem(), &[]).by_service(),
            Case::own_bundle(
                "service-self-signed-authority",
                TestCertificate::self_signed().ca().names([SERVICE_NAME]).issue()?,
                &[],
            )
            .by_service(),
        ])
    }

    fn refused(&self) -> Result<Vec<Case>> {
        let bundle = self.ca.pem();
        let case = |name, shown, says| Case::new(name, shown, bundle.clone(), says);
        Ok(vec![
            case(
                "without-names",
                self.ca.server().without_names().issue()?,
                &[
                    "it has no subject alternative name, so it is not for 127.0.0.1; a common name is not used",
                ],
            ),
            case(
                "wrong-name",
                self.ca.server().names(["elsewhere.test", "10.1.2.3"]).issue()?,
                &["it is for elsewhere.test, 10.1.2.3, not for 127.0.0.1"],
            ),
            case("expired", self.ca.server().expired().issue()?, &["it expired at 2010-01-01T00:00:00Z"]),
            case(
                "not-yet-valid",
                self.ca.server().not_yet_valid().issue()?,
                &["it is valid from 2090-01-01T00:00:00Z on"],
            ),
            case(
                "for-clients",
                self.ca.server().client_only().issue()?,
                &["its extended key usage does not include server authentication"],
            ),
            case(
                "unknown-authority",
                self.unknown.server().issue()?,
                &["it is issued by \"CN=unknown CA\"", "caBundle", "vouches for it"],
            ),
            case(
                "service-wrong-name",
                self.ca.server().names(["signer.apps"]).issue()?,
                &["it is for signer.apps, not for signer.apps.svc"],
            )
            .by_service(),
            Case::new(
                "without-bundle",
                self.ca.server().issue()?,
                "",
                &["it is issued by \"CN=known CA\"", "the system's roots"],
            ),
            Case::new(
                "bundle-is-no-certificate",
                self.ca.server().issue()?,
                "-----BEGIN NOTHING-----",
                &["spec.clientConfig.caBundle cannot be used"],
            ),
        ])
    }

    /// An authority as a server's certificate is judged like any other.
    fn refused_authorities(&self) -> Result<Vec<Case>> {
        let own = TestCertificate::self_signed;
        Ok(vec![
            Case::own_bundle(
                "authority-wrong-name",
                own().ca().names(["elsewhere.test"]).issue()?,
                &["it is for elsewhere.test"],
            ),
            Case::own_bundle(
                "authority-without-names",
                own().ca().without_names().issue()?,
                &["no subject alternative name"],
            ),
            Case::own_bundle(
                "authority-expired",
                own().ca().expired().issue()?,
                &["it expired at 2010-01-01T00:00:00Z"],
            ),
            Case::own_bundle(
                "authority-for-clients",
                own().ca().client_only().issue()?,
                &["extended key usage"],
            ),
            Case::new(
                "authority-not-in-bundle",
                own().ca().issue()?,
                self.ca.pem(),
                &["is issued by", "vouches for it"],
            ),
            Case::new(
                "authority-of-unknown",
                self.unknown.server().ca().issue()?,
                self.ca.pem(),
                &["CN=unknown CA"],
            ),
            Case::new(
                "self-signed-not-in-bundle",
                own().issue()?,
                self.ca.pem(),
                &["is issued by", "vouches for it"],
            ),
        ])
    }
}
