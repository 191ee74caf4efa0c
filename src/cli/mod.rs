//! The command line: one file for each subcommand.

mod crds;
mod dev;
mod diagnostics;
mod docs;
mod graph;
mod logging;
mod manager;
mod signals;
mod simulate;

use std::{
    io::{ErrorKind, Write as _},
    process::ExitCode,
    time::Duration,
};

use anyhow::Context as _;
use clap::{CommandFactory as _, Parser, Subcommand};

/// Runtime-extension manager for Cluster API management clusters.
///
/// Kapstan is the controller of ExtensionConfig and ClusterClass: it discovers what Runtime Extensions can do, asks them for
/// the variables of classes, and keeps status and owner references.
#[derive(Debug, Parser)]
#[command(name = "kapstan", version, about, propagate_version = true, after_long_help = AFTER_HELP)]
pub struct Cli {
    #[command(flatten)]
    logging: logging::Args,
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  kapstan dev                          see it work; nothing else is needed
  kapstan crds | kubectl apply -f -    install the kinds in a cluster
  kapstan manager                      control them in the cluster of the current kubeconfig
  kapstan graph                        ask the manager what depends on what
  kapstan simulate                     count what extensions and the API server would see

Exit codes:
  0  it did what it was asked to, or was told to end
  1  it could not, and says why
  2  the command line is wrong";

#[derive(Debug, Subcommand)]
enum Command {
    // What these are for is told by their arguments.
    Dev(Box<dev::Args>),
    Manager(Box<manager::Args>),
    Simulate(Box<simulate::Args>),
    Graph(graph::Args),
    /// Print the CustomResourceDefinitions of ExtensionConfig and ClusterClass as YAML.
    ///
    /// They are Cluster API's own. A cluster that has Cluster API has them already.
    #[command(after_help = "Example:\n  kapstan crds | kubectl apply -f -")]
    Crds,
    /// Print the OpenAPI document of all hooks as JSON.
    ///
    /// It says what extensions are sent and what they may answer.
    #[command(after_help = "Example:\n  kapstan openapi > runtime-hooks.json")]
    Openapi,
    /// Print a script that completes commands and flags in a shell.
    #[command(after_help = COMPLETIONS)]
    Completions {
        /// The shell it is for.
        shell: clap_complete::Shell,
    },
    /// Print docs/cli.md.
    #[command(hide = true)]
    Docs,
}

const COMPLETIONS: &str = "\
Examples:
  source <(kapstan completions bash)
  kapstan completions zsh > \"${fpath[1]}/_kapstan\"
  kapstan completions fish > ~/.config/fish/completions/kapstan.fish";

impl Cli {
    /// Runs the chosen command to its end, and says how the process is to end.
    ///
    /// # Errors
    /// What kept it from starting, or ended it.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let Self { logging, command } = self;
        match command {
            Command::Dev(args) => return dev::run(*args, logging),
            Command::Manager(args) => {
                logging.install(logging::Default::Events, std::io::stderr)?;
                manager::run(*args)?;
            }
            Command::Simulate(args) => {
                logging.install(logging::Default::Warnings, std::io::stderr)?;
                simulate::run(*args)?;
            }
            Command::Graph(args) => {
                logging.install(logging::Default::Warnings, std::io::stderr)?;
                graph::run(&args)?;
            }
            Command::Crds => crds::run()?,
            Command::Openapi => print(&format!("{:#}\n", kapstan_api::openapi::document()))?,
            Command::Completions { shell } => print(&completions(shell))?,
            Command::Docs => docs::run()?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn completions(shell: clap_complete::Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "kapstan", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Runs to the end, on all cores.
fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().context("failed to start")?;
    let ended = runtime.block_on(work);
    runtime.shutdown_background(); // a name that is still being looked up does not keep the process
    ended
}

/// Writes to standard output. That nobody reads on is no error.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("failed to write to standard output")
        }
        _ => Ok(()),
    }
}

/// A duration as flags have it: `90s`, `10m`, `1h30m`.
fn duration(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration = text.parse().map_err(|error: jiff::Error| error.to_string())?;
    Duration::try_from(span).map_err(|_| "must not be negative".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn every_shell_has_a_script_that_knows_commands_and_flags() {
        for shell in clap_complete::Shell::value_variants() {
            let script = completions(*shell);
            for word in ["completions", "server-only", "sync-period"] {
                assert!(script.contains(word), "{shell}: {word}");
            }
            assert!(script.contains("kapstan"), "{shell}");
        }
    }

    #[test]
    fn durations_have_units_and_are_not_negative() {
        assert_eq!(duration("1h30m"), Ok(Duration::from_mins(90)));
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        assert_eq!(duration("-1s"), Err("must not be negative".to_owned()));
        assert!(duration("10").is_err_and(|why| why.contains("unit designator")));
    }
}
