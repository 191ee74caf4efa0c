//! From the result of a class to the write that its status needs. Pure.

use jiff::Timestamp;
use kapstan_api::conditions::{self, v1beta1};
use serde_json::{Value, json};

use super::plan::Desired;
use crate::{digest::Digest, index::class::Observed};

/// What has to be written.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Nothing: the status says it all.
    None,
    /// This merge patch.
    Patch(Value),
    /// The variables differ, but their list was dropped: evaluate again.
    Reevaluate,
}

/// Compares what a status says with what it should say. `accepted` are the digest of the variables written last and
/// the one that the API server then showed for them.
#[must_use]
pub fn change(
    observed: &Observed,
    accepted: Option<(Digest, Digest)>,
    desired: &Desired,
    now: Timestamp,
) -> Change {
    let mut status = serde_json::Map::new();
    let mut conditions = observed.conditions.clone();
    let mut v1beta1_conditions = observed.v1beta1_conditions.clone();
    for wanted in &desired.conditions {
        conditions::set(&mut conditions, wanted.clone(), now);
    }
    for wanted in &desired.v1beta1_conditions {
        v1beta1::set(&mut v1beta1_conditions, wanted.clone(), now);
    }
    if conditions != observed.conditions {
        status.insert("conditions".to_owned(), json!(conditions));
    }
    if v1beta1_conditions != observed.v1beta1_conditions {
        status.insert("deprecated".to_owned(), json!({ "v1beta1": { "conditions": v1beta1_conditions } }));
    }
    if let Some(variables) = &desired.variables {
        let shown = variables.digest.map(|digest| match accepted {
            Some((written, shown)) if written == digest => shown,
            _ => digest,
        });
        if observed.variables != shown {
            let Some(list) = &variables.list else { return Change::Reevaluate };
            status.insert("variables".to_owned(), json!(list));
        }
    }
    if let Some(generation) =
        desired.observed_generation.filter(|generation| observed.observed_generation != Some(*generation))
    {
        status.insert("observedGeneration".to_owned(), json!(generation));
    }
    if status.is_empty() { Change::None } else { Change::Patch(json!({ "status": status })) }
}
