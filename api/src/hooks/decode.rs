//! Reading a message as Go's `encoding/json` would, since extensions are written against that.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::Message;
use crate::text;

/// The fields of a message, as far as reading has to know them.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// An object with these fields.
    Object(&'static [(&'static str, Shape)]),
    /// An object with these fields, of a type that may contain itself.
    Struct(&'static [Named]),
    /// A list of such things.
    List(&'static Shape),
    /// A list of things of a type that may contain itself.
    ListOf(fn() -> Shape),
    /// Such things by name.
    MapOf(fn() -> Shape),
    /// A single value, with what `null` stands for in a list or map.
    Scalar(Zero),
    /// Any other single value; left to the field's own type.
    Leaf,
    /// Anything.
    Any,
}

/// A field and how it is read.
pub type Named = (&'static str, fn() -> Shape);

/// What `null` stands for.
#[derive(Clone, Copy, Debug)]
pub enum Zero {
    /// An empty text.
    Text,
    /// The number 0.
    Number,
    /// False.
    False,
}

impl Shape {
    /// What `null` stands for where it cannot be left out.
    fn zero(&self) -> Value {
        match self {
            Self::Object(_) | Self::Struct(_) | Self::MapOf(_) => Value::Object(Map::new()),
            Self::List(_) | Self::ListOf(_) => Value::Array(Vec::new()),
            Self::Scalar(Zero::Text) => Value::from(""),
            Self::Scalar(Zero::Number) => Value::from(0),
            Self::Scalar(Zero::False) => Value::from(false),
            Self::Leaf | Self::Any => Value::Null,
        }
    }

    /// An object with these fields.
    #[must_use]
    pub const fn object(fields: &'static [(&'static str, Shape)]) -> Self {
        Self::Object(fields)
    }
}

/// Why a message cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The bytes are no JSON.
    #[error("not JSON: {0}")]
    Syntax(String),
    /// The JSON is not a message of this kind; the text names the field.
    #[error("not a {kind}: {problem}")]
    Mismatch {
        /// The expected kind.
        kind: &'static str,
        /// What is wrong with which field.
        problem: String,
    },
}

/// Reads a message.
///
/// As in Go: `null` leaves a field at its zero value, names of fields match in any case when none matches
/// exactly, unknown fields are skipped, the last of several equal fields counts, and whatever follows the first
/// JSON value is not looked at. `apiVersion` and `kind` are not checked. Schemas are kept as they are.
///
/// # Errors
/// [`DecodeError`], with a bounded text that is free of control characters.
pub fn decode<M: Message>(body: &[u8]) -> Result<M, DecodeError> {
    let text = String::from_utf8_lossy(body);
    let text = replace_lone_surrogates(&text);
    let first = serde_json::Deserializer::from_str(&text).into_iter::<Value>().next();
    let value = match first {
        Some(Ok(value)) => value,
        Some(Err(error)) => return Err(syntax(&error.to_string())),
        None => return Err(syntax("the body is empty")),
    };
    read(value, &M::shape()).map_err(|problem| mismatch::<M>(&problem))
}

/// Reads any type from JSON as Go does.
///
/// # Errors
/// What does not fit, with the field's name.
pub fn read<T: serde::de::DeserializeOwned>(mut value: Value, shape: &Shape) -> Result<T, String> {
    if value.is_null() {
        value = Value::Object(Map::new());
    }
    fit(&mut value, shape, "")?;
    serde_json::from_value(value).map_err(|error| error.to_string())
}

/// Halves of characters, written as escapes, become the replacement character, as what is no UTF-8 does.
fn replace_lone_surrogates(text: &str) -> Cow<'_, str> {
    if !text.contains("\\ud") && !text.contains("\\uD") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match (escaped(rest), rest.get(6..).and_then(escaped)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                out.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            (Some(_), _) => 6,
            // The backslash and what it escapes.
            (None, _) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The number in `\uXXXX` at the beginning.
fn escaped(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}

fn syntax(problem: &str) -> DecodeError {
    DecodeError::Syntax(text::foreign_within(problem, 256))
}

fn mismatch<M: Message>(problem: &str) -> DecodeError {
    DecodeError::Mismatch { kind: M::KIND, problem: text::foreign_within(problem, 256) }
}

/// Gives fields their exact names and drops `null`; a value of another structure is an error that names it.
fn fit(value: &mut Value, shape: &Shape, path: &str) -> Result<(), String> {
    match (shape, value) {
        (Shape::Leaf | Shape::Scalar(_), found @ Value::Array(_)) => {
            Err(unexpected(path, "a single value", found))
        }
        (Shape::Leaf | Shape::Scalar(_) | Shape::Any, _) => Ok(()),
        (Shape::Object(fields), Value::Object(object)) => {
            fields.iter().try_for_each(|(name, shape)| fit_field(object, name, shape, path))
        }
        (Shape::Struct(fields), Value::Object(object)) => {
            fields.iter().try_for_each(|(name, shape)| fit_field(object, name, &shape(), path))
        }
        (Shape::List(items), Value::Array(values)) => fit_items(values, items, path),
        (Shape::ListOf(items), Value::Array(values)) => fit_items(values, &items(), path),
        (Shape::MapOf(values), Value::Object(entries)) => {
            let shape = values();
            entries
                .iter_mut()
                .try_for_each(|(name, value)| fit_inside(value, &shape, || format!("{path}[{name}]")))
        }
        (Shape::Object(_) | Shape::Struct(_) | Shape::MapOf(_), other) => {
            Err(unexpected(path, "an object", other))
        }
        (Shape::List(_) | Shape::ListOf(_), other) => Err(unexpected(path, "a list", other)),
    }
}

/// Gives fields their exact names and drops `null` and what the shape does not know.
///
/// # Errors
/// What does not fit, with the field's name.
pub(crate) fn prune(value: &mut Value, shape: &Shape) -> Result<(), String> {
    fit(value, shape, "")?;
    drop_unknown(value, shape);
    Ok(())
}

fn drop_unknown(value: &mut Value, shape: &Shape) {
    match (shape, value) {
        (Shape::Struct(fields), Value::Object(object)) => object.retain(|name, value| {
            let known = fields.iter().find(|(known, _)| known == name);
            known.inspect(|(_, shape)| drop_unknown(value, &shape())).is_some()
        }),
        (Shape::ListOf(items), Value::Array(values)) => {
            let shape = items();
            for value in values {
                drop_unknown(value, &shape);
            }
        }
        (Shape::MapOf(values), Value::Object(entries)) => {
            let shape = values();
            for value in entries.values_mut() {
                drop_unknown(value, &shape);
            }
        }
        _ => {}
    }
}

fn fit_items(values: &mut [Value], shape: &Shape, path: &str) -> Result<(), String> {
    let mut items = values.iter_mut().enumerate();
    items.try_for_each(|(index, item)| fit_inside(item, shape, || format!("{path}[{index}]")))
}

/// Where `null` cannot be dropped, it becomes what it stands for.
fn fit_inside(value: &mut Value, shape: &Shape, path: impl FnOnce() -> String) -> Result<(), String> {
    if value.is_null() {
        *value = shape.zero();
        return Ok(());
    }
    fit(value, shape, &path())
}

fn fit_field(object: &mut Map<String, Value>, name: &str, shape: &Shape, path: &str) -> Result<(), String> {
    let Some(mut value) = take_field(object, name) else { return Ok(()) };
    if value.is_null() && !matches!(shape, Shape::Any) {
        return Ok(());
    }
    let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    fit(&mut value, shape, &path)?;
    object.insert(name.to_owned(), value);
    Ok(())
}

/// The field of exactly this name, else of this name in other letters; all of them leave the object.
fn take_field(object: &mut Map<String, Value>, name: &str) -> Option<Value> {
    let others: Vec<String> =
        object.keys().filter(|key| *key != name && key.eq_ignore_ascii_case(name)).cloned().collect();
    let other = others.into_iter().fold(None, |_, key| object.remove(&key));
    object.remove(name).or(other)
}

fn unexpected(path: &str, expected: &str, found: &Value) -> String {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    if path.is_empty() {
        format!("expected {expected}, found {found}")
    } else {
        format!("{path}: expected {expected}, found {found}")
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use similar_asserts::assert_eq;

    use super::*;
    use crate::hooks::{DiscoverVariablesResponse, DiscoveryResponse, ResponseStatus};

    #[rstest]
    #[case::empty("", "not JSON: the body is empty")]
    #[case::no_json("<html/>", "not JSON: expected value at line 1 column 1")]
    #[case::cut_off("{", "not JSON: EOF while parsing an object at line 1 column 1")]
    #[case::no_object("7", "not a DiscoveryResponse: expected an object, found a number")]
    #[case::list_for_object("[]", "not a DiscoveryResponse: expected an object, found a list")]
    #[case::object_for_list(
        r#"{"handlers":{}}"#,
        "not a DiscoveryResponse: handlers: expected a list, found an object"
    )]
    #[case::list_for_handler(
        r#"{"handlers":[{}, ["tide"]]}"#,
        "not a DiscoveryResponse: handlers[1]: expected an object, found a list"
    )]
    fn an_unreadable_body_says_where(#[case] body: &str, #[case] expected: &str) {
        assert_eq!(decode::<DiscoveryResponse>(body.as_bytes()).unwrap_err().to_string(), expected);
    }

    #[rstest]
    #[case::lone_high(r#""\ud800""#, "\u{fffd}")]
    #[case::lone_low(r#""a\uDC00b""#, "a\u{fffd}b")]
    #[case::two_highs(r#""\ud800\ud83d\ude00""#, "\u{fffd}😀")]
    #[case::pair(r#""\ud83d\ude00""#, "😀")]
    #[case::escaped_backslash(r#""\\ud800""#, "\\ud800")]
    fn halves_of_characters_are_replaced(#[case] json: &str, #[case] expected: &str) {
        let body = format!(r#"{{"message":{json}}}"#);
        assert_eq!(decode::<DiscoveryResponse>(body.as_bytes()).unwrap().message, expected);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        let response: DiscoveryResponse = decode(b"{\"message\":\"a\xffb\"}").unwrap();
        assert_eq!(response.message, "a\u{fffd}b");
    }

    #[test]
    fn null_reads_as_the_zero_value() {
        let expected = DiscoveryResponse {
            api_version: String::new(),
            kind: String::new(),
            status: ResponseStatus::Unknown(String::new()),
            message: String::new(),
            handlers: vec![],
        };
        for body in ["null", "{}", r#"{"status":null,"message":null,"handlers":null,"kind":null}"#] {
            assert_eq!(decode::<DiscoveryResponse>(body.as_bytes()).unwrap(), expected, "{body}");
        }
    }

    #[test]
    fn the_exact_name_wins_over_other_cases() {
        let body = br#"{"STATUS":"Failure","status":"Success","Message":"ebb"}"#;
        let response: DiscoveryResponse = decode(body).unwrap();
        assert_eq!(response.status, ResponseStatus::Success);
        assert_eq!(response.message, "ebb");
    }

    #[test]
    fn a_schema_is_kept_as_it_is() {
        let schema = r#"{"Type":"string","default":null,"enum":[null,1.50],"x-heron":{"a":[]}}"#;
        let body = format!(
            r#"{{"status":"Success","variables":[{{"name":"tide","schema":{{"openAPIV3Schema":{schema}}}}}]}}"#
        );
        let response: DiscoverVariablesResponse = decode(body.as_bytes()).unwrap();
        let expected: Value = serde_json::from_str(schema).unwrap();
        assert_eq!(response.variables[0].schema.open_api_v3_schema, expected);
    }
}
