//! Everything between the manager and an extension: the HTTPS client, its cache and its limits.
//!
//! Owns: who is asked and how it is reached ([`extension`], [`endpoint`], [`settings`]), the byte stream and its
//! encryption ([`transport`], [`proxy`], [`tls`]), one exchange with every bound (`http`), asking once for everybody
//! (`flight`), remembering answers ([`cache`]), what an address may be burdened with (`limits`), and what a failure is
//! called and means ([`error`], [`policy`]). [`client`] puts them together.
//!
//! Leaves to others: when to ask, which handlers exist, what an answer means for a status.
//!
//! Mirrors upstream's `internal/runtime/client`. To come, with their places: rate limits, queue and fairness in
//! `limits`; breaker, back-off and the memory of failures per extension between [`client`] and `limits`.

pub mod cache;
pub mod client;
pub mod endpoint;
pub mod error;
pub mod extension;
pub mod gate;
pub mod hooks;
pub mod policy;
pub mod proxy;
pub mod registry;
pub mod settings;
pub mod tls;
pub mod transport;

mod flight;
mod http;
mod limits;

#[cfg(test)]
pub(crate) mod tests;

pub use cache::Answer;
pub use client::{Cause, Client, Options};
pub use error::CallError;
pub use extension::{Extension, Question, QuestionKey};
pub use hooks::{HookClient, HookError, NamespaceLabels};
pub use http::MAX_ANSWER_BYTES;
pub use registry::{Registration, Registry};
