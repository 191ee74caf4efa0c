//! `kapstan dev` while it runs, and how it ends.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use kapstan::{
    manifests::{self, Manifest},
    readiness::Snapshot,
    samples,
};
use kapstan_envtest::until;
use kapstan_test_extension::{TestExtension, Variables};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use rstest::rstest;
use serde_json::Value;

use crate::process::{DEADLINE, Kapstan};

async fn client(kubeconfig: &Path) -> Result<Client> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let file = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

fn mode(path: &Path) -> Result<u32> {
    Ok(std::fs::metadata(path)?.permissions().mode() & 0o777)
}

#[rstest]
#[case::interrupt("INT")]
#[case::terminate("TERM")]
#[case::hangup("HUP")]
#[tokio::test]
async fn it_runs_until_it_is_told_to_end_and_takes_its_kubeconfig_along(#[case] signal: &str) -> Result<()> {
    let mut dev = Kapstan::dev(&[])?.spawn()?;
    let kubeconfig = dev.kubeconfig().await?;
    assert_eq!(kubeconfig.parent(), Some(dev.temporary()));
    assert_eq!(mode(&kubeconfig)?, 0o600);
    assert!(Snapshot::read(&client(&kubeconfig).await?).await?.is_ready());
    dev.signal(signal).await?;
    assert_eq!(dev.end().await?, Some(0));
    assert!(!kubeconfig.exists());
    Ok(())
}

#[tokio::test]
async fn three_commands_are_proposed_that_fit_what_is_there() -> Result<()> {
    let mut dev = Kapstan::dev(&[])?.spawn()?;
    let kubeconfig = dev.kubeconfig().await?;
    let mut said = Vec::new();
    for _ in 0..6 {
        said.push(dev.line().await?);
    }
    let expected = [
        "It runs until Ctrl-C. In another terminal:".to_owned(),
        String::new(),
        format!("  export KUBECONFIG={}", kubeconfig.display()),
        "  kubectl get extensionconfigs,clusterclasses --all-namespaces".to_owned(),
        "  kubectl get clusterclass external --namespace sample-core --output yaml".to_owned(),
        r#"  kubectl patch extensionconfig sizing --type merge --patch '{"spec":{"settings":{"season":"winter"}}}'"#.to_owned(),
    ];
    assert_eq!(said, expected);
    dev.signal("INT").await?;
    assert_eq!(dev.end().await?, Some(0));
    Ok(())
}

#[tokio::test]
async fn the_place_of_the_kubeconfig_can_be_chosen() -> Result<()> {
    let mut dev = Kapstan::dev(&["--kubeconfig=k", "--output=json"])?.spawn()?;
    let said: Value = serde_json::from_str(&dev.line().await?)?;
    let path = PathBuf::from(said["kubeconfig"].as_str().context("it is a path")?);
    assert_eq!(path.canonicalize()?, dev.folder().join("k").canonicalize()?);
    assert_eq!(mode(&path)?, 0o600);
    dev.signal("TERM").await?;
    assert_eq!(dev.end().await?, Some(0));
    assert!(!path.exists());
    Ok(())
}

#[tokio::test]
async fn without_anybody_at_standard_input_it_can_be_ended_too() -> Result<()> {
    for (args, code) in [(&["-f", "-"][..], 0), (&["-f", "-", "--once"], 1)] {
        // Nothing is said before the input has ended, so signals go on until one is heeded.
        let dev = Kapstan::dev(args)?.spawn()?;
        let id = dev.id()?;
        until(DEADLINE, "a process that heeds signals", async || Ok(caught(id)?.then_some(()))).await?;
        dev.signal("INT").await?;
        assert_eq!(dev.end().await?, Some(code), "{args:?}");
    }
    Ok(())
}

/// Whether a process has a handler for SIGINT and for SIGHUP, which is set last.
fn caught(id: u32) -> Result<bool> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).context("it is told")?;
    let mask = u64::from_str_radix(mask.trim(), 16)?;
    Ok([1, 2].iter().all(|signal| mask & (1 << (signal - 1)) != 0))
}

#[tokio::test]
async fn what_is_not_ready_in_time_is_told_and_it_runs_on() -> Result<()> {
    let config = "{apiVersion: runtime.cluster.x-k8s.io/v1beta2, kind: ExtensionConfig, metadata: {name: dead}, \
                  spec: {clientConfig: {url: 'https://127.0.0.1:1'}}}";
    let dev = Kapstan::dev(&["--timeout=0s", "--output=json", "-f", "config.yaml"])?;
    let mut dev = dev.file("config.yaml", config)?.spawn()?;
    let said: Value = serde_json::from_str(&dev.line().await?)?;
    assert_eq!(said["ready"], false);
    let kubeconfig = said["kubeconfig"].as_str().context("it is a path")?;
    let client = client(Path::new(kubeconfig)).await?;
    let config = until(DEADLINE, "a verdict on the extension", async || {
        let config = Snapshot::read(&client).await?.configs.into_iter().next();
        Ok(config.filter(|config| config.discovered.as_deref() == Some("False")))
    })
    .await?;
    assert!(config.problems[0].contains("onnection refused"), "{config:?}");
    dev.signal("INT").await?;
    assert_eq!(dev.end().await?, Some(0));
    Ok(())
}

#[tokio::test]
async fn a_server_alone_serves_a_manager_in_a_process_of_its_own() -> Result<()> {
    let mut server = Kapstan::dev(&["--server-only"])?.spawn()?;
    let kubeconfig = server.kubeconfig().await?;
    let free = "127.0.0.1:0";
    let args = ["manager", "--health-addr", free, "--diagnostics-address", free];
    let manager = Kapstan::new(&args)?.env("KUBECONFIG", &kubeconfig).spawn()?;

    let extension = TestExtension::builder().start().await?;
    for (path, variables) in samples::EXTENSIONS {
        extension.set_variables(path, Variables::count(variables))?;
    }
    let bundle = k8s_openapi::ByteString(extension.ca_bundle());
    let bundle = serde_json::to_value(bundle)?.as_str().context("it is text")?.to_owned();
    let fill =
        |manifest: Manifest| manifest.fill(samples::URL, &extension.url()).fill(samples::CA_BUNDLE, &bundle);
    let manifests: Vec<_> = samples::manifests().into_iter().map(fill).collect();
    let client = client(&kubeconfig).await?;
    let options = manifests::Options { field_manager: "tests", force: false };
    let report = manifests::apply(&client, manifests::objects(&manifests)?, options).await;
    assert!(report.refused.is_empty(), "{report}");
    until(DEADLINE, "everything to be ready", async || {
        Ok(Snapshot::read(&client).await?.is_ready().then_some(()))
    })
    .await?;
    assert_eq!(extension.calls("/sizing"), 3);

    manager.signal("TERM").await?;
    assert_eq!(manager.end().await?, Some(0));
    server.signal("INT").await?;
    assert_eq!(server.end().await?, Some(0));
    assert!(!kubeconfig.exists());
    Ok(())
}
