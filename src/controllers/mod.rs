//! The reconcilers, one folder for each kind that is written to, and what they share.
//!
//! Each has `reconcile` (the shell: read, decide, write), `plan` and `status` (pure: what should be). Each runs on its
//! own queue; what comes into the queue is the index's business.

pub mod cluster_class;
pub mod extension_config;
pub mod pending;
pub mod runner;
pub mod template_owners;
#[cfg(test)]
pub(crate) mod tests;
pub mod write;

use std::{sync::Arc, time::Duration};

use crate::{clock::Clock, index::shared::Shared, metrics::Metrics, runtime::Client};

/// What every reconcile needs. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    /// The API server.
    pub kube: kube::Client,
    /// What is known.
    pub shared: Shared,
    /// The extensions.
    pub extensions: Arc<Client>,
    /// What time it is.
    pub clock: Clock,
    /// What is counted.
    pub metrics: Metrics,
    /// How long an object waits before it says so; zero means that it never does.
    pub pending_after: Duration,
}
