//! One file for each file of vectors.

use serde_json::Value;

use crate::Runner;

mod ca;
mod calls;
mod conversion;
mod discovery;
mod hooks;
mod merge;
mod registry;
mod variables;

/// How each file is run.
pub(crate) const RUNNERS: [Runner; 11] = [
    calls::AGGREGATION,
    calls::CALLS,
    ca::RUNNER,
    conversion::RUNNER,
    discovery::RUNNER,
    hooks::RUNNER,
    merge::RUNNER,
    registry::RUNNER,
    variables::DEFAULTS,
    variables::SCHEMAS,
    variables::VALUES,
];

/// A field of an object that must be text.
fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_else(|| panic!("{field} must be text in {value}"))
}

/// A field read as some type; an absent one as the default.
fn read<T: serde::de::DeserializeOwned + Default>(value: &Value, field: &str) -> T {
    match &value[field] {
        Value::Null => T::default(),
        found => serde_json::from_value(found.clone()).unwrap(),
    }
}

/// Items in an order that does not depend on how they came about, each once.
fn sorted(items: impl IntoIterator<Item = Value>) -> Value {
    let mut items: Vec<_> = items.into_iter().collect();
    items.sort_by_key(Value::to_string);
    items.dedup();
    Value::Array(items)
}

/// An error as the vectors tell it.
fn fact(error: &kapstan_api::FieldError) -> Value {
    serde_json::json!({"field": error.path, "type": error.cause.reason()})
}
