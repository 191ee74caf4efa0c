//! What discovered variables must satisfy before they can stand in a status.
//!
//! First the form that Go's decoder and the CRD ask for, then the rules for [definitions](super::definitions).

use kapstan_schema::{Cause, FieldError};
use serde_json::Value;

use super::definitions::{self, CEL_COMPATIBILITY};
use super::schema::{Field, field};
use crate::cluster_class::ClusterClassVariable;

/// How many bytes a name may have in a status.
const MAX_NAME: usize = 256;

/// How deep lists and objects may be nested in a schema. JSON is read down to 128 levels, and a status, in the list of
/// all classes, has ten more around a schema than the answer has: a class with a deeper one could not be read again, and
/// no other class in the same list.
const MAX_DEPTH: usize = 64;

/// Everything that is wrong with the variables that a patch's extension answered. Paths begin with the patch's name.
#[must_use]
pub fn check(patch: &str, variables: &[ClusterClassVariable]) -> Vec<FieldError> {
    let root = format!("{patch}.variables");
    let mut errors = Vec::new();
    for variable in variables {
        let place = format!("{root}[{}]", variable.name);
        if variable.name.len() > MAX_NAME {
            let why = "a name has at most 256 bytes";
            errors.push(FieldError::new(format!("{place}.name"), Cause::TooLong, why));
        }
        let schema = &variable.schema.open_api_v3_schema;
        check_form(schema, &format!("{place}.schema.openAPIV3Schema"), &mut errors);
    }
    if errors.is_empty() { definitions::validate(variables, &[], &root, CEL_COMPATIBILITY) } else { errors }
}

fn check_form(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if is_deeper_than(MAX_DEPTH, schema) {
        let detail = format!("a schema has at most {MAX_DEPTH} levels of lists and objects in each other");
        errors.push(FieldError::new(path, Cause::TooLong, detail));
    } else {
        check_structure(schema, path, errors);
    }
}

/// Reports fields that hold something else than they should; upstream's decoder fails on them.
fn check_structure(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match schema {
        Value::Null => {}
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
                if let Some(field) = field(name) {
                    check_field(field, value, &format!("{path}.{name}"), errors);
                }
            }
        }
        _ => errors.push(FieldError::new(path, Cause::TypeInvalid, "must be an object")),
    }
}

fn check_field(field: Field, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let mut expect = |holds: bool, what: &str| {
        if !holds {
            errors.push(FieldError::new(path, Cause::TypeInvalid, format!("must be {what}")));
        }
    };
    match (field, value) {
        (Field::Raw, _) => {}
        (Field::Text, value) => expect(value.is_string(), "a text"),
        (Field::Integer, value) => expect(value.is_i64(), "a whole number"),
        (Field::Boolean, value) => expect(value.is_boolean(), "true or false"),
        (Field::Metadata, value) => expect(value.is_object(), "an object"),
        (Field::RawList, value) => expect(value.is_array(), "a list"),
        (Field::TextList, value) => expect(is_list_of(value, Value::is_string), "a list of texts"),
        (Field::Rules, value) => expect(is_list_of(value, Value::is_object), "a list of objects"),
        (Field::Schema, schema) => check_structure(schema, path, errors),
        (Field::SchemaList, Value::Array(schemas)) => {
            for (index, schema) in schemas.iter().enumerate() {
                check_structure(schema, &format!("{path}[{index}]"), errors);
            }
        }
        (Field::SchemaMap, Value::Object(schemas)) => {
            for (name, schema) in schemas {
                check_structure(schema, &format!("{path}[{name}]"), errors);
            }
        }
        (Field::SchemaList, _) => expect(false, "a list of schemas"),
        (Field::SchemaMap, _) => expect(false, "an object of schemas"),
    }
}

fn is_deeper_than(levels: usize, value: &Value) -> bool {
    let is_inside_deeper = |inside| is_deeper_than(levels - 1, inside);
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(is_inside_deeper),
        Value::Object(fields) => levels == 0 || fields.values().any(is_inside_deeper),
        _ => false,
    }
}

fn is_list_of(value: &Value, is_item: fn(&Value) -> bool) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(is_item))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;
    use similar_asserts::assert_eq;

    use super::*;

    fn variable(name: &str, schema: &Value) -> ClusterClassVariable {
        serde_json::from_value(json!({"name": name, "schema": {"openAPIV3Schema": schema}})).unwrap()
    }

    fn found(variables: &[ClusterClassVariable]) -> Vec<(String, &'static str)> {
        check("hull", variables).into_iter().map(|error| (error.path, error.cause.reason())).collect()
    }

    #[rstest]
    #[case::empty("", "hull.variables[].name", "FieldValueRequired")]
    #[case::reserved("builtin", "hull.variables[builtin].name", "FieldValueInvalid")]
    #[case::dotted("a.b", "hull.variables[a.b].name", "FieldValueInvalid")]
    fn names_that_nobody_could_use_are_refused(#[case] name: &str, #[case] field: &str, #[case] cause: &str) {
        assert_eq!(found(&[variable(name, &json!({"type": "string"}))]), [(field.to_owned(), cause)]);
    }

    #[test]
    fn a_name_that_is_used_twice_is_refused() {
        let tide = variable("tide", &json!({"type": "string"}));
        assert_eq!(
            found(&[tide.clone(), tide]),
            [("hull.variables[tide].name".to_owned(), "FieldValueInvalid")]
        );
    }

    #[rstest]
    #[case::absent(json!(null), ".type", "FieldValueRequired")]
    #[case::no_type(json!({"minimum": 3}), ".type", "FieldValueRequired")]
    #[case::odd_type(json!({"type": "colour"}), ".type", "FieldValueNotSupported")]
    #[case::no_object(json!([]), "", "FieldValueTypeInvalid")]
    #[case::type_is_a_number(json!({"type": 3}), ".type", "FieldValueTypeInvalid")]
    #[case::fraction(json!({"type": "number", "maximum": 1.5}), ".maximum", "FieldValueTypeInvalid")]
    #[case::deep_down(
        json!({"type": "object", "properties": {"a": {"allOf": [{"items": {"required": "x"}}]}}}),
        ".properties[a].allOf[0].items.required", "FieldValueTypeInvalid"
    )]
    fn schemas_that_the_api_server_would_refuse_are_refused(
        #[case] schema: Value,
        #[case] field: &str,
        #[case] cause: &str,
    ) {
        let field = format!("hull.variables[tide].schema.openAPIV3Schema{field}");
        assert_eq!(found(&[variable("tide", &schema)]), [(field, cause)]);
    }

    #[test]
    fn a_schema_that_could_not_be_read_back_is_refused() {
        let nested = |levels| (1..levels).fold(json!({}), |inside, _| json!([inside]));
        let schema =
            |levels: usize| json!({"x-kubernetes-preserve-unknown-fields": true, "default": nested(levels)});
        assert_eq!(found(&[variable("tide", &schema(MAX_DEPTH - 1))]), []);
        let field = "hull.variables[tide].schema.openAPIV3Schema".to_owned();
        assert_eq!(found(&[variable("tide", &schema(MAX_DEPTH))]), [(field, "FieldValueTooLong")]);
    }

    #[test]
    fn unknown_fields_and_untyped_schemas_that_say_so_pass() {
        let odd =
            json!({"x-kubernetes-int-or-string": true, "x-heron": 3, "default": null, "enum": [1, "a"]});
        assert_eq!(found(&[variable("tide", &odd)]), []);
    }
}
