//! What the wire types share: unknown fields, absent values, `null`.
//!
//! Mirrors Go's `omitempty`: a zero value is left out when written, and `null` reads as the zero value.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

/// Fields that a type does not know, kept so that they are written back as they were read.
pub type Unknown = BTreeMap<String, serde_json::Value>;

/// Whether a value is its type's default and is left out when written.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Whether an optional struct is absent or has nothing in it; the CRDs refuse empty objects in these places.
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub(crate) fn is_absent<T: Default + PartialEq>(value: &Option<T>) -> bool {
    value.as_ref().is_none_or(is_default)
}

/// Reads `null` as the type's default, as Go does.
pub(crate) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads `null` and the type's default (an empty text, an empty object) as absent, as Go does.
pub(crate) fn empty_is_none<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Default + PartialEq + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.filter(|value| !is_default(value)))
}

/// Collects what an object's own fields left over. `apiVersion` and `kind` are no data: they are written from
/// the type.
pub(crate) fn unknown_of_object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Unknown, D::Error> {
    let mut unknown = Unknown::deserialize(deserializer)?;
    unknown.remove("apiVersion");
    unknown.remove("kind");
    Ok(unknown)
}
