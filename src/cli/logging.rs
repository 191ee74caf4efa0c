//! How logs are written.

use std::io::IsTerminal as _;

use clap::ValueEnum;
use tracing_subscriber::{EnvFilter, filter::ParseError, fmt};

/// kube's client logs every request that fails, of which those who sent it tell more; and every body that it cannot
/// read, whole, be it that of Secrets.
const DEFAULT: &str = "info,kube_client::client=off";

/// How logs are written.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// How each log line looks.
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    logging_format: Format,

    /// What is logged: a level, or levels by module, as in `info,kapstan::runtime=debug`.
    #[arg(long, global = true, env = "KAPSTAN_LOG", default_value = DEFAULT, value_parser = filter)]
    log: EnvFilter,
}

/// A log format.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

// Its conversion from text would only skip what it cannot read.
fn filter(text: &str) -> Result<EnvFilter, ParseError> {
    EnvFilter::builder().parse(text)
}

impl Args {
    /// Sends logs to standard error from now on.
    pub(super) fn install(self) {
        let Self { logging_format, log } = self;
        // Colours are for people only, and not for what collects logs.
        let is_terminal = std::io::stderr().is_terminal();
        let subscriber = fmt().with_env_filter(log).with_writer(std::io::stderr).with_ansi(is_terminal);
        match logging_format {
            Format::Text => subscriber.init(),
            Format::Json => subscriber.json().init(),
        }
    }
}
