//! A control plane of a test's own, with our CRDs in it, and the manager as an unprivileged user.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kapstan::{
    clock::Clock,
    health::Health,
    index::shared::Shared,
    manager::{Manager, Options},
    metrics::Metrics,
    runtime::transport::{Dial, SystemResolver, TcpDialer},
};
use kapstan_api::{cluster_class::ClusterClass, extension_config::ExtensionConfig};
use kapstan_envtest::{AuditEvent, AuditMark, Builder, ControlPlane};
use kube::{Api, Client, Config, api::PostParams};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::gate::Gate;

/// How long anything may take that a test waits for.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// The manager's user.
const USER: &str = "kapstan";

/// A control plane of a test's own.
pub(crate) struct World {
    pub(crate) plane: ControlPlane,
    pub(crate) client: Client,
    user: Config,
}

impl World {
    /// Starts it, with an audit log.
    pub(crate) async fn start(builder: Builder) -> Result<Self> {
        let filter = std::env::var("KAPSTAN_LOG").unwrap_or_default();
        let _ = tracing_subscriber::fmt().with_env_filter(filter).with_test_writer().try_init();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let plane = builder.audit().start().await?;
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        plane.apply_crds([root.join("config/crd"), root.join("config/samples/crds")]).await?;
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
        let user = plane.user(USER, None)?.config();
        Ok(Self { plane, client, user })
    }

    /// Starts a manager; it stops when it is dropped.
    pub(crate) fn manager(&self, options: Options) -> Result<Running> {
        self.manager_with(options, Arc::new(TcpDialer::new(Arc::new(SystemResolver), None, None)))
    }

    /// Starts a manager that connects to extensions by `dialer`; it stops when it is dropped.
    pub(crate) fn manager_with(&self, options: Options, dialer: Arc<dyn Dial>) -> Result<Running> {
        Ok(Running::start(options, self.manager_client()?, dialer))
    }

    /// Starts a manager whose requests to the API server go through `gate`; it stops when it is dropped.
    pub(crate) fn manager_behind(&self, gate: &Gate, options: Options) -> Result<Running> {
        let dialer = Arc::new(TcpDialer::new(Arc::new(SystemResolver), None, None));
        Ok(Running::start(options, gate.before(self.manager_client()?), dialer))
    }

    fn manager_client(&self) -> Result<Client> {
        Ok(Client::try_from(self.user.clone())?)
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
        let waited = kapstan_envtest::until(DEADLINE, name, async || {
            Ok(Some(self.config(name).await?).filter(|config| is(config)))
        })
        .await;
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
        let waited = kapstan_envtest::until(DEADLINE, name, async || {
            Ok(Some(self.class(namespace, name).await?).filter(|class| is(class)))
        })
        .await;
        if waited.is_err() {
            eprintln!("{}", serde_json::to_string_pretty(&self.class(namespace, name).await?.status)?);
        }
        waited
    }

    /// What the manager asked of the API server since a mark.
    pub(crate) fn asked(&self, since: AuditMark) -> Result<Vec<AuditEvent>> {
        let mut events = self.plane.audit_events_since(since)?;
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
    fn start(options: Options, client: Client, dialer: Arc<dyn Dial>) -> Self {
        let metrics = Metrics::new();
        let manager = Manager::new(options, client, dialer, Clock::system(), metrics.clone());
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
        let mut seen = (f64::NAN, std::time::Instant::now());
        kapstan_envtest::until(DEADLINE, "the manager to come to rest", || {
            let evaluations = self.metric("kapstan_evaluations_total", &[]);
            let queues = self.shared.queues();
            let is_busy =
                !(queues.configs.is_empty() && queues.classes.is_empty() && queues.templates.is_empty());
            if is_busy || evaluations.to_bits() != seen.0.to_bits() {
                seen = (evaluations, std::time::Instant::now());
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
