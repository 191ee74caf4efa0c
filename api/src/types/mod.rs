//! The kinds in every version and the messages of all hooks, field for field as Cluster API has them.
//!
//! They read and write JSON as its Go types do: `null` and absent are the zero value, unknown fields are dropped,
//! and what is left out when it is empty or zero is left out. From them come the [CRDs](crate::crd), the [OpenAPI
//! document](crate::openapi) and the [conversions](crate::conversion). What the manager reads and writes every day is
//! in [`extension_config`](crate::extension_config) and [`cluster_class`](crate::cluster_class) instead: those keep
//! what they do not know, so that nothing is lost when an object is written back.
//!
//! Each field says how it is written:
//! - `always`: also when it is zero;
//! - `omitempty`: not when it is false, 0, an empty text, list or map, or unset; structures always;
//! - `omitzero`: not when everything in it is zero.
//!
//! In the schemas, `x-crd`, `x-crd-items`, `x-crd-values` and `x-openapi-required` are for the two renderers.

use crate::hooks::{ResponseStatus, Shape, Zero};

mod collections;
mod go;
mod scalars;

pub use collections::{Dict, List};
pub use scalars::{Bytes, Duration, FieldsV1, IntOrString, Json, RawExtension, Time};

/// What a type has in common with its twin in Go.
pub trait Go: Sized {
    /// How JSON for it is read.
    fn shape() -> Shape;

    /// Whether `omitempty` leaves it out.
    fn is_empty(&self) -> bool {
        false
    }
}

fn omitempty<T: Go>(value: &T) -> bool {
    value.is_empty()
}

fn omitzero<T: Default + PartialEq>(value: &T) -> bool {
    crate::wire::is_default(value)
}

fn always<T>(_: &T) -> bool {
    false
}

macro_rules! scalars {
    ($($type:ty, $zero:expr;)*) => {$(
        impl Go for $type {
            fn shape() -> Shape {
                Shape::Scalar($zero)
            }

            fn is_empty(&self) -> bool {
                crate::wire::is_default(self)
            }
        }
    )*};
}

scalars! {
    String, Zero::Text;
    bool, Zero::False;
    i32, Zero::Number;
    i64, Zero::Number;
}

impl Go for ResponseStatus {
    fn shape() -> Shape {
        Shape::Scalar(Zero::Text)
    }

    fn is_empty(&self) -> bool {
        self.as_str().is_empty()
    }
}

impl schemars::JsonSchema for ResponseStatus {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ResponseStatus".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "x-openapi-enum": ["Failure", "Success"]})
    }
}

impl<T: Go> Go for Option<T> {
    fn shape() -> Shape {
        T::shape()
    }

    fn is_empty(&self) -> bool {
        self.is_none()
    }
}

impl<T: Go> Go for Box<T> {
    fn shape() -> Shape {
        T::shape()
    }
}

/// A structure whose fields are named and left out as in Go.
macro_rules! go_struct {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$field_meta:meta])* pub $field:ident: $type:ty = $wire:literal, $mode:literal;)*
        }
    ) => {
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        $(#[$meta])*
        pub struct $name {
            $(
                #[serde(
                    rename = $wire,
                    default,
                    deserialize_with = "null_is_default",
                    skip_serializing_if = $mode
                )]
                #[schemars(extend("x-go" = $mode))]
                $(#[$field_meta])*
                #[allow(missing_docs, reason = "fields are named and mean what they do in the API reference")]
                pub $field: $type,
            )*
        }

        impl Go for $name {
            fn shape() -> Shape {
                const FIELDS: &[crate::hooks::Named] = &[$(($wire, <$type as Go>::shape)),*];
                Shape::Struct(FIELDS)
            }
        }
    };
}

pub mod core_v1beta1;
pub mod core_v1beta2;
pub mod hooks;
pub mod kubernetes;
pub mod runtime_v1alpha1;
pub mod runtime_v1beta2;

use crate::wire::null_is_default;
