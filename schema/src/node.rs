//! One level of a schema, and the questions that others ask of it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::format::Format;
use crate::go::regex::Pattern;

/// How deep schemas and values may nest. The API server reads JSON up to 10000 levels; ours has to fit
/// the stack, and the JSON reader that everything comes from stops at 128.
pub const MAX_DEPTH: usize = 128;

/// The type that a schema gives a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A map or a struct.
    Object,
    /// A list.
    Array,
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
}

impl Type {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }

    /// The word in the schema.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

/// `x-kubernetes-list-type`: who owns what of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListType {
    /// The list is replaced whole. This is also what unset means.
    Atomic,
    /// Every item is its own identity.
    Set,
    /// Items are told apart by [`Node::list_map_keys`].
    Map,
}

/// `x-kubernetes-map-type`: who owns what of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapType {
    /// Every field has an owner of its own. This is also what unset means.
    Granular,
    /// The object is replaced whole.
    Atomic,
}

/// `additionalProperties`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Additional {
    Allowed(bool),
    Schema(Box<Node>),
}

/// One rule of `x-kubernetes-validations`, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The expression, which must be true.
    pub rule: String,
    /// What to say when it is not; empty means a text made from the rule.
    pub message: String,
    /// An expression that makes the text; wins over `message` where it yields one. Empty means none.
    pub message_expression: String,
    /// `FieldValueInvalid` (also when unset), `FieldValueForbidden`, `FieldValueRequired` or
    /// `FieldValueDuplicate`.
    pub reason: Option<String>,
    /// Which field below the rule's own to blame, such as `.spec.x`; empty means the rule's own.
    pub field_path: String,
    /// `oldSelf` is an optional value, and the rule runs on create too.
    pub optional_old_self: Option<bool>,
}

/// One level of a schema.
///
/// The same type stands for the levels of the structure and for the value validations inside `allOf`,
/// `anyOf`, `oneOf` and `not`; the structural rules keep the two apart.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(clippy::struct_excessive_bools)] // the keywords are what they are
pub struct Node {
    pub(crate) type_name: String,
    pub(crate) has_title: bool,
    pub(crate) has_description: bool,
    pub(crate) nullable: bool,
    pub(crate) default: Option<Value>,

    pub(crate) items: Option<Box<Node>>,
    pub(crate) properties: BTreeMap<String, Node>,
    pub(crate) additional: Option<Additional>,

    pub(crate) preserve_unknown: Option<bool>,
    pub(crate) embedded: bool,
    pub(crate) int_or_string: bool,
    pub(crate) list_type: Option<String>,
    pub(crate) list_map_keys: Vec<String>,
    pub(crate) map_type: Option<String>,
    pub(crate) rules: Vec<Rule>,

    pub(crate) format: String,
    pub(crate) maximum: Option<f64>,
    pub(crate) exclusive_maximum: bool,
    pub(crate) minimum: Option<f64>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) max_length: Option<i64>,
    pub(crate) min_length: Option<i64>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) max_items: Option<i64>,
    pub(crate) min_items: Option<i64>,
    /// Only rules for values that are no resource look at it.
    pub(crate) example: Option<Value>,
    pub(crate) unique_items: bool,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) enumeration: Vec<Value>,
    pub(crate) max_properties: Option<i64>,
    pub(crate) min_properties: Option<i64>,
    pub(crate) required: Vec<String>,
    pub(crate) all_of: Vec<Node>,
    pub(crate) one_of: Vec<Node>,
    pub(crate) any_of: Vec<Node>,
    pub(crate) not: Option<Box<Node>>,

    /// Keywords of JSON schema that are there and that no CRD may use.
    pub(crate) unsupported: Vec<&'static str>,
}

impl Node {
    /// The type; `None` where the schema leaves it open (int-or-string, unknown fields preserved).
    #[must_use]
    pub fn value_type(&self) -> Option<Type> {
        Type::from_name(&self.type_name)
    }

    /// The schema of a field or of a map's entry. `None` where the schema says nothing of it.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or_else(|| self.map_values())
    }

    /// The declared fields with their schemas, by name.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.properties.iter().map(|(name, node)| (name.as_str(), node))
    }

    /// The schema of one declared field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Self> {
        self.properties.get(name)
    }

    /// The schema of a map's entries, when this is a map with a schema for them.
    #[must_use]
    pub fn map_values(&self) -> Option<&Self> {
        match &self.additional {
            Some(Additional::Schema(node)) => Some(node),
            _ => None,
        }
    }

    /// The schema of a list's items.
    #[must_use]
    pub fn items(&self) -> Option<&Self> {
        self.items.as_deref()
    }

    /// How a list is owned; [`ListType::Atomic`] when unset.
    #[must_use]
    pub fn list_type(&self) -> ListType {
        match self.list_type.as_deref() {
            Some("set") => ListType::Set,
            Some("map") => ListType::Map,
            _ => ListType::Atomic,
        }
    }

    /// The fields that tell the items of a map list apart, in the order of the schema.
    #[must_use]
    pub fn list_map_keys(&self) -> &[String] {
        &self.list_map_keys
    }

    /// How an object is owned; [`MapType::Granular`] when unset.
    #[must_use]
    pub fn map_type(&self) -> MapType {
        if self.map_type.as_deref() == Some("atomic") { MapType::Atomic } else { MapType::Granular }
    }

    /// The value that a missing field gets.
    #[must_use]
    pub fn default_value(&self) -> Option<&Value> {
        self.default.as_ref()
    }

    /// Null is a value of its own here.
    #[must_use]
    pub fn is_nullable(&self) -> bool {
        self.nullable
    }

    /// Unknown fields are kept (`x-kubernetes-preserve-unknown-fields`).
    #[must_use]
    pub fn preserves_unknown_fields(&self) -> bool {
        self.preserve_unknown == Some(true)
    }

    /// The object is a resource with `apiVersion`, `kind` and `metadata`.
    #[must_use]
    pub fn is_embedded_resource(&self) -> bool {
        self.embedded
    }

    /// The value is a whole number or text.
    #[must_use]
    pub fn is_int_or_string(&self) -> bool {
        self.int_or_string
    }

    /// The rules written at this level.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The types that the OpenAPI validator wants; empty means any.
    pub(crate) fn wanted_types(&self) -> &[&str] {
        if self.int_or_string {
            return &["integer", "string"];
        }
        match self.value_type() {
            Some(Type::Object) => &["object"],
            Some(Type::Array) => &["array"],
            Some(Type::String) => &["string"],
            Some(Type::Integer) => &["integer"],
            Some(Type::Number) => &["number"],
            Some(Type::Boolean) => &["boolean"],
            None if self.type_name.is_empty() => &[],
            // No value is of a type that there is not.
            None => &["unknown"],
        }
    }

    /// The format where the API server checks it for this type, else empty.
    ///
    /// Behaviour: apiextensions-apiserver `pkg/apiserver/validation/formats.go`.
    pub(crate) fn checked_format(&self) -> &str {
        let known = match self.wanted_types() {
            [] | ["string"] | [_, _] => Format::from_name(&self.format).is_some(),
            ["integer"] => matches!(self.format.as_str(), "int32" | "int64"),
            ["number"] => matches!(self.format.as_str(), "float" | "double"),
            _ => false,
        };
        if known { &self.format } else { "" }
    }

    /// The same schema, int-or-string of any type: how the API server looks at defaults.
    pub(crate) fn for_defaults(&self) -> Self {
        let each = |nodes: &[Self]| nodes.iter().map(Self::for_defaults).collect();
        let boxed = |node: &Option<Box<Self>>| node.as_ref().map(|node| Box::new(node.for_defaults()));
        Self {
            int_or_string: false,
            default: None,
            items: boxed(&self.items),
            not: boxed(&self.not),
            properties: self
                .properties
                .iter()
                .map(|(name, node)| (name.clone(), node.for_defaults()))
                .collect(),
            additional: match &self.additional {
                Some(Additional::Schema(node)) => Some(Additional::Schema(Box::new(node.for_defaults()))),
                other => other.clone(),
            },
            all_of: each(&self.all_of),
            one_of: each(&self.one_of),
            any_of: each(&self.any_of),
            ..self.clone()
        }
    }

    /// This is `{type: <name>}` and nothing else.
    pub(crate) fn is_bare(&self, type_name: &str) -> bool {
        let bare = Self { type_name: type_name.to_owned(), example: self.example.clone(), ..Self::default() };
        self.type_name == type_name && *self == bare
    }
}
