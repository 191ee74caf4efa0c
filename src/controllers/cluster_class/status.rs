//! From the result of a class to the write that its status needs. Pure.

use jiff::Timestamp;
use kapstan_api::conditions::{self, v1beta1};
use serde_json::{Value, json};

use super::plan::{Desired, Variables};
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
    if let Some(variables) =
        desired.variables.as_ref().filter(|wanted| !are_shown(observed, accepted, wanted))
    {
        let Some(list) = &variables.list else { return Change::Reevaluate };
        status.insert("variables".to_owned(), json!(list));
    }
    if let Some(generation) =
        desired.observed_generation.filter(|generation| observed.observed_generation != Some(*generation))
    {
        status.insert("observedGeneration".to_owned(), json!(generation));
    }
    if status.is_empty() { Change::None } else { Change::Patch(json!({ "status": status })) }
}

/// Whether the status shows these variables, be it as the API server made them.
fn are_shown(observed: &Observed, accepted: Option<(Digest, Digest)>, wanted: &Variables) -> bool {
    let shown = wanted.digest.map(|digest| match accepted {
        Some((written, shown)) if written == digest => shown,
        _ => digest,
    });
    observed.variables == shown
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        controllers::{
            cluster_class::plan::{self, PatchAnswer},
            tests::fixtures::{assert_no_null, patched},
        },
        index::{
            gather::TemplateFinding,
            tests::fixtures::{Object, class, labels},
        },
    };

    fn now(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    /// What another manager of the same contract left.
    fn stale() -> Value {
        json!({
            "observedGeneration": 1,
            "conditions": [{ "type": "Foreign", "status": "True", "reason": "R", "message": "m",
                "lastTransitionTime": "2020-01-01T00:00:00Z" }],
            "variables": [{ "name": "stale", "definitionsConflict": false, "definitions": [
                { "from": "inline", "required": false, "schema": { "openAPIV3Schema": { "type": "string" } } },
            ] }],
            "deprecated": { "v1beta1": { "conditions": [
                { "type": "Old", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z" }
            ] } },
        })
    }

    fn answer(patch: &str, variables: &[(&str, &str)]) -> PatchAnswer {
        let variables: Vec<Value> = variables
            .iter()
            .map(|(name, type_)| {
                json!({ "name": name, "required": true, "schema": { "openAPIV3Schema": { "type": type_ } } })
            })
            .collect();
        let answer = json!({ "status": "Success", "variables": variables });
        (patch.into(), Ok(Arc::new(serde_json::from_value(answer).unwrap())))
    }

    fn evaluated(object: &Object, answers: &[PatchAnswer]) -> Desired {
        let class = object.clone().class();
        let contract = labels(&[("cluster.x-k8s.io/v1beta2", "v1beta2")]);
        let templates = class.templates.iter().cloned();
        let templates: Vec<_> =
            templates.map(|reference| (reference, TemplateFinding::Found(Some(contract.clone())))).collect();
        plan::evaluate(&class, answers, &templates)
    }

    fn patch(object: &Object, desired: &Desired, second: i64) -> Value {
        match change(&object.clone().class().observed, None, desired, now(second)) {
            Change::Patch(body) => {
                assert_no_null(&body);
                body
            }
            other => panic!("{other:?}"),
        }
    }

    fn condition<'a>(status: &'a Value, type_: &str) -> &'a Value {
        let conditions = status["conditions"].as_array().unwrap();
        conditions.iter().find(|condition| condition["type"] == type_).unwrap()
    }

    #[test]
    fn a_second_look_at_what_was_written_changes_nothing() {
        let object = class("ns/one").with_variable("size", "string").using("MachineTemplate", "t");
        let object = object.with_status(stale());
        let answers = [answer("patch-0", &[("region", "string")])];
        let desired = evaluated(&object, &answers);
        let written = patched(&object, &patch(&object, &desired, 0));
        let observed = written.clone().class().observed;
        assert_eq!(change(&observed, None, &evaluated(&written, &answers), now(60)), Change::None);
        assert_eq!(change(&observed, None, &desired.without_list(), now(60)), Change::None);
    }

    #[test]
    fn variables_are_replaced_whole_and_what_is_foreign_stays() {
        let object = class("ns/one").with_variable("size", "string").with_status(stale());
        let status = patch(&object, &evaluated(&object, &[]), 0)["status"].clone();
        let names: Vec<&Value> =
            status["variables"].as_array().unwrap().iter().map(|variable| &variable["name"]).collect();
        assert_eq!(names, ["size"]);
        assert_eq!(condition(&status, "Foreign"), &stale()["conditions"][0]);
        let deprecated = status["deprecated"]["v1beta1"]["conditions"].as_array().unwrap();
        let types: Vec<&Value> = deprecated.iter().map(|condition| &condition["type"]).collect();
        assert_eq!(types, ["Old", "RefVersionsUpToDate", "VariablesReconciled"]);
    }

    #[test]
    fn stale_variables_vanish_also_when_there_are_none_now() {
        let object = class("ns/one").with_status(stale());
        let status = patch(&object, &evaluated(&object, &[]), 0)["status"].clone();
        assert_eq!(status["variables"], json!([]));
    }

    #[test]
    fn the_transition_time_moves_only_with_the_status() {
        let object = class("ns/one").with_variable("size", "string");
        let object = patched(&object, &patch(&object, &evaluated(&object, &[]), 0)).at_generation(2);
        let failing: PatchAnswer = ("patch-0".into(), Err("down".into()));
        let status = patch(&object, &evaluated(&object, &[failing]), 60)["status"].clone();
        assert_eq!(condition(&status, "VariablesReady")["lastTransitionTime"], json!(now(60).to_string()));
        let kept = condition(&status, "RefVersionsUpToDate");
        assert_eq!(
            (&kept["lastTransitionTime"], &kept["observedGeneration"]),
            (&json!(now(0).to_string()), &json!(2))
        );
    }

    #[test]
    fn what_the_server_made_of_the_variables_is_no_difference() {
        let object = class("ns/one").with_variable("size", "string");
        let desired = evaluated(&object, &[]);
        let mut written = patched(&object, &patch(&object, &desired, 0));
        written.0["status"]["variables"][0]["definitions"][0]["defaulted"] = true.into();
        let observed = written.class().observed;
        let digest = desired.variables.as_ref().unwrap().digest.unwrap();
        let accepted = Some((digest, observed.variables.unwrap()));
        assert_eq!(change(&observed, accepted, &desired.clone().without_list(), now(60)), Change::None);
        assert_eq!(change(&observed, None, &desired.clone().without_list(), now(60)), Change::Reevaluate);
        assert!(matches!(change(&observed, None, &desired, now(60)), Change::Patch(_)));
    }

    #[test]
    fn a_paused_class_says_so_and_nothing_else() {
        let object = class("ns/one").with_variable("size", "string").paused().with_status(stale());
        let status = patch(&object, &plan::paused(&object.clone().class()), 0)["status"].clone();
        assert_eq!(status.as_object().unwrap().keys().collect::<Vec<_>>(), ["conditions"]);
        assert_eq!(condition(&status, "Paused")["status"], "True");
        assert_eq!(status["conditions"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn two_hundred_looks_say_the_same_to_the_byte() {
        let bodies: std::collections::BTreeSet<String> = (0..200)
            .map(|_| {
                let object = class("ns/one").with_variable("a", "string").with_variable("b", "string");
                let object = object.using("MachineTemplate", "t").using("ClusterTemplate", "u");
                let answers = [
                    answer("patch-0", &[("a", "integer"), ("b", "boolean"), ("c", "string")]),
                    answer("patch-1", &[("c", "integer"), ("b", "string"), ("a", "boolean")]),
                ];
                patch(&object, &evaluated(&object, &answers), 0).to_string()
            })
            .collect();
        assert_eq!(bodies.len(), 1);
    }
}
