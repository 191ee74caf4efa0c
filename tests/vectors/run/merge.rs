//! `variables_merge.json`: inline and discovered variables into `status.variables`. The calls are played here;
//! which ones are made, and how often, is the client's.

use jiff::Timestamp;
use kapstan_api::{
    cluster_class::ClusterClass,
    conditions::{self, v1beta1},
    hooks::{DiscoverVariablesResponse, Response, ResponseStatus, decode},
    variables::{self, FailureKind, Merged},
};
use serde_json::{Value, json};

use crate::{Case, Runner};

pub(super) const RUNNER: Runner = Runner {
    file: "variables_merge.json",
    run: |case| (answer(case), recorded(case)),
    covers: |_| true,
    exceptions: &[
        ("merge/default-object-key-order", "JSON that differs in the order of keys is equal"),
        ("merge/default-object-spaces", "JSON that differs in spaces is equal"),
        (
            "merge/empty-list-differs-from-unset",
            "the status shows no difference between an empty list and none, so nobody could see the conflict",
        ),
    ],
};

fn answer(case: &Case) -> Value {
    let class = class(case);
    let asks_extensions = case.input["runtimeSDK"] != false;
    let calls: Vec<_> = class
        .external_patches()
        .filter(|_| asks_extensions)
        .filter_map(|patch| {
            let handler = patch.external.discover_variables_extension.as_deref()?;
            Some((patch.name, call(&case.input["handlers"][handler])))
        })
        .collect();
    let answers: Vec<_> = calls
        .iter()
        .map(|(patch, call)| (*patch, call.as_ref().map(|response| &*response.variables).map_err(|why| *why)))
        .collect();
    let outcome = variables::evaluate(&class.spec.variables, &answers);
    let (condition, deprecated) =
        summaries(variables::conditions(&outcome, case.input["generation"].as_i64()));
    let mut answer = match outcome {
        Ok(merged) => merged_answer(&merged),
        Err(failures) => failed_answer(case, &failures),
    };
    answer["condition"] = condition;
    answer["deprecatedV1Beta1Condition"] = deprecated;
    answer
}

fn class(case: &Case) -> ClusterClass {
    let patch = |patch: &Value| match patch.get("discoverVariablesExtension") {
        Some(handler) => {
            json!({"name": patch["name"], "external": {"discoverVariablesExtension": handler, "settings": patch["settings"]}})
        }
        None if patch["onlyGeneratePatches"] == true => {
            json!({"name": patch["name"], "external": {"generatePatchesExtension": "patches.heron"}})
        }
        None => json!({"name": patch["name"], "definitions": []}),
    };
    let patches: Vec<_> = case.input["patches"].as_array().into_iter().flatten().map(patch).collect();
    serde_json::from_value(json!({"spec": {"variables": case.input["variables"], "patches": patches}}))
        .unwrap()
}

/// Plays a call: an unreadable answer is a failed call, which the failure policy can turn into an empty answer;
/// an answer that says no stands.
fn call(handler: &Value) -> Result<DiscoverVariablesResponse, &'static str> {
    if handler.is_null() {
        return Err("no such handler");
    }
    let body = handler["body"].as_str().unwrap().as_bytes();
    let read = match handler["httpStatus"].as_i64() {
        Some(0 | 200) => decode::<DiscoverVariablesResponse>(body).map_err(|_| "unreadable"),
        _ => Err("status"),
    };
    match read {
        Err(_) if handler["failurePolicy"] == "Ignore" => Ok(DiscoverVariablesResponse::success()),
        Ok(response) if response.status != ResponseStatus::Success => Err("the extension says no"),
        other => other,
    }
}

fn merged_answer(merged: &Merged) -> Value {
    let conflicts: Vec<_> = merged.conflicts.iter().map(|conflict| &conflict.name).collect();
    let mut answer =
        json!({"ok": conflicts.is_empty(), "statusVariables": merged.variables, "conflicts": conflicts});
    if !conflicts.is_empty() {
        answer["errors"] = json!([]);
        answer["failures"] = json!([{"what": "conflict"}]);
    }
    answer
}

fn failed_answer(case: &Case, failures: &[variables::Failure]) -> Value {
    let mut errors = Vec::new();
    let mut calls = Vec::new();
    for failure in failures {
        match &failure.kind {
            FailureKind::CallFailed(_) => calls.push(json!({"patch": failure.patch, "what": "callFailed"})),
            FailureKind::Invalid(found) => errors
                .extend(found.iter().map(|error| json!({"field": error.path, "type": error.cause.reason()}))),
        }
    }
    errors.sort_by_key(Value::to_string);
    json!({
        "ok": false,
        "statusVariables": stored(case.input.get("previousStatusVariables")),
        "conflicts": [],
        "errors": errors,
        "failures": calls,
    })
}

/// What is recorded, without the calls.
fn recorded(case: &Case) -> Value {
    let mut expect = case.expect.clone();
    expect.as_object_mut().unwrap().remove("calls");
    expect["statusVariables"] = stored(case.expect.get("statusVariables"));
    expect
}

/// Status variables once the API server has stored them: `required` is explicit (the CRD refuses a definition
/// without it), and rules have their default reason.
fn stored(variables: Option<&Value>) -> Value {
    let mut variables = variables.cloned().unwrap_or_else(|| json!([]));
    for variable in variables.as_array_mut().into_iter().flatten() {
        for definition in variable["definitions"].as_array_mut().into_iter().flatten() {
            if definition["required"].is_null() {
                definition["required"] = json!(false);
            }
            let schema = &mut definition["schema"]["openAPIV3Schema"];
            *schema = variables::stored_form(schema);
        }
    }
    variables
}

/// Both conditions the way the vectors sum them up.
fn summaries((wanted, deprecated): (conditions::Wanted, v1beta1::Wanted)) -> (Value, Value) {
    let (mut list, mut older) = (vec![], vec![]);
    conditions::set(&mut list, wanted, Timestamp::UNIX_EPOCH);
    v1beta1::set(&mut older, deprecated, Timestamp::UNIX_EPOCH);
    let (condition, older) = (&list[0], &older[0]);
    let new = json!({
        "type": condition.type_,
        "status": condition.status,
        "reason": condition.reason,
        "hasMessage": !condition.message.is_empty(),
        "observedGeneration": condition.observed_generation,
    });
    let old = json!({
        "type": older.type_,
        "status": older.status,
        "reason": older.reason.as_deref().unwrap_or_default(),
        "severity": older.severity.as_ref().map_or("", |severity| severity.as_str()),
        "hasMessage": older.message.is_some(),
    });
    (new, old)
}
