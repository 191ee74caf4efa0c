//! An API server of a test's own, with our CRDs in it, and the manager as a user without other rights than its own.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use k8s_openapi::api::{
    core::v1::Namespace,
    rbac::v1::{ClusterRole, ClusterRoleBinding},
};
use kapstan::{
    clock::Clock,
    health::Health,
    index::shared::Shared,
    manager::{Manager, Options},
    metrics::Metrics,
    runtime::transport::Dial,
};
use kapstan_api::{cluster_class::ClusterClass, extension_config::ExtensionConfig};
use kapstan_test_extension::TestExtension;
use kube::{
    Api, Client, ResourceExt as _,
    api::{ObjectMeta, PostParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::{task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    audit::{AuditEvent, AuditMark},
    gate::Gate,
    network::Network,
    plane::Plane,
    server::{Server, until},
};

/// The manager's user.
pub(crate) const USER: &str = "kapstan";

/// An API server of a test's own, and the network around it.
pub(crate) struct World {
    pub(crate) plane: Plane,
    pub(crate) client: Client,
    pub(crate) network: Arc<Network>,
}

impl World {
    /// Starts it.
    pub(crate) async fn start(server: Server) -> Result<Self> {
        Self::begin(server, Plane::start(server, false).await?).await
    }

    /// The same with garbage collection.
    pub(crate) async fn with_garbage_collection(server: Server) -> Result<Self> {
        Self::begin(server, Plane::start(server, true).await?).await
    }

    async fn begin(server: Server, plane: Plane) -> Result<Self> {
        let filter = std::env::var("KAPSTAN_LOG").unwrap_or_default();
        let _ = tracing_subscriber::fmt().with_env_filter(filter).with_test_writer().try_init();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        plane.apply_crds(&[root.join("config/crd"), root.join("config/samples/crds")]).await?;
        let client = plane.client()?;
        let role: ClusterRole =
            serde_saphyr::from_str(&std::fs::read_to_string(root.join("config/rbac/role.yaml"))?)?;
        Api::all(client.clone()).create(&PostParams::default(), &role).await?;
        let binding: ClusterRoleBinding = serde_json::from_value(serde_json::json!({
            "metadata": { "name": "kapstan-manager" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kapstan-manager" },
            "subjects": [{ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": USER }],
        }))?;
        Api::all(client.clone()).create(&PostParams::default(), &binding).await?;
        Ok(Self { plane, client, network: Network::of(server) })
    }

    /// Starts an extension that the manager can reach.
    pub(crate) async fn extension(
        &self,
        builder: kapstan_test_extension::Builder,
    ) -> Result<Arc<TestExtension>> {
        let extension = Arc::new(builder.start().await?);
        self.network.add(&extension);
        Ok(extension)
    }

    /// Starts a manager; it stops when it is dropped.
    pub(crate) fn manager(&self, options: Options) -> Result<Running> {
        self.manager_behind(&Gate::default(), options)
    }

    /// Starts a manager whose requests to the API server go through `gate`; it stops when it is dropped.
    pub(crate) fn manager_behind(&self, gate: &Gate, options: Options) -> Result<Running> {
        let client = gate.before(self.plane.client_of(USER)?);
        let network: Arc<dyn Dial> = self.network.clone();
        Ok(Running::start(options, client, network, self.plane.clock()))
    }

    /// Makes a namespace and says its name: the prefix and something random.
    pub(crate) async fn namespace(&self, prefix: &str) -> Result<String> {
        let metadata = ObjectMeta { generate_name: Some(format!("{prefix}-")), ..ObjectMeta::default() };
        Ok(self.create(&Namespace { metadata, ..Namespace::default() }).await?.name_any())
    }

    /// Creates an object.
    pub(crate) async fn create<K>(&self, object: &K) -> Result<K>
    where
        K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + Serialize + DeserializeOwned,
    {
        let url = K::url_path(&(), object.meta().namespace.as_deref());
        let request =
            kube::core::Request::new(url).create(&PostParams::default(), serde_json::to_vec(object)?)?;
        self.client.request(request).await.with_context(|| format!("failed to create {}", K::kind(&())))
    }

    /// Sends a JSON body to a path, whatever the kind.
    pub(crate) async fn create_at(&self, path: &str, body: &Value) -> Result<Value> {
        let request =
            kube::core::Request::new(path).create(&PostParams::default(), serde_json::to_vec(body)?)?;
        self.client.request(request).await.with_context(|| format!("failed to create an object at {path}"))
    }

    pub(crate) async fn config(&self, name: &str) -> Result<ExtensionConfig> {
        Ok(Api::all(self.client.clone()).get(name).await?)
    }

    pub(crate) async fn class(&self, namespace: &str, name: &str) -> Result<ClusterClass> {
        Ok(Api::namespaced(self.client.clone(), namespace).get(name).await?)
    }

    /// Waits until a config is as `is` wants it.
    pub(crate) async fn until_config(
        &self,
        name: &str,
        is: impl Fn(&ExtensionConfig) -> bool,
    ) -> Result<ExtensionConfig> {
        let waited =
            until(name, async || Ok(Some(self.config(name).await?).filter(|config| is(config)))).await;
        if waited.is_err() {
            eprintln!("{}", serde_json::to_string_pretty(&self.config(name).await?.status)?);
        }
        waited
    }

    /// Waits until a class is as `is` wants it.
    pub(crate) async fn until_class(
        &self,
        namespace: &str,
        name: &str,
        is: impl Fn(&ClusterClass) -> bool,
    ) -> Result<ClusterClass> {
        let waited =
            until(name, async || Ok(Some(self.class(namespace, name).await?).filter(|class| is(class))))
                .await;
        if waited.is_err() {
            eprintln!("{}", serde_json::to_string_pretty(&self.class(namespace, name).await?.status)?);
        }
        waited
    }

    /// The end of the audit log.
    pub(crate) fn audit_mark(&self) -> Result<AuditMark> {
        self.plane.audit_mark()
    }

    /// What the manager asked of the API server since a mark.
    pub(crate) fn asked(&self, since: AuditMark) -> Result<Vec<AuditEvent>> {
        let mut events = self.plane.audit_events(since)?;
        events.retain(|event| event.user == USER);
        Ok(events)
    }

    /// The manager's writes since a mark.
    pub(crate) fn writes(&self, since: AuditMark) -> Result<Vec<AuditEvent>> {
        let mut events = self.asked(since)?;
        events.retain(AuditEvent::is_write);
        Ok(events)
    }
}

/// A manager that runs.
pub(crate) struct Running {
    pub(crate) metrics: Metrics,
    pub(crate) shared: Shared,
    pub(crate) health: Health,
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl Running {
    fn start(options: Options, client: Client, dialer: Arc<dyn Dial>, clock: Clock) -> Self {
        let metrics = Metrics::new();
        let manager = Manager::new(options, client, dialer, clock, metrics.clone());
        let stop = CancellationToken::new();
        let (shared, health) = (manager.shared(), manager.health());
        let task = tokio::spawn(manager.run(stop.clone()));
        Self { metrics, shared, health, stop, task: Some(task) }
    }

    /// Stops it and waits for its end.
    pub(crate) async fn stop(mut self) -> Result<()> {
        self.stop.cancel();
        if let Some(task) = self.task.take() {
            task.await?;
        }
        Ok(())
    }

    /// Waits until nothing is queued and nothing has been evaluated for a second.
    pub(crate) async fn until_idle(&self) -> Result<()> {
        let mut seen = (f64::NAN, Instant::now());
        until("the manager to come to rest", || {
            let evaluations = self.metric("kapstan_evaluations_total", &[]);
            let queues = self.shared.queues();
            let is_busy =
                !(queues.configs.is_empty() && queues.classes.is_empty() && queues.templates.is_empty());
            if is_busy || evaluations.to_bits() != seen.0.to_bits() {
                seen = (evaluations, Instant::now());
            }
            std::future::ready(Ok((seen.1.elapsed() > Duration::from_secs(1)).then_some(())))
        })
        .await
    }

    /// The sum of the samples of a metric whose labels contain all of `labels`.
    pub(crate) fn metric(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let wanted: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        let text = self.metrics.render();
        let samples = text.lines().filter(|line| {
            line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ']))
                && wanted.iter().all(|label| line.contains(label))
        });
        samples.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
