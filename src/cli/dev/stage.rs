//! What runs in `kapstan dev`.

use std::sync::Arc;

use anyhow::{Context as _, bail};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use kapstan_embedded::{AuditLevel, Listener, Server};
use kapstan_test_extension::{TestExtension, Variables};
use kube::Client;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::at;
use crate::{
    cli::manager::dialer,
    clock::Clock,
    crds,
    manager::{Manager, Options},
    manifests::{self, Manifest, Object},
    metrics::Metrics,
    samples,
};

/// Who applies the objects, in their managed fields.
const FIELD_MANAGER: &str = "kapstan-dev";

/// An API server, an extension and the manager.
pub(super) struct Stage {
    objects: Vec<Object>,
    client: Client,
    listener: Listener,
    extension: TestExtension,
    metrics: Metrics,
    manager: JoinHandle<()>,
    stop: CancellationToken,
}

impl Stage {
    /// Starts everything. Nothing is applied yet, but what the manifests have is known to be objects.
    pub(super) async fn set(
        port: u16,
        extension_port: u16,
        manifests: Vec<Manifest>,
    ) -> anyhow::Result<Self> {
        let extension = extension(extension_port).await?;
        let (url, bundle) = (extension.url(), BASE64_STANDARD.encode(extension.ca_bundle()));
        let fill = |manifest: Manifest| manifest.fill(samples::URL, &url).fill(samples::CA_BUNDLE, &bundle);
        let manifests: Vec<_> = manifests.into_iter().map(fill).collect();
        let objects = manifests::objects(&manifests)?;
        let server = server_with_crds()?;
        let listener = server.listen(at(port)).await?;
        let (metrics, clock, stop) = (Metrics::new(), Clock::system(), CancellationToken::new());
        let dialer = Arc::new(dialer(&clock)?);
        let client = server.client_named("kapstan");
        let manager = Manager::new(Options::default(), client, dialer, clock, metrics.clone());
        let manager = tokio::spawn(manager.run(stop.clone()));
        let client = server.client_named(FIELD_MANAGER);
        Ok(Self { objects, client, listener, extension, metrics, manager, stop })
    }

    /// Applies the objects and says how many they are; if one is refused, which ones, and what became of the others.
    pub(super) async fn apply(&self) -> anyhow::Result<usize> {
        // Whoever owns a field in a new server, it is the objects that were asked for.
        let options = manifests::Options { field_manager: FIELD_MANAGER, force: true };
        let report = manifests::apply(&self.client, self.objects.clone(), options).await;
        if !report.refused.is_empty() {
            bail!("{report}");
        }
        Ok(report.applied.len())
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(super) fn url(&self) -> String {
        self.listener.url()
    }

    pub(super) fn extension_url(&self) -> String {
        self.extension.url()
    }

    pub(super) fn kubeconfig(&self) -> String {
        self.listener.kubeconfig()
    }

    /// Whether the manager is no more, although nobody has told it to end.
    pub(super) fn has_ended(&self) -> bool {
        self.manager.is_finished()
    }

    /// Ends everything in turn: the manager, the API server, the extension.
    pub(super) async fn strike(self) {
        self.stop.cancel();
        if let Err(error) = self.manager.await {
            tracing::error!(%error, "the manager panicked");
        }
        self.listener.stop().await;
    }
}

/// An API server that has our CRDs and those of the samples' templates.
pub(super) fn server_with_crds() -> anyhow::Result<Server> {
    let server = Server::builder().audit(AuditLevel::Off, 1).start();
    for crd in crds::OWN.iter().chain(crds::TEMPLATES) {
        server.load(crd.yaml).with_context(|| format!("failed to load {}", crd.file))?;
    }
    Ok(server)
}

/// One process that stands for all extensions of the samples, and for no other.
async fn extension(port: u16) -> anyhow::Result<TestExtension> {
    let extension = TestExtension::builder().port(port).only_where_set().start().await?;
    for (path, variables) in samples::EXTENSIONS {
        extension
            .set_variables(path, Variables::count(variables))
            .with_context(|| format!("failed to serve {path}"))?;
    }
    Ok(extension)
}
