//! How logs are written.

use std::io::IsTerminal as _;

use anyhow::Context as _;
use clap::ValueEnum;
use tracing_subscriber::{EnvFilter, filter::ParseError, fmt, fmt::MakeWriter};

/// What is logged when nothing is said about it.
///
/// kube's client logs every request that fails, of which those who sent it tell more; and every body that it cannot
/// read, whole, be it that of Secrets. So neither has it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Default {
    /// What happens: for what runs unwatched.
    Events,
    /// What goes wrong: for what shows by itself how it goes.
    Warnings,
}

impl Default {
    const fn filter(self) -> &'static str {
        match self {
            Self::Events => "info,kube_client::client=off",
            Self::Warnings => "warn,kube_client::client=off",
        }
    }
}

/// How logs are written.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// How each log line looks.
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    logging_format: Format,

    /// What is logged: a level, or levels by module, as in `info,kapstan::runtime=debug`. Unset means `info` for
    /// `manager`, `warn` for what shows by itself how it goes; the API client is left out of both.
    #[arg(long, global = true, env = "KAPSTAN_LOG", hide_env_values = true, value_parser = filter)]
    log: Option<EnvFilter>,
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
    /// Has logs written from now on, to standard error or what stands for it.
    pub(super) fn install<W>(self, default: Default, writer: W) -> anyhow::Result<()>
    where
        W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
    {
        let Self { logging_format, log } = self;
        let log = log.map_or_else(|| filter(default.filter()), Ok).context("--log")?;
        // Colours are for people only, and not for what collects logs.
        let is_terminal = std::io::stderr().is_terminal();
        let subscriber = fmt().with_env_filter(log).with_writer(writer).with_ansi(is_terminal);
        match logging_format {
            Format::Text => subscriber.init(),
            Format::Json => subscriber.json().init(),
        }
        Ok(())
    }
}
