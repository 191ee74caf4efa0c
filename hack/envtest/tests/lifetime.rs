//! How control planes begin and end.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::ConfigMap;
use kapstan_envtest::{ControlPlane, until};
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::io::{AsyncBufReadExt as _, BufReader};

const SOON: Duration = Duration::from_secs(10);
/// Set for the copy of this test program that is there to be killed.
const VICTIM: &str = "KAPSTAN_ENVTEST_VICTIM";

/// Whether a process runs; one that has ended and was not waited for does not.
fn runs(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains("Z (zombie)"))
}

async fn until_none_runs(pids: &[u32]) -> Result<()> {
    until(SOON, "the processes to end", async || Ok((!pids.iter().any(|&pid| runs(pid))).then_some(()))).await
}

fn folder(control_plane: &ControlPlane) -> PathBuf {
    control_plane.kubeconfig().parent().map(Path::to_owned).expect("a file is in a folder")
}

async fn ready(client: &Client) -> Result<String> {
    Ok(client.request_text(http::Request::get("/readyz").body(Vec::new())?).await?)
}

#[tokio::test]
async fn nothing_is_left_after_a_stop() -> Result<()> {
    let control_plane = ControlPlane::builder().garbage_collector().start().await?;
    assert_eq!(ready(&control_plane.client()?).await?, "ok");
    let (pids, folder) = (control_plane.pids(), folder(&control_plane));
    assert_eq!(pids.len(), 3);
    assert!(pids.iter().all(|&pid| runs(pid)) && folder.is_dir());

    control_plane.stop().await;

    assert!(!pids.iter().any(|&pid| runs(pid)) && !folder.exists());
    Ok(())
}

#[tokio::test]
async fn nothing_is_left_after_a_drop() -> Result<()> {
    let control_plane = ControlPlane::builder().start().await?;
    let (pids, folder) = (control_plane.pids(), folder(&control_plane));
    assert_eq!(pids.len(), 2);

    drop(control_plane);

    assert!(!pids.iter().any(|&pid| runs(pid)) && !folder.exists());
    Ok(())
}

#[tokio::test]
async fn a_restarted_api_server_has_its_port_and_its_data() -> Result<()> {
    let control_plane = ControlPlane::builder().start().await?;
    let client = control_plane.client()?;
    let config_maps = Api::<ConfigMap>::default_namespaced(client.clone());
    let metadata = ObjectMeta { name: Some("kept".to_owned()), ..Default::default() };
    let kept = ConfigMap { metadata, ..Default::default() };
    let kept = config_maps.create(&PostParams::default(), &kept).await?;

    control_plane.kill_api_server();
    ready(&client).await.expect_err("nobody listens");
    control_plane.restart_api_server().await?;

    assert_eq!(config_maps.get("kept").await?, kept);
    control_plane.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_halted_api_server_answers_when_it_goes_on() -> Result<()> {
    let control_plane = ControlPlane::builder().start().await?;
    let client = control_plane.client()?;

    control_plane.pause_api_server();
    tokio::time::timeout(Duration::from_millis(500), ready(&client)).await.expect_err("it is halted");
    control_plane.resume_api_server();

    until(SOON, "an answer", async || Ok(ready(&client).await.ok())).await?;
    control_plane.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_refused_argument_is_an_error_that_shows_the_log() {
    let started = Instant::now();
    let builder = ControlPlane::builder().api_server_arg("--no-such-flag");
    let Err(error) = builder.start().await else { panic!("there is no such flag") };
    let text = format!("{error:#}");
    assert!(text.contains("kube-apiserver ended") && text.contains("unknown flag: --no-such-flag"), "{text}");
    assert!(started.elapsed() < Duration::from_mins(1), "no deadline had to pass");
}

#[tokio::test]
async fn a_control_plane_can_be_driven_from_a_task() -> Result<()> {
    let task = tokio::spawn(async {
        let control_plane = ControlPlane::builder().start().await?;
        control_plane.apply_crds([] as [&Path; 0]).await?;
        control_plane.service_account("default", "a").await?;
        control_plane.restart_api_server().await?;
        control_plane.stop().await;
        Ok(())
    });
    task.await?
}

/// Starts this test program again, to run only [`victim`], and reads the pids from it.
#[tokio::test]
async fn nothing_runs_on_when_the_test_process_is_killed() -> Result<()> {
    let folder = tempfile::tempdir()?; // the victim cannot remove its own
    let mut victim = tokio::process::Command::new(env::current_exe()?)
        .args(["--exact", "victim", "--nocapture"])
        .env(VICTIM, "1")
        .env("TMPDIR", folder.path())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut lines = BufReader::new(victim.stdout.take().context("its output is piped")?).lines();
    let pids: Vec<u32> = loop {
        let line = lines.next_line().await?.context("the victim ended by itself")?;
        if let Some((_, pids)) = line.split_once("pids=") {
            break pids.split(',').map(str::parse).collect::<Result<_, _>>()?;
        }
    };
    assert!(pids.len() == 2 && pids.iter().all(|&pid| runs(pid)));

    victim.kill().await?;

    until_none_runs(&pids).await
}

#[tokio::test]
async fn victim() -> Result<()> {
    if env::var_os(VICTIM).is_none() {
        return Ok(());
    }
    let control_plane = ControlPlane::builder().start().await?;
    let pids: Vec<_> = control_plane.pids().iter().map(u32::to_string).collect();
    println!("pids={}", pids.join(","));
    std::future::pending().await
}
