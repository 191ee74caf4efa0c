//! The rules for schemas of CRDs beyond structure: list and map types, what is forbidden, defaults.
//!
//! Behaviour: apiextensions-apiserver `pkg/apis/apiextensions/validation`,
//! `ValidateCustomResourceDefinitionOpenAPISchema`.

use serde_json::{Value, json};

use crate::error::FieldError;
use crate::go;
use crate::node::{Additional, Node, Rule, Type};
use crate::path::{child, keyed};
use crate::structural::must_be_object;

/// What holds for a level because of where it is.
#[derive(Clone, Copy, Default)]
struct Around<'a> {
    is_root: bool,
    in_resource_meta: bool,
    no_defaults: Option<&'a str>,
}

/// Checks the rules below a node that is the schema of a whole resource.
pub(crate) fn check(node: &Node, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if node.nullable {
        errors.push(FieldError::forbidden(child(path, "nullable"), "nullable cannot be true at the root"));
    }
    check_node(node, path, Around { is_root: true, ..Around::default() }, &mut errors);
    errors
}

fn check_node(node: &Node, path: &str, around: Around<'_>, errors: &mut Vec<FieldError>) {
    standard(node, path, around, errors);
    if node.unique_items {
        let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(child(path, "uniqueItems"), why));
    }
    children(node, path, around, errors);
    if node.preserve_unknown == Some(false) {
        let path = child(path, "x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::invalid(path, Value::Bool(false), "must be true or undefined"));
    }
    map_type(node, path, errors);
    list_type(node, path, errors);
    list_of_maps(node, path, errors);
    list_items(node, path, errors);
    for (index, rule) in node.rules.iter().enumerate() {
        let path = format!("{}[{index}]", child(path, "x-kubernetes-validations"));
        rule_fields(node, rule, None, &path, errors);
    }
}

fn children(node: &Node, path: &str, around: Around<'_>, errors: &mut Vec<FieldError>) {
    let below = Around { is_root: false, ..around };
    if let Some(additional) = &node.additional {
        if !node.properties.is_empty() && *additional != Additional::Allowed(true) {
            let why = "additionalProperties and properties are mutual exclusive";
            errors.push(FieldError::forbidden(child(path, "additionalProperties"), why));
        }
        if let Additional::Schema(values) = additional {
            let inside = "inside additionalProperties applying to object metadata";
            let no_defaults = if around.in_resource_meta { Some(inside) } else { around.no_defaults };
            check_node(values, &child(path, "additionalProperties"), Around { no_defaults, ..below }, errors);
        }
    }
    for (name, property) in &node.properties {
        let mut below = below;
        let reason = format!("in top-level {name}");
        if (around.is_root || node.embedded) && matches!(name.as_str(), "metadata" | "kind" | "apiVersion") {
            below.in_resource_meta = true;
            if around.is_root {
                below.no_defaults = Some(&reason);
            }
        }
        check_node(property, &keyed(&child(path, "properties"), name), below, errors);
    }
    if let Some(not) = &node.not {
        check_node(not, &child(path, "not"), below, errors);
    }
    for (keyword, nodes) in [("allOf", &node.all_of), ("oneOf", &node.one_of), ("anyOf", &node.any_of)] {
        for (index, nested) in nodes.iter().enumerate() {
            check_node(nested, &format!("{}[{index}]", child(path, keyword)), below, errors);
        }
    }
    if let Some(items) = &node.items {
        check_node(items, &child(path, "items"), below, errors);
    }
}

pub(crate) fn unknown_type(node: &Node, path: &str) -> FieldError {
    let types = TYPES.map(str::to_owned);
    FieldError::not_supported(child(path, "type"), node.type_name.clone().into(), &types)
}

/// The words for types.
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

fn standard(node: &Node, path: &str, around: Around<'_>, errors: &mut Vec<FieldError>) {
    if !node.type_name.is_empty() && Type::from_name(&node.type_name).is_none() {
        errors.push(unknown_type(node, path));
    }
    if let Some(reason) = around.no_defaults.filter(|_| node.default.is_some()) {
        errors.push(FieldError::forbidden(child(path, "default"), format!("must not be set {reason}")));
    }
    for keyword in &node.unsupported {
        let why = match *keyword {
            "items" => "items must be a schema object and not an array".to_owned(),
            other => format!("{other} is not supported"),
        };
        errors.push(FieldError::forbidden(child(path, keyword), why));
    }
    if node.type_name == "null" {
        let why = "type cannot be set to null, use nullable as an alternative";
        errors.push(FieldError::forbidden(child(path, "type"), why));
    }
    if around.in_resource_meta && node.embedded {
        let why = "must not be used inside of resource meta";
        errors.push(FieldError::forbidden(child(path, "x-kubernetes-embedded-resource"), why));
    }
}

fn map_type(node: &Node, path: &str, errors: &mut Vec<FieldError>) {
    let Some(map_type) = &node.map_type else { return };
    if node.type_name != "object" {
        let why = "must be object if x-kubernetes-map-type is specified";
        errors.push(must_be_object(node, child(path, "type"), why));
    }
    if map_type != "atomic" && map_type != "granular" {
        let path = child(path, "x-kubernetes-map-type");
        let supported = ["atomic", "granular"].map(str::to_owned);
        errors.push(FieldError::not_supported(path, map_type.clone().into(), &supported));
    }
}

fn list_type(node: &Node, path: &str, errors: &mut Vec<FieldError>) {
    let here = child(path, "x-kubernetes-list-type");
    if let Some(list_type) = node.list_type.as_deref() {
        if node.type_name != "array" {
            let why = "must be array if x-kubernetes-list-type is specified";
            errors.push(must_be_object(node, child(path, "type"), why));
        } else if list_type == "set" {
            set_items(node, path, errors);
        }
        if !matches!(list_type, "atomic" | "set" | "map") {
            let supported = ["atomic", "set", "map"].map(str::to_owned);
            errors.push(FieldError::not_supported(here.clone(), list_type.into(), &supported));
        }
    }
    if !node.list_map_keys.is_empty() && node.list_type.as_deref() != Some("map") {
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        errors.push(match &node.list_type {
            None => FieldError::required(here, why),
            Some(other) => FieldError::invalid(here, other.clone().into(), why),
        });
    }
}

fn set_items(node: &Node, path: &str, errors: &mut Vec<FieldError>) {
    let Some(items) = &node.items else { return };
    let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let found = items.list_type.clone().map_or(Value::Null, Value::from);
    let path = child(path, "items");
    match items.type_name.as_str() {
        "array" if items.list_type.as_deref().is_some_and(|kind| kind != "atomic") => {
            errors.push(FieldError::invalid(child(&path, "x-kubernetes-list-type"), found, why));
        }
        "object" if items.map_type.as_deref() != Some("atomic") => {
            errors.push(FieldError::invalid(child(&path, "x-kubernetes-map-type"), found, why));
        }
        _ => {}
    }
}

fn list_of_maps(node: &Node, path: &str, errors: &mut Vec<FieldError>) {
    if node.list_type.as_deref() != Some("map") {
        return;
    }
    let keys_path = child(path, "x-kubernetes-list-map-keys");
    if node.list_map_keys.is_empty() {
        errors.push(FieldError::required(
            keys_path.clone(),
            "must not be empty if x-kubernetes-list-type is map",
        ));
    }
    let Some(items) = &node.items else {
        let why = "must have a schema if x-kubernetes-list-type is map";
        errors.push(FieldError::required(child(path, "items"), why));
        return;
    };
    let items_path = child(path, "items");
    if items.type_name != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(child(&items_path, "type"), items.type_name.clone().into(), why));
        return;
    }
    for (index, key) in node.list_map_keys.iter().enumerate() {
        match items.properties.get(key) {
            Some(property) if matches!(property.type_name.as_str(), "array" | "object") => {
                let path = child(&keyed(&child(&items_path, "properties"), key), "type");
                let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.push(FieldError::invalid(path, items.type_name.clone().into(), why));
            }
            Some(_) => {}
            None => {
                let why = "entries must all be names of item properties";
                errors.push(FieldError::invalid(keys_path.clone(), json!(node.list_map_keys), why));
            }
        }
        if node.list_map_keys[..index].contains(key) {
            let why = "must not contain duplicate entries";
            errors.push(FieldError::invalid(keys_path.clone(), json!(node.list_map_keys), why));
        }
    }
}

fn list_items(node: &Node, path: &str, errors: &mut Vec<FieldError>) {
    let (Some(items), Some(list_type @ ("set" | "map"))) = (&node.items, node.list_type.as_deref()) else {
        return;
    };
    let path = child(path, "items");
    if items.nullable {
        let why = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(child(&path, "nullable"), why));
    }
    if list_type != "map" {
        return;
    }
    for key in &node.list_map_keys {
        let Some(property) = items.properties.get(key) else { continue };
        let path = keyed(&child(&path, "properties"), key);
        if !items.required.contains(key) && property.default.is_none() {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(FieldError::required(child(&path, "default"), why));
        }
        if property.nullable {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(child(&path, "nullable"), why));
        }
    }
}

/// The reasons that a rule may give.
const REASONS: [&str; 4] =
    ["FieldValueRequired", "FieldValueForbidden", "FieldValueInvalid", "FieldValueDuplicate"];

pub(crate) fn rule_fields(
    node: &Node,
    rule: &Rule,
    longest_message: Option<usize>,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    let message = rule.message.trim();
    let breaks = |text: &str| text.contains(['\n', '\r']);
    if rule.rule.trim().is_empty() {
        errors.push(FieldError::required(child(path, "rule"), "rule is not specified"));
    } else if !rule.message.is_empty() && message.is_empty() {
        let why = "must be non-empty if specified";
        errors.push(FieldError::invalid(child(path, "message"), rule.message.clone().into(), why));
    } else if let Some(most) = longest_message.filter(|most| rule.message.len() > *most) {
        let why = format!("must have a maximum length of {most} bytes");
        errors.push(FieldError::invalid(child(path, "message"), rule.message.clone().into(), why));
    } else if breaks(message) {
        let why = "must not contain line breaks";
        errors.push(FieldError::invalid(child(path, "message"), rule.message.clone().into(), why));
    } else if breaks(rule.rule.trim()) && message.is_empty() {
        let why = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(child(path, "message"), why));
    }
    if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
        let why = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(child(path, "messageExpression"), why));
    }
    if let Some(reason) = rule.reason.as_ref().filter(|reason| !REASONS.contains(&reason.as_str())) {
        let mut reasons = REASONS.map(str::to_owned);
        reasons.sort();
        errors.push(FieldError::not_supported(child(path, "reason"), reason.clone().into(), &reasons));
    }
    field_path(node, rule, &child(path, "fieldPath"), errors);
}

fn field_path(node: &Node, rule: &Rule, path: &str, errors: &mut Vec<FieldError>) {
    if rule.field_path.is_empty() {
        return;
    }
    let mut wrong = |why: &str| errors.push(FieldError::invalid(path, rule.field_path.clone().into(), why));
    if rule.field_path.trim().is_empty() {
        wrong("must be non-empty if specified");
    }
    if rule.field_path.contains(['\n', '\r']) {
        wrong("must not contain line breaks");
    }
    if resolve_field_path(node, &rule.field_path).is_err() {
        wrong("must be a valid path");
    }
}

/// Reads a rule's `fieldPath` against the schema it is written in: `.a.b['c']` to `a.b.c` (fields) or
/// `a.b[c]` (map entries).
///
/// Behaviour: apiextensions-apiserver `pkg/apiserver/schema/cel`, `ValidFieldPath`.
pub(crate) fn resolve_field_path(node: &Node, text: &str) -> Result<String, String> {
    let mut node = node;
    let mut out = String::new();
    let mut tokens = tokens(text).into_iter();
    while let Some(token) = tokens.next() {
        let next = tokens.next().ok_or("unexpected end of JSON path")?;
        let name = match token {
            "." => next.to_owned(),
            "[" => {
                let inner = next.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
                let inner = inner
                    .filter(|_| next.len() >= 2)
                    .ok_or_else(|| format!("expected single quoted string but got {next}"))?;
                let name = unescape(inner)?;
                match tokens.next() {
                    Some("]") => name,
                    Some(other) => return Err(format!("expected ] but got {other}")),
                    None => return Err("unexpected end of JSON path".to_owned()),
                }
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        let unknown = "does not refer to a valid field";
        if node.properties.is_empty() {
            node = node.map_values().ok_or(unknown)?;
            out = keyed(&out, &name);
        } else {
            node = node.properties.get(&name).ok_or(unknown)?;
            out = child(&out, &name);
        }
    }
    Ok(out)
}

/// `.`, `[`, `]`, quoted text and what is between them.
fn tokens(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let length = match rest[0] {
            b'.' | b'[' | b']' => 1,
            b'\'' => (1..rest.len())
                .find(|i| rest[*i] == b'\'' && rest[i - 1] != b'\\')
                .map_or(rest.len(), |i| i + 1),
            _ => rest.iter().position(|byte| matches!(byte, b'.' | b'[' | b']')).unwrap_or(rest.len()),
        };
        out.push(&text[at..at + length]);
        at += length;
    }
    out
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next() {
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some(c @ ('\'' | '\\')) => c,
            other => {
                return Err(format!(
                    "invalid string literal: invalid escape char {}",
                    go::quote(&String::from_iter(other))
                ));
            }
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn field_paths_are_resolved_against_the_schema() {
        let schema = json!({"properties": {
            "a.b": {"properties": {"c": {}}},
            "m": {"additionalProperties": {"properties": {"x": {}}}},
        }});
        let (node, _) = parse::parse(&schema, "");
        assert_eq!(resolve_field_path(&node, ".m['k'].x"), Ok("m[k].x".to_owned()));
        assert_eq!(resolve_field_path(&node, "['a.b'].c"), Ok("a.b.c".to_owned()));
        assert_eq!(resolve_field_path(&node, ".nope"), Err("does not refer to a valid field".to_owned()));
        assert_eq!(resolve_field_path(&node, "m"), Err("unexpected end of JSON path".to_owned()));
        assert_eq!(
            resolve_field_path(&node, ".m[k]"),
            Err("expected single quoted string but got k".to_owned())
        );
    }
}
