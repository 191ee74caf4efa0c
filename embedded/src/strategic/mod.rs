//! Strategic merge patch: a merge patch that knows which lists of the built-in kinds are merged, and by
//! which key. A pure function over JSON objects.
//!
//! Behaviour: apimachinery `util/strategicpatch` as kube-apiserver 1.36.3 uses it; `tests/apply` compares.
//! Custom resources know no such patch: their endpoints refuse its content type with a 415.

mod list;
mod schema;

use serde_json::{Map, Value};

use self::schema::Place;
use crate::apply::{plain, type_name};

/// Says what is to be done with the map that it is in.
const DIRECTIVE: &str = "$patch";
/// Names the only fields that are to be left.
const RETAIN_KEYS: &str = "$retainKeys";
/// Before the name of a list: what is to be gone from it.
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
/// Before the name of a list: its order.
const ORDER: &str = "$setElementOrder";

/// Why a patch is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A directive is malformed: 400, reason `BadRequest`.
    #[error("{0}")]
    BadRequest(&'static str),
    /// A list has lists in it: 422, reason `Invalid`. Upstream does not say what is wrong.
    #[error("the server rejected our request due to an error in our request")]
    Unprocessable,
    /// Anything else: 500 without a reason, as upstream answers.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// The HTTP status code.
    #[must_use]
    pub fn code(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::Unprocessable => 422,
            Self::Other(_) => 500,
        }
    }

    /// The reason of the status; empty where upstream gives none.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::BadRequest(_) => "BadRequest",
            Self::Unprocessable => "Invalid",
            Self::Other(_) => "",
        }
    }
}

const BAD_DELETION: Error = Error::BadRequest("invalid patch format of primitive list");
const BAD_ORDER: Error = Error::BadRequest("invalid patch format of setElementOrder list");
const BAD_RETAIN_KEYS: Error = Error::BadRequest("invalid patch format of retainKeys");

/// Patches an object of a built-in kind. `None`: no such kind is served here.
///
/// What comes out is to be decoded, defaulted and tracked as after any other patch.
///
/// # Errors
/// See [`Error`].
#[must_use]
pub fn patch(
    original: &Map<String, Value>,
    patch: &Map<String, Value>,
    api_version: &str,
    kind: &str,
) -> Option<Result<Map<String, Value>, Error>> {
    let place = Place::of_kind(api_version, kind)?;
    Some(merge_maps(original.clone(), patch.clone(), place))
}

fn merge_maps(
    mut original: Map<String, Value>,
    mut patch: Map<String, Value>,
    place: Place,
) -> Result<Map<String, Value>, Error> {
    if let Some(directive) = patch.remove(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(Map::new()),
            _ => Err(unknown_directive(directive, patch)),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    order_lists(&mut original, &mut patch, place)?;
    for (name, value) in patch {
        let (name, deletes) = match name.strip_prefix(DELETE_FROM) {
            Some(rest) => (rest.strip_prefix('/').ok_or(BAD_DELETION)?.to_owned(), true),
            None => (name, false),
        };
        merge_field(&mut original, name, value, deletes, place)?;
    }
    Ok(original)
}

fn merge_field(
    original: &mut Map<String, Value>,
    name: String,
    value: Value,
    deletes: bool,
    place: Place,
) -> Result<(), Error> {
    if value.is_null() {
        original.remove(&name);
        return Ok(());
    }
    let merged = match (original.remove(&name), value) {
        (Some(Value::Object(original)), Value::Object(patch)) => {
            let field = place.field(&name)?;
            let patched = if field.replaces() { patch } else { merge_maps(original, patch, field.place)? };
            Some(Value::Object(patched))
        }
        (Some(Value::Array(original)), Value::Array(patch)) => {
            let field = place.list(&name)?;
            let patched =
                if deletes || field.merges() { list::merge(original, patch, field, deletes)? } else { patch };
            Some(Value::Array(patched))
        }
        // There is nothing of the kind that could be deleted from.
        (original, _) if deletes => original,
        (_, mut value) => {
            drop_nulls(&mut value);
            without_directives(value)
        }
    };
    if let Some(merged) = merged {
        original.insert(name, merged);
    }
    Ok(())
}

/// Removes what the directive does not name.
fn retain_keys(original: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), Error> {
    let Some(kept) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let Value::Array(kept) = kept else { return Err(BAD_RETAIN_KEYS) };
    let is_kept = |name: &str| kept.iter().any(|kept| kept == name);
    let is_free = |name: &str, value: &Value| {
        value.is_null() || name.starts_with(DELETE_FROM) || name.starts_with(ORDER)
    };
    if !patch.iter().all(|(name, value)| is_free(name, value) || is_kept(name)) {
        return Err(BAD_RETAIN_KEYS);
    }
    original.retain(|name, _| is_kept(name));
    Ok(())
}

/// Merges the lists whose order is given, and takes them out of the patch.
fn order_lists(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    place: Place,
) -> Result<(), Error> {
    let orders: Vec<_> = patch.keys().filter(|name| name.starts_with(ORDER)).cloned().collect();
    for key in orders {
        let order = match patch.remove(&key) {
            Some(Value::Array(order)) => order,
            other => return Err(wrong_kind(&Value::Array(Vec::new()), &other.unwrap_or_default())),
        };
        let name = key.strip_prefix(ORDER).and_then(|rest| rest.strip_prefix('/')).ok_or(BAD_ORDER)?;
        let live = list_of(original, name)?;
        let patched = list_of(patch, name)?;
        let field = place.list(name)?;
        if let Some(ordered) = list::merge_ordered(live, patched, &order, field)? {
            original.insert(name.to_owned(), Value::Array(ordered));
            patch.remove(name);
        }
    }
    Ok(())
}

fn list_of(fields: &Map<String, Value>, name: &str) -> Result<Option<Vec<Value>>, Error> {
    match fields.get(name) {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items.clone())),
        Some(other) => Err(wrong_kind(&Value::Array(Vec::new()), other)),
    }
}

/// Drops fields that are null, in what is only in the patch.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// A value that is only in the patch, without the maps in it that have a directive. None: it is one itself.
fn without_directives(value: Value) -> Option<Value> {
    Some(match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => return None,
        Value::Object(fields) => {
            let kept =
                fields.into_iter().filter_map(|(name, field)| Some((name, without_directives(field)?)));
            Value::Object(kept.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().filter_map(without_directives).collect()),
        other => other,
    })
}

fn unknown_directive(directive: Value, mut map: Map<String, Value>) -> Error {
    let text = match &directive {
        Value::String(text) => text.clone(),
        other => format!("%!s({}={})", type_name(other), plain(other)),
    };
    map.insert(DIRECTIVE.to_owned(), directive);
    Error::Other(format!("unknown patch type: {text} in map: {}", plain(&Value::Object(map))))
}

fn wrong_kind(expected: &Value, actual: &Value) -> Error {
    let actual = if actual.is_null() { "%!s(<nil>)" } else { type_name(actual) };
    Error::Other(format!("expected a {}, but received a {actual}", type_name(expected)))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn patched(original: Value, patched: Value) -> Result<Value, Error> {
        let (Value::Object(original), Value::Object(change)) = (original, patched) else {
            panic!("no objects")
        };
        patch(&original, &change, "v1", "Service").unwrap().map(Value::Object)
    }

    #[rstest]
    #[case::a_map_is_merged(
        json!({"metadata": {"labels": {"a": "1", "b": "1"}}}),
        json!({"metadata": {"labels": {"a": null, "c": "1"}}}),
        json!({"metadata": {"labels": {"b": "1", "c": "1"}}})
    )]
    #[case::a_list_is_merged_by_its_key_and_what_is_new_comes_first(
        json!({"spec": {"ports": [{"port": 1, "name": "a"}, {"port": 2}]}}),
        json!({"spec": {"ports": [{"port": 1, "nodePort": 3}, {"port": 4}]}}),
        json!({"spec": {"ports": [{"port": 1, "name": "a", "nodePort": 3}, {"port": 4}, {"port": 2}]}})
    )]
    #[case::an_item_is_deleted(
        json!({"spec": {"ports": [{"port": 1}, {"port": 2}]}}),
        json!({"spec": {"ports": [{"port": 1, "$patch": "delete"}]}}),
        json!({"spec": {"ports": [{"port": 2}]}})
    )]
    #[case::a_list_without_a_strategy_is_replaced(
        json!({"spec": {"externalIPs": ["a", "b"]}}),
        json!({"spec": {"externalIPs": ["c"]}}),
        json!({"spec": {"externalIPs": ["c"]}})
    )]
    #[case::what_is_only_in_the_patch_has_no_directives(
        json!({}),
        json!({"spec": {"ports": [{"port": 1, "name": null}, {"port": 2, "$patch": "delete"}]}}),
        json!({"spec": {"ports": [{"port": 1}]}})
    )]
    fn patches(#[case] original: Value, #[case] change: Value, #[case] expected: Value) {
        assert_eq!(patched(original, change), Ok(expected));
    }

    #[test]
    fn a_kind_that_is_not_in_the_table_has_no_such_patch() {
        assert_eq!(patch(&Map::new(), &Map::new(), "example.com/v1", "Widget"), None);
    }
}
