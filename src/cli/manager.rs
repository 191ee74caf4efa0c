//! `kapstan manager`: the controllers, in a process of their own.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use kapstan_api::{cluster_class, extension_config};
use kube::{Client, Config, config::Kubeconfig};

use super::{diagnostics, duration, signals};
use crate::{
    clock::Clock,
    kubeconfig, leader,
    manager::{Manager, Options},
    metrics::Metrics,
    runtime::{
        self,
        proxy::Proxy,
        tls::{Identity, Tls},
        transport::{SystemResolver, TcpDialer},
    },
};

/// How long the API server may take to answer while the manager starts.
const PREFLIGHT: Duration = Duration::from_secs(10);

const AFTER_HELP: &str = "\
Examples:
  kapstan manager
  kapstan manager --kubeconfig management.kubeconfig --sync-period 1h --logging-format json
  curl localhost:9440/readyz     whether it is ready, and if not, for want of what
  curl localhost:8080/metrics

It runs until Ctrl-C or SIGTERM and then ends with 0. It ends with 1 when it cannot start, with the reason.";

/// Run the controllers of ExtensionConfig and ClusterClass against a cluster.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// Path of the kubeconfig file. Unset means KUBECONFIG, then ~/.kube/config, then the Pod's service account.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,

    /// What the manager does in this cluster.
    #[arg(long, value_enum, default_value_t = Mode::Manage)]
    mode: Mode,

    /// Start although Cluster API's own manager holds its Lease. Both would then write to the same objects.
    #[arg(long)]
    force_manage: bool,

    /// How many ExtensionConfigs are reconciled at once.
    #[arg(long, default_value_t = 10)]
    extensionconfig_concurrency: usize,

    /// How many ClusterClasses are reconciled at once.
    #[arg(long, default_value_t = 10)]
    clusterclass_concurrency: usize,

    /// How often each extension is asked again although nothing changed, as in 90s, 10m or 1h30m, at least 1s. 0s means never.
    #[arg(long, default_value = "10m", value_parser = period)]
    sync_period: Duration,

    /// How long an object waits for an extension before its condition says so: Unknown, with what is awaited since when. 0s means never.
    #[arg(long, default_value = "5s", value_parser = duration)]
    pending_after: Duration,

    #[command(flatten)]
    extensions: ExtensionArgs,

    #[command(flatten)]
    diagnostics: diagnostics::Args,
}

/// What the manager does in a cluster.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mode {
    /// It is the controller of ExtensionConfig and ClusterClass.
    Manage,
}

/// How extensions are called.
#[derive(Debug, clap::Args)]
struct ExtensionArgs {
    /// Path of the PEM certificate shown to extensions. It is read again when it changes.
    #[arg(long, requires = "runtime_extension_client_key_file")]
    runtime_extension_client_cert_file: Option<PathBuf>,

    /// Path of the PEM key of that certificate.
    #[arg(long, requires = "runtime_extension_client_cert_file")]
    runtime_extension_client_key_file: Option<PathBuf>,

    /// How many calls to one host and port may be under way at once.
    #[arg(long, default_value_t = 8)]
    extension_max_in_flight: usize,

    /// How long a call waits for its turn. After that it is tried again a second later; nothing was asked, so it is no failure.
    #[arg(long, default_value = "30s", value_parser = duration)]
    extension_max_wait: Duration,

    /// How many bytes of memory cached answers may take, roughly.
    #[arg(long, default_value_t = 64 << 20)]
    extension_cache_bytes: u64,
}

impl ExtensionArgs {
    fn options(self) -> anyhow::Result<runtime::Options> {
        let Self {
            runtime_extension_client_cert_file: certificate,
            runtime_extension_client_key_file: key,
            extension_max_in_flight: max_in_flight,
            extension_max_wait: max_wait,
            extension_cache_bytes: cache_bytes,
        } = self;
        let identity = certificate.zip(key).map(|(certificate, key)| Identity::from_files(certificate, key));
        let identity = identity.transpose().context("--runtime-extension-client-cert-file")?.map(Arc::new);
        Ok(runtime::Options { max_in_flight, max_wait, cache_bytes, identity })
    }
}

/// How often something is done. Below a second it would be done all the time.
pub(super) fn period(text: &str) -> Result<Duration, String> {
    let period = duration(text)?;
    if !period.is_zero() && period < Duration::from_secs(1) {
        return Err("must be 0s, which means never, or at least 1s".to_owned());
    }
    Ok(period)
}

/// Runs until the process is told to stop.
pub(super) fn run(args: Args) -> anyhow::Result<()> {
    super::block_on(start(args))
}

async fn start(args: Args) -> anyhow::Result<()> {
    let Args {
        kubeconfig,
        mode: Mode::Manage,
        force_manage,
        extensionconfig_concurrency,
        clusterclass_concurrency,
        sync_period,
        pending_after,
        extensions,
        diagnostics,
    } = args;
    let options = Options {
        extension_config_workers: extensionconfig_concurrency,
        cluster_class_workers: clusterclass_concurrency,
        sync_period,
        pending_after,
        runtime: extensions.options()?,
    };
    let clock = Clock::system();
    let config = locate(kubeconfig).await?;
    let url = config.cluster_url.to_string();
    let client = Client::try_from(config).context("failed to set up the connection to the cluster")?;
    preflight(&client, url.trim_end_matches('/')).await?;
    if !force_manage {
        refuse_beside_upstream(client.clone(), &clock).await?;
    }
    let endpoints = diagnostics.bind().await?;
    let metrics = Metrics::new();
    let dialer = dialer(&clock)?;
    let manager = Manager::new(options, client, Arc::new(dialer), clock, metrics.clone());
    let stop = signals::stop()?;
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "manager started");
    let served = endpoints.serve(manager.health(), metrics, manager.graph(), stop.clone());
    let (served, ()) = tokio::join!(served, manager.run(stop.clone()));
    tracing::info!("manager stopped");
    served
}

/// Connects to extensions, through the proxy of the environment where that says so. A proxy with an `https` URL is
/// verified by the system's roots; where there are none, it cannot be used.
pub(super) fn dialer(clock: &Clock) -> anyhow::Result<TcpDialer> {
    let proxy = Proxy::from_environment()?;
    let tls = proxy.as_ref().and_then(|_| Tls::new(clock.clone(), None).config(None).ok());
    Ok(TcpDialer::new(Arc::new(SystemResolver), proxy, tls))
}

/// Where to find the cluster. Errors name the file.
async fn locate(kubeconfig: Option<PathBuf>) -> anyhow::Result<Config> {
    let at_home = || std::env::home_dir().map(|home| home.join(".kube/config")).filter(|path| path.exists());
    let listed = std::env::var("KUBECONFIG").ok().filter(|list| !list.is_empty());
    let (found, name) = match (kubeconfig, listed) {
        (Some(path), _) => (Kubeconfig::read_from(&path).map(Some), path.display().to_string()),
        (None, Some(list)) => (Kubeconfig::from_env(), list),
        (None, None) => match at_home() {
            Some(path) => (Kubeconfig::read_from(&path).map(Some), path.display().to_string()),
            None => (Ok(None), String::new()),
        },
    };
    match found.transpose() {
        Some(found) => kubeconfig::of(found, &name).await,
        None => Config::incluster().context(
            "failed to find a cluster: there is no --kubeconfig, no KUBECONFIG, no ~/.kube/config, and no service account of a Pod",
        ),
    }
}

/// Whether the cluster can be reached and has our kinds. Later on both can change, and are waited for; at the start
/// they are mistakes of whoever starts.
async fn preflight(client: &Client, url: &str) -> anyhow::Result<()> {
    let version = tokio::time::timeout(PREFLIGHT, client.apiserver_version()).await;
    version
        .with_context(|| format!("the API server {url} did not answer within {} s", PREFLIGHT.as_secs()))?
        .with_context(|| format!("failed to reach the API server {url}"))?;
    let kinds = [
        (extension_config::GROUP, extension_config::VERSION, "extensionconfigs"),
        (cluster_class::GROUP, cluster_class::VERSION, "clusterclasses"),
    ];
    for (group, version, plural) in kinds {
        let served = client.list_api_group_resources(&format!("{group}/{version}")).await;
        if !served.is_ok_and(|list| list.resources.iter().any(|resource| resource.name == plural)) {
            bail!(
                "the cluster does not serve {plural}.{group} in version {version}: apply its CustomResourceDefinition first"
            );
        }
    }
    Ok(())
}

async fn refuse_beside_upstream(client: Client, clock: &Clock) -> anyhow::Result<()> {
    let holder = leader::upstream_holder(client, clock.timestamp()).await;
    let holder = holder.context("failed to list Leases, to see whether Cluster API's own manager runs (--force-manage starts without)")?;
    if let Some(leader::Holder { namespace, identity }) = holder {
        bail!(
            "Cluster API's own manager runs in this cluster: {identity} holds the Lease {namespace}/{}. \
             Two controllers of the same objects undo each other's writes; --force-manage starts all the same",
            leader::UPSTREAM_LEASE
        );
    }
    Ok(())
}
