//! Someone the API server knows, with the means to talk to it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use kube::config::{AuthInfo, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

use crate::certs::{Authority, Pair};
use crate::scratch::Scratch;

/// A user or service account of one control plane: its kubeconfig file, and clients made from it.
pub struct Identity {
    path: PathBuf,
    auth: AuthInfo,
    server: http::Uri,
    authority: Vec<u8>,
}

/// Where the control plane is, and whom to trust to be it.
pub(crate) struct Endpoint<'a> {
    pub(crate) server: &'a http::Uri,
    pub(crate) authority: &'a Authority,
    pub(crate) scratch: &'a Scratch,
}

impl Identity {
    pub(crate) fn with_certificate(endpoint: &Endpoint<'_>, file: &str, pair: &Pair) -> Result<Self> {
        let user = json!({
            "client-certificate-data": BASE64_STANDARD.encode(&pair.certificate),
            "client-key-data": BASE64_STANDARD.encode(&pair.key),
        });
        Self::new(endpoint, file, &user)
    }

    pub(crate) fn with_token(endpoint: &Endpoint<'_>, file: &str, token: &str) -> Result<Self> {
        Self::new(endpoint, file, &json!({ "token": token }))
    }

    fn new(endpoint: &Endpoint<'_>, file: &str, user: &Value) -> Result<Self> {
        let content = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "envtest", "cluster": {
                "server": endpoint.server.to_string().trim_end_matches('/'),
                "certificate-authority-data": BASE64_STANDARD.encode(endpoint.authority.pem()),
            }}],
            "users": [{ "name": "envtest", "user": user }],
            "contexts": [{ "name": "envtest", "context": { "cluster": "envtest", "user": "envtest" } }],
            "current-context": "envtest",
        });
        let yaml = serde_saphyr::to_string(&content).context("failed to write a kubeconfig")?;
        let path = endpoint.scratch.write(file, &yaml)?;
        let kubeconfig: Kubeconfig =
            serde_json::from_value(content).context("failed to read a kubeconfig of our own")?;
        let auth = kubeconfig.auth_infos.into_iter().find_map(|user| user.auth_info).unwrap_or_default();
        let authority = endpoint.authority.der().to_vec();
        Ok(Self { path, auth, server: endpoint.server.clone(), authority })
    }

    /// The kubeconfig file, YAML. It holds all that it needs, so a copy of it works elsewhere.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.path
    }

    /// The configuration of a client. Proxy settings of the environment play no part in it.
    #[must_use]
    pub fn config(&self) -> Config {
        let mut config = Config::new(self.server.clone());
        config.root_cert = Some(vec![self.authority.clone()]);
        config.auth_info = self.auth.clone();
        config
    }

    /// A new client. It belongs to the runtime that it is made in, so make one in each test.
    ///
    /// # Errors
    /// When the TLS configuration is refused.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn client(&self) -> Result<Client> {
        Client::try_from(self.config()).context("failed to make a client")
    }
}
