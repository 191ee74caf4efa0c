//! `variable_schema_validation.json`, `variable_defaulting.json`, `variable_values.json`: definitions of variables
//! and values for them.

use kapstan_api::{
    FieldError,
    cluster::ClusterVariable,
    cluster_class::ClusterClassStatusVariable,
    variables::{
        definitions,
        values::{self, Scope},
    },
};
use serde_json::{Value, json};

use super::{read, sorted, text};
use crate::{Case, Runner};

/// The root of paths of values.
const VALUES_PATH: &str = "spec.topology.variables";

pub(super) const SCHEMAS: Runner =
    Runner { file: "variable_schema_validation.json", run: schemas, covers: |_| true, exceptions: &[] };

pub(super) const VALUES: Runner =
    Runner { file: "variable_values.json", run: validated, covers: |_| true, exceptions: &[] };

pub(super) const DEFAULTS: Runner = Runner {
    file: "variable_defaulting.json",
    run: defaulted,
    covers: |_| true,
    exceptions: &[
        ("scalar/integer-beyond-2-to-the-53", "numbers keep their digits, also in a second pass"),
        ("scalar/value-largest-int64", "numbers keep their digits"),
    ],
};

fn schemas(case: &Case) -> (Value, Value) {
    let version = text(&case.input, "celCompatibilityVersion");
    let minor = version.strip_prefix("1.").unwrap().parse().unwrap();
    let (variables, old): (Vec<_>, Vec<_>) =
        (read(&case.input, "variables"), read(&case.input, "oldVariables"));
    (verdict(&definitions::validate(&variables, &old, "spec.variables", minor)), recorded(case))
}

fn validated(case: &Case) -> (Value, Value) {
    let (new, old): (Vec<ClusterVariable>, Vec<_>) =
        (read(&case.input, "values"), read(&case.input, "oldValues"));
    let definitions: Vec<ClusterClassStatusVariable> = read(&case.input, "definitions");
    (verdict(&values::validate(&new, &old, &definitions, scope(case), VALUES_PATH)), recorded(case))
}

fn defaulted(case: &Case) -> (Value, Value) {
    let before: Vec<ClusterVariable> = read(&case.input, "values");
    let definitions: Vec<ClusterClassStatusVariable> = read(&case.input, "definitions");
    let once = |values: &[_]| values::default(values, &definitions, scope(case), VALUES_PATH);
    let ours = match once(&before) {
        Err(errors) => verdict(&errors),
        Ok(first) => {
            json!({"valid": true, "variables": first, "stable": once(&first).as_ref() == Ok(&first)})
        }
    };
    (ours, recorded(case))
}

fn scope(case: &Case) -> Scope {
    if text(&case.input, "mode") == "cluster" { Scope::Cluster } else { Scope::Override }
}

fn verdict(errors: &[FieldError]) -> Value {
    if errors.is_empty() {
        return json!({"valid": true});
    }
    json!({"valid": false, "errors": sorted(errors.iter().map(super::fact))})
}

fn recorded(case: &Case) -> Value {
    let mut expect = case.expect.clone();
    if let Some(Value::Array(errors)) = expect.get("errors").cloned() {
        expect["errors"] = sorted(errors);
    }
    expect
}
