//! Kapstan: a runtime-extension manager for Cluster API management clusters.

pub mod clock;
pub mod digest;
pub mod metrics;
pub mod runtime;
