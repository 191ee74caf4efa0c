//! Conditions in the style of `v1beta1`, kept under `status.deprecated.v1beta1`.
//!
//! Mirrors Cluster API `util/conditions/deprecated/v1beta1` with one difference: `lastTransitionTime` moves only
//! with the status, while upstream moves it with reason, severity and message too.

use std::fmt;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

use super::{MAX_MESSAGE, Status, whole_second};
use crate::{
    text,
    wire::{Unknown, empty_is_none, is_absent, null_is_default},
};

/// Types of conditions.
pub mod types {
    /// `ExtensionConfig`: as the newer condition of the same name.
    pub const DISCOVERED: &str = "Discovered";
    /// `ClusterClass`: whether `status.variables` holds all variables, without a conflict.
    pub const VARIABLES_RECONCILED: &str = "VariablesReconciled";
    /// `ClusterClass`: as the newer condition of the same name.
    pub const REF_VERSIONS_UP_TO_DATE: &str = "RefVersionsUpToDate";
}

/// Reasons of conditions. A true condition has none.
pub mod reasons {
    /// `Discovered` is false, severity Error.
    pub const DISCOVERY_FAILED: &str = "DiscoveryFailed";
    /// `VariablesReconciled` is false, severity Error.
    pub const VARIABLE_DISCOVERY_FAILED: &str = "VariableDiscoveryFailed";
    /// `RefVersionsUpToDate` is false, severity Warning.
    pub const OUTDATED_REF_VERSIONS: &str = "OutdatedRefVersions";
    /// Ours: an answer is awaited; the condition is unknown.
    pub const DISCOVERY_PENDING: &str = "DiscoveryPending";
    /// Something could not be judged; the condition is unknown.
    pub const INTERNAL_ERROR: &str = "InternalError";
}

/// `status.deprecated` of a kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Deprecated {
    /// What `v1beta1` had in its status.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub v1beta1: Option<DeprecatedStatus>,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// `status.deprecated.v1beta1` of a kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeprecatedStatus {
    /// The conditions, `Ready` first, then by type.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Its type.
    #[serde(rename = "type", default, deserialize_with = "null_is_default")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub status: String,
    /// How bad a false condition is. Unset in a true or unknown one.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub severity: Option<Severity>,
    /// Why. Unset in a true one.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub reason: Option<String>,
    /// Details for people. The CRD refuses an empty one.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub message: Option<String>,
    /// When the status last changed.
    pub last_transition_time: Time,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// How bad a false condition is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Severity {
    /// A person or a retry must help.
    Error,
    /// Work goes on.
    Warning,
    /// For information.
    Info,
    /// A value that this type does not know; the default, empty, is not written.
    Other(String),
}

impl Severity {
    /// The value on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Error => "Error",
            Self::Warning => "Warning",
            Self::Info => "Info",
            Self::Other(value) => value,
        }
    }
}

impl Default for Severity {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

impl From<String> for Severity {
    fn from(value: String) -> Self {
        match value.as_str() {
            "Error" => Self::Error,
            "Warning" => Self::Warning,
            "Info" => Self::Info,
            _ => Self::Other(value),
        }
    }
}

impl From<Severity> for String {
    fn from(severity: Severity) -> Self {
        severity.as_str().to_owned()
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A condition as it should be, without the time, which depends on what was there before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    type_: &'static str,
    status: Status,
    severity: Option<Severity>,
    reason: Option<&'static str>,
    message: Option<String>,
}

impl Wanted {
    /// It holds: no severity, no reason, no message.
    #[must_use]
    pub fn holds(type_: &'static str) -> Self {
        Self { type_, status: Status::True, severity: None, reason: None, message: None }
    }

    /// It does not hold. The message is cut to [`MAX_MESSAGE`]; an empty one is left out.
    #[must_use]
    pub fn fails(type_: &'static str, reason: &'static str, severity: Severity, message: &str) -> Self {
        Self {
            type_,
            status: Status::False,
            severity: Some(severity),
            reason: Some(reason),
            message: some_message(message),
        }
    }

    /// Nobody can say. The message is cut to [`MAX_MESSAGE`]; an empty one is left out.
    #[must_use]
    pub fn unknown(type_: &'static str, reason: &'static str, message: &str) -> Self {
        Self {
            type_,
            status: Status::Unknown,
            severity: None,
            reason: Some(reason),
            message: some_message(message),
        }
    }

    /// The condition's type.
    #[must_use]
    pub fn type_(&self) -> &'static str {
        self.type_
    }

    fn at(self, time: Time, unknown: Unknown) -> Condition {
        Condition {
            type_: self.type_.to_owned(),
            status: self.status.as_str().to_owned(),
            severity: self.severity,
            reason: self.reason.map(str::to_owned),
            message: self.message,
            last_transition_time: time,
            unknown,
        }
    }
}

fn some_message(message: &str) -> Option<String> {
    (!message.is_empty()).then(|| text::bounded(message, MAX_MESSAGE))
}

/// Puts a condition in place of the one of its type, or adds it. Says whether anything changed; then the whole
/// list is sorted, `Ready` first. Conditions of other types stay as they are.
pub fn set(conditions: &mut Vec<Condition>, wanted: Wanted, now: Timestamp) -> bool {
    let existing = conditions.iter_mut().find(|condition| condition.type_ == wanted.type_);
    let time = match &existing {
        Some(before) if before.status == wanted.status.as_str() => before.last_transition_time.clone(),
        _ => Time(whole_second(now)),
    };
    let unknown = existing.as_ref().map(|before| before.unknown.clone()).unwrap_or_default();
    let after = wanted.at(time, unknown);
    match existing {
        Some(before) if *before == after => return false,
        Some(before) => *before = after,
        None => conditions.push(after),
    }
    conditions.sort_by(|a, b| (a.type_ != "Ready", &a.type_).cmp(&(b.type_ != "Ready", &b.type_)));
    true
}

/// Sets a condition in `status.deprecated.v1beta1.conditions`, which is created when it is not there. Says
/// whether anything changed.
pub fn set_deprecated(deprecated: &mut Option<Deprecated>, wanted: Wanted, now: Timestamp) -> bool {
    let status = deprecated.get_or_insert_default().v1beta1.get_or_insert_default();
    set(&mut status.conditions, wanted, now)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use similar_asserts::assert_eq;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_true_condition_has_no_empty_strings() {
        let mut conditions = vec![];
        assert!(set(&mut conditions, Wanted::holds(types::DISCOVERED), at("2025-06-01T12:00:00Z")));
        assert_eq!(
            serde_json::to_value(&conditions).unwrap(),
            json!([{"type": "Discovered", "status": "True", "lastTransitionTime": "2025-06-01T12:00:00Z"}])
        );
    }

    #[test]
    fn the_time_moves_only_with_the_status() {
        let fails =
            |message| Wanted::fails(types::DISCOVERED, reasons::DISCOVERY_FAILED, Severity::Error, message);
        let mut conditions = vec![];
        assert!(set(&mut conditions, fails("ebb"), at("2025-06-01T12:00:00Z")));
        assert!(set(&mut conditions, fails("flow"), at("2025-06-01T13:00:00Z")));
        assert_eq!(conditions[0].last_transition_time, Time(at("2025-06-01T12:00:00Z")));
        assert!(!set(&mut conditions, fails("flow"), at("2025-06-01T14:00:00Z")));
        assert!(set(&mut conditions, Wanted::holds(types::DISCOVERED), at("2025-06-01T15:00:00Z")));
        assert_eq!(conditions[0].last_transition_time, Time(at("2025-06-01T15:00:00Z")));
    }

    #[test]
    fn ready_comes_first_and_foreign_conditions_stay() {
        let foreign = |type_: &str| Condition {
            type_: type_.to_owned(),
            status: "False".to_owned(),
            severity: Some(Severity::Other("Dire".to_owned())),
            reason: None,
            message: None,
            last_transition_time: Time(at("2025-06-01T12:00:00Z")),
            unknown: Unknown::default(),
        };
        let mut conditions = vec![foreign("Anchor"), foreign("Ready")];
        assert!(set(&mut conditions, Wanted::holds("Discovered"), at("2025-06-01T12:00:00Z")));
        let types: Vec<_> = conditions.iter().map(|condition| condition.type_.as_str()).collect();
        assert_eq!(types, ["Ready", "Anchor", "Discovered"]);
        assert_eq!(conditions[0], foreign("Ready"));
    }
}
