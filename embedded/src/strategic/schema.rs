//! Where in a kind a patch is, and what its type says about merging there.

use serde_json::{Map, Value};

use super::Error;
use crate::apply::{definition, definition_of};

type Schema = Map<String, Value>;

/// A place in the types of a built-in kind.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// What is written at the place itself.
    written: &'static Schema,
    /// The definition that it refers to, or the same.
    schema: &'static Schema,
    /// The name of the definition, as in Go.
    name: &'static str,
}

/// A field, and how it is patched.
#[derive(Clone, Copy)]
pub(super) struct Field {
    /// Inside of the field; of a list, inside of its items.
    pub(super) place: Place,
    /// Empty for lists of scalars.
    pub(super) key: &'static str,
    strategy: &'static str,
}

impl Field {
    /// Whether a map is taken from the patch as it is.
    pub(super) fn replaces(self) -> bool {
        self.strategy == "replace"
    }

    /// Whether a list is merged; lists are replaced otherwise.
    pub(super) fn merges(self) -> bool {
        self.strategy == "merge"
    }
}

impl Place {
    pub(super) fn of_kind(api_version: &str, kind: &str) -> Option<Self> {
        let name = definition_of(api_version, kind)?;
        Some(Self::named(name, definition(name)?))
    }

    fn named(name: &'static str, schema: &'static Schema) -> Self {
        Self { written: schema, schema, name: name.rsplit('.').next().unwrap_or_default() }
    }

    fn of(written: &'static Value) -> Option<Self> {
        let written = written.as_object()?;
        let named = |name: &'static str| Some(Self { written, ..Self::named(name, definition(name)?) });
        match written.get("$ref").and_then(Value::as_str) {
            Some(name) => named(name),
            None => Some(Self { written, schema: written, name: "" }),
        }
    }

    fn text(self, extension: &str) -> &'static str {
        self.written.get(extension).and_then(Value::as_str).unwrap_or_default()
    }

    fn is_list(self) -> bool {
        self.schema.get("type").is_some_and(|of| of == "array")
    }

    /// The field of a struct.
    pub(super) fn field(self, name: &str) -> Result<Field, Error> {
        if self.schema.contains_key("additionalProperties") || self.is_list() {
            let kind = if self.is_list() { "slice" } else { "map" };
            return Err(Error::Other(format!(
                "merging an object in json but data type is not struct, instead is: {kind}"
            )));
        }
        let fields = self.schema.get("properties").and_then(Value::as_object);
        let field = fields.and_then(|fields| {
            // Go compares names without their case where there is none of this case.
            let folded = || fields.iter().find(|(field, _)| field.eq_ignore_ascii_case(name));
            fields.get(name).or_else(|| folded().map(|(_, field)| field))
        });
        let place = field.and_then(Self::of).ok_or_else(|| {
            let (of, name) = (self.name, crate::apply::quote(name));
            Error::Other(format!("unable to find api field in struct {of} for the json field {name}"))
        })?;
        let mut strategies = place.text("x-kubernetes-patch-strategy").split(',');
        let strategy = strategies.rfind(|strategy| *strategy != "retainKeys").unwrap_or_default();
        Ok(Field { place, key: place.text("x-kubernetes-patch-merge-key"), strategy })
    }

    /// The field of a struct that is a list.
    pub(super) fn list(self, name: &str) -> Result<Field, Error> {
        let field = self.field(name)?;
        if !field.place.is_list() {
            return Err(Error::Other("expected slice or array type, but got: struct".to_owned()));
        }
        let items = field.place.schema.get("items").and_then(Self::of);
        match items {
            Some(place) if !place.is_list() => Ok(Field { place, ..field }),
            _ => Err(Error::Other("unexpected slice of slice".to_owned())),
        }
    }
}
