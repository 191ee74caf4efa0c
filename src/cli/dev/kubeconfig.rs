//! The kubeconfig file, which holds a token and goes when the process does.

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use tempfile::TempPath;

/// Only for us; a file of tempfile's own has it too.
const MODE: u32 = 0o600;

/// A file that is removed when it is dropped.
pub(super) struct KubeconfigFile(TempPath);

impl KubeconfigFile {
    /// Makes a new file, at the path or, without one, at one of its own. A file that is there is left alone, and is an
    /// error: it would be removed at the end.
    pub(super) fn make(path: Option<PathBuf>, content: &str) -> anyhow::Result<Self> {
        match path {
            Some(path) => at(path, content),
            None => of_its_own(content),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

fn at(path: PathBuf, content: &str) -> anyhow::Result<KubeconfigFile> {
    let name = path.display().to_string();
    let opened = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&path);
    let mut file = opened.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => anyhow!(
            "--kubeconfig: {name} exists, and is not written over, because the file is removed at the end"
        ),
        _ => anyhow!(error).context(format!("--kubeconfig: failed to make {name}")),
    })?;
    let path = TempPath::try_from_path(path).with_context(|| format!("failed to find {name}"))?;
    file.write_all(content.as_bytes()).with_context(|| format!("failed to write {name}"))?;
    Ok(KubeconfigFile(path))
}

fn of_its_own(content: &str) -> anyhow::Result<KubeconfigFile> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    let folder = runtime.unwrap_or_else(std::env::temp_dir);
    let file = tempfile::Builder::new().prefix("kapstan-dev-").suffix(".kubeconfig").tempfile_in(&folder);
    let mut file = file.with_context(|| format!("failed to make a kubeconfig in {}", folder.display()))?;
    file.write_all(content.as_bytes()).context("failed to write the kubeconfig")?;
    Ok(KubeconfigFile(file.into_temp_path()))
}
