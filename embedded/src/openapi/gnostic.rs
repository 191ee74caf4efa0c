//! The document of version 2 as a protocol buffer, in which kubectl asks for it.
//!
//! Only what describes schemas is there: kubectl reads nothing else.
//!
//! Behaviour: gnostic `openapiv2/OpenAPIv2.proto`.

use serde_json::Value;

use crate::protobuf::Writer;

/// The document, from its JSON form.
pub(super) fn encode(document: &Value) -> Vec<u8> {
    let (mut out, mut info, mut definitions) = (Writer::default(), Writer::default(), Writer::default());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    info.text(1, &text(&document["info"]["title"])).text(2, &text(&document["info"]["version"]));
    for (name, definition) in document["definitions"].as_object().into_iter().flatten() {
        definitions.message(1, &named(name, &schema(definition)));
    }
    out.text(1, &text(&document["swagger"]))
        .message(2, &info)
        .message(8, &Writer::default())
        .message(9, &definitions);
    out.finish()
}

fn named(name: &str, value: &Writer) -> Writer {
    let mut out = Writer::default();
    out.text(1, name).message(2, value);
    out
}

fn schema(schema: &Value) -> Writer {
    let mut out = Writer::default();
    for (number, name) in [(1, "$ref"), (2, "format"), (3, "title"), (4, "description")] {
        if let Some(text) = schema[name].as_str() {
            out.text(number, text);
        }
    }
    for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        out.text(19, required);
    }
    if schema["additionalProperties"].is_object() {
        let mut item = Writer::default();
        item.message(1, &self::schema(&schema["additionalProperties"]));
        out.message(21, &item);
    }
    if let Some(value_type) = schema["type"].as_str() {
        let mut item = Writer::default();
        item.text(1, value_type);
        out.message(22, &item);
    }
    if schema["items"].is_object() {
        let mut item = Writer::default();
        item.message(1, &self::schema(&schema["items"]));
        out.message(23, &item);
    }
    if let Some(properties) = schema["properties"].as_object() {
        let mut item = Writer::default();
        for (name, property) in properties {
            item.message(1, &named(name, &self::schema(property)));
        }
        out.message(25, &item);
    }
    for (name, value) in schema.as_object().into_iter().flatten().filter(|(name, _)| name.starts_with("x-")) {
        let mut any = Writer::default();
        // JSON is YAML.
        any.text(2, &value.to_string());
        out.message(31, &named(name, &any));
    }
    out
}
