//! Values while an expression runs.
//!
//! JSON is looked at where it lies, through its schema; nothing is copied before an expression makes
//! something new. Behaviour: apiserver `pkg/cel/common/valuesunstructured.go`, cel-go `common/types`.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::net::IpAddr;
use std::ops::Deref;
use std::rc::Rc;

use serde_json::Value;

use super::decl::{escape, unescape};
use super::library::formats::Named;
use super::library::net::Cidr;
use super::library::quantity::Quantity;
use super::library::semver::Semver;
use super::time::{self, Moment};
use crate::format;
use crate::go::url::Url;
use crate::go::{Num, json};
use crate::node::{ListType, Node, Type as NodeType};

/// Why an evaluation has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The expression failed; `||` and `&&` may make up for it.
    Error(String),
    /// It took too much; nothing makes up for that.
    Cost,
}

impl Fault {
    pub(crate) fn error(message: impl Into<String>) -> Self {
        Self::Error(message.into())
    }

    pub(crate) fn no_such_overload() -> Self {
        Self::error("no such overload")
    }
}

pub(crate) type Outcome<T> = Result<T, Fault>;

/// What an evaluation may take, and has taken.
#[derive(Debug)]
pub(crate) struct Meter {
    /// Units of cost as the API server counts them.
    pub(crate) cost: u64,
    pub(crate) limit: u64,
    /// Elements and bytes really handled. The cost of comparing or joining large values does not say how
    /// long it takes; this does.
    work: u64,
}

/// How much work all rules of one object may be together: well below a second when optimized.
const MAX_WORK: u64 = 10_000_000;

impl Meter {
    pub(crate) fn new(limit: u64) -> Self {
        Self { cost: 0, limit, work: 0 }
    }

    /// Begins to count the cost of another expression. The work goes on adding up.
    pub(crate) fn restart(&mut self) {
        self.cost = 0;
    }

    pub(crate) fn charge(&mut self, cost: u64) -> Outcome<()> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit { Err(Fault::Cost) } else { Ok(()) }
    }

    pub(crate) fn work(&mut self, amount: usize) -> Outcome<()> {
        self.work = self.work.saturating_add(amount as u64);
        if self.work > MAX_WORK { Err(Fault::Cost) } else { Ok(()) }
    }
}

/// Text, borrowed where it can be.
#[derive(Clone)]
pub(crate) enum Text<'a> {
    Borrowed(&'a str),
    Shared(Rc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, formatter)
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self::Shared(text.into())
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Text<'a>),
    Bytes(Rc<Vec<u8>>),
    /// Nanoseconds.
    Duration(i64),
    Timestamp(Moment),
    List(List<'a>),
    Map(Map<'a>),
    Type(Rc<str>),
    Optional(Option<Rc<Val<'a>>>),
    Url(Rc<Url>),
    Quantity(Rc<Quantity>),
    Ip(IpAddr),
    Cidr(Cidr),
    Format(&'static Named),
    Semver(Rc<Semver>),
    /// Preserved without a schema; can only be compared.
    Unknown(&'a Value),
}

impl Val<'_> {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into().into())
    }

    /// The name of the type, as `type()` gives it and messages show it.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Url(_) => "kubernetes.URL",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Unknown(_) => "unknown",
        }
    }

    /// Characters, items or entries; 1 for what has no size.
    pub(crate) fn size(&self) -> u64 {
        let size = match self {
            Self::Text(text) => text.chars().count(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(list) => list.len(),
            Self::Map(map) => map.len(),
            Self::Optional(Some(inner)) => return inner.size(),
            Self::Ip(address) => {
                if address.is_ipv4() {
                    4
                } else {
                    16
                }
            }
            Self::Cidr(cidr) => usize::from(cidr.bits).div_ceil(8),
            _ => 1,
        };
        size as u64
    }

    /// False, zero, empty or null.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Null | Self::Optional(None) => true,
            Self::Bool(value) => !value,
            Self::Int(value) | Self::Duration(value) => *value == 0,
            Self::Uint(value) => *value == 0,
            Self::Double(value) => *value == 0.0,
            Self::Text(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::List(list) => list.len() == 0,
            Self::Map(map) => map.len() == 0,
            _ => false,
        }
    }
}

/// A list, with what its schema says of its items.
#[derive(Clone, Debug)]
pub(crate) struct List<'a> {
    items: Items<'a>,
    kind: ListType,
    /// The schema of the list, for items in JSON and for the keys of a map list.
    node: Option<&'a Node>,
}

#[derive(Clone, Debug)]
enum Items<'a> {
    Json(&'a [Value]),
    Own(Rc<Vec<Val<'a>>>),
}

impl<'a> List<'a> {
    pub(crate) fn own(items: Vec<Val<'a>>) -> Self {
        Self { items: Items::Own(Rc::new(items)), kind: ListType::Atomic, node: None }
    }

    pub(crate) fn len(&self) -> usize {
        match &self.items {
            Items::Json(items) => items.len(),
            Items::Own(items) => items.len(),
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<Outcome<Val<'a>>> {
        match &self.items {
            Items::Json(items) => {
                let value = items.get(index)?;
                Some(match self.node.and_then(Node::items) {
                    Some(node) => from_json(value, node, node.embedded),
                    None => Err(Fault::error("invalid array type, expected Items with a non-empty Schema")),
                })
            }
            Items::Own(items) => items.get(index).cloned().map(Ok),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Outcome<Val<'a>>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    fn to_vec(&self, meter: &mut Meter) -> Outcome<Vec<Val<'a>>> {
        meter.work(self.len())?;
        self.iter().collect()
    }

    /// Adds one item, in place where nobody else holds the list.
    pub(crate) fn push(self, item: Val<'a>, meter: &mut Meter) -> Outcome<Self> {
        match self.items {
            Items::Own(mut items) if self.kind == ListType::Atomic => {
                if Rc::strong_count(&items) > 1 {
                    meter.work(items.len())?;
                }
                Rc::make_mut(&mut items).push(item);
                meter.work(1)?;
                Ok(Self { items: Items::Own(items), ..self })
            }
            _ => self.concat(&Self::own(vec![item]), meter),
        }
    }

    /// `first + second`: sets are united, map lists merged by key, all others joined.
    pub(crate) fn concat(&self, second: &Self, meter: &mut Meter) -> Outcome<Self> {
        let mut items = self.to_vec(meter)?;
        match self.kind {
            ListType::Atomic => items.extend(second.to_vec(meter)?),
            ListType::Set => {
                let mut known = HashSet::new();
                for item in &items {
                    known.insert(identity(item, &[], meter)?);
                }
                for item in second.iter() {
                    let item = item?;
                    if known.insert(identity(&item, &[], meter)?) {
                        items.push(item);
                    }
                }
            }
            ListType::Map => {
                let keys = self.keys();
                let mut places = HashMap::new();
                for (index, item) in items.iter().enumerate() {
                    places.insert(identity(item, keys, meter)?, index);
                }
                for item in second.iter() {
                    let item = item?;
                    match places.get(&identity(&item, keys, meter)?) {
                        Some(place) => items[*place] = item,
                        None => items.push(item),
                    }
                }
            }
        }
        Ok(Self { items: Items::Own(Rc::new(items)), kind: self.kind, node: self.node })
    }

    fn keys(&self) -> &'a [String] {
        self.node.map_or(&[], |node| node.list_map_keys())
    }

    fn equals(&self, other: &Self, meter: &mut Meter) -> Outcome<bool> {
        if self.len() != other.len() {
            return Ok(false);
        }
        match self.kind {
            ListType::Atomic => {
                for (first, second) in self.iter().zip(other.iter()) {
                    if !equal(&first?, &second?, meter)? {
                        return Ok(false);
                    }
                }
            }
            ListType::Set | ListType::Map => {
                let keys = if self.kind == ListType::Map { self.keys() } else { &[] };
                let mut own = HashMap::new();
                for item in self.iter() {
                    let item = item?;
                    own.insert(identity(&item, keys, meter)?, item);
                }
                for item in other.iter() {
                    let item = item?;
                    let Some(own) = own.get(&identity(&item, keys, meter)?) else { return Ok(false) };
                    if self.kind == ListType::Map && !equal(own, &item, meter)? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }
}

/// What tells an item of a set or map list from others, as text.
fn identity(item: &Val<'_>, keys: &[String], meter: &mut Meter) -> Outcome<String> {
    if keys.is_empty() {
        return Ok(match item {
            Val::Text(text) => format!("s{}", &**text),
            Val::Map(Map::Json { fields, .. }) => {
                let text = json(&Value::Object((*fields).clone()));
                meter.work(text.len())?;
                text
            }
            Val::List(List { items: Items::Json(items), .. }) => {
                let text = json(&Value::Array(items.to_vec()));
                meter.work(text.len())?;
                text
            }
            Val::List(_) | Val::Map(_) => return Err(Fault::error("items of sets must be scalars")),
            other => format!("{other:?}"),
        });
    }
    let mut out = String::new();
    for key in keys {
        let value = match item {
            Val::Map(Map::Json { fields, .. }) => fields.get(key).map(json),
            Val::Map(map) => map.find(&Val::text(key.as_str()))?.map(|value| match value {
                Val::Text(text) => json(&Value::from(&*text)),
                Val::Int(int) => int.to_string(),
                Val::Bool(value) => value.to_string(),
                other => format!("{other:?}"),
            }),
            _ => None,
        };
        out.push_str(&value.unwrap_or_default());
        out.push('\0');
    }
    meter.work(out.len())?;
    Ok(out)
}

/// A map or an object.
#[derive(Clone, Debug)]
pub(crate) enum Map<'a> {
    Json { fields: &'a serde_json::Map<String, Value>, node: &'a Node, is_resource: bool },
    Own(Rc<Entries<'a>>),
}

/// A map that an expression made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries<'a> {
    entries: Vec<(Val<'a>, Val<'a>)>,
    places: HashMap<Key, usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Bool(bool),
    Number(i128),
    Text(String),
}

#[allow(clippy::cast_possible_truncation, clippy::float_cmp)]
fn key(value: &Val<'_>) -> Option<Key> {
    Some(match value {
        Val::Bool(value) => Key::Bool(*value),
        Val::Int(value) => Key::Number(i128::from(*value)),
        Val::Uint(value) => Key::Number(i128::from(*value)),
        Val::Double(value) if value.trunc() == *value && value.abs() < 1e19 => Key::Number(*value as i128),
        Val::Text(text) => Key::Text((**text).to_owned()),
        _ => return None,
    })
}

impl<'a> Entries<'a> {
    /// Fails if the key is there.
    pub(crate) fn insert(&mut self, name: &Val<'a>, value: Val<'a>) -> Outcome<()> {
        if self.set(name.clone(), value)? {
            return Err(Fault::error(format!("insert failed: key {} already exists", show(name))));
        }
        Ok(())
    }

    /// The last one counts, as in a map literal. Whether the key was there.
    pub(crate) fn set(&mut self, name: Val<'a>, value: Val<'a>) -> Outcome<bool> {
        let Some(key) = key(&name).filter(|_| !matches!(name, Val::Double(_))) else {
            return Err(Fault::error(format!("unsupported key type: {}", name.type_name())));
        };
        if let Some(entry) = self.places.get(&key).and_then(|place| self.entries.get_mut(*place)) {
            entry.1 = value;
            return Ok(true);
        }
        self.places.insert(key, self.entries.len());
        self.entries.push((name, value));
        Ok(false)
    }
}

impl<'a> Map<'a> {
    pub(crate) fn own(entries: Entries<'a>) -> Self {
        Self::Own(Rc::new(entries))
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json { fields, .. } => fields.len(),
            Self::Own(entries) => entries.entries.len(),
        }
    }

    /// The map with one more entry, in place where nobody else holds it.
    pub(crate) fn insert(self, name: &Val<'a>, value: Val<'a>, meter: &mut Meter) -> Outcome<Self> {
        let mut entries = match self {
            Self::Own(entries) => entries,
            json @ Self::Json { .. } => {
                let mut entries = Entries::default();
                for name in json.keys() {
                    if let Some(value) = json.find(&name)? {
                        meter.work(1)?;
                        entries.insert(&name, value)?;
                    }
                }
                Rc::new(entries)
            }
        };
        meter.work(if Rc::strong_count(&entries) > 1 { entries.entries.len() } else { 1 })?;
        Rc::make_mut(&mut entries).insert(name, value)?;
        Ok(Self::Own(entries))
    }

    /// The keys that can be iterated over: of an object, the declared ones.
    pub(crate) fn keys(&self) -> Vec<Val<'a>> {
        match self {
            Self::Own(entries) => entries.entries.iter().map(|(name, _)| name.clone()).collect(),
            Self::Json { fields, node, is_resource } => {
                let is_object = is_object(node, *is_resource);
                let seen = |name: &&String| property(node, *is_resource, name).is_some();
                let name =
                    |name: &'a String| match escape(name).filter(|escaped| is_object && escaped != name) {
                        Some(escaped) => Val::text(escaped),
                        None => Val::Text(Text::Borrowed(name)),
                    };
                fields.keys().filter(seen).map(name).collect()
            }
        }
    }

    /// The entry of a key; of an object, a null field is no field.
    pub(crate) fn find(&self, wanted: &Val<'_>) -> Outcome<Option<Val<'a>>> {
        match self {
            Self::Own(entries) => {
                let place = key(wanted).and_then(|key| entries.places.get(&key));
                Ok(place.map(|place| entries.entries[*place].1.clone()))
            }
            Self::Json { fields, node, is_resource } => {
                let Val::Text(name) = wanted else { return Err(Fault::no_such_overload()) };
                let is_object = is_object(node, *is_resource);
                let unescaped;
                let mut name: &str = name;
                if is_object {
                    let Some(plain) = unescape(name) else { return Ok(None) };
                    unescaped = plain;
                    name = &unescaped;
                }
                let Some(value) = fields.get(name).filter(|value| !(is_object && value.is_null())) else {
                    return Ok(None);
                };
                match property(node, *is_resource, name) {
                    Some(Property::Node(node)) => from_json(value, node, node.embedded).map(Some),
                    Some(Property::Text) => Ok(value.as_str().map(|text| Val::Text(Text::Borrowed(text)))),
                    Some(Property::Metadata) => Ok(value
                        .as_object()
                        .map(|fields| Val::Map(Self::Json { fields, node: &METADATA, is_resource: false }))),
                    None => Ok(None),
                }
            }
        }
    }

    fn equals(&self, other: &Self, meter: &mut Meter) -> Outcome<bool> {
        if self.len() != other.len() {
            return Ok(false);
        }
        if let (Self::Json { fields, node, is_resource }, Self::Json { fields: others, .. }) = (self, other) {
            // What the schema does not show is compared as it is.
            let hidden = fields.iter().filter(|(name, _)| property(node, *is_resource, name).is_none());
            for (name, value) in hidden {
                meter.work(1)?;
                if others.get(name).is_some_and(|other| other != value) {
                    return Ok(false);
                }
            }
        }
        for name in self.keys() {
            meter.work(1)?;
            match (self.find(&name)?, other.find(&name)?) {
                (Some(own), Some(other)) => {
                    if !equal(&own, &other, meter)? {
                        return Ok(false);
                    }
                }
                (None, None) => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }
}

/// The metadata that every resource shows to rules.
static METADATA: std::sync::LazyLock<Node> = std::sync::LazyLock::new(|| {
    let text = || Node { type_name: "string".to_owned(), ..Node::default() };
    let properties = [("name".to_owned(), text()), ("generateName".to_owned(), text())].into();
    Node { type_name: "object".to_owned(), properties, ..Node::default() }
});

enum Property<'a> {
    Node(&'a Node),
    Text,
    Metadata,
}

fn is_object(node: &Node, is_resource: bool) -> bool {
    is_resource || !node.properties.is_empty()
}

fn property<'a>(node: &'a Node, is_resource: bool, name: &str) -> Option<Property<'a>> {
    if is_resource {
        match name {
            "apiVersion" | "kind" => return Some(Property::Text),
            "metadata" => return Some(Property::Metadata),
            _ => {}
        }
    }
    if is_object(node, is_resource) {
        return node.properties.get(name).map(Property::Node);
    }
    node.map_values().map(Property::Node)
}

/// A JSON value as its schema shows it.
pub(crate) fn from_json<'a>(value: &'a Value, node: &'a Node, is_resource: bool) -> Outcome<Val<'a>> {
    if value.is_null() {
        return if node.nullable {
            Ok(Val::Null)
        } else {
            Err(Fault::error("invalid data, got null for schema with nullable=false"))
        };
    }
    if node.int_or_string {
        return match value {
            Value::String(text) => Ok(Val::Text(Text::Borrowed(text))),
            Value::Number(number) => match Num::of(number) {
                Num::Int(int) => Ok(Val::Int(int)),
                Num::Float(_) => Err(int_or_string()),
            },
            _ => Err(int_or_string()),
        };
    }
    let expected = |what: &str| Fault::error(format!("invalid data, expected {what}"));
    match node.value_type() {
        Some(NodeType::Object) => match value {
            Value::Object(fields) => Ok(Val::Map(Map::Json { fields, node, is_resource })),
            _ => Err(expected("a map for the provided schema with type=object")),
        },
        Some(NodeType::Array) => match value {
            Value::Array(items) => {
                Ok(Val::List(List { items: Items::Json(items), kind: node.list_type(), node: Some(node) }))
            }
            _ => Err(expected("an array for the provided schema with type=array")),
        },
        Some(NodeType::String) => match value {
            Value::String(text) => from_text(text, &node.format),
            _ => Err(expected("string")),
        },
        Some(NodeType::Number) => match value {
            Value::Number(number) => Ok(Val::Double(Num::of(number).as_f64())),
            _ => Err(expected("float")),
        },
        Some(NodeType::Integer) => match value {
            Value::Number(number) => match Num::of(number) {
                Num::Int(int) => Ok(Val::Int(int)),
                Num::Float(_) => Err(expected("int, got float64")),
            },
            _ => Err(expected("int")),
        },
        Some(NodeType::Boolean) => value.as_bool().map(Val::Bool).ok_or_else(|| expected("bool")),
        None => Ok(Val::Unknown(value)),
    }
}

fn int_or_string() -> Fault {
    Fault::error("invalid data, expected XIntOrString value to be either a string or integer")
}

fn from_text<'a>(text: &'a str, format: &str) -> Outcome<Val<'a>> {
    let invalid = |what: &str| Fault::error(format!("Invalid {what} {text}"));
    match format {
        "duration" => format::duration(text).map(Val::Duration).ok_or_else(|| invalid("duration")),
        "date" => time::parse_date(text).map(Val::Timestamp).ok_or_else(|| invalid("date formatted string")),
        "date-time" => {
            time::parse(text).map(Val::Timestamp).ok_or_else(|| invalid("date-time formatted string"))
        }
        "byte" => decode_base64(text)
            .map(|bytes| Val::Bytes(Rc::new(bytes)))
            .ok_or_else(|| invalid("byte formatted string")),
        _ => Ok(Val::Text(Text::Borrowed(text))),
    }
}

/// Base64 in the URL alphabet, as the API server reads bytes; the standard one is let through as well.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let trimmed = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - trimmed.len() > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0u32, 0);
    for byte in trimmed.bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count & 0xff) as u8);
        }
    }
    Some(out)
}

/// True when two values are equal. Values of different types are not, numbers of all types go together.
pub(crate) fn equal(first: &Val<'_>, second: &Val<'_>, meter: &mut Meter) -> Outcome<bool> {
    meter.work(1)?;
    Ok(match (first, second) {
        (Val::Text(first), Val::Text(second)) => {
            meter.work(first.len().min(second.len()) / 16)?;
            **first == **second
        }
        (Val::Bytes(first), Val::Bytes(second)) => {
            meter.work(first.len().min(second.len()) / 16)?;
            first == second
        }
        (Val::List(first), Val::List(second)) => first.equals(second, meter)?,
        (Val::Map(first), Val::Map(second)) => first.equals(second, meter)?,
        (Val::Optional(Some(first)), Val::Optional(Some(second))) => equal(first, second, meter)?,
        (Val::Optional(first), Val::Optional(second)) => first.is_none() && second.is_none(),
        (Val::Null, Val::Null) => true,
        (Val::Bool(first), Val::Bool(second)) => first == second,
        (Val::Duration(first), Val::Duration(second)) => first == second,
        (Val::Timestamp(first), Val::Timestamp(second)) => first == second,
        (Val::Type(first), Val::Type(second)) => first == second,
        (Val::Url(first), Val::Url(second)) => first == second,
        (Val::Quantity(first), Val::Quantity(second)) => first.compare(second).is_eq(),
        (Val::Ip(first), Val::Ip(second)) => first == second,
        (Val::Cidr(first), Val::Cidr(second)) => first == second,
        (Val::Format(first), Val::Format(second)) => first.name == second.name,
        (Val::Semver(first), Val::Semver(second)) => first.compare(second).is_eq(),
        (Val::Unknown(first), Val::Unknown(second)) => {
            meter.work(1000)?;
            first == second
        }
        (first, second) => compare_numbers(first, second).is_some_and(Ordering::is_eq),
    })
}

/// The order of two numbers of any types; `None` where there is none.
pub(crate) fn compare_numbers(first: &Val<'_>, second: &Val<'_>) -> Option<Ordering> {
    match (first, second) {
        (Val::Int(first), Val::Int(second)) => Some(first.cmp(second)),
        (Val::Uint(first), Val::Uint(second)) => Some(first.cmp(second)),
        (Val::Int(first), Val::Uint(second)) => Some(i128::from(*first).cmp(&i128::from(*second))),
        (Val::Uint(first), Val::Int(second)) => Some(i128::from(*first).cmp(&i128::from(*second))),
        (Val::Double(first), Val::Double(second)) => first.partial_cmp(second),
        (Val::Double(first), Val::Int(second)) => compare_double(*first, i128::from(*second)),
        (Val::Double(first), Val::Uint(second)) => compare_double(*first, i128::from(*second)),
        (Val::Int(first), Val::Double(second)) => {
            compare_double(*second, i128::from(*first)).map(Ordering::reverse)
        }
        (Val::Uint(first), Val::Double(second)) => {
            compare_double(*second, i128::from(*first)).map(Ordering::reverse)
        }
        _ => None,
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn compare_double(first: f64, second: i128) -> Option<Ordering> {
    if first.is_nan() {
        return None;
    }
    if first.abs() >= 1e20 {
        return Some(if first > 0.0 { Ordering::Greater } else { Ordering::Less });
    }
    let whole = first.trunc();
    Some(
        (whole as i128)
            .cmp(&second)
            .then_with(|| (first - whole).partial_cmp(&0.0).unwrap_or(Ordering::Equal)),
    )
}

/// The order of two values of one comparable type.
pub(crate) fn compare(first: &Val<'_>, second: &Val<'_>) -> Outcome<Option<Ordering>> {
    Ok(match (first, second) {
        (Val::Bool(first), Val::Bool(second)) => Some(first.cmp(second)),
        (Val::Text(first), Val::Text(second)) => Some((**first).cmp(&**second)),
        (Val::Bytes(first), Val::Bytes(second)) => Some(first.cmp(second)),
        (Val::Duration(first), Val::Duration(second)) => Some(first.cmp(second)),
        (Val::Timestamp(first), Val::Timestamp(second)) => Some(first.cmp(second)),
        (Val::Int(_) | Val::Uint(_) | Val::Double(_), Val::Int(_) | Val::Uint(_) | Val::Double(_)) => {
            compare_numbers(first, second)
        }
        _ => return Err(Fault::no_such_overload()),
    })
}

/// A scalar as messages show it.
pub(crate) fn show(value: &Val<'_>) -> String {
    match value {
        Val::Text(text) => (**text).to_owned(),
        Val::Int(value) => value.to_string(),
        Val::Uint(value) => value.to_string(),
        Val::Bool(value) => value.to_string(),
        Val::Double(value) => crate::go::float(*value),
        other => other.type_name().to_owned(),
    }
}
