//! Kubeconfig files: how a cluster is reached.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};

/// The cluster that a file leads to.
///
/// # Errors
/// When the file cannot be read or used. They name it.
pub async fn read(path: &Path) -> Result<Config> {
    of(Kubeconfig::read_from(path), &path.display().to_string()).await
}

/// The cluster that a kubeconfig leads to which was read from what `name` says: of several files perhaps.
///
/// # Errors
/// When it could not be read, or cannot be used. They name the file once.
pub async fn of(read: Result<Kubeconfig, KubeconfigError>, name: &str) -> Result<Config> {
    let read = read.map_err(|error| unreadable(error, name))?;
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await;
    config.with_context(|| format!("failed to use kubeconfig {name}"))
}

/// Why a kubeconfig cannot be read.
fn unreadable(error: KubeconfigError, name: &str) -> anyhow::Error {
    if let KubeconfigError::ReadConfig(cause, path) = error {
        return anyhow!(cause).context(format!("failed to read kubeconfig {}", path.display()));
    }
    // What follows the first line shows the spot in the file.
    let cause = error.to_string().lines().next().unwrap_or_default().to_owned();
    anyhow!(cause).context(format!("failed to read kubeconfig {name}"))
}
