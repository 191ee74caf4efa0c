//! A class's variables: those it defines itself and those its patches' extensions discover, merged into
//! `status.variables`.
//!
//! Mirrors `reconcileVariables` of Cluster API `core/reconcilers/clusterclass/clusterclass_controller.go`.
//! Calling the extensions is the caller's. What definitions must satisfy is in [`definitions`], what values of
//! variables must satisfy in [`values`].

use std::collections::BTreeMap;

use crate::{
    cluster_class::{
        ClusterClassStatusVariable, ClusterClassStatusVariableDefinition, ClusterClassVariable,
        VariableMetadata, VariableSchema,
    },
    conditions::{self, Status, reasons, types, v1beta1},
    text,
};

pub mod definitions;
pub mod values;

mod check;
mod schema;

pub use check::check;
pub use kapstan_schema::{Cause, FieldError};
pub use schema::stored_form;

/// What `from` says in `status.variables` of a definition in the class's spec.
pub const INLINE: &str = "inline";

/// How many things a message lists; the rest is counted.
const MAX_LISTED: usize = 20;

/// All variables of a class.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merged {
    /// What goes to `status.variables`: sorted by name, every definition with an explicit `required`, every
    /// variable with an explicit `definitionsConflict`.
    pub variables: Vec<ClusterClassStatusVariable>,
    /// Variables whose definitions differ, sorted by name.
    pub conflicts: Vec<Conflict>,
}

/// A variable whose definitions differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The variable's name.
    pub name: String,
    /// Where the definitions come from: the first, then those that differ from it, in the order of the spec.
    pub sources: Vec<String>,
}

/// Why a class's variables could not be merged.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The patch whose extension was asked.
    pub patch: String,
    /// What went wrong.
    pub kind: FailureKind,
}

/// What can go wrong with the answer for one patch.
#[derive(Clone, Debug, PartialEq)]
pub enum FailureKind {
    /// There is no answer, or one that says no; the text says why.
    CallFailed(String),
    /// The answer defines variables that cannot be.
    Invalid(Vec<FieldError>),
}

/// The answer for one patch: its variables, or as text why there is none.
pub type Answer<'a> = Result<&'a [ClusterClassVariable], &'a str>;

/// Merges a class's variables if the extensions of all its patches have answered well. `answers` are in the
/// order of the patches.
///
/// As upstream, definitions are checked only until the first failure; calls that failed are all listed.
///
/// # Errors
/// What failed, in the order of the patches; `status.variables` then stays as it was.
pub fn evaluate(
    inline: &[ClusterClassVariable],
    answers: &[(&str, Answer<'_>)],
) -> Result<Merged, Vec<Failure>> {
    let mut discovered = Vec::with_capacity(answers.len());
    let mut failures = Vec::new();
    for (patch, answer) in answers {
        let failed = |kind| Failure { patch: (*patch).to_owned(), kind };
        match answer {
            Err(why) => failures.push(failed(FailureKind::CallFailed((*why).to_owned()))),
            Ok(_) if !failures.is_empty() => {}
            Ok(variables) => {
                let errors = check(patch, variables);
                if !errors.is_empty() {
                    failures.push(failed(FailureKind::Invalid(errors)));
                }
                discovered.push((*patch, *variables));
            }
        }
    }
    if failures.is_empty() { Ok(merge(inline, &discovered)) } else { Err(failures) }
}

/// Merges definitions that are known to be good. `discovered` is in the order of the patches.
///
/// Definitions are equal when `required` (unset means false), metadata and schema are; in a schema neither the
/// order of keys nor a boolean that is false nor an empty list counts. Schemas come out in their
/// [stored form](stored_form). An inline variable that is defined twice counts as its last definition.
#[must_use]
pub fn merge(inline: &[ClusterClassVariable], discovered: &[(&str, &[ClusterClassVariable])]) -> Merged {
    let mut definitions: BTreeMap<&str, Vec<ClusterClassStatusVariableDefinition>> = BTreeMap::new();
    for variable in inline {
        definitions.insert(&variable.name, vec![definition(variable, INLINE)]);
    }
    for (patch, variables) in discovered {
        for variable in *variables {
            definitions.entry(&variable.name).or_default().push(definition(variable, patch));
        }
    }
    let mut merged = Merged::default();
    for (name, definitions) in definitions {
        let conflict = conflict(name, &definitions);
        merged.variables.push(ClusterClassStatusVariable {
            name: name.to_owned(),
            definitions_conflict: Some(conflict.is_some()),
            definitions,
            ..ClusterClassStatusVariable::default()
        });
        merged.conflicts.extend(conflict);
    }
    merged
}

fn definition(variable: &ClusterClassVariable, from: &str) -> ClusterClassStatusVariableDefinition {
    ClusterClassStatusVariableDefinition {
        from: from.to_owned(),
        required: Some(variable.required.unwrap_or(false)),
        deprecated_v1_beta1_metadata: variable.deprecated_v1_beta1_metadata.as_ref().and_then(known_metadata),
        schema: VariableSchema {
            open_api_v3_schema: stored_form(&variable.schema.open_api_v3_schema),
            ..VariableSchema::default()
        },
        ..ClusterClassStatusVariableDefinition::default()
    }
}

fn known_metadata(metadata: &VariableMetadata) -> Option<VariableMetadata> {
    let VariableMetadata { labels, annotations, unknown: _ } = metadata.clone();
    let known = VariableMetadata { labels, annotations, ..VariableMetadata::default() };
    (known != VariableMetadata::default()).then_some(known)
}

fn conflict(name: &str, definitions: &[ClusterClassStatusVariableDefinition]) -> Option<Conflict> {
    let (first, rest) = definitions.split_first()?;
    let differing: Vec<_> = rest.iter().filter(|other| !is_equal(first, other)).collect();
    if differing.is_empty() {
        return None;
    }
    let sources = std::iter::once(first).chain(differing).map(|definition| definition.from.clone()).collect();
    Some(Conflict { name: name.to_owned(), sources })
}

fn is_equal(a: &ClusterClassStatusVariableDefinition, b: &ClusterClassStatusVariableDefinition) -> bool {
    a.required == b.required
        && a.deprecated_v1_beta1_metadata == b.deprecated_v1_beta1_metadata
        && schema::is_equivalent(&a.schema.open_api_v3_schema, &b.schema.open_api_v3_schema)
}

/// Both conditions after an evaluation.
#[must_use]
pub fn conditions(
    outcome: &Result<Merged, Vec<Failure>>,
    generation: Option<i64>,
) -> (conditions::Wanted, v1beta1::Wanted) {
    let message = match outcome {
        Ok(merged) if merged.conflicts.is_empty() => return ready(generation),
        Ok(merged) => describe_conflicts(&merged.conflicts),
        Err(failures) => describe_failures(failures),
    };
    not_ready(generation, &message)
}

/// Both conditions when all variables are known and agree.
#[must_use]
pub fn ready(generation: Option<i64>) -> (conditions::Wanted, v1beta1::Wanted) {
    let wanted = conditions::Wanted::new(types::VARIABLES_READY, Status::True, reasons::VARIABLES_READY);
    let deprecated = v1beta1::Wanted::holds(v1beta1::types::VARIABLES_RECONCILED);
    (wanted.observed_generation(generation), deprecated)
}

/// Both conditions when they are not, with the reason as text.
#[must_use]
pub fn not_ready(generation: Option<i64>, message: &str) -> (conditions::Wanted, v1beta1::Wanted) {
    let wanted =
        conditions::Wanted::new(types::VARIABLES_READY, Status::False, reasons::VARIABLE_DISCOVERY_FAILED);
    let deprecated = v1beta1::Wanted::fails(
        v1beta1::types::VARIABLES_RECONCILED,
        v1beta1::reasons::VARIABLE_DISCOVERY_FAILED,
        v1beta1::Severity::Error,
        message,
    );
    (wanted.observed_generation(generation).message(message), deprecated)
}

/// One line for the conflicts of a class: each variable and where its definitions come from.
#[must_use]
pub fn describe_conflicts(conflicts: &[Conflict]) -> String {
    let described = conflicts.iter().map(|Conflict { name, sources }| {
        format!("{} (differs between {})", text::foreign_within(name, 256), sources.join(", "))
    });
    format!("definitions of variables conflict: {}", listed(described, "; "))
}

/// One line for each patch whose answer cannot be used.
#[must_use]
pub fn describe_failures(failures: &[Failure]) -> String {
    let described = failures.iter().map(|Failure { patch, kind }| match kind {
        FailureKind::CallFailed(why) => format!("patch {patch}: {}", text::foreign(why)),
        FailureKind::Invalid(errors) => {
            let errors = listed(errors.iter().map(describe_error), "; ");
            format!("patch {patch}: discovered variables are not valid: {errors}")
        }
    });
    listed(described, "\n")
}

/// One error with its place; what an extension made of either is bounded. The lines of a compiler's text stay.
fn describe_error(error: &FieldError) -> String {
    let lines: Vec<_> = error.body().lines().map(|line| text::foreign_within(line, 300)).take(20).collect();
    format!("{}: {}", text::foreign_within(&error.path, 400), text::bounded(&lines.join("\n"), 600))
}

fn listed(items: impl ExactSizeIterator<Item = String>, separator: &str) -> String {
    let count = items.len();
    let mut shown: Vec<_> = items.take(MAX_LISTED).collect();
    if count > MAX_LISTED {
        shown.push(format!("and {} more", count - MAX_LISTED));
    }
    shown.join(separator)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use similar_asserts::assert_eq;

    use super::*;

    fn variable(name: &str, schema: Value) -> ClusterClassVariable {
        ClusterClassVariable {
            name: name.to_owned(),
            schema: VariableSchema { open_api_v3_schema: schema, ..VariableSchema::default() },
            ..ClusterClassVariable::default()
        }
    }

    fn string() -> Value {
        json!({"type": "string"})
    }

    #[test]
    fn a_conflict_names_the_variable_and_its_sources_in_the_order_of_the_spec() {
        let inline = [variable("region", string())];
        let p1 = [variable("region", json!({"type": "string", "default": "a"}))];
        let p2 = [variable("region", json!({"type": "integer"}))];
        let same = [variable("region", string())];
        let merged = merge(&inline, &[("p2", &p2), ("same", &same), ("p1", &p1)]);
        assert_eq!(
            describe_conflicts(&merged.conflicts),
            "definitions of variables conflict: region (differs between inline, p2, p1)"
        );
        assert_eq!(merged.variables[0].definitions_conflict, Some(true));
        assert_eq!(merged.variables[0].definitions.len(), 4);
    }

    #[test]
    fn a_discovered_variable_without_required_is_explicitly_not_required() {
        let tide = [variable("tide", string())];
        assert_eq!(
            serde_json::to_value(merge(&[], &[("hull", &tide)]).variables).unwrap(),
            json!([{
                "name": "tide",
                "definitionsConflict": false,
                "definitions": [
                    {"from": "hull", "required": false, "schema": {"openAPIV3Schema": {"type": "string"}}}
                ],
            }])
        );
    }

    #[test]
    fn the_default_that_the_api_server_fills_into_inline_rules_is_no_conflict() {
        let inline = [variable(
            "tide",
            json!({"type": "string", "x-kubernetes-validations": [{"rule": "true", "reason": "FieldValueInvalid"}]}),
        )];
        let discovered =
            [variable("tide", json!({"type": "string", "x-kubernetes-validations": [{"rule": "true"}]}))];
        let merged = merge(&inline, &[("hull", &discovered)]);
        assert_eq!(merged.conflicts, []);
        assert_eq!(merged.variables[0].definitions[0].schema, merged.variables[0].definitions[1].schema);
    }

    #[test]
    fn one_evaluation_lists_every_failed_call_in_the_order_of_the_patches() {
        let outcome = evaluate(&[], &[("hull", Err("the tide\nis out")), ("deck", Err("fog"))]);
        assert_eq!(describe_failures(&outcome.unwrap_err()), "patch hull: the tide is out\npatch deck: fog");
    }

    #[test]
    fn messages_stay_bounded_however_much_is_wrong() {
        let many: Vec<_> =
            (0..500).map(|index| variable(&format!("{}.{index}", "é".repeat(9000)), string())).collect();
        let message = describe_failures(&evaluate(&[], &[("hull", Ok(&many))]).unwrap_err());
        assert!(message.len() < conditions::MAX_MESSAGE, "{}", message.len());
        assert!(message.ends_with("and 480 more"), "{message}");
    }

    #[test]
    fn another_order_of_patches_or_variables_gives_the_same_list_of_names() {
        let (a, b) = ([variable("a", string()), variable("b", string())], [variable("c", string())]);
        let names = |merged: Merged| merged.variables.into_iter().map(|v| v.name).collect::<Vec<_>>();
        assert_eq!(names(merge(&b, &[("p", &a)])), ["a", "b", "c"]);
        assert_eq!(names(merge(&a, &[("p", &b)])), ["a", "b", "c"]);
    }
}
