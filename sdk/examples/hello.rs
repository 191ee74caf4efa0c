//! An extension with one `DiscoverVariables` handler and a certificate it makes for itself: `cargo run -p
//! kapstan-sdk --example hello`, then `curl -k -d '{}'
//! https://localhost:9443/hooks.runtime.cluster.x-k8s.io/v1alpha1/discovery`.

use std::error::Error;

use kapstan_sdk::api::hooks::{DiscoverVariablesRequest, DiscoverVariablesResponse};
use kapstan_sdk::{Certificates, Extension, HandlerError, Pem, Server};
use serde_json::json;
use tokio_util::sync::CancellationToken;

async fn variables(request: DiscoverVariablesRequest) -> Result<DiscoverVariablesResponse, HandlerError> {
    let region = request.settings.get("defaultRegion").map_or("north", String::as_str);
    let variable = serde_json::from_value(json!({
        "name": "region",
        "required": false,
        "schema": {"openAPIV3Schema": {"type": "string", "default": region}},
    }))?;
    Ok(DiscoverVariablesResponse { variables: vec![variable], ..Default::default() })
}

/// Good for a look; real extensions get theirs from cert-manager or the like, by [`Certificates::from_files`].
fn self_made() -> Result<Pem, rcgen::Error> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    Ok(Pem {
        certificate: made.cert.pem().into_bytes(),
        key: made.signing_key.serialize_pem().into_bytes(),
        client_ca: None,
    })
}

#[tokio::main]
#[allow(clippy::print_stdout)]
async fn main() -> Result<(), Box<dyn Error>> {
    let extension = Extension::builder("hello").discover_variables("variables", variables).build()?;
    let pem = self_made()?;
    println!("caBundle (PEM):\n{}", String::from_utf8_lossy(&pem.certificate));

    let listener = tokio::net::TcpListener::bind("127.0.0.1:9443").await?;
    println!("serving on https://localhost:9443, Ctrl-C ends it");
    let shutdown = CancellationToken::new();
    let interrupted = shutdown.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            interrupted.cancel();
        }
    });
    Server::new(extension.into_router(), Certificates::from_pem(pem)?).serve(listener, shutdown).await;
    Ok(())
}
