//! One step of a field path, its order, its text and its form as a key of `FieldsV1`.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

use super::value;

/// One step from a value to something inside it.
///
/// Steps are ordered as the API server orders them: fields, keys, values, then indices. The order decides
/// how field sets are written and how conflicts are listed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathElement {
    /// The field of a map or struct: `f:name`.
    Field(String),
    /// The item of a list of type `map` by its key fields, sorted by name: `k:{"name":"a"}`.
    Key(Vec<(String, Scalar)>),
    /// The item of a list of type `set`: `v:"a"`.
    Value(Scalar),
    /// The item of a list by its position: `i:0`. Nothing here makes one; the wire may hold one.
    Index(i64),
}

/// A JSON value with a total order, in which `1` and `1.0` are equal.
#[derive(Clone, Debug)]
pub struct Scalar(pub Value);

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scalar {}

impl PartialOrd for Scalar {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scalar {
    fn cmp(&self, other: &Self) -> Ordering {
        value::compare(&self.0, &other.0)
    }
}

/// Why a key of `FieldsV1` is not a path element.
#[derive(Debug, thiserror::Error)]
#[error("invalid path element {0:?}")]
pub(super) struct BadElement(String);

impl PathElement {
    /// A field of this name.
    pub fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }

    /// The key in `FieldsV1`. What stands after `k:` and `v:` is JSON as Go writes it.
    pub(super) fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(fields) => {
                let fields: Vec<_> = fields
                    .iter()
                    .map(|(name, key)| format!("{}:{}", value::go_json_text(name), value::go_json(&key.0)))
                    .collect();
                format!("k:{{{}}}", fields.join(","))
            }
            Self::Value(item) => format!("v:{}", value::go_json(&item.0)),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    /// Reads a key of `FieldsV1`. One of a kind that is not known is nothing: upstream drops it with all
    /// that is below it, so that a later version may have more kinds.
    pub(super) fn decode(key: &str) -> Result<Option<Self>, BadElement> {
        let bad = || BadElement(key.to_owned());
        let bytes = key.as_bytes();
        if bytes.len() < 2 || bytes[1] != b':' {
            return Err(bad());
        }
        let rest = key.get(2..).ok_or_else(bad)?;
        match bytes[0] {
            b'f' => Ok(Some(Self::Field(rest.to_owned()))),
            b'k' => match serde_json::from_str(rest) {
                // A map of serde_json is sorted by name already.
                Ok(Value::Object(fields)) => {
                    Ok(Some(Self::Key(fields.into_iter().map(|(name, key)| (name, Scalar(key))).collect())))
                }
                _ => Err(bad()),
            },
            b'v' => serde_json::from_str(rest).map(|item| Some(Self::Value(Scalar(item)))).map_err(|_| bad()),
            b'i' => rest.parse().map(|index| Some(Self::Index(index))).map_err(|_| bad()),
            _ => Ok(None),
        }
    }
}

/// As messages and the `field` of a conflict's cause show it.
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                f.write_str("[")?;
                for (i, (name, key)) in fields.iter().enumerate() {
                    let comma = if i == 0 { "" } else { "," };
                    write!(f, "{comma}{name}={}", value::text(&key.0))?;
                }
                f.write_str("]")
            }
            Self::Value(item) => write!(f, "[={}]", value::text(&item.0)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(fields: &[(&str, Value)]) -> PathElement {
        PathElement::Key(fields.iter().map(|(name, key)| ((*name).to_owned(), Scalar(key.clone()))).collect())
    }

    #[test]
    fn elements_are_written_as_the_api_server_writes_them() {
        let table = [
            (PathElement::field("a.b/c"), "f:a.b/c", ".a.b/c"),
            (
                key(&[("port", json!(80)), ("protocol", json!("TCP"))]),
                r#"k:{"port":80,"protocol":"TCP"}"#,
                r#"[port=80,protocol="TCP"]"#,
            ),
            (
                PathElement::Value(Scalar(json!("a<b>&\"c"))),
                r#"v:"a\u003cb\u003e\u0026\"c""#,
                r#"[="a<b>&\"c"]"#,
            ),
            (PathElement::Value(Scalar(json!(true))), "v:true", "[=true]"),
            (PathElement::Value(Scalar(json!(1.0))), "v:1", "[=1]"),
            (PathElement::Index(3), "i:3", "[3]"),
        ];
        for (element, encoded, text) in table {
            assert_eq!(element.encode(), encoded);
            assert_eq!(element.to_string(), text);
            assert_eq!(PathElement::decode(encoded).unwrap(), Some(element));
        }
    }

    #[test]
    fn keys_that_are_no_elements_are_refused_and_unknown_kinds_dropped() {
        for bad in ["", "f", "fx", "k:1", "k:{", "v:", "i:x", "é:"] {
            assert!(PathElement::decode(bad).is_err(), "{bad}");
        }
        assert_eq!(PathElement::decode("z:anything").unwrap(), None);
    }

    #[test]
    fn elements_are_ordered_by_kind_then_by_content() {
        let mut elements = vec![
            PathElement::Index(0),
            PathElement::Value(Scalar(json!("a"))),
            PathElement::Value(Scalar(json!(10))),
            PathElement::Value(Scalar(json!(9.5))),
            key(&[("port", json!(443))]),
            key(&[("port", json!(80)), ("protocol", json!("TCP"))]),
            key(&[("port", json!(80))]),
            PathElement::field("b"),
            PathElement::field("a"),
        ];
        let sorted: Vec<_> = [8, 7, 6, 5, 4, 3, 2, 1, 0].map(|i: usize| elements[i].clone()).into();
        elements.sort();
        assert_eq!(elements, sorted);
    }
}
