//! Schemas as types of CEL, with the sizes that costs are estimated from.
//!
//! Behaviour: apiserver `pkg/cel/common/schemas.go`, `pkg/cel/types.go`, `pkg/cel/escaping.go`,
//! `pkg/cel/limits.go`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::types::Type;
use crate::node::{Node, Type as NodeType};

/// The largest request the API server takes, in bytes: a value can be no larger.
pub(crate) const MAX_REQUEST: u64 = 3 * 1024 * 1024;

/// The fields of an object that rules may name.
#[derive(Debug)]
pub(crate) struct Object {
    /// Unique in its schema.
    pub(crate) name: String,
    /// By escaped name.
    pub(crate) fields: BTreeMap<String, Arc<Decl>>,
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// The type of a value, and how large it can be.
#[derive(Debug)]
pub(crate) struct Decl {
    pub(crate) shape: Shape,
    /// At most so many characters, items or entries.
    pub(crate) max_elements: u64,
    /// At least so many bytes of JSON.
    pub(crate) min_size: u64,
}

#[derive(Debug)]
pub(crate) enum Shape {
    Simple(Type),
    List(Arc<Decl>),
    /// Keys are text.
    Map(Arc<Decl>),
    Object(Arc<Object>),
}

impl Decl {
    fn simple(found: Type, max_elements: u64, min_size: u64) -> Self {
        Self { shape: Shape::Simple(found), max_elements, min_size }
    }

    pub(crate) fn cel_type(&self) -> Type {
        match &self.shape {
            Shape::Simple(found) => found.clone(),
            Shape::List(item) => Type::list(item.cel_type()),
            Shape::Map(value) => Type::map(Type::String, value.cel_type()),
            Shape::Object(object) => Type::Object(Arc::clone(object)),
        }
    }

    /// The items of a list or the values of a map.
    pub(crate) fn element(&self) -> Option<&Arc<Self>> {
        match &self.shape {
            Shape::List(element) | Shape::Map(element) => Some(element),
            _ => None,
        }
    }

    /// A field of an object, by escaped name.
    pub(crate) fn field(&self, name: &str) -> Option<&Arc<Self>> {
        match &self.shape {
            Shape::Object(object) => object.fields.get(name),
            _ => None,
        }
    }
}

/// The declaration of a schema; `None` where rules cannot see the value.
pub(crate) fn decl(node: &Node, is_resource: bool, name: &str) -> Option<Arc<Decl>> {
    if node.int_or_string {
        let most = node.max_length.map_or(MAX_REQUEST - 2, |length| at_least_zero(length) * 4);
        return Some(Arc::new(Decl::simple(Type::Dyn, most, 1)));
    }
    let found = match node.value_type()? {
        // The API server adds the fields of a resource to the root, and loses the items of a list that way.
        NodeType::Array if is_resource => return None,
        NodeType::Array => {
            let item = decl(node.items()?, node.items()?.embedded, &format!("{name}.@idx"))?;
            let most = node.max_items.map_or_else(|| (MAX_REQUEST - 2) / (item.min_size + 1), at_least_zero);
            Decl { shape: Shape::List(item), max_elements: most, min_size: 2 }
        }
        NodeType::Object => match node.map_values() {
            Some(values) => {
                let value = decl(values, values.embedded, &format!("{name}.@elem"))?;
                let most = node
                    .max_properties
                    .map_or_else(|| (MAX_REQUEST - 2) / (value.min_size + 6), at_least_zero);
                Decl { shape: Shape::Map(value), max_elements: most, min_size: 2 }
            }
            None => object(node, is_resource, name),
        },
        NodeType::String => text(node),
        NodeType::Boolean => Decl::simple(Type::Bool, 0, 4),
        NodeType::Number => Decl::simple(Type::Double, 0, 1),
        NodeType::Integer => Decl::simple(Type::Int, 0, 1),
    };
    Some(Arc::new(found))
}

fn at_least_zero(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

fn object(node: &Node, is_resource: bool, name: &str) -> Decl {
    let mut fields = BTreeMap::new();
    let mut min_size = 2;
    for (field, property) in &node.properties {
        if is_resource && matches!(field.as_str(), "apiVersion" | "kind" | "metadata") {
            continue;
        }
        let escaped = escape(field);
        let child = escaped.as_deref().unwrap_or(field);
        let Some(found) = decl(property, property.embedded, &format!("{name}.{child}")) else { continue };
        if node.required.contains(field) && property.default.is_none() {
            min_size += field.len() as u64 + found.min_size + 4;
        }
        if let Some(escaped) = escaped {
            fields.insert(escaped, found);
        }
    }
    if is_resource {
        let text = || Arc::new(Decl::simple(Type::String, MAX_REQUEST - 2, 2));
        let names = [("name".to_owned(), text()), ("generateName".to_owned(), text())].into();
        let metadata = Object { name: format!("{name}.metadata"), fields: names };
        let metadata = Decl { shape: Shape::Object(Arc::new(metadata)), max_elements: 0, min_size: 2 };
        fields.insert("kind".to_owned(), text());
        fields.insert("apiVersion".to_owned(), text());
        fields.insert("metadata".to_owned(), Arc::new(metadata));
        for field in ["kind", "apiVersion", "metadata"]
            .into_iter()
            .filter(|field| node.required.iter().any(|r| r == field))
        {
            min_size += field.len() as u64 + 2 + 4;
        }
    }
    Decl {
        shape: Shape::Object(Arc::new(Object { name: name.to_owned(), fields })),
        max_elements: 0,
        min_size,
    }
}

fn text(node: &Node) -> Decl {
    match node.format.as_str() {
        "byte" => Decl::simple(Type::Bytes, node.max_length.map_or(MAX_REQUEST - 2, at_least_zero), 2),
        "duration" => Decl::simple(Type::Duration, 32, 3),
        "date" => Decl::simple(Type::Timestamp, 12, 12),
        "date-time" => Decl::simple(Type::Timestamp, 32, 21),
        _ => {
            // Lengths count characters, and one may take four bytes.
            let longest =
                || node.enumeration.iter().filter_map(Value::as_str).map(|text| text.len() as u64).max();
            let most = match node.max_length {
                Some(length) => at_least_zero(length) * 4,
                None if node.enumeration.is_empty() => MAX_REQUEST - 2,
                None => longest().unwrap_or(0),
            };
            Decl::simple(Type::String, most, 2)
        }
    }
}

/// Words that no field in an expression may be called.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The name of a field in an expression; `None` when it cannot be named.
pub(crate) fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("__") {
            out.push_str("__underscores__");
            rest = after;
            continue;
        }
        match c {
            '.' => out.push_str("__dot__"),
            '-' => out.push_str("__dash__"),
            '/' => out.push_str("__slash__"),
            c if c.is_ascii_alphanumeric() || c == '_' => out.push(c),
            _ => return None,
        }
        rest = &rest[c.len_utf8()..];
    }
    Some(out)
}

/// The field that an escaped name stands for; `None` for names that no escaping gives.
pub(crate) fn unescape(escaped: &str) -> Option<String> {
    if !escaped.contains("__") {
        return Some(escaped.to_owned());
    }
    let mut out = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some(start) = rest.find("__") {
        let inner = &rest[start + 2..];
        // The sequence is two underscores, something without any, and two underscores.
        let end = inner.find('_').unwrap_or(inner.len());
        if end == 0 || !inner[end..].starts_with("__") {
            let keep = start + if end == 0 { 1 } else { 2 };
            out.push_str(&rest[..keep]);
            rest = &rest[keep..];
            continue;
        }
        out.push_str(&rest[..start]);
        let word = &inner[..end];
        rest = &inner[end + 2..];
        match word {
            "underscores" => out.push_str("__"),
            "dot" => out.push('.'),
            "dash" => out.push('-'),
            "slash" => out.push('/'),
            word if RESERVED.contains(&word) && escaped.len() == word.len() + 4 => {
                return Some(word.to_owned());
            }
            _ => return None,
        }
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("a", "a")]
    #[case("namespace", "__namespace__")]
    #[case("a-b", "a__dash__b")]
    #[case("a.b/c", "a__dot__b__slash__c")]
    #[case("a__b", "a__underscores__b")]
    #[case("a_b", "a_b")]
    #[case("_a", "_a")]
    #[case("a-", "a__dash__")]
    fn names_are_escaped_and_back(#[case] name: &str, #[case] escaped: &str) {
        assert_eq!(escape(name).as_deref(), Some(escaped));
        assert_eq!(unescape(escaped).as_deref(), Some(name));
    }

    #[test]
    fn what_cannot_be_named_is_not() {
        assert_eq!(escape("1a"), None);
        assert_eq!(escape("a b"), None);
        assert_eq!(escape("é"), None);
        assert_eq!(unescape("a__nope__b"), None);
    }
}
