//! The fields of a variable's schema, the form in which the API server keeps it, and when two are equal.
//!
//! Mirrors `JSONSchemaProps` of Cluster API `api/core/v1beta2/clusterclass_types.go` and `dropFalsePtrBool`.

use serde_json::{Map, Value};

/// What a field of a schema holds.
#[derive(Clone, Copy)]
pub(super) enum Field {
    /// A text; an empty one is the same as none.
    Text,
    /// A whole number.
    Integer,
    /// A boolean; `false` means the same as absent.
    Boolean,
    /// Any JSON, kept to the letter.
    Raw,
    /// A list of any JSON.
    RawList,
    /// A list of texts.
    TextList,
    /// A schema.
    Schema,
    /// A list of schemas.
    SchemaList,
    /// Schemas by name.
    SchemaMap,
    /// CEL rules.
    Rules,
    /// Labels and annotations.
    Metadata,
}

/// Every field that a schema can have, sorted.
const FIELDS: [(&str, Field); 30] = [
    ("additionalProperties", Field::Schema),
    ("allOf", Field::SchemaList),
    ("anyOf", Field::SchemaList),
    ("default", Field::Raw),
    ("description", Field::Text),
    ("enum", Field::RawList),
    ("example", Field::Raw),
    ("exclusiveMaximum", Field::Boolean),
    ("exclusiveMinimum", Field::Boolean),
    ("format", Field::Text),
    ("items", Field::Schema),
    ("maxItems", Field::Integer),
    ("maxLength", Field::Integer),
    ("maxProperties", Field::Integer),
    ("maximum", Field::Integer),
    ("minItems", Field::Integer),
    ("minLength", Field::Integer),
    ("minProperties", Field::Integer),
    ("minimum", Field::Integer),
    ("not", Field::Schema),
    ("oneOf", Field::SchemaList),
    ("pattern", Field::Text),
    ("properties", Field::SchemaMap),
    ("required", Field::TextList),
    ("type", Field::Text),
    ("uniqueItems", Field::Boolean),
    ("x-kubernetes-int-or-string", Field::Boolean),
    ("x-kubernetes-preserve-unknown-fields", Field::Boolean),
    ("x-kubernetes-validations", Field::Rules),
    ("x-metadata", Field::Metadata),
];

const RULE_FIELDS: [&str; 5] = ["fieldPath", "message", "messageExpression", "reason", "rule"];
const METADATA_FIELDS: [&str; 2] = ["annotations", "labels"];

/// What the CRD fills in where a rule gives no reason.
const DEFAULT_REASON: &str = "FieldValueInvalid";

/// What a field holds; `None` for a field that schemas do not have.
pub(super) fn field(name: &str) -> Option<Field> {
    FIELDS.iter().find(|(known, _)| *known == name && !known.is_empty()).map(|(_, field)| *field)
}

/// A schema as it stands in `status.variables` once the API server has stored it: without fields that schemas do
/// not have, without `null`, empty texts and empty lists where schemas have fields of their own (not inside
/// defaults, examples and enums), and with the default reason in the rules of the outermost level. What differs
/// only in that is equal; writing it this way makes a second evaluation compare equal to what was read.
#[must_use]
pub fn stored_form(schema: &Value) -> Value {
    let mut stored = clean(schema, false);
    for rule in rules(&mut stored) {
        rule.entry("reason").or_insert_with(|| Value::from(DEFAULT_REASON));
    }
    stored
}

/// Whether two schemas in stored form mean the same: booleans that are false do not count.
pub(super) fn is_equivalent(a: &Value, b: &Value) -> bool {
    a == b || clean(a, true) == clean(b, true)
}

/// A schema as OpenAPI has it, for checking values: only known fields that say something about values.
pub(super) fn open_api_form(schema: &Value) -> Value {
    let mut form = clean(schema, true);
    if form.is_null() {
        form = Value::Object(Map::new());
    }
    strip(&mut form);
    form
}

/// Drops what does not speak of values, and `null` from enumerations, where it means nothing.
fn strip(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    fields.remove("description");
    fields.remove("x-metadata");
    for (name, value) in fields {
        match (field(name), value) {
            (Some(Field::Schema), schema) => strip(schema),
            (Some(Field::SchemaList), Value::Array(schemas)) => schemas.iter_mut().for_each(strip),
            (Some(Field::SchemaMap), Value::Object(schemas)) => schemas.values_mut().for_each(strip),
            (Some(Field::RawList), Value::Array(values)) => values.retain(|value| !value.is_null()),
            _ => {}
        }
    }
}

fn rules(schema: &mut Value) -> impl Iterator<Item = &mut Map<String, Value>> {
    let rules = schema.get_mut("x-kubernetes-validations").and_then(Value::as_array_mut);
    rules.into_iter().flatten().filter_map(Value::as_object_mut)
}

fn clean(schema: &Value, drop_false: bool) -> Value {
    let Value::Object(fields) = schema else { return schema.clone() };
    let cleaned = fields.iter().filter_map(|(name, value)| {
        let value = clean_field(field(name)?, value, drop_false)?;
        Some((name.clone(), value))
    });
    Value::Object(cleaned.collect())
}

fn clean_field(field: Field, value: &Value, drop_false: bool) -> Option<Value> {
    let cleaned = match (field, value) {
        (_, Value::Null) => return None,
        (Field::Boolean, Value::Bool(false)) if drop_false => return None,
        (Field::Text, Value::String(text)) if text.is_empty() => return None,
        (Field::Schema, schema) => clean(schema, drop_false),
        (Field::SchemaList, Value::Array(schemas)) => {
            schemas.iter().map(|schema| clean(schema, drop_false)).collect()
        }
        (Field::SchemaMap, Value::Object(schemas)) => schemas
            .iter()
            .map(|(name, schema)| (name.clone(), clean(schema, drop_false)))
            .collect::<Map<_, _>>()
            .into(),
        (Field::Rules, Value::Array(rules)) => rules.iter().map(|rule| keep(rule, &RULE_FIELDS)).collect(),
        (Field::Metadata, metadata) => keep(metadata, &METADATA_FIELDS),
        (_, other) => other.clone(),
    };
    let may_be_empty = matches!(field, Field::Raw | Field::Schema);
    (may_be_empty || !is_empty(&cleaned)).then_some(cleaned)
}

/// The named fields of an object, without empty ones.
fn keep(object: &Value, fields: &[&str]) -> Value {
    let Value::Object(object) = object else { return object.clone() };
    let kept = object.iter().filter(|(name, value)| fields.contains(&name.as_str()) && !is_empty(value));
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use similar_asserts::assert_eq;

    use super::*;

    #[test]
    fn the_stored_form_has_only_what_the_api_server_keeps() {
        let answered = json!({
            "type": "object",
            "description": "",
            "nullable": true,
            "default": {"a": null, "b": [], "nullable": true},
            "enum": [null, {}],
            "required": [],
            "additionalProperties": {},
            "x-metadata": {},
            "properties": {"title": {"type": "string", "title": "x", "default": null, "uniqueItems": false}},
            "x-kubernetes-validations": [{"rule": "true", "message": "", "optionalOldSelf": true}],
        });
        let stored = json!({
            "type": "object",
            "default": {"a": null, "b": [], "nullable": true},
            "enum": [null, {}],
            "additionalProperties": {},
            "properties": {"title": {"type": "string", "uniqueItems": false}},
            "x-kubernetes-validations": [{"rule": "true", "reason": "FieldValueInvalid"}],
        });
        assert_eq!(stored_form(&answered), stored);
        assert_eq!(stored_form(&stored), stored);
    }

    #[test]
    fn only_rules_of_the_outermost_level_get_the_default_reason() {
        let schema = json!({"properties": {"a": {"x-kubernetes-validations": [{"rule": "true"}]}}});
        assert_eq!(stored_form(&schema), schema);
    }

    #[test]
    fn false_is_the_same_as_absent_on_every_level() {
        let with = json!({"items": {"not": {"uniqueItems": false}}, "properties": {"uniqueItems": {"default": false}}});
        let without = json!({"items": {"not": {}}, "properties": {"uniqueItems": {"default": false}}});
        assert!(is_equivalent(&with, &without));
        assert!(!is_equivalent(&without, &json!({"items": {"not": {}}, "properties": {"uniqueItems": {}}})));
    }

    #[test]
    fn a_schema_that_is_no_object_comes_out_as_it_is() {
        for odd in [json!(null), json!(3), json!(["type"]), json!({"properties": 3, "items": [], "not": "x"})]
        {
            assert_eq!(stored_form(&odd), odd);
        }
    }
}
