//! `kapstan dev`: an API server, an extension and the manager in one process, to try things out.

mod kubeconfig;
mod report;
mod screen;
mod stage;

use std::{
    io::IsTerminal as _,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::{
    kubeconfig::KubeconfigFile,
    report::Report,
    screen::Screen,
    stage::{Stage, server_with_crds},
};
use super::{duration, logging, print, signals};
use crate::{
    manifests::{self, Manifest},
    readiness::Snapshot,
    samples,
};

/// How often the objects are looked at while they are not ready.
const LOOK: Duration = Duration::from_millis(100);

const AFTER_HELP: &str = "\
Examples:
  kapstan dev                               the samples, until Ctrl-C
  kapstan dev --once                        the same, and end when everything is ready
  kapstan dev -f classes/ --once            whether your own classes become ready
  kubectl kustomize overlay | kapstan dev -f -
  kapstan dev --server-only                 the API server alone, for a `kapstan manager` beside it

In the objects, ${EXTENSION_URL} and ${EXTENSION_CA_BUNDLE} stand for the sample extension and its CA (PEM in base64). It \
serves the handlers discovervariables, generatepatches and validatetopology at ${EXTENSION_URL}/images, /sites and /sizing, \
and answers 404 to everything else.

Ready is an ExtensionConfig whose present generation is Discovered, and a ClusterClass whose present generation is \
VariablesReady and RefVersionsUpToDate and that is an owner of each of its templates.

With --output json, standard output has one line, when everything is ready or the time is over:
  {ready, seconds, extensionConfigs: [{name, ready, reason, handlers}],
   clusterClasses: [{namespace, name, ready, reason, variables}], kubeconfig}
seconds are counted from when everything was applied; reason is null when the object is ready; handlers and variables are \
the names in the status; kubeconfig is a path, or null with --once, because the file goes with the process.

Exit codes:
  0  everything is ready (--once), or it was told to end
  1  something is not ready in time (--once), or an object, a file or a port cannot be used
  2  the command line is wrong";

/// Run an API server, an extension and the manager in this process, apply objects, and show how they become ready.
///
/// Nothing else is needed, and nothing is left when it ends: the API server is in memory. It has the CRDs of Kapstan and of
/// the templates that the samples refer to. Without -f the samples are applied (config/samples).
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// Apply the objects of a file, of a folder, or (-) of standard input, instead of the samples. May be given several times.
    ///
    /// Of a folder with a kustomization.yaml that is a plain list, the resources that it lists; of another folder, its files
    /// *.yaml, *.yml and *.json. They are applied on the server side: CustomResourceDefinitions first, then Namespaces, then
    /// the others in order.
    #[arg(short, long = "filename", value_name = "FILE|DIR|-")]
    filenames: Vec<PathBuf>,

    /// End when everything is ready, or when the time is over, and say by the exit code which of them it was.
    #[arg(long)]
    once: bool,

    /// How long it may take until everything is ready. Then what is not ready is told.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    timeout: Duration,

    /// What is written to standard output.
    #[arg(long, value_enum, default_value_t = Output::Table)]
    output: Output,

    /// Path of the kubeconfig file to make, which must not exist. It is removed at the end. Unset means one of its own in
    /// `XDG_RUNTIME_DIR`, or else among the temporary files.
    #[arg(long, value_name = "PATH")]
    kubeconfig: Option<PathBuf>,

    /// Port of the API server on 127.0.0.1. 0 takes one that is free.
    #[arg(long, default_value_t = 0)]
    port: u16,

    /// Port of the sample extension on 127.0.0.1. 0 takes one that is free.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    extension_port: u16,

    /// Run the API server alone, with the CRDs and nothing else in it.
    #[arg(long, conflicts_with_all = ["filenames", "once", "timeout", "output", "extension_port"])]
    server_only: bool,
}

/// What is written to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Tables, and how to go on.
    Table,
    /// One line of JSON.
    Json,
}

/// Runs to its end.
pub(super) fn run(args: Args, logging: logging::Args) -> anyhow::Result<ExitCode> {
    let screen = Screen::new(std::io::stderr().is_terminal());
    logging.install(logging::Default::Warnings, screen.clone())?;
    super::block_on(async {
        let stop = signals::stop()?;
        if args.server_only { serve(args, stop).await } else { Box::pin(show(args, &screen, stop)).await }
    })
}

/// The API server alone.
async fn serve(args: Args, stop: CancellationToken) -> anyhow::Result<ExitCode> {
    let listener = server_with_crds()?.listen(at(args.port)).await?;
    let kubeconfig = KubeconfigFile::make(args.kubeconfig, &listener.kubeconfig())?;
    print(&report::server_only(&listener.url(), kubeconfig.path()))?;
    stop.cancelled().await;
    listener.stop().await;
    Ok(ExitCode::SUCCESS)
}

/// All of it.
async fn show(args: Args, screen: &Screen, stop: CancellationToken) -> anyhow::Result<ExitCode> {
    let Args { filenames, once, timeout, output, kubeconfig, port, extension_port, server_only: _ } = args;
    // Standard input may never end; it is left then.
    let reading = tokio::task::spawn_blocking(|| read(filenames));
    let Some(manifests) = stop.run_until_cancelled(reading).await else { return Ok(interrupted(once)) };
    let stage = Stage::set(port, extension_port, manifests.context("failed to read files")??).await?;
    let kubeconfig = KubeconfigFile::make(kubeconfig, &stage.kubeconfig())?;
    screen.say(&format!("API server {}, extension {}", stage.url(), stage.extension_url()));
    let shown = stop.run_until_cancelled(Box::pin(until_reported(&stage, screen, timeout))).await;
    screen.finish();
    let Some(report) = shown.transpose()? else {
        stage.strike().await;
        return Ok(interrupted(once));
    };
    let path = (!once).then(|| kubeconfig.path());
    print(&match output {
        Output::Table => report.table(path),
        Output::Json => report.json(path)?,
    })?;
    if !once {
        stop.cancelled().await;
    }
    stage.strike().await;
    Ok(if once && !report.is_ready() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Who is told to end has ended well, but did not find out whether everything becomes ready.
fn interrupted(once: bool) -> ExitCode {
    if once { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn read(filenames: Vec<PathBuf>) -> anyhow::Result<Vec<Manifest>> {
    if filenames.is_empty() {
        return Ok(samples::manifests());
    }
    let mut manifests = Vec::new();
    for path in filenames {
        manifests.extend(manifests::read(&path)?);
    }
    Ok(manifests)
}

/// Applies the objects and waits until they are ready or the time is over.
async fn until_reported(stage: &Stage, screen: &Screen, timeout: Duration) -> anyhow::Result<Report> {
    let count = stage.apply().await?;
    screen.say(&format!("{count} objects applied"));
    let started = Instant::now();
    loop {
        let snapshot = Snapshot::read(stage.client()).await.context("failed to look at the objects")?;
        let elapsed = started.elapsed();
        screen.progress(&snapshot, elapsed);
        if snapshot.is_ready() || elapsed >= timeout {
            return Ok(Report::new(snapshot, elapsed, stage.metrics()));
        }
        if stage.has_ended() {
            bail!("the manager ended, which is a fault of Kapstan");
        }
        tokio::time::sleep(LOOK.min(timeout.saturating_sub(elapsed))).await;
    }
}

fn at(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}
