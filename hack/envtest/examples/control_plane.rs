//! Starts a control plane for use by hand, with audit log and garbage collector, until Ctrl-C.
//!
//! `cargo run -p kapstan-envtest --example control_plane [CRD file or folder]...`
#![expect(clippy::print_stdout, reason = "it says how to reach the control plane")]

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use kapstan_envtest::{ControlPlane, assets};

#[tokio::main]
async fn main() -> Result<()> {
    let crds: Vec<_> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let assets = assets()?;
    let started = Instant::now();
    let control_plane = ControlPlane::builder().audit().garbage_collector().start().await?;
    println!("# ready after {:.1?}, processes {:?}", started.elapsed(), control_plane.pids());
    control_plane.apply_crds(crds).await?;
    println!("export KUBECONFIG={}", control_plane.kubeconfig().display());
    println!("export PATH={}:$PATH", assets.display());

    tokio::signal::ctrl_c().await?;
    let stopping = Instant::now();
    control_plane.stop().await;
    println!("# stopped after {:.1?}", stopping.elapsed());
    Ok(())
}
