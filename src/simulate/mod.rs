//! What load a fleet of extensions would see: simulates so many `ExtensionConfig`s and `ClusterClass`es, has the real
//! manager make them ready, and counts.
//!
//! Everything is counted where it arrives: calls at the extension, requests at the API server. The API server is one in
//! this process, or any that a kubeconfig leads to. On the virtual clock nothing leaves the process, and time moves on
//! when there is nothing left to do, so that hours take seconds and every run is like any other.
//!
//! Each phase is a file of its own; `bench` holds the parts that phases use.

mod bench;
mod cluster;
mod fleet;
mod host;
mod progress;
mod report;
mod requests;
mod settle;
mod sight;

use std::{path::PathBuf, time::Duration};

use anyhow::{Context as _, Result, anyhow};
use jiff::Timestamp;
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

use bench::Bench;
pub use fleet::Size;
use host::Host;
pub use report::{Calls, Lists, PerKind, Ready, Report, Settle};

/// The time at which a simulation on the virtual clock begins: 2026-01-01T00:00:00Z.
const ORIGIN: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// What is simulated, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many objects.
    pub size: Size,
    /// How long an extension takes to answer.
    pub latency: Duration,
    /// The manager's `--sync-period`.
    pub sync_period: Duration,
    /// The manager's `--pending-after`.
    pub pending_after: Duration,
    /// What happens, in this order: first [`Phase::Settle`], and each no more than once.
    pub phases: Vec<Phase>,
    /// Whose time it is.
    pub time: Time,
    /// Everything that is by chance otherwise is decided by it.
    pub seed: u64,
    /// The API server.
    pub server: Server,
}

/// What happens in a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Everything is created while a manager runs, until all of it is ready.
    Settle,
}

/// Whose time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// The machine's; extension and API server are reached by sockets.
    Real,
    /// A clock that moves on when there is nothing left to do; nothing leaves the process.
    Virtual,
}

/// An API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Server {
    /// One in this process, in memory.
    Embedded,
    /// The one that this kubeconfig file leads to.
    Kubeconfig(PathBuf),
}

/// Why options do not go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misuse {
    /// A class cannot name more extensions than there are.
    #[error("a class cannot refer to {refs} ExtensionConfigs where there are {configs}")]
    TooManyRefs {
        /// External patches of a class.
        refs: usize,
        /// `ExtensionConfig`s.
        configs: usize,
    },
    /// Every other phase begins with what was settled.
    #[error("the phases must begin with settle, and name each no more than once")]
    Phases,
    /// Other processes do not follow a virtual clock.
    #[error("the virtual clock goes with the embedded server only: a cluster keeps its own time")]
    VirtualCluster,
}

impl Options {
    /// Whether the options go together.
    ///
    /// # Errors
    /// [`Misuse`] when they do not.
    pub fn check(&self) -> Result<(), Misuse> {
        let Size { extension_configs: configs, refs, .. } = self.size;
        if refs > configs {
            return Err(Misuse::TooManyRefs { refs, configs });
        }
        if self.phases != [Phase::Settle] {
            return Err(Misuse::Phases);
        }
        if self.time == Time::Virtual && self.server != Server::Embedded {
            return Err(Misuse::VirtualCluster);
        }
        Ok(())
    }
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was counted.
    pub report: Report,
    /// What some of the objects that are not ready say.
    pub complaints: Vec<String>,
}

/// Simulates, in a runtime of its own. In a cluster, an interrupt (SIGINT, SIGTERM, SIGHUP) ends it early; whatever ends it,
/// what it made there is taken away.
///
/// # Errors
/// When it cannot be simulated: options that do not go together, a cluster that cannot be reached or is in use, an
/// object that is refused, an interrupt. That not everything became ready is no error.
pub fn run(options: &Options) -> Result<Outcome> {
    options.check()?;
    let runtime = runtime(options.time).context("failed to start")?;
    let outcome = runtime.block_on(stage(options));
    runtime.shutdown_background();
    outcome
}

fn runtime(time: Time) -> std::io::Result<Runtime> {
    match time {
        Time::Real => Builder::new_multi_thread().enable_all().build(),
        Time::Virtual => Builder::new_current_thread().enable_all().start_paused(true).build(),
    }
}

async fn stage(options: &Options) -> Result<Outcome> {
    let host = Host::connect(options).await?;
    let interrupted = CancellationToken::new();
    if matches!(host, Host::Cluster(_)) {
        watch_signals(&interrupted)?;
    }
    let played = play(options, &host, &interrupted).await;
    let cleaned = host.clean_up().await;
    match (played, cleaned) {
        (Err(error), Err(also)) => Err(error.context(format!("{also:#}"))),
        (Ok(_), Err(error)) | (Err(error), Ok(())) => Err(error),
        (Ok(outcome), Ok(())) => Ok(outcome),
    }
}

/// The phases, until one fails or the user has had enough.
async fn play(options: &Options, host: &Host, interrupted: &CancellationToken) -> Result<Outcome> {
    let cut = || anyhow!("interrupted");
    let bench = interrupted.run_until_cancelled(Bench::set_up(options, host)).await;
    let mut bench = bench.unwrap_or_else(|| Err(cut()))?;
    let outcome = interrupted.run_until_cancelled(phases(options, &mut bench)).await;
    let stopped = bench.stop_manager().await;
    let outcome = outcome.unwrap_or_else(|| Err(cut()))?;
    stopped?;
    Ok(outcome)
}

async fn phases(options: &Options, bench: &mut Bench<'_>) -> Result<Outcome> {
    let mut settled = None;
    for phase in &options.phases {
        match phase {
            Phase::Settle => settled = Some(settle::run(bench).await?),
        }
    }
    let settle::Settled { settle, ready, histogram, complaints } =
        settled.context("nothing was to be done")?;
    Ok(Outcome { report: Report { ready, size: options.size, settle, histogram }, complaints })
}

/// The first signal ends the simulation in an orderly way; another one ends the process.
fn watch_signals(interrupted: &CancellationToken) -> Result<()> {
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        let mut signal = signal(kind).context("failed to wait for signals")?;
        let interrupted = interrupted.clone();
        tokio::spawn(async move {
            signal.recv().await;
            tracing::warn!("interrupted: what was made is being taken away");
            interrupted.cancel();
            signal.recv().await;
            std::process::exit(1);
        });
    }
    Ok(())
}
