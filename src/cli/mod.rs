//! The command line: one file for each subcommand.

mod crds;
mod diagnostics;
mod docs;
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
  kapstan crds | kubectl apply -f -    install the kinds in a cluster
  kapstan manager                      control them in the cluster of the current kubeconfig
  kapstan simulate                     count what extensions and the API server would see

Exit codes:
  0  it did what it was asked to, or was told to end
  1  it could not, and says why
  2  the command line is wrong";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the controllers of ExtensionConfig and ClusterClass against a cluster.
    Manager(Box<manager::Args>),
    Simulate(Box<simulate::Args>),
    /// Print the CustomResourceDefinitions of ExtensionConfig and ClusterClass as YAML.
    ///
    /// They are Cluster API's own. A cluster that has Cluster API has them already.
    #[command(after_help = "Example:\n  kapstan crds | kubectl apply -f -")]
    Crds,
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
        let by_default = match command {
            Command::Manager(_) => logging::Default::Events,
            _ => logging::Default::Warnings,
        };
        logging.install(by_default, std::io::stderr)?;
        match command {
            Command::Manager(args) => manager::run(*args)?,
            Command::Simulate(args) => simulate::run(*args)?,
            Command::Crds => crds::run()?,
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
