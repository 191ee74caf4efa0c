//! Where the binaries are: given by the environment, or built (once) by the script beside this crate.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

const VARIABLE: &str = "KUBEBUILDER_ASSETS";

/// The folder that holds `kube-apiserver`, `kube-controller-manager`, `kubectl` and `etcd`.
///
/// `KUBEBUILDER_ASSETS` is used as it is when set and not empty. Otherwise `hack/envtest/build` says
/// it, after building what is not in its cache yet: minutes the first time, nothing later. Its progress
/// goes to this process's standard error. Blocks the calling thread.
///
/// # Errors
/// When the build fails, or the folder does not hold a control plane.
pub fn assets() -> Result<PathBuf> {
    let assets = match env::var_os(VARIABLE) {
        Some(given) if !given.is_empty() => PathBuf::from(given),
        _ => build()?,
    };
    for binary in ["etcd", "kube-apiserver"] {
        if !assets.join(binary).is_file() {
            bail!("{} has no {binary}", assets.display());
        }
    }
    Ok(assets)
}

fn build() -> Result<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("build");
    let output = Command::new(&script)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("failed to run {}", script.display()))?;
    if !output.status.success() {
        bail!("{} failed: {}", script.display(), output.status);
    }
    let line = String::from_utf8(output.stdout).context("the build's answer is not text")?;
    parse(&line).with_context(|| format!("unexpected answer of {}: {line:?}", script.display()))
}

fn parse(line: &str) -> Option<PathBuf> {
    let path = line.trim_end().strip_prefix(VARIABLE)?.strip_prefix('=')?;
    Path::new(path).is_absolute().then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_absolute_folder_is_taken_from_the_build() {
        assert_eq!(parse("KUBEBUILDER_ASSETS=/a/b c\n"), Some(PathBuf::from("/a/b c")));
        assert_eq!(parse("KUBEBUILDER_ASSETS=a/b\n"), None);
        assert_eq!(parse("built\n"), None);
        assert_eq!(parse(""), None);
    }
}
