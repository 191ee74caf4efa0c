//! An in-memory Kubernetes API server in process.

pub mod apply;
mod clock;
mod names;
mod status;
mod store;
