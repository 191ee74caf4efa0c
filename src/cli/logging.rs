//! How logs are written.

use clap::ValueEnum;
use tracing_subscriber::{EnvFilter, fmt};

/// How logs are written.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// How each log line looks.
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    logging_format: Format,

    /// What is logged: a level, or levels by module, as in `info,kapstan::runtime=debug`.
    #[arg(long, global = true, env = "KAPSTAN_LOG", default_value = "info")]
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

impl Args {
    /// Sends logs to standard error from now on.
    pub(super) fn install(self) {
        let Self { logging_format, log } = self;
        let subscriber = fmt().with_env_filter(log).with_writer(std::io::stderr);
        match logging_format {
            Format::Text => subscriber.init(),
            Format::Json => subscriber.json().init(),
        }
    }
}
