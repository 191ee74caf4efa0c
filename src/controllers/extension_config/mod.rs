//! `ExtensionConfig`: takes its CA from a Secret, has it discovered, and says in its status what was found.
//!
//! Mirrors `core/reconcilers/extensionconfig` of Cluster API. Calls are jobs of their own ([`crate::jobs`]).

pub mod plan;
pub mod reconcile;
pub mod status;

/// The kind, as in metrics and messages.
pub const KIND: &str = "ExtensionConfig";
