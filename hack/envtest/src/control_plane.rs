//! A running control plane and what can be done with it.

use std::ffi::OsStr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client, Config, ResourceExt as _};

use crate::audit::{self, AuditEvent, AuditMark};
use crate::builder::{Builder, etcd_socket};
use crate::certs::Authority;
use crate::identity::{Endpoint, Identity};
use crate::port::Port;
use crate::process::Process;
use crate::scratch::Scratch;
use crate::{crds, poll};

const ETCD_READY: Duration = Duration::from_secs(30);
const API_SERVER_READY: Duration = Duration::from_secs(90);
/// How long a process may take to end before it is killed. What it would save is thrown away anyway.
const GRACE: Duration = Duration::from_secs(1);
const TOKEN_LIFETIME: Duration = Duration::from_hours(24);

/// An etcd and a kube-apiserver, and a kube-controller-manager if one was asked for.
///
/// Dropping it kills the processes and removes what they wrote; [`ControlPlane::stop`] does the same
/// and lets them end by themselves first.
pub struct ControlPlane {
    // Dropped in this order: who depends on another goes first, the folder last.
    pub(crate) controller_manager: Option<Process>,
    pub(crate) api_server: Process,
    pub(crate) etcd: Process,
    pub(crate) audit_log: Option<PathBuf>,
    pub(crate) assets: PathBuf,
    pub(crate) admin: Identity,
    pub(crate) server: http::Uri,
    pub(crate) authority: Authority,
    pub(crate) identities: AtomicUsize,
    pub(crate) _port: Port,
    pub(crate) scratch: Scratch,
}

impl ControlPlane {
    /// Where to begin.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The kubeconfig file of an administrator (`system:masters`).
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        self.admin.kubeconfig()
    }

    /// The administrator's client configuration.
    #[must_use]
    pub fn config(&self) -> Config {
        self.admin.config()
    }

    /// A new client of the administrator. It belongs to the runtime that it is made in.
    ///
    /// # Errors
    /// When the TLS configuration is refused.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn client(&self) -> Result<Client> {
        self.admin.client()
    }

    /// The authority, PEM, that signed the API server's certificate.
    #[must_use]
    pub fn authority(&self) -> &str {
        self.authority.pem()
    }

    /// A kubectl of the same release, as the administrator, ready to be run. It is killed when dropped.
    pub fn kubectl(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(self.assets.join("kubectl"));
        command
            .args(args)
            .env("KUBECONFIG", self.kubeconfig())
            .env("KUBECACHEDIR", self.scratch.join("kubectl-cache"))
            .kill_on_drop(true);
        command
    }

    /// Another user, by a client certificate. It may do nothing until it, or its group, is bound to a
    /// role. (Certificates made here carry one group at most; `system:authenticated` comes by itself.)
    ///
    /// # Errors
    /// When the certificate cannot be made or the kubeconfig not be written.
    pub fn user(&self, name: &str, group: Option<&str>) -> Result<Identity> {
        let pair = self.authority.client(name, group)?;
        Identity::with_certificate(&self.endpoint(), &self.next_kubeconfig(), &pair)
    }

    /// A service account, made if it is not there, by a token that is good for a day. The namespace has
    /// to be there.
    ///
    /// # Errors
    /// When the API server refuses, or the kubeconfig cannot be written.
    pub async fn service_account(&self, namespace: &str, name: &str) -> Result<Identity> {
        let accounts = Api::<ServiceAccount>::namespaced(self.client()?, namespace);
        let account = ServiceAccount { metadata: named(name), ..Default::default() };
        match accounts.create(&PostParams::default(), &account).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => {}
            made => drop(made.context("failed to create a service account")?),
        }
        let spec = TokenRequestSpec {
            expiration_seconds: Some(i64::try_from(TOKEN_LIFETIME.as_secs())?),
            ..Default::default()
        };
        let request = TokenRequest { spec: Some(spec), ..Default::default() };
        let answer = accounts.create_token_request(name, &PostParams::default(), &request).await;
        let answer = answer.context("failed to get a token")?;
        let token = answer.status.and_then(|status| status.token).context("the answer has no token")?;
        Identity::with_token(&self.endpoint(), &self.next_kubeconfig(), &token)
    }

    /// Makes a namespace of its own for a test and says its name: the prefix and something random.
    ///
    /// # Errors
    /// When the API server refuses the prefix.
    pub async fn namespace(&self, prefix: &str) -> Result<String> {
        let metadata = ObjectMeta { generate_name: Some(format!("{prefix}-")), ..Default::default() };
        let namespace = Namespace { metadata, ..Default::default() };
        let made = Api::all(self.client()?).create(&PostParams::default(), &namespace).await;
        Ok(made.context("failed to create a namespace")?.name_any())
    }

    /// Applies the CRDs of YAML files, or of all YAML files directly in a folder, and waits until every
    /// one is established and its versions are served.
    ///
    /// The garbage collector looks for new kinds twice a minute only, so it is restarted when there are
    /// some.
    ///
    /// # Errors
    /// When a file holds something else, the API server refuses it, or it is not served in time.
    pub async fn apply_crds(&self, paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<()> {
        let paths: Vec<_> = paths.into_iter().map(|path| path.as_ref().to_owned()).collect();
        let any_new = crds::apply(&self.client()?, &paths).await?;
        if let Some(controller_manager) = &self.controller_manager
            && any_new
        {
            controller_manager.kill();
            controller_manager.start()?;
        }
        Ok(())
    }

    /// Every request so far, one event each, in the order in which the API server wrote about them: a
    /// request when it was answered, a watch when it began. Its own requests are left out.
    ///
    /// The event of a request is written while the request ends, so it may be a moment late for a client
    /// that has the answer already: look for it with [`until`](crate::until).
    ///
    /// # Errors
    /// Without [`Builder::audit`], or when the log cannot be read.
    pub fn audit_events(&self) -> Result<Vec<AuditEvent>> {
        self.audit_events_since(AuditMark::default())
    }

    /// A mark to hand to [`ControlPlane::audit_events_since`].
    ///
    /// # Errors
    /// Without [`Builder::audit`], or when the log cannot be read.
    pub fn audit_mark(&self) -> Result<AuditMark> {
        audit::mark(self.audit_log()?)
    }

    /// The requests written about after the mark; a watch that ended since is among them.
    ///
    /// # Errors
    /// Without [`Builder::audit`], or when the log cannot be read.
    pub fn audit_events_since(&self, mark: AuditMark) -> Result<Vec<AuditEvent>> {
        audit::read(self.audit_log()?, mark)
    }

    /// The ids of the processes that run now.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        self.processes().filter_map(Process::pid).collect()
    }

    /// Kills the API server; clients find the port closed.
    pub fn kill_api_server(&self) {
        self.api_server.kill();
    }

    /// Starts the API server again, on the same port and data, and waits until it is ready. One that
    /// still runs is killed first.
    ///
    /// # Errors
    /// As [`Builder::start`].
    pub async fn restart_api_server(&self) -> Result<()> {
        self.api_server.kill();
        self.api_server.start()?;
        self.wait_until_ready().await
    }

    /// Halts the API server: connections stay open and are not answered.
    pub fn pause_api_server(&self) {
        self.api_server.signal(libc::SIGSTOP);
    }

    /// Lets a halted API server go on.
    pub fn resume_api_server(&self) {
        self.api_server.signal(libc::SIGCONT);
    }

    /// Ends the processes and removes what they wrote.
    pub async fn stop(self) {
        for process in self.processes() {
            process.stop(GRACE).await;
        }
    }

    /// Kills the processes and removes what they wrote, without a runtime.
    pub(crate) fn kill(&self) {
        self.processes().for_each(Process::kill);
        self.scratch.remove();
    }

    pub(crate) async fn start(&self) -> Result<()> {
        self.etcd.start()?;
        self.wait_until_etcd_listens().await.map_err(|error| self.with_logs(&error))?;
        self.api_server.start()?;
        self.wait_until_ready().await?;
        self.controller_manager.as_ref().map_or(Ok(()), Process::start)
    }

    async fn wait_until_etcd_listens(&self) -> Result<()> {
        let socket = etcd_socket(&self.scratch);
        poll::until(ETCD_READY, "etcd to listen", async || {
            self.etcd.check()?;
            Ok(UnixStream::connect(&socket).is_ok().then_some(()))
        })
        .await
    }

    async fn wait_until_ready(&self) -> Result<()> {
        let client = self.client()?;
        let ready = poll::until(API_SERVER_READY, "the API server to be ready", async || {
            self.etcd.check()?;
            self.api_server.check()?;
            Ok(is_ready(&client).await.then_some(()))
        });
        ready.await.map_err(|error| self.with_logs(&error))
    }

    fn with_logs(&self, error: &anyhow::Error) -> anyhow::Error {
        anyhow!("{error:#}\n{}\n{}", self.etcd.tail(), self.api_server.tail())
    }

    /// Who depends on another comes first.
    fn processes(&self) -> impl Iterator<Item = &Process> {
        self.controller_manager.iter().chain([&self.api_server, &self.etcd])
    }

    fn audit_log(&self) -> Result<&Path> {
        self.audit_log.as_deref().context("the control plane was started without an audit log")
    }

    fn endpoint(&self) -> Endpoint<'_> {
        Endpoint { server: &self.server, authority: &self.authority, scratch: &self.scratch }
    }

    fn next_kubeconfig(&self) -> String {
        format!("identity-{}.kubeconfig", self.identities.fetch_add(1, Ordering::Relaxed))
    }
}

/// Whether the API server says so itself and has its first namespace, which comes a moment later.
async fn is_ready(client: &Client) -> bool {
    let Ok(request) = http::Request::get("/readyz").body(Vec::new()) else { return false };
    client.request_text(request).await.is_ok()
        && Api::<Namespace>::all(client.clone()).get("default").await.is_ok()
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..Default::default() }
}
