//! `ExtensionConfig`: only conditions moved, and some fields became plain values.

use serde_json::Value;

use super::{ConversionError, conditions_down, conditions_up, reread, written};
use crate::types::{runtime_v1alpha1 as old, runtime_v1beta2 as new};

pub(super) fn up(mut object: Value) -> Result<Value, ConversionError> {
    object["apiVersion"] = "runtime.cluster.x-k8s.io/v1beta2".into();
    conditions_up(&mut object);
    reread::<new::ExtensionConfig>(object).map(|object| written(&object))
}

pub(super) fn down(mut object: Value) -> Result<Value, ConversionError> {
    object["apiVersion"] = "runtime.cluster.x-k8s.io/v1alpha1".into();
    conditions_down(&mut object);
    reread::<old::ExtensionConfig>(object).map(|object| written(&object))
}
