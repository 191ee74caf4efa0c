//! The parts of `Cluster` of `cluster.x-k8s.io/v1beta2` that hooks and rules speak of.
//!
//! Shape: Cluster API `api/core/v1beta2/cluster_types.go`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire::{Unknown, is_default, null_is_default};

/// The value of a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterVariable {
    /// The variable's name.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub name: String,
    /// Any JSON. `null` and absent are the same.
    #[serde(default)]
    pub value: Value,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}
