//! Structural schemas of Kubernetes CRDs: validation, defaulting, pruning, CEL.
