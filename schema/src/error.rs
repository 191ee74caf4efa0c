//! What is wrong with a value, told as the API server tells it.

use std::fmt;

use serde_json::Value;

use crate::go;

/// The most mistakes of one sort that are told of one value.
pub(crate) const MAX_ERRORS: usize = 1_000;

/// Why a field was refused: the `reason` of a cause in a `Status`.
///
/// Behaviour: apimachinery `pkg/util/validation/field`, `ErrorType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// A field that must be there is not.
    Required,
    /// The value breaks a rule.
    Invalid,
    /// The value is of another type than the schema's.
    TypeInvalid,
    /// The value is none of the enumerated ones.
    NotSupported,
    /// The value must be unique and is not.
    Duplicate,
    /// The value is not permitted here.
    Forbidden,
    /// The text is longer than allowed.
    TooLong,
    /// The list or map has more entries than allowed.
    TooMany,
    /// The check itself failed.
    Internal,
}

impl Cause {
    const ALL: [Self; 9] = [
        Self::Required,
        Self::Invalid,
        Self::TypeInvalid,
        Self::NotSupported,
        Self::Duplicate,
        Self::Forbidden,
        Self::TooLong,
        Self::TooMany,
        Self::Internal,
    ];

    /// The cause with this word on the wire; `None` when it is another.
    #[must_use]
    pub fn from_reason(reason: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.reason() == reason)
    }

    /// The word on the wire, such as `FieldValueInvalid`.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::Internal => "InternalError",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Duplicate => "Duplicate value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Internal => "Internal error",
        }
    }

    fn shows_value(self) -> bool {
        matches!(
            self,
            Self::Invalid | Self::TypeInvalid | Self::NotSupported | Self::Duplicate | Self::TooMany
        )
    }

    /// True when rules in CEL are not evaluated any more once an error of this cause was found.
    ///
    /// Behaviour: apiextensions-apiserver `customresource/strategy.go`, `hasBlockingErr`.
    #[must_use]
    pub fn blocks_rules(self) -> bool {
        matches!(
            self,
            Self::NotSupported | Self::Required | Self::TooLong | Self::TooMany | Self::TypeInvalid
        )
    }
}

/// One thing that is wrong with one field of a value or of a schema.
///
/// Displayed as `path: words: value: detail`, as the API server prints it.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// Where, such as `spec.hosts[0].name`; map keys are in brackets. `<nil>` where the API server has
    /// no path to name.
    pub path: String,
    /// The kind of mistake.
    pub cause: Cause,
    /// The value that was found; `None` where it is left out of the text.
    pub bad_value: Option<Value>,
    /// What was expected; may be empty.
    pub detail: String,
}

impl FieldError {
    /// An error that shows no value.
    pub fn new(path: impl Into<String>, cause: Cause, detail: impl Into<String>) -> Self {
        Self { path: path.into(), cause, bad_value: None, detail: detail.into() }
    }

    /// The value breaks a rule.
    pub fn invalid(path: impl Into<String>, value: Value, detail: impl Into<String>) -> Self {
        Self { path: path.into(), cause: Cause::Invalid, bad_value: Some(value), detail: detail.into() }
    }

    /// A field that must be there is not.
    pub fn required(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(path, Cause::Required, detail)
    }

    /// The value is not permitted here.
    pub fn forbidden(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(path, Cause::Forbidden, detail)
    }

    /// The value must be unique and is not.
    pub fn duplicate(path: impl Into<String>, value: Value) -> Self {
        Self { path: path.into(), cause: Cause::Duplicate, bad_value: Some(value), detail: String::new() }
    }

    /// The value is none of those that are supported, which are listed.
    pub fn not_supported(path: impl Into<String>, value: Value, supported: &[String]) -> Self {
        let quoted: Vec<_> = supported.iter().map(|text| go::quote(text)).collect();
        let detail = if quoted.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", quoted.join(", "))
        };
        Self { path: path.into(), cause: Cause::NotSupported, bad_value: Some(value), detail }
    }

    /// The text without the path: the `message` of a cause in a `Status`.
    ///
    /// Behaviour: apimachinery `pkg/util/validation/field`, `Error.ErrorBody`.
    #[must_use]
    pub fn body(&self) -> String {
        let mut text = self.cause.words().to_owned();
        if let Some(value) = self.bad_value.as_ref().filter(|_| self.cause.shows_value()) {
            text.push_str(": ");
            text.push_str(&go::bad_value(value));
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path, self.body())
    }
}

impl std::error::Error for FieldError {}
