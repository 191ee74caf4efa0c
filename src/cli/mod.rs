//! The command line: one file for each subcommand.

mod diagnostics;
mod logging;
mod manager;

use clap::{Parser, Subcommand};

/// Runtime-extension manager for Cluster API management clusters.
#[derive(Debug, Parser)]
#[command(name = "kapstan", version, about, propagate_version = true)]
pub struct Cli {
    #[command(flatten)]
    logging: logging::Args,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the controllers of ExtensionConfig and ClusterClass against a cluster.
    Manager(manager::Args),
}

impl Cli {
    /// Runs the chosen command to its end.
    ///
    /// # Errors
    /// What kept it from starting, or ended it.
    pub fn run(self) -> anyhow::Result<()> {
        let Self { logging, command } = self;
        logging.install();
        match command {
            Command::Manager(args) => manager::run(args),
        }
    }
}
