//! The leaves of the types: times, durations, bytes, any JSON.

use std::borrow::Cow;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use super::{Go, go};
use crate::hooks::Shape;

/// Gives a leaf its name and schema.
macro_rules! leaf {
    ($type:ident, $name:expr, $inline:expr, $shape:expr, $schema:expr) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn inline_schema() -> bool {
                $inline
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }

        impl Go for $type {
            fn shape() -> Shape {
                $shape
            }
        }
    };
}

/// Any JSON. `null` is the zero value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(pub Value);

leaf!(
    Json,
    "k8s.io.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
    false,
    Shape::Any,
    json_schema!({"x-kubernetes-preserve-unknown-fields": true})
);

/// An object of any kind. `null` is the zero value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawExtension(pub Value);

leaf!(
    RawExtension,
    "k8s.io.apimachinery.pkg.runtime.RawExtension",
    false,
    Shape::Any,
    json_schema!({"type": "object"})
);

/// The fields that a manager owns, as the API server writes them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FieldsV1(pub Value);

leaf!(
    FieldsV1,
    "k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1",
    false,
    Shape::Any,
    json_schema!({"type": "object"})
);

/// A point in time, to the second. The zero value is none, which is written as `null`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Option<Timestamp>);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            None => serializer.serialize_none(),
            Some(time) => serializer.collect_str(&time.strftime("%Y-%m-%dT%H:%M:%SZ")),
        }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(Self::default()) };
        let time: Timestamp = text.parse().map_err(|_| D::Error::custom("not a time as RFC 3339 has it"))?;
        // Go's zero time.
        let is_zero = text.starts_with("0001-01-01T00:00:00");
        Ok(Self((!is_zero).then_some(time)))
    }
}

leaf!(
    Time,
    "k8s.io.apimachinery.pkg.apis.meta.v1.Time",
    false,
    Shape::Leaf,
    json_schema!({"type": "string", "format": "date-time"})
);

/// A span of time, in nanoseconds; as text like `1m30s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(pub i64);

impl Duration {
    /// Whole seconds, the rest is dropped; the largest number when there are more.
    #[must_use]
    pub fn seconds(self) -> i32 {
        let seconds = self.0 / 1_000_000_000;
        i32::try_from(seconds).unwrap_or(if seconds < 0 { i32::MIN } else { i32::MAX })
    }

    /// So many seconds.
    #[must_use]
    pub fn from_seconds(seconds: i32) -> Self {
        Self(i64::from(seconds) * 1_000_000_000)
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&go::duration_text(self.0))
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        go::parse_duration(&text).map(Self).ok_or_else(|| D::Error::custom("not a duration like 1m30s"))
    }
}

leaf!(
    Duration,
    "k8s.io.apimachinery.pkg.apis.meta.v1.Duration",
    false,
    Shape::Leaf,
    json_schema!({"type": "string"})
);

/// A whole number or text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IntOrString {
    /// A number.
    Int(i32),
    /// Text, such as a percentage.
    Text(String),
}

impl Default for IntOrString {
    fn default() -> Self {
        Self::Int(0)
    }
}

leaf!(
    IntOrString,
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString",
    false,
    Shape::Leaf,
    json_schema!({"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true})
);

/// Bytes, in base64; `None` when there are none, which is written as `null`.
///
/// Read as Go reads them: line breaks do not count, a list of numbers stands for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub Option<Vec<u8>>);

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
        .with_decode_allow_trailing_bits(true),
);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            None => serializer.serialize_none(),
            Some(bytes) => serializer.serialize_str(&BASE64.encode(bytes)),
        }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Text(String),
            Numbers(Vec<u8>),
        }
        match Written::deserialize(deserializer)? {
            Written::Numbers(bytes) => Ok(Self(Some(bytes))),
            Written::Text(mut text) => {
                text.retain(|c| !matches!(c, '\r' | '\n'));
                BASE64.decode(text).map(|bytes| Self(Some(bytes))).map_err(|_| D::Error::custom("not base64"))
            }
        }
    }
}

impl JsonSchema for Bytes {
    fn schema_name() -> Cow<'static, str> {
        "Bytes".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "byte"})
    }
}

impl Go for Bytes {
    fn shape() -> Shape {
        Shape::Any
    }

    fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(Vec::is_empty)
    }
}
