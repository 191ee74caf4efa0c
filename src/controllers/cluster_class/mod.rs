//! `ClusterClass`: merges its own variables with those that extensions discover, and judges its template references.
//!
//! Mirrors `core/reconcilers/clusterclass` of Cluster API. Calls are jobs of their own ([`crate::jobs`]); owner
//! references are written by [`super::template_owners`], once for all classes of a template.

pub mod plan;
pub mod reconcile;
pub mod status;

/// The kind, as in metrics and messages.
pub const KIND: &str = "ClusterClass";
