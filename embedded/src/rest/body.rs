//! Reading request bodies: JSON or YAML, into an object of the kind that the endpoint serves.
//!
//! Behaviour: apiserver `pkg/endpoints/handlers/create.go`, apimachinery
//! `pkg/runtime/serializer/json`, apiextensions-apiserver `pkg/apiserver/customresource_handler.go`.

use std::fmt;

use bytes::Bytes;
use http::HeaderMap;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::options::FieldValidation;
use crate::kinds::conform;
use crate::protobuf;
use crate::registry::Endpoint;
use crate::status::{Cause, Result, Status, Subject, quoted};

/// How deep a body may be; `serde_json` itself stops at 128.
const MAX_DEPTH: usize = 120;

/// The longest path to a field, in bytes: each mistake in a body is told with its path.
const MAX_PATH: usize = 32 * 1024;
/// The most fields that are there twice and told. Behaviour: sigs.k8s.io/json.
const MAX_DUPLICATES: usize = 100;

/// A body that was read, and what is remarkable about it.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) value: Value,
    /// Fields that are there twice.
    pub(crate) duplicates: Vec<String>,
}

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    Json,
    Yaml,
    /// Only objects of built-in kinds.
    Protobuf,
}

/// How the body is written, by its `Content-Type`.
pub(crate) fn syntax(headers: &HeaderMap) -> Result<Syntax> {
    match content_type(headers) {
        "" | "application/json" | "*/*" => Ok(Syntax::Json),
        "application/yaml" => Ok(Syntax::Yaml),
        "application/vnd.kubernetes.protobuf" => Ok(Syntax::Protobuf),
        _ => Err(Status::unsupported_media_type(&[
            "application/json",
            "application/yaml",
            "application/vnd.kubernetes.protobuf",
        ])),
    }
}

/// The `Content-Type` without its parameters.
pub(crate) fn content_type(headers: &HeaderMap) -> &str {
    let value = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().split(';').next().unwrap_or_default().trim()
}

/// Reads a body, whatever it holds.
pub(crate) fn read(body: &[u8], syntax: Syntax) -> std::result::Result<Read, String> {
    let mut duplicates = Vec::new();
    let value = match syntax {
        Syntax::Json => {
            let mut deserializer = serde_json::Deserializer::from_slice(body);
            let seed = Seed { duplicates: &mut duplicates, path: Step::Root };
            let value =
                seed.deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
            value.map_err(|error| go_error(&error, body))?
        }
        Syntax::Protobuf => protobuf::decode(body)?,
        Syntax::Yaml => {
            let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
            serde_saphyr::from_str(text).map_err(|error| format!("error converting YAML to JSON: {error}"))?
        }
    };
    check_shape(&value, 0, 0)?;
    Ok(Read { value, duplicates })
}

/// Refuses what is too deep, or lies at the end of too long a path.
fn check_shape(value: &Value, depth: usize, path: usize) -> std::result::Result<(), String> {
    if path > MAX_PATH {
        return Err(format!("exceeded max path length of {MAX_PATH} bytes"));
    }
    let is_nested = value.is_array() || value.is_object();
    if is_nested && depth >= MAX_DEPTH {
        return Err("exceeded max depth".to_owned());
    }
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| check_shape(item, depth + 1, path)),
        Value::Object(fields) => {
            fields.iter().try_for_each(|(name, value)| check_shape(value, depth + 1, path + name.len() + 1))
        }
        _ => Ok(()),
    }
}

fn go_error(error: &serde_json::Error, body: &[u8]) -> String {
    if error.is_eof() || body.is_empty() {
        return "unexpected end of JSON input".to_owned();
    }
    format!("invalid JSON: {error}")
}

/// The options in the body of a deletion.
pub(crate) fn options(headers: &HeaderMap, body: &Bytes) -> Result<Value> {
    let read = read(body, syntax(headers)?).map_err(Status::bad_request)?;
    if !read.value.is_object() {
        return Err(Status::bad_request("decoded object cannot be converted to DeleteOptions"));
    }
    Ok(read.value)
}

/// An object that was read, with what the client is to be told about it.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) value: Value,
    pub(crate) warnings: Vec<String>,
}

/// Reads an object of the endpoint's kind from a body.
pub(crate) fn decode(
    endpoint: &Endpoint,
    headers: &HeaderMap,
    body: &[u8],
    validation: FieldValidation,
) -> Result<Decoded> {
    let syntax = syntax(headers)?;
    if syntax == Syntax::Protobuf && endpoint.strategy().is_none() {
        return Err(Status::unsupported_media_type(&["application/json", "application/yaml"]));
    }
    let read = read(body, syntax).map_err(|why| unreadable(endpoint, body, &why))?;
    if !read.value.is_object() {
        let what = "json: cannot unmarshal a value that is no object";
        return Err(unreadable(endpoint, body, what));
    }
    let value = read.value;
    check_type(endpoint, &value, body)?;
    complete(endpoint, value, &read.duplicates, validation)
}

/// Makes a value an object of the endpoint's kind: what the kind does not have goes, defaults come.
pub(crate) fn complete(
    endpoint: &Endpoint,
    value: Value,
    duplicates: &[String],
    validation: FieldValidation,
) -> Result<Decoded> {
    try_complete(endpoint, value, duplicates, validation).map_err(|why| not_handled(endpoint, &why))
}

/// The same; fails with what the decoder says.
pub(crate) fn try_complete(
    endpoint: &Endpoint,
    mut value: Value,
    duplicates: &[String],
    validation: FieldValidation,
) -> std::result::Result<Decoded, String> {
    let mut problems: Vec<_> =
        duplicates.iter().map(|path| format!("duplicate field {}", quoted(path))).collect();
    let unknown = conform(endpoint, &mut value)?;
    problems.extend(unknown.iter().map(|path| format!("unknown field {}", quoted(path))));
    if validation == FieldValidation::Strict && !problems.is_empty() {
        return Err(format!("strict decoding error: {}", problems.join(", ")));
    }
    if validation == FieldValidation::Ignore {
        problems.clear();
    }
    endpoint.set_type(&mut value);
    match endpoint.strategy() {
        Some(strategy) => strategy.default(&mut value),
        None => {
            if let Some(schema) = &endpoint.version().schema {
                schema.default(&mut value);
            }
        }
    }
    Ok(Decoded { value, warnings: problems })
}

/// Drops what the kind does not have, and says what that was.
fn conform(endpoint: &Endpoint, value: &mut Value) -> std::result::Result<Vec<String>, String> {
    if endpoint.strategy().is_some() {
        return Ok(conform::conform(value, endpoint.version().definition)?.0);
    }
    if value.get("metadata").is_some_and(|metadata| !metadata.is_object() && !metadata.is_null()) {
        return Err("json: cannot unmarshal a value that is no object into Go struct field .metadata of type v1.ObjectMeta".to_owned());
    }
    let mut unknown = conform::conform_metadata(value)?.0;
    if let Some(schema) = &endpoint.version().schema {
        unknown.extend(schema.prune(value));
    }
    Ok(unknown)
}

fn not_handled(endpoint: &Endpoint, why: &str) -> Status {
    let (kind, version) = (&endpoint.names().kind, quoted(&endpoint.version().name));
    Status::bad_request(format!("{kind} in version {version} cannot be handled as a {kind}: {why}"))
}

fn unreadable(endpoint: &Endpoint, body: &[u8], why: &str) -> Status {
    let text = String::from_utf8_lossy(body);
    let mut shown: String = text.chars().take(30).collect();
    if shown.len() < text.len() {
        shown.push_str(" ...");
    }
    if text.is_empty() {
        shown.push_str("<empty>");
    }
    let kind = &endpoint.names().kind;
    let problem = if endpoint.strategy().is_some() || why.contains("JSON") {
        format!("couldn't get version/kind; json parse error: {why}")
    } else {
        why.to_owned()
    };
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {problem} ({shown})"
    ))
}

/// Whether `apiVersion` and `kind` are the endpoint's. A built-in kind needs none.
pub(crate) fn check_type(endpoint: &Endpoint, value: &Value, body: &[u8]) -> Result<()> {
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let names = endpoint.names();
    if endpoint.strategy().is_some() {
        return check_builtin_type(endpoint, &api_version, &kind);
    }
    if kind.is_empty() {
        let why = format!("Object 'Kind' is missing in '{}'", String::from_utf8_lossy(body));
        return Err(unreadable(endpoint, body, &why));
    }
    if api_version != endpoint.api_version() {
        return Err(Status::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            endpoint.api_version()
        )));
    }
    if *kind != *names.kind {
        let cause = Cause::invalid("kind", &quoted(&kind), &format!("must be {}", names.kind));
        let name = value["metadata"]["name"].as_str().unwrap_or_default();
        return Err(Status::invalid(Subject { group: &names.group, word: &kind }, name, vec![cause]));
    }
    Ok(())
}

fn check_builtin_type(endpoint: &Endpoint, api_version: &str, kind: &str) -> Result<()> {
    let names = endpoint.names();
    let is_kind = kind.is_empty() || *kind == *names.kind;
    if is_kind && (api_version.is_empty() || api_version == endpoint.api_version()) {
        return Ok(());
    }
    let (shown, version) = (if kind.is_empty() { &names.kind } else { kind }, api_version.rsplit('/').next());
    let version = quoted(version.filter(|version| !version.is_empty()).unwrap_or(&endpoint.version().name));
    let expected = &names.kind;
    let why = if is_kind {
        format!("no kind {} is registered for version {}", quoted(shown), quoted(api_version))
    } else {
        let package = match &*names.group {
            "" => "core",
            group => group.split('.').next().unwrap_or_default(),
        };
        format!("converting (v1.{shown}) to ({package}.{expected}): unknown conversion")
    };
    Err(Status::bad_request(format!("{shown} in version {version} cannot be handled as a {expected}: {why}")))
}

/// The integer that a number without a fraction is; `None` where a double may not be exact.
fn whole(value: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
    (value.fract() == 0.0 && value.abs() <= EXACT).then_some(value as i64)
}

/// Reads any JSON and remembers which fields of objects were there twice. The last one counts.
struct Seed<'a> {
    duplicates: &'a mut Vec<String>,
    path: Step<'a>,
}

/// Where in the body we are; it is written only when there is something to tell.
#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Item(&'a Self, usize),
    Field(&'a Self, &'a str),
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Item(parent, index) => write!(formatter, "{parent}[{index}]"),
            Self::Field(Self::Root, name) => formatter.write_str(name),
            Self::Field(parent, name) => write!(formatter, "{parent}.{name}"),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> std::result::Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> std::result::Result<Value, E> {
        // Written again, it would have no fraction and be read as an integer.
        Ok(whole(value).map_or_else(|| value.into(), Value::from))
    }

    fn visit_str<E>(self, value: &str) -> std::result::Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> std::result::Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> std::result::Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let path = Step::Item(&self.path, list.len());
            match items.next_element_seed(Seed { duplicates: &mut *self.duplicates, path })? {
                Some(item) => list.push(item),
                None => return Ok(list.into()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let path = Step::Field(&self.path, &name);
            if self.duplicates.len() < MAX_DUPLICATES && fields.contains_key(&name) {
                let text = path.to_string();
                if !self.duplicates.contains(&text) {
                    self.duplicates.push(text);
                }
            }
            let value = entries.next_value_seed(Seed { duplicates: &mut *self.duplicates, path })?;
            fields.insert(name, value);
        }
        Ok(fields.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_are_there_twice_are_named() {
        let body = br#"{"a":1,"a":2,"b":[{"c":1,"c":1}],"d":{"e":null,"e":"x"}}"#;
        let read = read(body, Syntax::Json).unwrap();
        assert_eq!(read.value, json!({ "a": 2, "b": [{ "c": 1 }], "d": { "e": "x" } }));
        assert_eq!(read.duplicates, ["a", "b[0].c", "d.e"]);
    }

    #[test]
    fn a_number_without_a_fraction_is_an_integer() {
        let read = read(b"[1.0,-2e3,1.5,1e300]", Syntax::Json).unwrap();
        assert_eq!(read.value, json!([1, -2000, 1.5, 1e300]));
    }

    #[test]
    fn a_body_that_is_cut_off_says_so() {
        assert_eq!(read(b"{\"a\":", Syntax::Json).unwrap_err(), "unexpected end of JSON input");
        assert_eq!(read(b"", Syntax::Json).unwrap_err(), "unexpected end of JSON input");
    }

    #[test]
    fn a_body_can_be_yaml() {
        let read = read(b"a:\n- 1\n- x: true\n", Syntax::Yaml).unwrap();
        assert_eq!(read.value, json!({ "a": [1, { "x": true }] }));
    }
}
