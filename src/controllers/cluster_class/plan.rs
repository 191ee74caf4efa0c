//! What the result of a class is. Pure.

use std::{collections::BTreeSet, fmt::Write as _, sync::Arc};

use jiff::Timestamp;
use kapstan_api::{
    cluster_class::{ClusterClassStatusVariable, TemplateRef},
    conditions::{self, Status, v1beta1},
    hooks::DiscoverVariablesResponse,
    refversions::{self, RefVersions},
    text, variables,
};

use super::KIND;
use crate::{
    controllers::pending,
    digest::Digest,
    index::{Awaited, class::Class, gather::TemplateFinding, keys::Name},
};

/// The result of a class: what its status should say.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    /// Our conditions.
    pub conditions: Vec<conditions::Wanted>,
    /// Our conditions in the style of `v1beta1`.
    pub v1beta1_conditions: Vec<v1beta1::Wanted>,
    /// What `status.variables` should be; `None` leaves it as it is.
    pub variables: Option<Variables>,
    /// What `status.observedGeneration` should be; `None` leaves it as it is.
    pub observed_generation: Option<i64>,
}

/// What `status.variables` should be.
#[derive(Clone, Debug, PartialEq)]
pub struct Variables {
    /// Digest of the list; `None` when it is empty.
    pub digest: Option<Digest>,
    /// The list, unless it was dropped to save memory ([`Desired::without_list`]).
    pub list: Option<Vec<ClusterClassStatusVariable>>,
}

impl Desired {
    /// The same without the list of variables, which its digest stands for.
    #[must_use]
    pub fn without_list(mut self) -> Self {
        if let Some(variables) = &mut self.variables {
            variables.list = None;
        }
        self
    }
}

/// The answer for one patch: its variables, or why there are none.
pub type PatchAnswer = (Name, Result<Arc<DiscoverVariablesResponse>, Arc<str>>);

/// The result of a class that is paused: it says so, and everything else stays.
#[must_use]
pub fn paused(class: &Class) -> Desired {
    Desired {
        conditions: vec![conditions::paused(KIND, true, Some(class.generation))],
        v1beta1_conditions: Vec::new(),
        variables: None,
        observed_generation: None,
    }
}

/// What a class says that has waited since `since` for these things, in words; `None` when its conditions say nothing
/// less by now.
#[must_use]
pub fn pending(class: &Class, awaited: &[(Awaited, String)], since: Timestamp) -> Option<Desired> {
    let generation = class.generation;
    let said = awaiting(class, awaited.iter().map(|(awaited, _)| awaited));
    let said = said.map(|types| {
        let of_type = awaited.iter().filter(|(awaited, _)| types_of(awaited) == types);
        let in_words: BTreeSet<String> = of_type.map(|(_, words)| words.clone()).collect();
        pending::conditions(types, generation, since, &in_words.into_iter().collect::<Vec<_>>())
    });
    let (mut conditions, v1beta1_conditions): (Vec<_>, Vec<_>) = said.unzip();
    if conditions.is_empty() {
        return None;
    }
    conditions.push(conditions::paused(KIND, false, Some(generation)));
    Some(Desired { conditions, v1beta1_conditions, variables: None, observed_generation: None })
}

/// The conditions, in both styles, that have still to say that these things are awaited.
pub fn awaiting<'a>(
    class: &'a Class,
    awaited: impl Iterator<Item = &'a Awaited>,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    let types: BTreeSet<_> = awaited.map(types_of).collect();
    types
        .into_iter()
        .filter(|(type_, _)| pending::is_to_be_said(&class.observed.conditions, type_, class.generation))
}

/// The conditions, in both styles, that something awaited decides on.
fn types_of(awaited: &Awaited) -> (&'static str, &'static str) {
    match awaited {
        Awaited::Discovery(_) | Awaited::Question(_) | Awaited::Namespace(_) => {
            (conditions::types::VARIABLES_READY, v1beta1::types::VARIABLES_RECONCILED)
        }
        Awaited::Kind(_) | Awaited::Owned(_) => {
            (conditions::types::REF_VERSIONS_UP_TO_DATE, v1beta1::types::REF_VERSIONS_UP_TO_DATE)
        }
    }
}

/// The result of a class, given the answers for its patches in the order of the spec and what is known of its
/// templates.
#[must_use]
pub fn evaluate(
    class: &Class,
    answers: &[PatchAnswer],
    templates: &[(TemplateRef, TemplateFinding)],
) -> Desired {
    let generation = Some(class.generation);
    let answers: Vec<(&str, variables::Answer<'_>)> = answers
        .iter()
        .map(|(patch, answer)| {
            (&**patch, answer.as_ref().map(|response| response.variables.as_slice()).map_err(|why| &**why))
        })
        .collect();
    let outcome = variables::evaluate(&class.variables(), &answers);
    let (ready, reconciled) = variables::conditions(&outcome, generation);
    let (are_templates_good, (up_to_date, up_to_date_v1beta1)) = judge_templates(templates, generation);
    let are_variables_good = outcome.as_ref().is_ok_and(|merged| merged.conflicts.is_empty());
    Desired {
        conditions: vec![ready, up_to_date, conditions::paused(KIND, false, generation)],
        v1beta1_conditions: vec![reconciled, up_to_date_v1beta1],
        variables: outcome.ok().map(|merged| Variables {
            digest: (!merged.variables.is_empty()).then(|| Digest::of(&merged.variables)),
            list: Some(merged.variables),
        }),
        observed_generation: (are_templates_good && are_variables_good).then_some(class.generation),
    }
}

/// The result of a class whose variables the API server refuses to store, as when they are more than a status can hold:
/// it says why, and the variables stay as they were.
#[must_use]
pub fn refused(class: &Class, desired: Desired, why: &str) -> Desired {
    let message = format!("the API server refuses these variables: {}", text::foreign(why));
    let (ready, reconciled) = variables::not_ready(Some(class.generation), &message);
    let Desired { mut conditions, mut v1beta1_conditions, .. } = desired;
    conditions.retain(|condition| condition.type_() != ready.type_());
    v1beta1_conditions.retain(|condition| condition.type_() != reconciled.type_());
    conditions.push(ready);
    v1beta1_conditions.push(reconciled);
    Desired { conditions, v1beta1_conditions, variables: None, observed_generation: None }
}

fn judge_templates(
    templates: &[(TemplateRef, TemplateFinding)],
    generation: Option<i64>,
) -> (bool, (conditions::Wanted, v1beta1::Wanted)) {
    if let Some(problems) = problems(templates) {
        return (false, unknown(&problems, generation));
    }
    let references: Vec<TemplateRef> = templates.iter().map(|(reference, _)| reference.clone()).collect();
    let verdict = refversions::judge(&references, |reference| {
        let found = templates.iter().find(|(other, _)| other == reference);
        found.and_then(|(_, finding)| match finding {
            TemplateFinding::Found(labels) => labels.as_ref(),
            _ => None,
        })
    });
    (!matches!(verdict, RefVersions::Unknown(_)), verdict.conditions(generation))
}

/// One line for each template that could not be judged, in the order of the references.
fn problems(templates: &[(TemplateRef, TemplateFinding)]) -> Option<String> {
    let mut text = String::new();
    for (reference, finding) in templates {
        let TemplateRef { kind, name, .. } = reference;
        // Writing to a String does not fail.
        let _ = match finding {
            TemplateFinding::Found(_) => Ok(()),
            TemplateFinding::Missing => write!(text, "\n* {kind} {name}: not found"),
            TemplateFinding::Unowned(why) => {
                write!(text, "\n* {kind} {name}: cannot be owned by this ClusterClass: {why}")
            }
            TemplateFinding::Unavailable(why) => write!(text, "\n* {kind} {name}: {why}"),
        };
    }
    (!text.is_empty()).then(|| format!("These template references cannot be judged:{text}"))
}

fn unknown(message: &str, generation: Option<i64>) -> (conditions::Wanted, v1beta1::Wanted) {
    let wanted = conditions::Wanted::new(
        conditions::types::REF_VERSIONS_UP_TO_DATE,
        Status::Unknown,
        conditions::reasons::INTERNAL_ERROR,
    );
    let deprecated = v1beta1::Wanted::unknown(
        v1beta1::types::REF_VERSIONS_UP_TO_DATE,
        v1beta1::reasons::INTERNAL_ERROR,
        message,
    );
    (wanted.observed_generation(generation).message(message), deprecated)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::index::tests::fixtures::{class, labels};

    /// The class, with one template that was found so.
    fn with_template(finding: TemplateFinding) -> Desired {
        let class = class("ns/one").at_generation(3).with_variable("size", "string");
        let class = class.using("MachineTemplate", "t").class();
        let templates = [(class.templates[0].clone(), finding)];
        evaluate(&class, &[], &templates)
    }

    fn found(versions: &str) -> TemplateFinding {
        TemplateFinding::Found(Some(labels(&[("cluster.x-k8s.io/v1beta2", versions)])))
    }

    fn failed(patch: &str, why: &str) -> PatchAnswer {
        (patch.into(), Err(why.into()))
    }

    fn answered(patch: &str, variable: &str, type_: &str) -> PatchAnswer {
        let schema = json!({ "openAPIV3Schema": { "type": type_ } });
        let answer = json!({ "status": "Success", "variables": [{ "name": variable, "schema": schema }] });
        (patch.into(), Ok(Arc::new(serde_json::from_value(answer).unwrap())))
    }

    fn status(desired: &Desired, type_: &str) -> Status {
        desired.conditions.iter().find(|condition| condition.type_() == type_).unwrap().status()
    }

    #[rstest]
    #[case::found(found("v1beta2"), Status::True, Some(3))]
    #[case::outdated(found("v1beta2_v1beta3"), Status::False, Some(3))]
    #[case::missing(TemplateFinding::Missing, Status::Unknown, None)]
    #[case::without_a_crd(TemplateFinding::Found(None), Status::Unknown, None)]
    #[case::without_a_contract(TemplateFinding::Found(Some(labels(&[]))), Status::Unknown, None)]
    #[case::not_to_be_owned(TemplateFinding::Unowned("forbidden".into()), Status::Unknown, None)]
    #[case::of_a_kind_not_served(TemplateFinding::Unavailable("not served".into()), Status::Unknown, None)]
    fn a_template_decides_on_versions_and_never_on_variables(
        #[case] finding: TemplateFinding,
        #[case] expected: Status,
        #[case] observed_generation: Option<i64>,
    ) {
        let desired = with_template(finding);
        assert_eq!(status(&desired, "RefVersionsUpToDate"), expected);
        assert_eq!(status(&desired, "VariablesReady"), Status::True);
        assert_eq!(desired.observed_generation, observed_generation);
        assert_eq!(desired.variables.unwrap().list.unwrap()[0].name, "size");
    }

    #[test]
    fn every_template_that_cannot_be_judged_is_named() {
        let class = class("ns/one").using("MachineTemplate", "t").using("ClusterTemplate", "u");
        let class = class.using("OtherTemplate", "v").class();
        let findings =
            [TemplateFinding::Unavailable("not served".into()), TemplateFinding::Missing, found("v1beta2")];
        let templates: Vec<_> = class.templates.iter().cloned().zip(findings).collect();
        let text = format!("{:?}", evaluate(&class, &[], &templates).conditions[1]);
        let kind = &class.templates[0].kind;
        assert!(text.contains(&format!(r"cannot be judged:\n* {kind} u: not served\n* ")), "{text}");
        assert!(text.contains("t: not found") && !text.contains("OtherTemplate"), "{text}");
    }

    #[test]
    fn a_failed_answer_leaves_variables_and_generation_as_they_are() {
        let class = class("ns/one").with_variable("size", "string").class();
        let answers =
            [failed("patch-0", "down"), answered("patch-1", "region", "string"), failed("patch-2", "gone")];
        let desired = evaluate(&class, &answers, &[]);
        assert_eq!(status(&desired, "VariablesReady"), Status::False);
        assert_eq!(status(&desired, "RefVersionsUpToDate"), Status::True);
        assert_eq!((&desired.variables, desired.observed_generation), (&None, None));
        let text = format!("{:?}", desired.conditions[0]);
        assert!(text.contains(r"patch patch-0: down\npatch patch-2: gone"), "{text}");
    }

    #[test]
    fn a_conflict_is_listed_with_the_variables_and_holds_the_generation_back() {
        let class = class("ns/one").with_variable("region", "string").class();
        let desired = evaluate(&class, &[answered("patch-0", "region", "integer")], &[]);
        assert_eq!(status(&desired, "VariablesReady"), Status::False);
        assert_eq!(desired.observed_generation, None);
        assert_eq!(desired.variables.unwrap().list.unwrap()[0].definitions_conflict, Some(true));
        let text = format!("{:?}", desired.conditions[0]);
        assert!(text.contains("region (differs between inline, patch-0)"), "{text}");
        let agreed = evaluate(&class, &[answered("patch-0", "region", "string")], &[]);
        assert_eq!((status(&agreed, "VariablesReady"), agreed.observed_generation), (Status::True, Some(1)));
    }

    #[test]
    fn a_class_without_variables_has_an_empty_list() {
        let desired = evaluate(&class("ns/one").class(), &[], &[]);
        assert_eq!(desired.variables, Some(Variables { digest: None, list: Some(Vec::new()) }));
        assert_eq!(desired.clone().without_list().variables, Some(Variables { digest: None, list: None }));
    }
}
