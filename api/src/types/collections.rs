//! Lists and maps that can be absent, which is not the same as empty: a structure with an empty list in it is not
//! zero.

use std::{borrow::Cow, collections::BTreeMap, ops::Deref};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::Go;
use crate::hooks::Shape;

/// A list; `None` when there is none, which is written as `null`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct List<T>(pub Option<Vec<T>>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> From<Vec<T>> for List<T> {
    fn from(items: Vec<T>) -> Self {
        Self(Some(items))
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(Some(items.into_iter().collect()))
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl<'l, T> IntoIterator for &'l List<T> {
    type Item = &'l T;
    type IntoIter = std::slice::Iter<'l, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'l, T> IntoIterator for &'l mut List<T> {
    type Item = &'l mut T;
    type IntoIter = std::slice::IterMut<'l, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.as_deref_mut().unwrap_or_default().iter_mut()
    }
}

impl<T: JsonSchema> JsonSchema for List<T> {
    fn schema_name() -> Cow<'static, str> {
        Vec::<T>::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<T>::json_schema(generator)
    }
}

impl<T: Go> Go for List<T> {
    fn shape() -> Shape {
        Shape::ListOf(T::shape)
    }

    fn is_empty(&self) -> bool {
        <[T]>::is_empty(self)
    }
}

/// Values by name; `None` when there are none, which is written as `null`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Dict<T>(pub Option<BTreeMap<String, T>>);

impl<T> Default for Dict<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> From<BTreeMap<String, T>> for Dict<T> {
    fn from(entries: BTreeMap<String, T>) -> Self {
        Self(Some(entries))
    }
}

impl<T> Dict<T> {
    /// The value of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.as_ref()?.get(name)
    }

    /// All names and values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &T)> {
        self.0.iter().flatten()
    }

    /// All names and values, sorted by name; the values can be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&String, &mut T)> {
        self.0.iter_mut().flatten()
    }

    /// Puts a value in, and gives the one that it replaces.
    pub fn insert(&mut self, name: String, value: T) -> Option<T> {
        self.0.get_or_insert_default().insert(name, value)
    }

    /// Takes a value out.
    pub fn remove(&mut self, name: &str) -> Option<T> {
        self.0.as_mut()?.remove(name)
    }
}

impl<T: JsonSchema> JsonSchema for Dict<T> {
    fn schema_name() -> Cow<'static, str> {
        BTreeMap::<String, T>::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, T>::json_schema(generator)
    }
}

impl<T: Go> Go for Dict<T> {
    fn shape() -> Shape {
        Shape::MapOf(T::shape)
    }

    fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(BTreeMap::is_empty)
    }
}
