//! Wire types and pure rules of Cluster API's runtime extensions.
//!
//! Owns: the kinds [`ExtensionConfig`](extension_config::ExtensionConfig) and
//! [`ClusterClass`](cluster_class::ClusterClass) in version `v1beta2`, the messages of the hooks Discovery and
//! `DiscoverVariables`, the catalog of all hooks, and the decisions that need nothing but their arguments:
//! judging a discovery, merging variables, setting conditions, planning owner references, comparing template
//! versions, reading a CA from a Secret.
//!
//! Leaves to others: clients, calls, clocks, environment. The present time is always an argument.
//!
//! The kinds keep what they do not know, so that an object that is read and written back loses nothing. Closed
//! are only the types that Kubernetes itself owns: `metadata`, label selectors and `metav1` conditions.
//!
//! Behaviour follows Cluster API 1.12 to 1.14; where it differs on purpose, the item says so.

pub mod annotations;
pub mod ca;
pub mod cluster;
pub mod cluster_class;
pub mod conditions;
pub mod conversion;
pub mod crd;
pub mod discovery;
pub mod extension_config;
pub mod handler_name;
pub mod hooks;
pub mod labels;
pub mod openapi;
pub mod owner_references;
pub mod refversions;
pub mod text;
pub mod types;
pub mod variables;

mod kind;
mod wire;

pub use kapstan_schema::{Cause, FieldError};
pub use wire::Unknown;
