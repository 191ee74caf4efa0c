//! Conditions in the style of `metav1`, and in [`v1beta1`] those in the older style.
//!
//! Mirrors Cluster API `util/conditions`: one condition a type, sorted for the reader. `lastTransitionTime`
//! comes from the object that was read and moves only with the status.

use std::{cmp::Ordering, fmt};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::text;

pub mod v1beta1;

/// How many bytes a message has at most, in both styles. The CRDs allow this much in the older style and three
/// times as much in the newer one; both carry the same text.
pub const MAX_MESSAGE: usize = 10240;

/// Types of conditions.
pub mod types {
    /// `ExtensionConfig`: the extension was asked what it can do, and the answer is in `status.handlers`.
    pub const DISCOVERED: &str = "Discovered";
    /// Every kind: whether the paused annotation is there.
    pub const PAUSED: &str = "Paused";
    /// `ClusterClass`: whether every reference uses the newest version of its template's contract.
    pub const REF_VERSIONS_UP_TO_DATE: &str = "RefVersionsUpToDate";
    /// `ClusterClass`: whether `status.variables` holds all variables, without a conflict.
    pub const VARIABLES_READY: &str = "VariablesReady";
}

/// Reasons of conditions.
pub mod reasons {
    /// `Discovered` is true.
    pub const DISCOVERED: &str = "Discovered";
    /// `Discovered` is false.
    pub const NOT_DISCOVERED: &str = "NotDiscovered";
    /// Ours: the condition is unknown because an answer is awaited.
    pub const DISCOVERY_PENDING: &str = "DiscoveryPending";
    /// `Paused` is true.
    pub const PAUSED: &str = "Paused";
    /// `Paused` is false.
    pub const NOT_PAUSED: &str = "NotPaused";
    /// `VariablesReady` is true.
    pub const VARIABLES_READY: &str = "VariablesReady";
    /// `VariablesReady` is false.
    pub const VARIABLE_DISCOVERY_FAILED: &str = "VariableDiscoveryFailed";
    /// `RefVersionsUpToDate` is true.
    pub const REF_VERSIONS_UP_TO_DATE: &str = "RefVersionsUpToDate";
    /// `RefVersionsUpToDate` is false.
    pub const REF_VERSIONS_NOT_UP_TO_DATE: &str = "RefVersionsNotUpToDate";
    /// Something could not be judged.
    pub const INTERNAL_ERROR: &str = "InternalError";
}

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Nobody can say.
    Unknown,
}

impl Status {
    /// The value on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A condition as it should be, without the time, which depends on what was there before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    type_: &'static str,
    status: Status,
    reason: &'static str,
    message: String,
    observed_generation: Option<i64>,
}

impl Wanted {
    /// A condition without a message. The reason must be in `CamelCase` and not empty.
    #[must_use]
    pub fn new(type_: &'static str, status: Status, reason: &'static str) -> Self {
        debug_assert!(!reason.is_empty(), "the CRDs want a reason");
        Self { type_, status, reason, message: String::new(), observed_generation: None }
    }

    /// With a message, cut to [`MAX_MESSAGE`].
    #[must_use]
    pub fn message(mut self, message: &str) -> Self {
        self.message = text::bounded(message, MAX_MESSAGE);
        self
    }

    /// Judged on this generation of the object; `None` and zero are left out.
    #[must_use]
    pub fn observed_generation(mut self, generation: Option<i64>) -> Self {
        self.observed_generation = generation.filter(|generation| *generation > 0);
        self
    }

    /// The condition's type.
    #[must_use]
    pub fn type_(&self) -> &'static str {
        self.type_
    }

    /// The condition's status.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    fn at(self, time: Time) -> Condition {
        Condition {
            type_: self.type_.to_owned(),
            status: self.status.as_str().to_owned(),
            reason: self.reason.to_owned(),
            message: self.message,
            observed_generation: self.observed_generation,
            last_transition_time: time,
        }
    }
}

/// Puts a condition in place of the one of its type, or adds it. Says whether anything changed; then the whole
/// list is sorted. Conditions of other types stay as they are.
pub fn set(conditions: &mut Vec<Condition>, wanted: Wanted, now: Timestamp) -> bool {
    let existing = conditions.iter_mut().find(|condition| condition.type_ == wanted.type_);
    let time = match &existing {
        Some(before) if before.status == wanted.status.as_str() => before.last_transition_time.clone(),
        _ => Time(whole_second(now)),
    };
    let after = wanted.at(time);
    match existing {
        Some(before) if *before == after => return false,
        Some(before) => *before = after,
        None => conditions.push(after),
    }
    conditions.sort_by(|a, b| order(&a.type_, &b.type_));
    true
}

/// The condition of this type.
#[must_use]
pub fn get<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether the condition of this type is there and true.
#[must_use]
pub fn is_true(conditions: &[Condition], type_: &str) -> bool {
    get(conditions, type_).is_some_and(|condition| condition.status == "True")
}

/// The condition `Paused` for an object of this kind.
///
/// Behaviour: Cluster API `util/paused`.
#[must_use]
pub fn paused(kind: &str, is_paused: bool, generation: Option<i64>) -> Wanted {
    let wanted = if is_paused {
        Wanted::new(types::PAUSED, Status::True, reasons::PAUSED)
            .message(&format!("{kind} has the {} annotation", crate::annotations::PAUSED))
    } else {
        Wanted::new(types::PAUSED, Status::False, reasons::NOT_PAUSED)
    };
    wanted.observed_generation(generation)
}

/// Times on the wire have whole seconds; a finer one would differ from itself once it was written and read.
pub(crate) fn whole_second(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

/// Types in the order in which a reader wants them; those not listed come between the two lists, by name.
///
/// Behaviour: Cluster API `util/conditions/sort.go`.
const FIRST: [&str; 35] = [
    "Available",
    "Ready",
    "UpToDate",
    "RemoteConnectionProbe",
    "BootstrapConfigReady",
    "InfrastructureReady",
    "ControlPlaneInitialized",
    "ControlPlaneAvailable",
    "WorkersAvailable",
    "CertificatesAvailable",
    "Initialized",
    "EtcdClusterHealthy",
    "ControlPlaneComponentsHealthy",
    "NodeHealthy",
    "NodeReady",
    "NodeKubeadmLabelsAndTaintsSet",
    "EtcdPodHealthy",
    "EtcdMemberHealthy",
    "APIServerPodHealthy",
    "ControllerManagerPodHealthy",
    "SchedulerPodHealthy",
    "HealthCheckSucceeded",
    "OwnerRemediated",
    "TopologyReconciled",
    "Updating",
    "RollingOut",
    "Remediating",
    "ScalingDown",
    "ScalingUp",
    "MachinesReady",
    "ControlPlaneMachinesReady",
    "WorkerMachinesReady",
    "MachinesUpToDate",
    "ControlPlaneMachinesUpToDate",
    "WorkerMachinesUpToDate",
];
const LAST: [&str; 2] = ["Paused", "Deleting"];

fn order(a: &str, b: &str) -> Ordering {
    rank(a).cmp(&rank(b)).then_with(|| a.cmp(b))
}

fn rank(type_: &str) -> usize {
    let position = |list: &[&str]| list.iter().position(|known| *known == type_);
    match (position(&FIRST), position(&LAST)) {
        (Some(first), _) => first,
        (None, Some(last)) => FIRST.len() + 1 + last,
        (None, None) => FIRST.len(),
    }
}

#[cfg(test)]
mod tests {
    use similar_asserts::assert_eq;

    use super::*;

    const NOON: &str = "2025-06-01T12:00:00Z";
    const LATER: &str = "2025-06-01T13:30:00.75Z";

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn condition(type_: &str, status: &str, reason: &str) -> Condition {
        Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: String::new(),
            observed_generation: Some(1),
            last_transition_time: Time(at(NOON)),
        }
    }

    fn discovered(status: Status, reason: &'static str) -> Wanted {
        Wanted::new(types::DISCOVERED, status, reason).observed_generation(Some(1))
    }

    #[test]
    fn setting_a_condition_a_second_time_changes_nothing() {
        let mut conditions = vec![];
        assert!(set(&mut conditions, discovered(Status::True, reasons::DISCOVERED), at(NOON)));
        let before = conditions.clone();
        assert!(!set(&mut conditions, discovered(Status::True, reasons::DISCOVERED), at(LATER)));
        assert_eq!(conditions, before);
    }

    #[test]
    fn the_time_stays_while_only_the_message_changes() {
        let mut conditions = vec![condition("Discovered", "False", "NotDiscovered")];
        let wanted = discovered(Status::False, reasons::NOT_DISCOVERED).message("the tide is out");
        assert!(set(&mut conditions, wanted, at(LATER)));
        assert_eq!(conditions[0].message, "the tide is out");
        assert_eq!(conditions[0].last_transition_time, Time(at(NOON)));
    }

    #[test]
    fn the_time_moves_with_the_status_and_has_whole_seconds() {
        let mut conditions = vec![condition("Discovered", "False", "NotDiscovered")];
        assert!(set(&mut conditions, discovered(Status::True, reasons::DISCOVERED), at(LATER)));
        assert_eq!(conditions[0].last_transition_time, Time(at("2025-06-01T13:30:00Z")));
    }

    #[test]
    fn a_foreign_condition_stays_and_finds_its_place() {
        let foreign = condition("heron.example/Watched", "True", "Yes");
        let mut conditions = vec![condition("Paused", "False", "NotPaused"), foreign.clone()];
        assert!(set(&mut conditions, discovered(Status::True, reasons::DISCOVERED), at(NOON)));
        let order: Vec<_> = conditions.iter().map(|condition| condition.type_.as_str()).collect();
        assert_eq!(order, ["Discovered", "heron.example/Watched", "Paused"]);
        assert_eq!(conditions[1], foreign);
    }

    #[test]
    fn available_and_ready_come_first_deleting_last() {
        let mut types = ["Deleting", "Paused", "Zebra", "Ready", "Apple", "Available", "ScalingUp"];
        types.sort_by(|a, b| order(a, b));
        assert_eq!(types, ["Available", "Ready", "ScalingUp", "Apple", "Zebra", "Paused", "Deleting"]);
    }

    #[test]
    fn a_message_is_cut_on_a_character_boundary() {
        let wanted = discovered(Status::False, reasons::NOT_DISCOVERED).message(&"é".repeat(MAX_MESSAGE));
        assert!(wanted.message.len() <= MAX_MESSAGE);
        assert!(wanted.message.ends_with('…'));
    }

    #[test]
    fn a_generation_of_zero_is_left_out() {
        let wanted = discovered(Status::True, reasons::DISCOVERED).observed_generation(Some(0));
        assert_eq!(wanted.observed_generation, None);
    }
}
