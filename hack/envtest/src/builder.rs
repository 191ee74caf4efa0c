//! What a control plane is started with.

use anyhow::{Context as _, Result};

use crate::assets::assets;
use crate::audit;
use crate::certs::{self, Authority};
use crate::control_plane::ControlPlane;
use crate::identity::{Endpoint, Identity};
use crate::port::Port;
use crate::process::Process;
use crate::scratch::Scratch;

const ADMIN_GROUP: &str = "system:masters";
const SERVER_NAMES: [&str; 6] =
    ["127.0.0.1", "10.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];

/// What a [`ControlPlane`] is started with. Without any option: etcd and kube-apiserver.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Builder {
    audit: bool,
    garbage_collector: bool,
    api_server_args: Vec<String>,
}

impl Builder {
    /// Writes down every request; see [`ControlPlane::audit_events`].
    pub fn audit(mut self) -> Self {
        self.audit = true;
        self
    }

    /// Runs kube-controller-manager with the garbage collector and the namespace controller, so that
    /// dependents go with their owners and namespaces are emptied. No other controller runs.
    pub fn garbage_collector(mut self) -> Self {
        self.garbage_collector = true;
        self
    }

    /// Adds one argument, such as `--feature-gates=...`, to those of kube-apiserver.
    pub fn api_server_arg(mut self, arg: impl Into<String>) -> Self {
        self.api_server_args.push(arg.into());
        self
    }

    /// Starts the control plane and waits until it is ready.
    ///
    /// Takes seconds; minutes when the binaries are still to be built (see [`assets`](crate::assets())).
    ///
    /// # Errors
    /// When the binaries cannot be built, a process ends early, or the API server is not ready in time.
    /// The message then shows the end of the logs.
    pub async fn start(self) -> Result<ControlPlane> {
        let assets =
            tokio::task::spawn_blocking(assets).await.context("looking for the binaries panicked")??;
        let scratch = Scratch::new()?;
        let port = Port::reserve()?;
        let server: http::Uri = format!("https://127.0.0.1:{}", port.number()).parse()?;
        let authority = Authority::new()?;

        let etcd_args = etcd_args(&scratch);
        let api_server_args = self.api_server_args(&scratch, &port, &authority)?;
        let endpoint = Endpoint { server: &server, authority: &authority, scratch: &scratch };
        let admin = master(&endpoint, "kapstan-envtest-admin", "admin.kubeconfig")?;
        let controller_manager_args = self.controller_manager_args(&endpoint)?;

        let process =
            |name, args| Process::new(name, assets.join(name), args, scratch.join(&format!("{name}.log")));
        let control_plane = ControlPlane {
            controller_manager: controller_manager_args.map(|args| process("kube-controller-manager", args)),
            api_server: process("kube-apiserver", api_server_args),
            etcd: process("etcd", etcd_args),
            audit_log: self.audit.then(|| audit_log(&scratch)),
            assets,
            admin,
            server,
            authority,
            identities: 0.into(),
            _port: port,
            scratch,
        };
        control_plane.start().await?;
        Ok(control_plane)
    }

    fn api_server_args(&self, scratch: &Scratch, port: &Port, authority: &Authority) -> Result<Vec<String>> {
        let serving = authority.server(&SERVER_NAMES)?;
        let authority = scratch.write("ca.crt", authority.pem())?;
        let certificate = scratch.write("kube-apiserver.crt", &serving.certificate)?;
        let key = scratch.write("kube-apiserver.key", &serving.key)?;
        let (private, public) = certs::token_keys()?;
        let signing_key = scratch.write("service-account.key", &private)?;
        let verifying_key = scratch.write("service-account.pub", &public)?;
        let mut args = vec![
            format!("--etcd-servers=unix://{}", etcd_socket(scratch)),
            "--bind-address=127.0.0.1".to_owned(),
            "--advertise-address=127.0.0.1".to_owned(), // unset, it asks for a network route
            format!("--secure-port={}", port.number()),
            "--permit-port-sharing=true".to_owned(), // the port is reserved; see Port
            format!("--tls-cert-file={}", certificate.display()),
            format!("--tls-private-key-file={}", key.display()),
            format!("--client-ca-file={}", authority.display()),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={}", verifying_key.display()),
            format!("--service-account-signing-key-file={}", signing_key.display()),
            "--authorization-mode=RBAC".to_owned(),
            "--allow-privileged=true".to_owned(),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
            // There is no node and no service network: nobody reads the endpoints of `kubernetes`, and
            // no controller makes the service accounts that this admission plugin asks for.
            "--endpoint-reconciler-type=none".to_owned(),
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            "--profiling=false".to_owned(),
        ];
        if self.audit {
            args.extend(audit_args(scratch)?);
        }
        args.extend_from_slice(&self.api_server_args);
        Ok(args)
    }

    fn controller_manager_args(&self, endpoint: &Endpoint<'_>) -> Result<Option<Vec<String>>> {
        if !self.garbage_collector {
            return Ok(None);
        }
        let user = "system:kube-controller-manager";
        let identity = master(endpoint, user, "kube-controller-manager.kubeconfig")?;
        Ok(Some(vec![
            format!("--kubeconfig={}", identity.kubeconfig().display()),
            "--controllers=garbage-collector-controller,namespace-controller".to_owned(),
            "--leader-elect=false".to_owned(),
            "--secure-port=0".to_owned(),
            "--use-service-account-credentials=false".to_owned(),
        ]))
    }
}

/// The unix socket of etcd: there is no port to find, and nobody else to talk to it.
pub(crate) fn etcd_socket(scratch: &Scratch) -> String {
    scratch.join("etcd.sock").display().to_string()
}

fn etcd_args(scratch: &Scratch) -> Vec<String> {
    vec![
        format!("--data-dir={}", scratch.join("etcd").display()),
        format!("--listen-client-urls=unix://{}", etcd_socket(scratch)),
        // Asked for, never used: there is one member, and the socket's path is no valid value here.
        "--advertise-client-urls=http://127.0.0.1:0".to_owned(),
        "--listen-peer-urls=http://127.0.0.1:0".to_owned(),
        "--unsafe-no-fsync=true".to_owned(), // the data lives no longer than the process
        "--quota-backend-bytes=8589934592".to_owned(),
        "--log-level=warn".to_owned(),
    ]
}

pub(crate) fn audit_log(scratch: &Scratch) -> std::path::PathBuf {
    scratch.join("audit.log")
}

fn audit_args(scratch: &Scratch) -> Result<[String; 4]> {
    let policy = scratch.write("audit-policy.yaml", audit::POLICY)?;
    Ok([
        format!("--audit-policy-file={}", policy.display()),
        format!("--audit-log-path={}", audit_log(scratch).display()),
        "--audit-log-mode=blocking".to_owned(), // an event is written before its request ends
        "--audit-log-maxsize=100000".to_owned(), // in MB: one file, never rotated
    ])
}

fn master(endpoint: &Endpoint<'_>, user: &str, file: &str) -> Result<Identity> {
    Identity::with_certificate(endpoint, file, &endpoint.authority.client(user, Some(ADMIN_GROUP))?)
}
