//! `kapstan simulate`: what load a fleet of extensions would see.

use std::{num::NonZeroUsize, path::PathBuf, time::Duration};

use anyhow::bail;
use clap::{CommandFactory as _, ValueEnum, builder::RangedU64ValueParser, error::ErrorKind};

use super::{Cli, duration, manager::period, print};
use crate::simulate::{self, Phase, Server, Size, Time};

const AFTER_HELP: &str = "\
Examples:
  kapstan simulate
  kapstan simulate --extension-configs 100 --cluster-classes 500 --refs 4 --clock virtual
  kapstan simulate --latency 6s --pending-after 5s --clock virtual --output json
  kapstan simulate --server ~/.kube/config

It ends with 0 when everything became ready, with 1 when not, or when it cannot be simulated, and says why.";

/// Count what a fleet of ExtensionConfigs and ClusterClasses costs extensions and the API server.
///
/// The real manager runs, with an extension that answers after --latency. Calls are counted by the extension, requests by
/// the API server. Nothing but this program is needed: by default the API server is one in memory. With --clock virtual,
/// time passes only when there is nothing left to do, so that the same flags give the same report.
///
/// With --server PATH the API server is the one of that kubeconfig. It counts requests in its own metrics, which do not say
/// who asked, so use a cluster that nobody else works in; its garbage collector lists kinds that are new to it, which then
/// shows as extra lists. A cluster with ExtensionConfigs or ClusterClasses in it, or with Cluster API's own manager, is
/// refused. What was made is taken away in the end, also after Ctrl-C, and so are CRDs that were not there before.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// How many ExtensionConfigs there are.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = up_to(0, 10_000))]
    extension_configs: usize,

    /// How many ClusterClasses there are.
    #[arg(long, value_name = "M", default_value_t = 10, value_parser = up_to(0, 100_000))]
    cluster_classes: usize,

    /// How many ExtensionConfigs each ClusterClass refers to, with one external patch each.
    #[arg(long, value_name = "R", default_value_t = 2, value_parser = up_to(0, 1_000))]
    refs: usize,

    /// How many ClusterClasses share one set of four templates.
    #[arg(long, value_name = "CLASSES", default_value_t = 10, value_parser = up_to(1, 100_000))]
    template_sharing: usize,

    /// How many variables each extension answers with.
    #[arg(long, default_value_t = 10, value_parser = up_to(0, 1_000))]
    variables: usize,

    /// How long an extension takes to answer, as in 50ms or 9s.
    #[arg(long, default_value = "50ms", value_parser = up_to_a_day)]
    latency: Duration,

    /// How often the manager asks each extension again although nothing changed. 0s means never.
    #[arg(long, default_value = "10m", value_parser = period)]
    sync_period: Duration,

    /// How long an object waits for an extension before its condition says so. 0s means never.
    #[arg(long, default_value = "5s", value_parser = duration)]
    pending_after: Duration,

    /// What happens, in this order.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "settle")]
    phases: Vec<PhaseName>,

    /// Whose time it is.
    #[arg(long, value_enum, default_value_t = Clock::Real)]
    clock: Clock,

    /// Decides which extensions a class refers to, and everything else that is by chance otherwise.
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// The API server: `embedded`, or the path of a kubeconfig file.
    #[arg(long, value_name = "embedded|KUBECONFIG", default_value = EMBEDDED)]
    server: PathBuf,

    /// How the result is shown.
    #[arg(long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

const EMBEDDED: &str = "embedded";

/// What happens in a simulation.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum PhaseName {
    /// Everything is created while the manager runs, until all of it is ready.
    Settle,
}

/// Whose time it is.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Clock {
    /// The machine's, with real sockets.
    Real,
    /// One that moves on when there is nothing left to do. For the embedded server only.
    Virtual,
}

/// How a result is shown.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Output {
    /// For people.
    Table,
    /// One JSON object.
    Json,
}

fn up_to(least: u64, most: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(least..=most)
}

fn up_to_a_day(text: &str) -> Result<Duration, String> {
    let duration = duration(text)?;
    if duration > Duration::from_hours(24) { Err("more than a day".to_owned()) } else { Ok(duration) }
}

impl Args {
    fn into_options(self) -> (simulate::Options, Output) {
        let Self {
            extension_configs,
            cluster_classes,
            refs,
            template_sharing,
            variables,
            latency,
            sync_period,
            pending_after,
            phases,
            clock,
            seed,
            server,
            output,
        } = self;
        let template_sharing = NonZeroUsize::new(template_sharing).unwrap_or(NonZeroUsize::MIN);
        let options = simulate::Options {
            size: Size { extension_configs, cluster_classes, refs, template_sharing, variables },
            latency,
            sync_period,
            pending_after,
            phases: phases.into_iter().map(|PhaseName::Settle| Phase::Settle).collect(),
            time: match clock {
                Clock::Real => Time::Real,
                Clock::Virtual => Time::Virtual,
            },
            seed,
            server: if server.as_os_str() == EMBEDDED {
                Server::Embedded
            } else {
                Server::Kubeconfig(server)
            },
        };
        (options, output)
    }
}

/// Simulates, and prints the result.
pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let (options, output) = args.into_options();
    if let Err(misuse) = options.check() {
        let mut command = Cli::command();
        command.build();
        let mut command = command.find_subcommand("simulate").cloned().unwrap_or(command);
        command.error(ErrorKind::ArgumentConflict, misuse).exit();
    }
    let simulate::Outcome { report, complaints } = simulate::run(&options)?;
    match output {
        Output::Table => print(&report.to_string())?,
        Output::Json => print(&format!("{}\n", serde_json::to_string_pretty(&report)?))?,
    }
    if !report.is_ready() {
        bail!("not everything became ready:\n{}", complaints.join("\n"));
    }
    Ok(())
}
