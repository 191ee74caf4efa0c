//! `kapstan graph`: asks a running manager what depends on what.

use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};

use crate::index::graph::{Graph, Output};

/// How long the manager may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) const AFTER_HELP: &str = "\
Examples:
  kapstan graph
  kapstan graph --output dot | dot -Tsvg > graph.svg
  kubectl port-forward deploy/kapstan 8080 & kapstan graph --output json

It asks the manager at --address, which serves the same under /debug/graph.";

/// Show which class uses which handler of which extension, why each object was last evaluated, and when it is next due.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// Where the manager serves its diagnostics: its --diagnostics-address.
    #[arg(long, default_value = "127.0.0.1:8080")]
    address: String,

    /// In which form it is shown.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// Asks and shows.
pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let Args { address, output } = args;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("failed to start")?;
    let asked = runtime.block_on(async { tokio::time::timeout(PATIENCE, ask(address)).await });
    let graph = asked.with_context(|| {
        format!("the manager at {address} did not answer within {} s", PATIENCE.as_secs())
    })??;
    super::print(&graph.show(*output))
}

async fn ask(address: &str) -> anyhow::Result<Graph> {
    let url = format!("http://{address}/debug/graph");
    let uri =
        url.parse().with_context(|| format!("--address: {address:?} is not of the form <host>:<port>"))?;
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let answer = client.get(uri).await;
    let answer = answer.with_context(|| format!("failed to reach a manager at {address} (--address)"))?;
    let status = answer.status();
    if !status.is_success() {
        bail!("{url} answered with {status}: there is no manager that serves graphs");
    }
    let body = answer.into_body().collect().await.with_context(|| format!("failed to read {url}"))?;
    serde_json::from_slice(&body.to_bytes()).with_context(|| format!("{url} did not answer with a graph"))
}
