//! The structural rules: every value has one known schema, and the logical junctors only narrow it.
//!
//! Behaviour: apiextensions-apiserver `pkg/apiserver/schema`, `ValidateStructural`.

use serde_json::Value;

use crate::error::FieldError;
use crate::node::{Additional, Node};
use crate::path::{child, keyed};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Checks the rules below a node that is the schema of a whole resource. Sorted by text.
pub(crate) fn check(node: &Node, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(node, Level::Root, path, &mut errors);
    complete_value(node, Some(node), path, path, &mut errors);
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

/// Checks the same for a value that is no resource: of any type, and its junctors may speak of fields that it
/// does not have.
pub(crate) fn check_value(node: &Node, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(node, Level::Field, path, &mut errors);
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

fn invariants(node: &Node, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    if node.type_name == "array" && node.items.is_none() {
        errors.push(FieldError::required(child(path, "items"), "must be specified"));
    }
    if let Some(items) = &node.items {
        invariants(items, Level::Item, &child(path, "items"), errors);
    }
    for (name, property) in &node.properties {
        invariants(property, Level::Field, &keyed(&child(path, "properties"), name), errors);
    }
    if node.additional.is_some() && level == Level::Root {
        errors
            .push(FieldError::forbidden(child(path, "additionalProperties"), "must not be used at the root"));
    }
    if let Some(Additional::Schema(values)) = &node.additional {
        invariants(values, Level::Field, &child(path, "additionalProperties"), errors);
    }
    extensions(node, path, errors);
    value_validation(node, is_int_or_string(&node.any_of), is_all_of_int_or_string(node), path, errors);
    types(node, level, path, errors);
    type_meta(node, level, path, errors);
}

fn extensions(node: &Node, path: &str, errors: &mut Vec<FieldError>) {
    let why = "must be false if x-kubernetes-int-or-string is true";
    if node.int_or_string && node.preserves_unknown_fields() {
        let path = child(path, "x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::invalid(path, Value::Bool(true), why));
    }
    if node.int_or_string && node.embedded {
        errors.push(FieldError::invalid(
            child(path, "x-kubernetes-embedded-resource"),
            Value::Bool(true),
            why,
        ));
    }
}

fn types(node: &Node, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let here = child(path, "type");
    if node.embedded && node.type_name != "object" {
        errors.push(must_be_object(node, here, "must be object if x-kubernetes-embedded-resource is true"));
    } else if node.type_name.is_empty() && !node.int_or_string && !node.preserves_unknown_fields() {
        let why = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(here, why));
    }
    if node.embedded && node.additional.is_some() {
        let why = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(child(path, "additionalProperties"), why));
    }
    if level == Level::Root && !node.type_name.is_empty() && node.type_name != "object" {
        let here = child(path, "type");
        errors.push(FieldError::invalid(here, node.type_name.clone().into(), "must be object at the root"));
    }
    if node.embedded && !node.preserves_unknown_fields() && node.properties.is_empty() {
        let why = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(child(path, "properties"), why));
    }
}

pub(crate) fn must_be_object(node: &Node, path: String, why: &str) -> FieldError {
    if node.type_name.is_empty() {
        FieldError::required(path, why)
    } else {
        FieldError::invalid(path, node.type_name.clone().into(), why)
    }
}

fn type_meta(node: &Node, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let is_resource = level == Level::Root || node.embedded;
    let properties = child(path, "properties");
    for name in ["kind", "apiVersion"] {
        if let Some(property) =
            node.properties.get(name).filter(|property| is_resource && property.type_name != "string")
        {
            let path = child(&keyed(&properties, name), "type");
            errors.push(FieldError::invalid(path, property.type_name.clone().into(), "must be string"));
        }
    }
    let Some(metadata) = node.properties.get("metadata") else { return };
    let here = keyed(&properties, "metadata");
    if is_resource && metadata.type_name != "object" {
        errors.push(FieldError::invalid(
            child(&here, "type"),
            metadata.type_name.clone().into(),
            "must be object",
        ));
    }
    if level == Level::Root && !restricts_names_only(metadata) {
        let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(here, why));
    }
}

fn restricts_names_only(metadata: &Node) -> bool {
    let names = metadata.properties.keys().all(|name| name == "name" || name == "generateName");
    let rest = Node {
        type_name: String::new(),
        default: None,
        example: None,
        properties: <_>::default(),
        ..metadata.clone()
    };
    names && rest == Node::default()
}

/// `[{type: integer}, {type: string}]`
fn is_int_or_string(any_of: &[Node]) -> bool {
    matches!(any_of, [first, second] if first.is_bare("integer") && second.is_bare("string"))
}

fn is_all_of_int_or_string(node: &Node) -> bool {
    node.all_of.first().is_some_and(|first| is_int_or_string(&first.any_of))
}

fn value_validation(
    node: &Node,
    skip_any_of: bool,
    skip_first_all_of: bool,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    if !skip_any_of {
        for (index, nested) in node.any_of.iter().enumerate() {
            nested_validation(nested, false, &format!("{}[{index}]", child(path, "anyOf")), errors);
        }
    }
    for (index, nested) in node.all_of.iter().enumerate() {
        let path = format!("{}[{index}]", child(path, "allOf"));
        nested_validation(nested, skip_first_all_of && index == 0, &path, errors);
    }
    for (index, nested) in node.one_of.iter().enumerate() {
        nested_validation(nested, false, &format!("{}[{index}]", child(path, "oneOf")), errors);
    }
    if let Some(not) = &node.not {
        nested_validation(not, false, &child(path, "not"), errors);
    }
    if let Some(pattern) = &node.pattern
        && let Err(why) = pattern.regex()
    {
        let why = format!("must be a valid regular expression, but isn't: {why}");
        errors.push(FieldError::invalid(child(path, "pattern"), pattern.text().into(), why));
    }
}

fn nested_validation(node: &Node, skip_any_of: bool, path: &str, errors: &mut Vec<FieldError>) {
    value_validation(node, skip_any_of, false, path, errors);
    if let Some(items) = &node.items {
        nested_validation(items, false, &child(path, "items"), errors);
    }
    for (name, property) in &node.properties {
        nested_validation(property, false, &keyed(&child(path, "properties"), name), errors);
    }
    let (empty, undefined, off) = (
        "must be empty to be structural",
        "must be undefined to be structural",
        "must be false to be structural",
    );
    let additional = !matches!(node.additional, None | Some(Additional::Allowed(false)));
    let forbidden = [
        (!node.type_name.is_empty(), "type", empty),
        (additional, "additionalProperties", undefined),
        (node.default.is_some(), "default", undefined),
        (node.has_title, "title", empty),
        (node.has_description, "description", empty),
        (node.nullable, "nullable", off),
        (node.preserves_unknown_fields(), "x-kubernetes-preserve-unknown-fields", off),
        (node.embedded, "x-kubernetes-embedded-resource", off),
        (node.int_or_string, "x-kubernetes-int-or-string", off),
        (!node.list_map_keys.is_empty(), "x-kubernetes-list-map-keys", empty),
        (node.list_type.is_some(), "x-kubernetes-list-type", undefined),
        (node.map_type.is_some(), "x-kubernetes-map-type", undefined),
        (!node.rules.is_empty(), "x-kubernetes-validations", empty),
    ];
    for (_, keyword, why) in forbidden.into_iter().filter(|(is_there, ..)| *is_there) {
        errors.push(FieldError::forbidden(child(path, keyword), why));
    }
    if node.properties.contains_key("metadata") {
        let path = keyed(&child(path, "properties"), "metadata");
        errors.push(FieldError::forbidden(path, "must not be specified in a nested context"));
    }
}

/// Every field that a junctor speaks of must be in the structure too.
fn complete_value(
    node: &Node,
    spine: Option<&Node>,
    path: &str,
    nested_path: &str,
    errors: &mut Vec<FieldError>,
) {
    if let Some(not) = &node.not {
        complete(not, spine, path, &child(nested_path, "not"), errors);
    }
    for (keyword, nodes) in [("allOf", &node.all_of), ("anyOf", &node.any_of), ("oneOf", &node.one_of)] {
        for (index, nested) in nodes.iter().enumerate() {
            complete(nested, spine, path, &format!("{}[{index}]", child(nested_path, keyword)), errors);
        }
    }
}

fn complete(node: &Node, spine: Option<&Node>, path: &str, nested_path: &str, errors: &mut Vec<FieldError>) {
    let Some(spine) = spine else {
        errors.push(FieldError::required(path, format!("because it is defined in {nested_path}")));
        return;
    };
    complete_value(node, Some(spine), path, nested_path, errors);
    if let Some(items) = &node.items {
        complete(items, spine.items(), &child(path, "items"), &child(nested_path, "items"), errors);
    }
    for (name, property) in &node.properties {
        let here = keyed(&child(path, "properties"), name);
        let nested_path = keyed(&child(nested_path, "properties"), name);
        complete(property, spine.properties.get(name), &here, &nested_path, errors);
    }
}
