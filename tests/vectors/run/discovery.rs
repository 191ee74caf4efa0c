//! `discovery_validation.json`: one discovery, as far as it is about the answer. Whether there is one at all (stages
//! `unreachable` and `httpStatus`) is the client's.

use jiff::Timestamp;
use kapstan_api::{
    conditions::{self, v1beta1},
    discovery::{self, Problem, ProblemKind, Refusal},
};
use serde_json::{Value, json};

use super::sorted;
use crate::{Case, Runner};

// Quirks are followed: what an extension gets away with upstream, it gets away with here.
pub(super) const RUNNER: Runner = Runner {
    file: "discovery_validation.json",
    run: |case| (answer(case), recorded(case)),
    covers: |case| !["unreachable", "httpStatus"].map(Value::from).contains(&case.expect["stage"]),
    exceptions: &[],
};

fn answer(case: &Case) -> Value {
    let config = case.input["extensionConfigName"].as_str().unwrap();
    let body = case.input["reply"]["body"].as_str().unwrap();
    let generation = case.input["generation"].as_i64();
    match discovery::accept_body(config, body.as_bytes()) {
        Ok(handlers) => {
            let (condition, deprecated) = summaries(discovery::discovered(generation));
            json!({
                "valid": true,
                "handlers": handlers,
                "condition": condition,
                "deprecatedV1Beta1Condition": deprecated,
            })
        }
        Err(refusal) => {
            let (condition, deprecated) =
                summaries(discovery::not_discovered(generation, &refusal.to_string()));
            let mut answer = json!({
                "valid": false,
                "handlers": case.input.get("previousHandlers").cloned().unwrap_or_else(|| json!([])),
                "condition": condition,
                "deprecatedV1Beta1Condition": deprecated,
                "stage": stage(&refusal),
            });
            if let Refusal::Invalid(problems) = &refusal {
                answer["problems"] = sorted(problems.iter().map(problem));
            }
            answer
        }
    }
}

fn recorded(case: &Case) -> Value {
    let mut expect = case.expect.clone();
    if let Some(Value::Array(problems)) = expect.get("problems").cloned() {
        expect["problems"] = sorted(problems);
    }
    expect
}

fn stage(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Undecodable(_) => "undecodable",
        Refusal::FailureStatus { .. } => "failureStatus",
        Refusal::UnknownStatus { .. } => "unknownStatus",
        Refusal::Invalid(_) => "validation",
    }
}

fn problem(problem: &Problem) -> Value {
    let kind = match problem.kind {
        ProblemKind::DuplicateName => "duplicateName",
        ProblemKind::InvalidName => "invalidName",
        ProblemKind::TimeoutOutOfRange(_) => "timeoutOutOfRange",
        ProblemKind::UnknownFailurePolicy(_) => "unknownFailurePolicy",
        ProblemKind::InvalidApiVersion(_) => "invalidApiVersion",
        ProblemKind::UnknownHook { .. } => "unknownHook",
        ProblemKind::TooManyHandlers(_) => "tooManyHandlers",
    };
    json!({"handler": problem.handler, "problem": kind})
}

/// Both conditions the way the vectors sum them up. The recorded older condition of a discovery names reason and
/// severity only where there are some.
fn summaries((wanted, deprecated): (conditions::Wanted, v1beta1::Wanted)) -> (Value, Value) {
    let (mut list, mut older) = (vec![], vec![]);
    conditions::set(&mut list, wanted, Timestamp::UNIX_EPOCH);
    v1beta1::set(&mut older, deprecated, Timestamp::UNIX_EPOCH);
    let (condition, older) = (&list[0], &older[0]);
    let mut old = json!({
        "type": older.type_,
        "status": older.status,
        "hasMessage": older.message.is_some(),
    });
    if let (Some(reason), Some(severity)) = (&older.reason, &older.severity) {
        old["reason"] = json!(reason);
        old["severity"] = json!(severity);
    }
    let new = json!({
        "type": condition.type_,
        "status": condition.status,
        "reason": condition.reason,
        "hasMessage": !condition.message.is_empty(),
        "observedGeneration": condition.observed_generation,
    });
    (new, old)
}
