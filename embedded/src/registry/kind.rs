//! One kind: its names, its versions, and how its objects are read and written.

use std::cmp::Reverse;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use kapstan_schema::Schema;
use serde_json::{Map, Value};

use crate::apply::Types;
use crate::kinds::Strategy;
use crate::status::Subject;
use crate::store::{CollectionId, Object, object_mut, write};

/// What a kind is called.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_field_names, reason = "they are the API's")]
pub(crate) struct Names {
    /// Empty for the core group.
    pub(crate) group: Box<str>,
    pub(crate) plural: Box<str>,
    pub(crate) singular: Box<str>,
    pub(crate) kind: Box<str>,
    pub(crate) list_kind: Box<str>,
    pub(crate) short_names: Vec<Box<str>>,
    pub(crate) categories: Vec<Box<str>>,
}

/// A kind in all its versions.
pub(crate) struct Kind {
    pub(crate) names: Names,
    pub(crate) is_namespaced: bool,
    pub(crate) collection: CollectionId,
    pub(crate) versions: Vec<Version>,
    /// The version that objects are stored in.
    pub(crate) storage: usize,
    /// Objects that were written under this number can be handed out as they are in the versions that
    /// have the storage version's schema. A new one comes with each change of the schemas.
    pub(crate) encoding: u32,
    pub(crate) behaviour: Behaviour,
    /// Whether a webhook converts between versions. Nobody calls it here, so only the stored version is
    /// to be had.
    pub(crate) needs_webhook: bool,
}

/// Where the rules of a kind come from.
pub(crate) enum Behaviour {
    /// They are code.
    Builtin(&'static dyn Strategy),
    /// They are in a CRD.
    Custom,
}

/// One version of a kind.
#[expect(clippy::struct_field_names, reason = "they are the API's")]
pub(crate) struct Version {
    pub(crate) name: Box<str>,
    /// `group/version`, or the version alone in the core group.
    pub(crate) api_version: Box<str>,
    pub(crate) is_served: bool,
    pub(crate) has_status: bool,
    /// Subresources that the API server has and this one does not.
    pub(crate) unsupported: Vec<Box<str>>,
    /// Of a CRD.
    pub(crate) schema: Option<Schema>,
    /// The schema as it is in the CRD, for `OpenAPI`.
    pub(crate) raw_schema: Value,
    /// The `OpenAPI` name of the type of a built-in kind.
    pub(crate) definition: &'static str,
    pub(crate) types: Types,
    /// The columns of a CRD.
    pub(crate) columns: Vec<Column>,
    /// Whether objects of the storage version are objects of this one, but for `apiVersion`.
    pub(crate) is_as_stored: bool,
    pub(crate) deprecation: Option<Box<str>>,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) value_type: String,
    pub(crate) format: String,
    pub(crate) description: String,
    pub(crate) priority: i64,
    pub(crate) path: crate::rest::JsonPath,
}

/// One version of one kind, as it is served.
#[derive(Clone)]
pub(crate) struct Endpoint {
    kind: Arc<Kind>,
    version: usize,
}

impl Version {
    /// Whether the API server has this subresource, or the one that the path begins with, and this one
    /// does not.
    pub(crate) fn lacks(&self, subresource: &str) -> bool {
        let first = subresource.split('/').next().unwrap_or_default();
        self.unsupported.iter().any(|one| **one == *first)
    }
}

impl Kind {
    pub(crate) fn is_builtin(&self) -> bool {
        matches!(self.behaviour, Behaviour::Builtin(_))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.api_version(), self.kind.names.kind)
    }
}

impl Endpoint {
    pub(crate) fn new(kind: Arc<Kind>, version: usize) -> Self {
        Self { kind, version }
    }

    /// The version that objects are stored in.
    pub(crate) fn storage(kind: Arc<Kind>) -> Self {
        let version = kind.storage;
        Self { kind, version }
    }

    pub(crate) fn kind(&self) -> &Arc<Kind> {
        &self.kind
    }

    pub(crate) fn version(&self) -> &Version {
        &self.kind.versions[self.version]
    }

    pub(crate) fn names(&self) -> &Names {
        &self.kind.names
    }

    pub(crate) fn api_version(&self) -> &str {
        &self.version().api_version
    }

    pub(crate) fn collection(&self) -> CollectionId {
        self.kind.collection
    }

    /// How refusals name the resource.
    pub(crate) fn resource(&self) -> Subject<'_> {
        Subject { group: &self.kind.names.group, word: &self.kind.names.plural }
    }

    /// How refusals name the kind.
    pub(crate) fn subject(&self) -> Subject<'_> {
        // Events are those of the core group inside.
        let group = if &*self.kind.names.group == "events.k8s.io" { "" } else { &*self.kind.names.group };
        Subject { group, word: &self.kind.names.kind }
    }

    pub(crate) fn strategy(&self) -> Option<&'static dyn Strategy> {
        match self.kind.behaviour {
            Behaviour::Builtin(strategy) => Some(strategy),
            Behaviour::Custom => None,
        }
    }

    /// What is written before an object's [tail](Object::tail) to make it whole.
    pub(crate) fn head(&self) -> Bytes {
        let mut head = b"{\"kind\":".to_vec();
        write(&mut head, &Value::from(&*self.kind.names.kind));
        head.extend_from_slice(b",\"apiVersion\":");
        write(&mut head, &Value::from(self.api_version()));
        head.push(b',');
        head.into()
    }

    /// Whether stored objects can be handed out in this version without being decoded.
    pub(crate) fn serves_as_stored(&self, object: &Object) -> bool {
        object.encoding == self.kind.encoding && self.version().is_as_stored
    }

    /// The object's JSON in this version, without `apiVersion` and `kind` and without the opening brace.
    pub(crate) fn tail(&self, object: &Object) -> Bytes {
        if self.serves_as_stored(object) {
            return object.tail();
        }
        let mut json = Vec::new();
        if let Value::Object(mut fields) = self.decode(object) {
            fields.remove("apiVersion");
            fields.remove("kind");
            write(&mut json, &Value::Object(fields));
        }
        Bytes::from(json).slice(1..)
    }

    /// The object in this version.
    pub(crate) fn decode(&self, object: &Object) -> Value {
        let mut value = object.decode();
        if !self.serves_as_stored(object) {
            self.convert(&mut value, object.encoding == self.kind.encoding);
        }
        self.set_type(&mut value);
        value
    }

    /// Whether objects in this version are only to be had from a conversion webhook.
    pub(crate) fn needs_webhook(&self) -> bool {
        self.kind.needs_webhook && self.version != self.kind.storage
    }

    pub(crate) fn set_type(&self, value: &mut Value) {
        let fields = object_mut(value);
        fields.insert("apiVersion".to_owned(), self.api_version().into());
        fields.insert("kind".to_owned(), (*self.kind.names.kind).into());
    }

    /// From what is stored to this version.
    ///
    /// Behaviour: apiextensions-apiserver `pkg/apiserver/customresource_handler.go`: what is read from the
    /// store has the defaults of the version that is stored; what is converted is pruned, and no more.
    fn convert(&self, value: &mut Value, is_written_as_now: bool) {
        if let Some(strategy) = self.strategy() {
            strategy.serve(value, self.api_version());
            return;
        }
        if !is_written_as_now {
            self.to_stored(value);
        }
        if let Some(schema) = self.version().schema.as_ref().filter(|_| !self.version().is_as_stored) {
            schema.prune(value);
        }
    }

    /// Makes of a custom resource in any version what is stored of it, but for `apiVersion`.
    pub(crate) fn to_stored(&self, value: &mut Value) {
        if let Some(schema) = &self.kind.versions[self.kind.storage].schema {
            schema.prune(value);
            schema.default(value);
        }
    }
}

/// Versions are preferred in this order: stable ones before beta and alpha, higher numbers first, and
/// others at the end.
///
/// Behaviour: apimachinery `pkg/version/helpers.go`.
pub(super) fn priority(version: &str) -> impl Ord + use<> {
    let parsed = parse(version);
    (parsed.is_none(), parsed.map(Reverse), version.to_owned())
}

/// Stability (2 is stable), major and minor number.
fn parse(version: &str) -> Option<(u8, u32, u32)> {
    let rest = version.strip_prefix('v')?;
    for (word, stability) in [("alpha", 0), ("beta", 1)] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some((stability, number(major)?, number(minor)?));
        }
    }
    Some((2, number(rest)?, 0))
}

fn number(text: &str) -> Option<u32> {
    if text.starts_with('0') || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        None
    } else {
        text.parse().ok()
    }
}

/// The fields of an object without what every object has.
pub(crate) fn content(value: &Value) -> Map<String, Value> {
    let mut fields = value.as_object().cloned().unwrap_or_default();
    for name in ["apiVersion", "kind", "metadata"] {
        fields.remove(name);
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_the_api_server_prefers_them() {
        let mut versions = ["foo1", "v1alpha1", "v10", "v2", "v1beta2", "v2beta1", "v1", "foo10"];
        versions.sort_by_key(|version| priority(version));
        assert_eq!(versions, ["v10", "v2", "v1", "v2beta1", "v1beta2", "v1alpha1", "foo1", "foo10"]);
    }
}
