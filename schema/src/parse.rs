//! JSON to [`Node`]. Only the form is checked here: that a keyword holds what it must hold.

use serde_json::{Map, Value};

use crate::error::{Cause, FieldError};
use crate::go::regex::Pattern;
use crate::node::{Additional, MAX_DEPTH, Node, Rule};
use crate::path::{child, keyed};

/// Reads a schema. All mistakes of form are told at once.
pub(crate) fn parse(value: &Value, path: &str) -> (Node, Parser) {
    let mut parser = Parser::default();
    let node = parser.node(value, path, 0);
    (node, parser)
}

/// What came up while reading.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    pub(crate) errors: Vec<FieldError>,
    /// Paths of keywords that no schema of a CRD knows. The API server drops them.
    pub(crate) unknown: Vec<String>,
}

const NOT_SUPPORTED: [&str; 7] =
    ["id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions"];
/// Keywords that say nothing about values.
const IGNORED: [&str; 1] = ["externalDocs"];

impl Parser {
    fn wrong(&mut self, path: &str, value: &Value, wanted: &str) {
        self.errors.push(FieldError {
            path: path.to_owned(),
            cause: Cause::TypeInvalid,
            bad_value: Some(value.clone()),
            detail: format!("must be {wanted}"),
        });
    }

    fn node(&mut self, value: &Value, path: &str, depth: usize) -> Node {
        let mut node = Node::default();
        let Value::Object(fields) = value else {
            self.wrong(path, value, "an object");
            return node;
        };
        if depth >= MAX_DEPTH {
            self.errors
                .push(FieldError::forbidden(path, format!("must not be nested deeper than {MAX_DEPTH}")));
            return node;
        }
        for (keyword, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            let here = child(path, keyword);
            if !self.nested(&mut node, keyword, value, &here, depth)
                && !self.scalar(&mut node, keyword, value, &here)
                && !self.number(&mut node, keyword, value, &here)
            {
                self.other(&mut node, keyword, value, here);
            }
        }
        node
    }

    /// Keywords that hold schemas.
    fn nested(&mut self, node: &mut Node, keyword: &str, value: &Value, path: &str, depth: usize) -> bool {
        match keyword {
            "items" if value.is_array() => node.unsupported.push("items"),
            "items" => node.items = Some(Box::new(self.node(value, path, depth + 1))),
            "not" => node.not = Some(Box::new(self.node(value, path, depth + 1))),
            "additionalProperties" => {
                node.additional = Some(match value {
                    Value::Bool(allowed) => Additional::Allowed(*allowed),
                    other => Additional::Schema(Box::new(self.node(other, path, depth + 1))),
                });
            }
            "properties" => {
                for (name, value) in self.object(value, path).into_iter().flatten() {
                    let schema = self.node(value, &keyed(path, name), depth + 1);
                    node.properties.insert(name.clone(), schema);
                }
            }
            "allOf" => node.all_of = self.nodes(value, path, depth),
            "anyOf" => node.any_of = self.nodes(value, path, depth),
            "oneOf" => node.one_of = self.nodes(value, path, depth),
            "x-kubernetes-validations" => node.rules = self.rules(value, path),
            _ => return false,
        }
        true
    }

    fn scalar(&mut self, node: &mut Node, keyword: &str, value: &Value, path: &str) -> bool {
        match keyword {
            "type" => node.type_name = self.text(value, path),
            "format" => node.format = self.text(value, path),
            "pattern" => {
                node.pattern = Some(self.text(value, path))
                    .filter(|text| !text.is_empty())
                    .map(|text| Pattern::new(&text));
            }
            "title" => node.has_title = !self.text(value, path).is_empty(),
            "description" => node.has_description = !self.text(value, path).is_empty(),
            "nullable" => node.nullable = self.boolean(value, path),
            "exclusiveMaximum" => node.exclusive_maximum = self.boolean(value, path),
            "exclusiveMinimum" => node.exclusive_minimum = self.boolean(value, path),
            "uniqueItems" => node.unique_items = self.boolean(value, path),
            "x-kubernetes-preserve-unknown-fields" => node.preserve_unknown = Some(self.boolean(value, path)),
            "x-kubernetes-embedded-resource" => node.embedded = self.boolean(value, path),
            "x-kubernetes-int-or-string" => node.int_or_string = self.boolean(value, path),
            "x-kubernetes-list-type" => node.list_type = Some(self.text(value, path)),
            "x-kubernetes-map-type" => node.map_type = Some(self.text(value, path)),
            "x-kubernetes-list-map-keys" => node.list_map_keys = self.texts(value, path),
            "required" => node.required = self.texts(value, path),
            "default" => node.default = Some(value.clone()),
            "example" => node.example = Some(value.clone()),
            "enum" => node.enumeration = self.array(value, path).into_iter().flatten().cloned().collect(),
            _ => return false,
        }
        true
    }

    fn number(&mut self, node: &mut Node, keyword: &str, value: &Value, path: &str) -> bool {
        match keyword {
            "maximum" => node.maximum = self.double(value, path),
            "minimum" => node.minimum = self.double(value, path),
            "multipleOf" => node.multiple_of = self.double(value, path),
            "maxLength" => node.max_length = self.int(value, path),
            "minLength" => node.min_length = self.int(value, path),
            "maxItems" => node.max_items = self.int(value, path),
            "minItems" => node.min_items = self.int(value, path),
            "maxProperties" => node.max_properties = self.int(value, path),
            "minProperties" => node.min_properties = self.int(value, path),
            _ => return false,
        }
        true
    }

    fn other(&mut self, node: &mut Node, keyword: &str, value: &Value, path: String) {
        let empty = match value {
            Value::String(text) => text.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        if let Some(known) = NOT_SUPPORTED.iter().find(|known| **known == keyword) {
            if !empty || matches!(*known, "additionalItems" | "dependencies" | "$ref") {
                node.unsupported.push(known);
            }
        } else if !IGNORED.contains(&keyword) {
            self.unknown.push(path);
        }
    }

    fn nodes(&mut self, value: &Value, path: &str, depth: usize) -> Vec<Node> {
        let mut out = Vec::new();
        for (index, value) in self.array(value, path).into_iter().flatten().enumerate() {
            out.push(self.node(value, &format!("{path}[{index}]"), depth + 1));
        }
        out
    }

    fn rules(&mut self, value: &Value, path: &str) -> Vec<Rule> {
        let mut out = Vec::new();
        for (index, value) in self.array(value, path).into_iter().flatten().enumerate() {
            let path = format!("{path}[{index}]");
            let mut rule = Rule::default();
            for (keyword, value) in
                self.object(value, &path).into_iter().flatten().filter(|(_, value)| !value.is_null())
            {
                let here = child(&path, keyword);
                match keyword.as_str() {
                    "rule" => rule.rule = self.text(value, &here),
                    "message" => rule.message = self.text(value, &here),
                    "messageExpression" => rule.message_expression = self.text(value, &here),
                    "reason" => rule.reason = Some(self.text(value, &here)),
                    "fieldPath" => rule.field_path = self.text(value, &here),
                    "optionalOldSelf" => rule.optional_old_self = Some(self.boolean(value, &here)),
                    _ => self.unknown.push(here),
                }
            }
            out.push(rule);
        }
        out
    }

    fn object<'v>(&mut self, value: &'v Value, path: &str) -> Option<&'v Map<String, Value>> {
        if !value.is_object() {
            self.wrong(path, value, "an object");
        }
        value.as_object()
    }

    fn array<'v>(&mut self, value: &'v Value, path: &str) -> Option<&'v Vec<Value>> {
        if !value.is_array() {
            self.wrong(path, value, "an array");
        }
        value.as_array()
    }

    fn text(&mut self, value: &Value, path: &str) -> String {
        if !value.is_string() {
            self.wrong(path, value, "a string");
        }
        value.as_str().unwrap_or_default().to_owned()
    }

    fn texts(&mut self, value: &Value, path: &str) -> Vec<String> {
        let mut out = Vec::new();
        for (index, value) in self.array(value, path).into_iter().flatten().enumerate() {
            out.push(self.text(value, &format!("{path}[{index}]")));
        }
        out
    }

    fn boolean(&mut self, value: &Value, path: &str) -> bool {
        if !value.is_boolean() {
            self.wrong(path, value, "a boolean");
        }
        value.as_bool().unwrap_or_default()
    }

    fn double(&mut self, value: &Value, path: &str) -> Option<f64> {
        if !value.is_number() {
            self.wrong(path, value, "a number");
        }
        value.as_f64()
    }

    fn int(&mut self, value: &Value, path: &str) -> Option<i64> {
        if value.as_i64().is_none() {
            self.wrong(path, value, "an integer");
        }
        value.as_i64()
    }
}
