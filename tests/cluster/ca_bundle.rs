//! CA bundles that come from Secrets, whatever comes first.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::Result;
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kapstan::manager::Options;
use kapstan_api::{annotations::INJECT_CA_FROM_SECRET, extension_config::ExtensionConfig};
use kapstan_test_extension::{Target, TestCa, TestExtension};
use kube::{
    Api,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams},
};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    audit::{AuditEvent, AuditMark},
    fixtures::{config_at, is_discovered},
    said::{assert_says, remark, why_undiscovered},
    server::{
        Server::{self, Embedded, Real},
        until,
    },
    world::{Running, World},
};

#[rstest]
fn a_bundle_is_taken_once_its_secret_is_right_whatever_comes_first(
    #[values(Embedded, Real)] server: Server,
) -> Result<()> {
    server.run(async {
        let vault = Vault::open(server).await?;
        vault.a_secret_that_is_there_costs_one_discovery_and_two_writes().await?;
        vault.a_secret_that_comes_later_is_taken().await?;
        vault.an_entry_that_comes_later_is_taken().await?;
        vault.an_empty_entry_counts_as_missing().await?;
        vault.an_annotation_that_names_no_secret_is_told().await?;
        vault.a_secret_that_goes_leaves_the_bundle_in_place().await?;
        vault.a_new_certificate_in_the_secret_is_taken().await?;
        vault.a_secret_made_again_is_taken().await?;
        vault.configs_that_share_a_secret_share_its_watch().await?;
        vault.nothing_was_refused_or_written_twice()
    })
}

/// A namespace with Secrets, one extension for all configs, one manager.
struct Vault {
    world: World,
    manager: Running,
    extension: Arc<TestExtension>,
    namespace: String,
}

impl Vault {
    async fn open(server: Server) -> Result<Self> {
        let world = World::start(server).await?;
        let extension = world.extension(TestExtension::builder()).await?;
        let namespace = world.namespace("vault").await?;
        let manager = world.manager(Options { sync_period: Duration::ZERO, ..Options::default() })?;
        Ok(Self { world, manager, extension, namespace })
    }

    async fn a_secret_that_is_there_costs_one_discovery_and_two_writes(&self) -> Result<()> {
        self.create_secret("present", &self.bundle()).await?;
        self.create_config("present").await?;
        self.until_in_place("present").await?;
        self.manager.until_idle().await?;
        assert_eq!(self.discoveries("present"), 1);
        assert_eq!(self.writes("present")?, ["spec", "status"]);
        Ok(())
    }

    async fn a_secret_that_comes_later_is_taken(&self) -> Result<()> {
        self.create_config("late").await?;
        self.until_missing("late", "not found").await?;
        self.create_secret("late", &self.bundle()).await?;
        self.until_in_place("late").await?;
        assert_eq!(self.discoveries("late"), 1);
        assert_eq!(self.writes("late")?, ["status", "spec", "status"]);
        Ok(())
    }

    async fn an_entry_that_comes_later_is_taken(&self) -> Result<()> {
        let data = [("tls.crt".to_owned(), ByteString(self.bundle()))];
        self.create_secret_with("keyless", BTreeMap::from(data)).await?;
        self.create_config("keyless").await?;
        self.until_missing("keyless", "has no entry ca.crt").await?;
        self.set_entry("keyless", &self.bundle()).await?;
        self.until_in_place("keyless").await?;
        assert_eq!(self.discoveries("keyless"), 1);
        assert_eq!(self.writes("keyless")?, ["status", "spec", "status"]);
        Ok(())
    }

    async fn an_empty_entry_counts_as_missing(&self) -> Result<()> {
        self.create_secret("empty", b"").await?;
        self.create_config("empty").await?;
        self.until_missing("empty", "has no entry ca.crt, or an empty one").await?;
        self.set_entry("empty", &self.bundle()).await?;
        self.until_in_place("empty").await?;
        // Emptied again, it takes nothing away.
        self.set_entry("empty", b"").await?;
        self.until_remark("empty", "has no entry ca.crt, or an empty one").await?;
        self.until_in_place("empty").await?;
        assert_eq!(self.discoveries("empty"), 1);
        Ok(())
    }

    async fn an_annotation_that_names_no_secret_is_told(&self) -> Result<()> {
        for (name, value) in [("malformed", "no-slash"), ("half", "only-namespace/"), ("blank", "")] {
            self.create_secret(name, &self.bundle()).await?;
            self.create_config_naming(name, value).await?;
            let config = self.world.until_config(name, |config| why_undiscovered(config).is_some()).await?;
            let says = [&format!("{value:?}"), INJECT_CA_FROM_SECRET, "<namespace>/<name>"];
            assert_says(name, &why_undiscovered(&config).unwrap_or_default(), &says);
            assert_eq!(self.discoveries(name), 0, "{name}");
            let annotations = json!({ INJECT_CA_FROM_SECRET: format!("{}/{name}", self.namespace) });
            self.patch(name, &json!({ "metadata": { "annotations": annotations } })).await?;
            self.until_in_place(name).await?;
            assert_eq!(self.discoveries(name), 1, "{name}");
        }
        Ok(())
    }

    async fn a_secret_that_goes_leaves_the_bundle_in_place(&self) -> Result<()> {
        self.secrets().delete("present", &DeleteParams::default()).await?;
        self.until_remark("present", "not found").await?;
        self.until_in_place("present").await?;
        assert_eq!(self.discoveries("present"), 1);
        self.create_secret("present", &self.bundle()).await?;
        self.world.until_config("present", |config| remark(config).is_empty()).await?;
        self.manager.until_idle().await?;
        assert_eq!(self.discoveries("present"), 1, "nothing changed in how it is called");
        assert_eq!(self.writes("present")?, ["spec", "status", "status", "status"]);
        Ok(())
    }

    async fn a_new_certificate_in_the_secret_is_taken(&self) -> Result<()> {
        let rotating = self.world.extension(TestExtension::builder()).await?;
        self.create_secret("rotated", &rotating.ca_bundle()).await?;
        self.create_config_of("rotated", &rotating, &format!("{}/rotated", self.namespace)).await?;
        self.until_bundle("rotated", &rotating.ca_bundle()).await?;
        rotating.set_certificate(TestCa::new("next CA")?.server().issue()?)?;
        self.set_entry("rotated", &rotating.ca_bundle()).await?;
        self.until_bundle("rotated", &rotating.ca_bundle()).await?;
        self.manager.until_idle().await?;
        assert_eq!(rotating.calls(Target::discovery("/rotated")), 2);
        assert_eq!(self.writes("rotated")?, ["spec", "status", "spec", "status"]);
        Ok(())
    }

    async fn a_secret_made_again_is_taken(&self) -> Result<()> {
        let moving = self.world.extension(TestExtension::builder()).await?;
        self.create_secret("again", &moving.ca_bundle()).await?;
        self.create_config_of("again", &moving, &format!("{}/again", self.namespace)).await?;
        self.until_bundle("again", &moving.ca_bundle()).await?;
        moving.set_certificate(TestCa::new("another CA")?.server().issue()?)?;
        self.secrets().delete("again", &DeleteParams::default()).await?;
        self.create_secret("again", &moving.ca_bundle()).await?;
        self.until_bundle("again", &moving.ca_bundle()).await?;
        self.world.until_config("again", |config| remark(config).is_empty()).await?;
        self.manager.until_idle().await?;
        assert_eq!(moving.calls(Target::discovery("/again")), 2);
        Ok(())
    }

    async fn configs_that_share_a_secret_share_its_watch(&self) -> Result<()> {
        let names: Vec<String> = (0..20).map(|number| format!("sharing-{number}")).collect();
        let shared = format!("{}/shared", self.namespace);
        for name in &names {
            self.create_config_naming(name, &shared).await?;
        }
        self.world.until_config("sharing-19", |config| why_undiscovered(config).is_some()).await?;
        self.create_secret("shared", &self.bundle()).await?;
        for name in &names {
            self.until_in_place(name).await?;
            assert_eq!(self.discoveries(name), 1, "{name}");
        }
        let asked = self.asked_of_secret("shared")?;
        let verbs: Vec<_> = asked.iter().map(|event| (event.verb.as_str(), event.is_open)).collect();
        assert_eq!(verbs, [("list", false), ("watch", true)]);
        for name in &names {
            self.configs().delete(name, &DeleteParams::default()).await?;
        }
        until("the end of a watch that nobody needs", async || {
            let asked = self.asked_of_secret("shared")?;
            Ok((!asked.iter().any(|event| event.is_open)).then_some(()))
        })
        .await
    }

    fn nothing_was_refused_or_written_twice(&self) -> Result<()> {
        let writes = self.world.writes(AuditMark::Beginning)?;
        assert!(writes.iter().all(|write| write.code == Some(200)), "{writes:?}");
        for config in ["again", "keyless", "late", "malformed", "half", "blank", "sharing-7"] {
            let bundles = self.writes(config)?.iter().filter(|what| **what == "spec").count();
            assert_eq!(bundles, if config == "again" { 2 } else { 1 }, "{config}");
        }
        Ok(())
    }

    // ---- waiting ----

    async fn until_missing(&self, name: &str, says: &str) -> Result<()> {
        let config = self.world.until_config(name, |config| why_undiscovered(config).is_some()).await?;
        let secret = format!("Secret {}/{name}", self.namespace);
        assert_says(name, &why_undiscovered(&config).unwrap_or_default(), &[&secret, says]);
        assert_eq!(self.discoveries(name), 0, "{name}");
        Ok(())
    }

    async fn until_remark(&self, name: &str, says: &str) -> Result<()> {
        let is_remarked = |config: &_| is_discovered(config) && !remark(config).is_empty();
        let config = self.world.until_config(name, is_remarked).await?;
        let secret = format!("Secret {}/{name}", self.namespace);
        assert_says(name, &remark(&config), &[&secret, says, "the CA bundle that is in place stays in use"]);
        Ok(())
    }

    /// Discovered, with the bundle of the extension that most configs here share.
    async fn until_in_place(&self, name: &str) -> Result<()> {
        self.until_bundle(name, &self.bundle()).await
    }

    async fn until_bundle(&self, name: &str, bundle: &[u8]) -> Result<()> {
        let is_in_place = |config: &ExtensionConfig| {
            let found = config.spec.client_config.ca_bundle.as_ref();
            is_discovered(config) && found.is_some_and(|found| found.0 == bundle)
        };
        self.world.until_config(name, is_in_place).await?;
        Ok(())
    }

    // ---- counting ----

    fn discoveries(&self, name: &str) -> u64 {
        self.extension.calls(Target::discovery(&format!("/{name}")))
    }

    /// What was written of a config, in order.
    fn writes(&self, name: &str) -> Result<Vec<&'static str>> {
        let mut writes = self.world.writes(AuditMark::Beginning)?;
        writes.retain(|write| write.resource == "extensionconfigs" && write.name == name);
        Ok(writes.iter().map(|write| if write.subresource == "status" { "status" } else { "spec" }).collect())
    }

    fn asked_of_secret(&self, name: &str) -> Result<Vec<AuditEvent>> {
        let mut asked = self.world.asked(AuditMark::Beginning)?;
        let field = Some(format!("metadata.name={name}"));
        asked.retain(|event| event.resource == "secrets" && event.parameter("fieldSelector") == field);
        Ok(asked)
    }

    // ---- acting ----

    fn bundle(&self) -> Vec<u8> {
        self.extension.ca_bundle()
    }

    fn configs(&self) -> Api<ExtensionConfig> {
        Api::all(self.world.client.clone())
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.world.client.clone(), &self.namespace)
    }

    async fn create_config(&self, name: &str) -> Result<()> {
        self.create_config_naming(name, &format!("{}/{name}", self.namespace)).await
    }

    async fn create_config_naming(&self, name: &str, secret: &str) -> Result<()> {
        self.create_config_of(name, &self.extension, secret).await
    }

    async fn create_config_of(&self, name: &str, extension: &TestExtension, secret: &str) -> Result<()> {
        let mut config = config_at(name, &extension.url_of(&format!("/{name}")), b"");
        let annotations = [(INJECT_CA_FROM_SECRET.to_owned(), secret.to_owned())];
        config.metadata.annotations = Some(BTreeMap::from(annotations));
        self.world.create(&config).await?;
        Ok(())
    }

    async fn create_secret(&self, name: &str, bundle: &[u8]) -> Result<()> {
        let data = [("ca.crt".to_owned(), ByteString(bundle.to_vec()))];
        self.create_secret_with(name, BTreeMap::from(data)).await
    }

    async fn create_secret_with(&self, name: &str, data: BTreeMap<String, ByteString>) -> Result<()> {
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(self.namespace.clone()),
            ..ObjectMeta::default()
        };
        self.world.create(&Secret { metadata, data: Some(data), ..Secret::default() }).await?;
        Ok(())
    }

    async fn set_entry(&self, name: &str, bundle: &[u8]) -> Result<()> {
        let body = json!({ "data": { "ca.crt": ByteString(bundle.to_vec()) } });
        self.secrets().patch(name, &PatchParams::default(), &Patch::Merge(&body)).await?;
        Ok(())
    }

    async fn patch(&self, name: &str, body: &Value) -> Result<()> {
        self.configs().patch(name, &PatchParams::default(), &Patch::Merge(body)).await?;
        Ok(())
    }
}
