//! An in-memory Kubernetes API server in process.
