//! Kapstan: a runtime-extension manager for Cluster API management clusters.
//!
//! Watches feed the [`index`]; the index says what a change concerns; [`controllers`] decide and write; [`jobs`] have
//! extensions called by [`runtime`]; [`resync`] says when to ask again. [`manager`] puts them together, [`simulate`]
//! counts what that costs, [`cli`] is the command line.

pub mod cli;
pub mod clock;
pub mod controllers;
pub mod crds;
pub mod digest;
pub mod error;
pub mod health;
pub mod index;
pub mod jobs;
pub mod kubeconfig;
pub mod leader;
pub mod manager;
pub mod manifests;
pub mod metrics;
pub mod queue;
pub mod readiness;
pub mod resync;
pub mod runtime;
pub mod samples;
pub mod simulate;
