//! An in-memory Kubernetes API server in process.

mod clock;
mod names;
mod status;
mod store;
