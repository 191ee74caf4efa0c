//! The HTTP endpoints of a running manager: health probes, metrics, and what depends on what.

use std::{net::SocketAddr, time::Duration};

use anyhow::Context as _;
use axum::{
    Router,
    extract::{RawQuery, State},
    http::StatusCode,
    http::header::CONTENT_TYPE,
    response::IntoResponse,
    routing::get,
};
use clap::ValueEnum as _;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{health::Health, index::graph::Output, manager::Graphs, metrics::Metrics};

/// How long requests that have begun may take once the process is to end.
const GRACE: Duration = Duration::from_secs(2);

/// Where a manager tells about itself.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Address of the health probes, `/healthz` and `/readyz`. Empty serves none.
    #[arg(long, default_value = "0.0.0.0:9440")]
    health_addr: String,

    /// Address of `/metrics` and `/debug/graph`, over plain HTTP. Empty serves none.
    #[arg(long, default_value = "127.0.0.1:8080")]
    diagnostics_address: String,
}

/// Endpoints whose ports are taken, ready to serve.
pub(super) struct Endpoints {
    health: Option<TcpListener>,
    metrics: Option<TcpListener>,
}

impl Args {
    /// Takes the ports.
    pub(super) async fn bind(self) -> anyhow::Result<Endpoints> {
        let Self { health_addr, diagnostics_address } = self;
        Ok(Endpoints {
            health: bind("--health-addr", &health_addr).await?,
            metrics: bind("--diagnostics-address", &diagnostics_address).await?,
        })
    }
}

async fn bind(flag: &str, address: &str) -> anyhow::Result<Option<TcpListener>> {
    if address.is_empty() {
        return Ok(None);
    }
    // As Go has it, an address may leave the host out.
    let address = if address.starts_with(':') { format!("0.0.0.0{address}") } else { address.to_owned() };
    let parsed: SocketAddr =
        address.parse().with_context(|| format!("{flag}: {address:?} is not of the form <ip>:<port>"))?;
    let listener =
        TcpListener::bind(parsed).await.with_context(|| format!("{flag}: failed to listen on {address}"))?;
    Ok(Some(listener))
}

impl Endpoints {
    /// Serves until `stop`.
    pub(super) async fn serve(
        self,
        health: Health,
        metrics: Metrics,
        graphs: Graphs,
        stop: CancellationToken,
    ) -> anyhow::Result<()> {
        let probes = Router::new()
            .route("/healthz", get(|| async { "ok" }))
            .route("/readyz", get(ready))
            .with_state(health);
        let graph = Router::new().route("/debug/graph", get(graph)).with_state(graphs);
        let diagnostics = Router::new().route("/metrics", get(render)).with_state(metrics).merge(graph);
        tokio::try_join!(
            serve("health probes", self.health, probes, &stop),
            serve("metrics", self.metrics, diagnostics, &stop)
        )?;
        Ok(())
    }
}

async fn serve(
    what: &'static str,
    listener: Option<TcpListener>,
    router: Router,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let Some(listener) = listener else { return Ok(()) };
    let address = listener.local_addr().context("failed to serve HTTP")?; // port 0 stands for a free one
    tracing::info!(what, %address, "listening");
    let served = axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned());
    // Who keeps a connection open without asking anything does not keep the process.
    let grace = async {
        stop.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        served = served.into_future() => served.context("failed to serve HTTP"),
        () = grace => Ok(()),
    }
}

async fn ready(State(health): State<Health>) -> impl IntoResponse {
    let missing = health.missing();
    if missing.is_empty() {
        (StatusCode::OK, "ok".to_owned())
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, missing.join("\n"))
    }
}

async fn render(State(metrics): State<Metrics>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], metrics.render())
}

const PLAIN: &str = "text/plain; charset=utf-8";

/// In the form of `?output=`, as `kapstan graph --output` has it; without, as JSON.
async fn graph(State(graphs): State<Graphs>, RawQuery(query): RawQuery) -> impl IntoResponse {
    let query = query.unwrap_or_default();
    let asked = query.split('&').find_map(|pair| pair.strip_prefix("output="));
    let Ok(output) = asked.map_or(Ok(Output::Json), |name| Output::from_str(name, false)) else {
        let why = "output must be text, json, dot or mermaid\n".to_owned();
        return (StatusCode::BAD_REQUEST, [(CONTENT_TYPE, PLAIN)], why);
    };
    let kind = if output == Output::Json { "application/json" } else { PLAIN };
    (StatusCode::OK, [(CONTENT_TYPE, kind)], graphs.now().show(output))
}
