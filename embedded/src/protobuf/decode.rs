//! From the messages of Kubernetes to JSON.
//!
//! Behaviour: apimachinery `pkg/runtime/serializer/protobuf`.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::wire::{Field, Reader};
use crate::kinds::definition_of;

/// What every body begins with.
const MAGIC: &[u8] = b"k8s\0";
const MAX_DEPTH: usize = 60;
const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";

static MESSAGES: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("messages.json")).expect("the messages must be JSON"));

/// Reads an object of a built-in kind.
///
/// # Errors
/// When it is no such object.
pub(crate) fn decode(body: &[u8]) -> Result<Value, String> {
    let body = body.strip_prefix(MAGIC).ok_or("provided data does not appear to be a protobuf message")?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &b""[..]);
    let mut envelope = Reader::new(body);
    while let Some((number, field)) = envelope.next()? {
        match (number, field) {
            (1, Field::Bytes(bytes)) => (api_version, kind) = type_of(bytes)?,
            (2, Field::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let message =
        if kind == "DeleteOptions" { Some(DELETE_OPTIONS) } else { definition_of(&api_version, &kind) };
    let message = message.filter(|name| MESSAGES.get(name).is_some());
    let message =
        message.ok_or_else(|| format!("no kind {kind:?} is registered for version {api_version:?}"))?;
    let mut object = self::message(raw, message, 0)?;
    object["apiVersion"] = api_version.into();
    object["kind"] = kind.into();
    Ok(object)
}

fn type_of(bytes: &[u8]) -> Result<(String, String), String> {
    let mut reader = Reader::new(bytes);
    let (mut api_version, mut kind) = (String::new(), String::new());
    while let Some((number, field)) = reader.next()? {
        match (number, field) {
            (1, Field::Bytes(bytes)) => api_version = text(bytes)?,
            (2, Field::Bytes(bytes)) => kind = text(bytes)?,
            _ => {}
        }
    }
    Ok((api_version, kind))
}

fn text(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| "proto: invalid UTF-8".to_owned())
}

fn message(bytes: &[u8], name: &str, depth: usize) -> Result<Value, String> {
    if depth > MAX_DEPTH {
        return Err("exceeded max depth".to_owned());
    }
    match name.rsplit('.').next() {
        Some("Time") => return time(bytes, "%Y-%m-%dT%H:%M:%SZ"),
        Some("MicroTime") => return time(bytes, "%Y-%m-%dT%H:%M:%S.%6fZ"),
        Some("IntOrString") => return int_or_string(bytes),
        Some("FieldsV1") => return raw_json(bytes),
        _ => {}
    }
    let (mut object, mut reader) = (Map::new(), Reader::new(bytes));
    while let Some((number, field)) = reader.next()? {
        let described = &MESSAGES[name][number.to_string()];
        let (Some(json_name), Some(value_type)) = (described[0].as_str(), described[2].as_str()) else {
            continue;
        };
        match described[1].as_str() {
            Some("list") => push(&mut object, json_name, value(field, value_type, depth)?),
            Some("map") => insert(&mut object, json_name, field, value_type, depth)?,
            _ => {
                object.insert(json_name.to_owned(), value(field, value_type, depth)?);
            }
        }
    }
    Ok(object.into())
}

fn push(object: &mut Map<String, Value>, name: &str, value: Value) {
    if let Value::Array(list) = object.entry(name).or_insert_with(|| json!([])) {
        list.push(value);
    }
}

/// An entry of a map is a message of its key and its value.
fn insert(
    object: &mut Map<String, Value>,
    name: &str,
    field: Field<'_>,
    value_type: &str,
    depth: usize,
) -> Result<(), String> {
    let Field::Bytes(bytes) = field else { return Err(format!("proto: wrong wireType for field {name}")) };
    let (mut key, mut entry, mut reader) = (String::new(), None, Reader::new(bytes));
    while let Some((number, field)) = reader.next()? {
        match (number, field) {
            (1, Field::Bytes(bytes)) => key = text(bytes)?,
            (2, field) => entry = Some(value(field, value_type, depth)?),
            _ => {}
        }
    }
    if let Value::Object(map) = object.entry(name).or_insert_with(|| json!({})) {
        map.insert(key, entry.unwrap_or_else(|| "".into()));
    }
    Ok(())
}

fn value(field: Field<'_>, value_type: &str, depth: usize) -> Result<Value, String> {
    match (field, value_type) {
        (Field::Bytes(bytes), "string") => text(bytes).map(Value::from),
        (Field::Bytes(bytes), "bytes") => Ok(BASE64_STANDARD.encode(bytes).into()),
        (Field::Bytes(bytes), name) if name.contains('.') => message(bytes, name, depth + 1),
        (Field::Number(number), "bool") => Ok((number != 0).into()),
        (Field::Number(number), "int32" | "int64") => Ok(number.cast_signed().into()),
        _ => Err(format!("proto: wrong wireType for a field of type {value_type}")),
    }
}

/// A time of zero is none at all.
fn time(bytes: &[u8], format: &str) -> Result<Value, String> {
    let (mut seconds, mut nanos, mut reader) = (None, 0, Reader::new(bytes));
    while let Some((number, field)) = reader.next()? {
        match (number, field) {
            (1, Field::Number(number)) => seconds = Some(number.cast_signed()),
            (2, Field::Number(number)) => nanos = i32::try_from(number).unwrap_or_default(),
            _ => {}
        }
    }
    let Some(seconds) = seconds else { return Ok(Value::Null) };
    let at = Timestamp::new(seconds, nanos).map_err(|error| error.to_string())?;
    Ok(at.strftime(format).to_string().into())
}

fn int_or_string(bytes: &[u8]) -> Result<Value, String> {
    let (mut is_text, mut number, mut text, mut reader) = (false, 0, String::new(), Reader::new(bytes));
    while let Some((field, content)) = reader.next()? {
        match (field, content) {
            (1, Field::Number(value)) => is_text = value == 1,
            (2, Field::Number(value)) => number = value.cast_signed(),
            (3, Field::Bytes(bytes)) => text = self::text(bytes)?,
            _ => {}
        }
    }
    Ok(if is_text { text.into() } else { number.into() })
}

fn raw_json(bytes: &[u8]) -> Result<Value, String> {
    let mut reader = Reader::new(bytes);
    while let Some((number, field)) = reader.next()? {
        if let (1, Field::Bytes(bytes)) = (number, field) {
            return serde_json::from_slice(bytes).map_err(|error| error.to_string());
        }
    }
    Ok(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::super::Writer;
    use super::*;

    fn written(fill: impl FnOnce(&mut Writer) -> &mut Writer) -> Writer {
        let mut writer = Writer::default();
        fill(&mut writer);
        writer
    }

    #[test]
    fn a_config_map_is_read() {
        let metadata = written(|metadata| {
            let entry = written(|entry| entry.text(1, "l").text(2, "v").number(9, 1));
            let created = written(|time| time.number(1, 1_767_225_600).number(2, 0));
            metadata.text(1, "x").text(2, "").number(7, 0).message(8, &created).message(11, &entry)
        });
        let data = written(|entry| entry.text(1, "a").text(2, "1"));
        let raw = written(|raw| raw.message(1, &metadata).message(2, &data).number(4, 1));
        let types = written(|types| types.text(1, "v1").text(2, "ConfigMap"));
        let mut body = MAGIC.to_vec();
        body.extend(written(|body| body.message(1, &types).message(2, &raw).text(4, "")).finish());
        let expected = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "1" }, "immutable": true,
            "metadata": { "name": "x", "generateName": "", "generation": 0, "creationTimestamp": "2026-01-01T00:00:00Z", "labels": { "l": "v" } },
        });
        assert_eq!(decode(&body), Ok(expected));
    }

    #[test]
    fn what_is_no_message_of_a_known_kind_is_refused() {
        assert!(decode(b"{}").is_err_and(|why| why.contains("does not appear")));
        let types = written(|types| types.text(1, "v2").text(2, "Pod"));
        let mut body = MAGIC.to_vec();
        body.extend(written(|body| body.message(1, &types)).finish());
        assert_eq!(decode(&body), Err("no kind \"Pod\" is registered for version \"v2\"".to_owned()));
    }
}
