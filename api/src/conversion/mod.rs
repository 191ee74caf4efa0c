//! Objects in other versions: `ExtensionConfig` between `v1alpha1` and `v1beta2`, `ClusterClass` between `v1beta1`
//! and `v1beta2`.
//!
//! Mirrors Cluster API `core/webhooks/conversion` and the conversions in `api/core/v1beta1` and
//! `api/runtime/v1alpha1`. An object is read as its version's type (see [`types`](crate::types)), so unknown fields
//! are dropped, what moved is moved in its JSON, and the rest, which has the same names, is read as the other
//! version's type.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{
    hooks::read,
    text,
    types::{Go, core_v1beta1, core_v1beta2, runtime_v1alpha1, runtime_v1beta2},
};

mod cluster_class;
mod extension_config;

pub use cluster_class::DATA_ANNOTATION;

/// Why an object cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConversionError {
    /// There is no such kind in this version, or no conversion between these versions.
    #[error("cannot convert {kind} of {from} to {to}")]
    Unsupported {
        /// The object's kind.
        kind: String,
        /// Its `apiVersion`.
        from: String,
        /// The `apiVersion` that is asked for.
        to: String,
    },
    /// The object is not what its `apiVersion` and `kind` say.
    #[error("cannot read the object: {0}")]
    Unreadable(String),
    /// What an earlier conversion noted in the object's annotation is not for this object.
    #[error("the annotation {DATA_ANNOTATION} cannot be used: {0}")]
    Annotation(String),
}

/// An object in the version `to`, such as `cluster.x-k8s.io/v1beta2`. One that has this version already comes back
/// as it is.
///
/// # Errors
/// [`ConversionError`], with bounded texts.
pub fn convert(object: &Value, to: &str) -> Result<Value, ConversionError> {
    let field = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let (kind, from) = (field("kind"), field("apiVersion"));
    if from == to {
        return Ok(object.clone());
    }
    match (kind, from, to) {
        ("ExtensionConfig", "runtime.cluster.x-k8s.io/v1alpha1", "runtime.cluster.x-k8s.io/v1beta2") => {
            extension_config::up(normal::<runtime_v1alpha1::ExtensionConfig>(object)?)
        }
        ("ExtensionConfig", "runtime.cluster.x-k8s.io/v1beta2", "runtime.cluster.x-k8s.io/v1alpha1") => {
            extension_config::down(normal::<runtime_v1beta2::ExtensionConfig>(object)?)
        }
        ("ClusterClass", "cluster.x-k8s.io/v1beta1", "cluster.x-k8s.io/v1beta2") => {
            cluster_class::up(normal::<core_v1beta1::ClusterClass>(object)?)
        }
        ("ClusterClass", "cluster.x-k8s.io/v1beta2", "cluster.x-k8s.io/v1beta1") => {
            cluster_class::down(normal::<core_v1beta2::ClusterClass>(object)?)
        }
        _ => {
            let bounded = |value: &str| text::foreign_within(value, 253);
            Err(ConversionError::Unsupported { kind: bounded(kind), from: bounded(from), to: bounded(to) })
        }
    }
}

/// An object as its version's type would write it, but for this: lists and maps that are there and empty stay, since
/// a structure that has one is not zero.
fn normal<T: DeserializeOwned + Serialize + Go>(object: &Value) -> Result<Value, ConversionError> {
    let unreadable = |why: String| ConversionError::Unreadable(text::foreign(&why));
    let mut found = object.clone();
    crate::hooks::prune(&mut found, &T::shape()).map_err(unreadable)?;
    let typed: T = read(object.clone(), &T::shape()).map_err(unreadable)?;
    let mut normal = written(&typed);
    keep_empty(&mut normal, &found);
    Ok(normal)
}

fn keep_empty(normal: &mut Value, found: &Value) {
    match (normal, found) {
        (Value::Object(normal), Value::Object(found)) => {
            for (name, found) in found {
                let is_empty = found.as_array().is_some_and(Vec::is_empty)
                    || found.as_object().is_some_and(Map::is_empty);
                match normal.get_mut(name) {
                    Some(normal) => keep_empty(normal, found),
                    None if is_empty => drop(normal.insert(name.clone(), found.clone())),
                    None => {}
                }
            }
        }
        (Value::Array(normal), Value::Array(found)) => {
            normal.iter_mut().zip(found).for_each(|(normal, found)| keep_empty(normal, found));
        }
        _ => {}
    }
}

/// What a typed object is as JSON.
fn written(object: &impl Serialize) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

/// Reads JSON of one version, with what moved already moved, as the type of another.
fn reread<T: DeserializeOwned + Go>(object: Value) -> Result<T, ConversionError> {
    read(object, &T::shape()).map_err(|why| ConversionError::Unreadable(text::foreign(&why)))
}

/// Takes a field out of an object; a missing one and `null` are the same.
fn take(object: &mut Value, name: &str) -> Option<Value> {
    object.as_object_mut()?.remove(name).filter(|value| !value.is_null())
}

/// Puts a value at a path; objects on the way are made where there are none.
fn put(object: &mut Value, path: &[&str], value: Value) {
    let Some((last, way)) = path.split_last() else { return };
    let mut here = object;
    for name in way {
        if !here[*name].is_object() {
            here[*name] = Value::Object(Map::new());
        }
        here = &mut here[*name];
    }
    here[*last] = value;
}

/// Takes a value from a path.
fn take_at(object: &mut Value, path: &[&str]) -> Option<Value> {
    let (last, way) = path.split_last()?;
    let mut here = object;
    for name in way {
        here = here.get_mut(*name)?;
    }
    take(here, last)
}

/// Moves a value from one path to another, if it is there.
fn shift(object: &mut Value, from: &[&str], to: &[&str]) {
    if let Some(value) = take_at(object, from) {
        put(object, to, value);
    }
}

/// The items of a list at a path.
fn items<'v>(object: &'v mut Value, path: &[&str]) -> impl Iterator<Item = &'v mut Value> {
    let found = path.iter().try_fold(object, |here, name| here.get_mut(*name));
    found.and_then(Value::as_array_mut).into_iter().flatten()
}

/// Conditions are in another place in each version: those of the new style at the front in the new one, those of the
/// old style in the old one.
fn conditions_up(object: &mut Value) {
    let old = take_at(object, &["status", "conditions"]);
    if let Some(new) = take_at(object, &["status", "v1beta2", "conditions"]) {
        put(object, &["status", "conditions"], new);
    }
    if let Some(old) = old {
        put(object, &["status", "deprecated", "v1beta1", "conditions"], old);
    }
}

fn conditions_down(object: &mut Value) {
    let new = take_at(object, &["status", "conditions"]);
    if let Some(old) = take_at(object, &["status", "deprecated", "v1beta1", "conditions"]) {
        put(object, &["status", "conditions"], old);
    }
    if let Some(new) = new {
        put(object, &["status", "v1beta2", "conditions"], new);
    }
}
