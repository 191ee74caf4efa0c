//! The `kapstan` binary: parse flags, run, print the error chain.

use std::process::ExitCode;

use clap::Parser as _;
use kapstan::cli::Cli;

fn main() -> ExitCode {
    // One crypto provider for the whole process, before anything can ask for one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match Cli::parse().run() {
        Ok(code) => code,
        Err(error) => {
            #[expect(clippy::print_stderr, reason = "the one line that a user sees when it does not start")]
            {
                eprintln!("kapstan: {}", kapstan::error::chain(error.as_ref()));
            }
            ExitCode::FAILURE
        }
    }
}
