//! The rules of built-in kinds: what is filled in, what is refused, what is kept on an update.
//!
//! Behaviour: `strategy.go` and `validation.go` of each kind in Kubernetes' `pkg/registry` and
//! `pkg/apis`, and of apiextensions-apiserver. Only rules that a client can run into are here.

mod admission;
mod config;
pub(crate) mod conform;
mod crd;
mod definitions;
mod discovery;
mod event;
mod lease;
mod namespace;
mod rbac;
mod service;

use std::net::Ipv4Addr;

use serde_json::Value;

pub(crate) use admission::Webhooks;
pub(crate) use config::{ConfigMap, Secret, ServiceAccount};
pub(crate) use crd::{CLEANUP, Crd};
pub(crate) use definitions::definition_of;
pub(crate) use discovery::EndpointSlice;
pub(crate) use event::Event;
pub(crate) use lease::Lease;
pub(crate) use namespace::Namespace;
pub(crate) use rbac::{Role, RoleBinding};
pub(crate) use service::Service;

use crate::names::{self, Judge};
use crate::status::Cause;
use crate::store::Fields;

/// What a rule may ask of the server.
pub(crate) trait Surroundings {
    /// An address of the service network that nothing has.
    fn free_address(&self) -> Ipv4Addr;
}

/// The rules of one kind.
pub(crate) trait Strategy: Send + Sync {
    /// Which names are allowed.
    fn judge(&self) -> Judge {
        names::subdomain
    }

    /// Whether an update of an object that is not there creates it.
    fn creates_on_update(&self) -> bool {
        false
    }

    /// Whether an update needs no `resourceVersion`.
    fn updates_unconditionally(&self) -> bool {
        true
    }

    /// Whether a deletion answers with the object rather than with a `Status`.
    fn returns_deleted(&self) -> bool {
        false
    }

    /// Whether the garbage collector minds objects of this kind.
    fn is_collected(&self) -> bool {
        true
    }

    /// Fills in what the API defines as defaults.
    fn default(&self, _object: &mut Value) {}

    /// Fills in and takes out what is not the client's at the creation.
    fn prepare_create(&self, _object: &mut Value, _surroundings: &dyn Surroundings) {}

    /// Gives back what the client may not change. `subresource` is empty for the object itself.
    fn prepare_update(&self, _object: &mut Value, _old: &Value, _subresource: &str) {}

    /// What is wrong with the object; `old` is what it replaces. `api_version` is that of the request.
    fn validate(&self, _object: &Value, _old: Option<&Value>, _api_version: &str) -> Vec<Cause> {
        Vec::new()
    }

    /// What lists can be narrowed by, besides name and namespace.
    fn fields(&self, _object: &Value) -> Fields {
        Fields::default()
    }

    /// The names of those fields.
    fn selectable(&self) -> &'static [&'static str] {
        &[]
    }

    /// Puts an object that came in this version into the form that is stored.
    fn store(&self, _object: &mut Value, _api_version: &str) {}

    /// The opposite: from the stored form to this version.
    fn serve(&self, _object: &mut Value, _api_version: &str) {}
}

/// Puts the value where nothing is.
fn default_to(object: &mut Value, name: &str, value: impl Into<Value>) {
    let fields = crate::store::object_mut(object);
    if fields.get(name).is_none_or(Value::is_null) {
        fields.insert(name.to_owned(), value.into());
    }
}

/// Takes a field back to what it was.
fn keep(object: &mut Value, old: &Value, name: &str) {
    let fields = crate::store::object_mut(object);
    match old.get(name) {
        Some(value) => fields.insert(name.to_owned(), value.clone()),
        None => fields.remove(name),
    };
}

/// The items of a list, which may be missing.
fn items<'a>(object: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    object[name].as_array().into_iter().flatten()
}

/// The same, to be changed.
fn items_mut<'a>(object: &'a mut Value, name: &str) -> impl Iterator<Item = &'a mut Value> + use<'a> {
    object.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten()
}

fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_default()
}

/// The cause for a text that must be one of a few.
fn one_of(field: String, value: &str, supported: &[&str]) -> Option<Cause> {
    (!supported.contains(&value)).then(|| Cause::not_supported(field, value, supported))
}

/// The cause for a field that must not change.
fn immutable(field: &str, value: &Value, old: &Value) -> Option<Cause> {
    (value != old).then(|| Cause::invalid(field, &value.to_string(), "field is immutable"))
}

fn bump_generation(object: &mut Value, old: &Value) {
    let generation = old["metadata"]["generation"].as_i64().unwrap_or_default() + 1;
    crate::store::metadata_mut(object).insert("generation".to_owned(), generation.into());
}

fn start_generation(object: &mut Value) {
    crate::store::metadata_mut(object).insert("generation".to_owned(), 1.into());
}
