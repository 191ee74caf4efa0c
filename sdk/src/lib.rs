//! Write a Cluster API Runtime Extension in Rust.
//!
//! An [`Extension`] is a set of named handlers for hooks; what Discovery answers follows from it. A [`Server`]
//! serves it over TLS with [`Certificates`] that are renewed while it runs. Depends on nothing of Kapstan but
//! the wire types ([`api`]); any Cluster API manager can call it.
//!
//! ```
//! use std::time::Duration;
//!
//! use kapstan_sdk::api::cluster_class::ClusterClassVariable;
//! use kapstan_sdk::api::extension_config::FailurePolicy;
//! use kapstan_sdk::api::hooks::catalog::GroupVersionHook;
//! use kapstan_sdk::api::hooks::{DiscoverVariablesRequest, DiscoverVariablesResponse};
//! use kapstan_sdk::{Extension, Handler, HandlerError};
//! use serde_json::json;
//!
//! async fn variables(request: DiscoverVariablesRequest) -> Result<DiscoverVariablesResponse, HandlerError> {
//!     let Some(zone) = request.settings.get("zone") else {
//!         return Err(HandlerError::new("the setting zone is missing"));
//!     };
//!     let region: ClusterClassVariable = serde_json::from_value(json!({
//!         "name": "region",
//!         "required": false,
//!         "schema": {"openAPIV3Schema": {"type": "string", "default": zone}},
//!     }))?;
//!     Ok(DiscoverVariablesResponse { variables: vec![region], ..Default::default() })
//! }
//!
//! let extension = Extension::builder("hello")
//!     .discover_variables("variables", variables)
//!     // Any other hook, with its messages as JSON.
//!     .handler(
//!         Handler::named("veto").timeout(Duration::from_secs(5)).failure_policy(FailurePolicy::Ignore),
//!         GroupVersionHook::named("BeforeClusterDelete"),
//!         |request| async move {
//!             let doomed = request["cluster"]["metadata"]["name"] == "scratch";
//!             Ok(json!({"retryAfterSeconds": if doomed { 0 } else { 60 }}))
//!         },
//!     )
//!     .build()?;
//! assert_eq!(extension.discovery().handlers.len(), 2);
//! # Ok::<_, kapstan_sdk::BuildError>(())
//! ```
//!
//! Serving it, with a certificate from a mounted Secret:
//!
//! ```no_run
//! # use kapstan_sdk::{CertificateFiles, Certificates, Extension, Server};
//! # async fn run(extension: Extension) -> Result<(), Box<dyn std::error::Error>> {
//! use tokio_util::sync::CancellationToken;
//!
//! let certificates = Certificates::from_files(CertificateFiles::in_directory("/etc/serving"))?;
//! let listener = tokio::net::TcpListener::bind("0.0.0.0:9443").await?;
//! let shutdown = CancellationToken::new(); // cancel it on SIGTERM
//! Server::new(extension.into_router(), certificates).serve(listener, shutdown).await;
//! # Ok(())
//! # }
//! ```

mod extension;
mod handler;
mod server;

pub use extension::{BuildError, DEFAULT_BODY_LIMIT, Extension, ExtensionBuilder, Problem};
pub use handler::{Handler, HandlerError};
pub use kapstan_api as api;
pub use server::{CertificateError, CertificateFiles, Certificates, ConnectionError, Limits, Pem, Server};
