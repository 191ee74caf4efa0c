//! An API server by itself, for kubectl, until Ctrl-C.
//!
//! `cargo run -p kapstan-embedded --example serve -- [CRDS OR OTHER OBJECTS].yaml...`
#![expect(clippy::print_stdout, reason = "it says how to reach the server")]

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context as _, Result};
use kapstan_embedded::Server;

#[tokio::main]
async fn main() -> Result<()> {
    let server = Server::builder().start();
    for path in std::env::args_os().skip(1).map(std::path::PathBuf::from) {
        let yaml =
            std::fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
        let count = server.load(&yaml).with_context(|| format!("failed to load {}", path.display()))?;
        println!("# {count} objects from {}", path.display());
    }
    let listener = server.listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
    let kubeconfig = std::env::temp_dir().join(format!("kapstan-embedded-{}.kubeconfig", std::process::id()));
    std::fs::write(&kubeconfig, listener.kubeconfig())?;
    println!("# {}\nexport KUBECONFIG={}", listener.url(), kubeconfig.display());

    tokio::signal::ctrl_c().await?;
    listener.stop().await;
    std::fs::remove_file(&kubeconfig)?;
    Ok(())
}
