//! Whether a class's template references use the newest version that the template's contract offers.
//!
//! Mirrors Cluster API `internal/contract/version.go` and
//! `core/reconcilers/clusterclass/clusterclass_controller_status.go`. References are never rewritten. Finding
//! `CustomResourceDefinitions` is the caller's.

use std::{cmp::Ordering, collections::BTreeMap, collections::BTreeSet, fmt};

use crate::{
    annotations::CONTRACT_LABEL_PREFIX,
    cluster_class::TemplateRef,
    conditions::{self, Status, reasons, types, v1beta1},
};

/// Contract versions that templates may follow, newest first.
pub const CONTRACTS: [&str; 2] = ["v1beta2", "v1beta1"];

/// How many references a message lists; the rest is counted.
const MAX_LISTED: usize = 50;

/// Labels of a `CustomResourceDefinition`.
pub type Labels = BTreeMap<String, String>;

/// What came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefVersions {
    /// Every reference uses the newest version.
    UpToDate,
    /// At least one does not; sorted, each reference once.
    Outdated(Vec<OutdatedRef>),
    /// At least one could not be judged; sorted, each reference once. Outdated ones are not listed then.
    Unknown(Vec<Unjudged>),
}

/// A reference that does not use the newest version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutdatedRef {
    /// The reference as the class has it.
    pub reference: TemplateRef,
    /// The newest version of the newest contract that the template follows.
    pub available: String,
}

/// A reference that could not be judged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unjudged {
    /// The reference as the class has it.
    pub reference: TemplateRef,
    /// Why not.
    pub reason: UnjudgedReason,
}

/// Why a reference could not be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnjudgedReason {
    /// Its `CustomResourceDefinition` is not there.
    NoDefinition,
    /// Its `CustomResourceDefinition` has no contract label that we know.
    NoContract,
}

impl fmt::Display for OutdatedRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TemplateRef { kind, name, .. } = &self.reference;
        write!(f, "* {kind} {name}: uses {}, {} is available", self.reference.version(), self.available)
    }
}

impl fmt::Display for Unjudged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TemplateRef { kind, name, .. } = &self.reference;
        let definition = definition_name(self.reference.group(), kind);
        match self.reason {
            UnjudgedReason::NoDefinition => {
                write!(f, "* {kind} {name}: CustomResourceDefinition {definition} not found")
            }
            UnjudgedReason::NoContract => write!(
                f,
                "* {kind} {name}: CustomResourceDefinition {definition} has no label {CONTRACT_LABEL_PREFIX}{} \
                 or {CONTRACT_LABEL_PREFIX}{}",
                CONTRACTS[0], CONTRACTS[1]
            ),
        }
    }
}

/// Compares each reference with what its `CustomResourceDefinition` offers. `labels_of` gives the labels of the
/// definition of a reference's group and kind, `None` when there is no such definition.
pub fn judge<'a, F>(references: &[TemplateRef], labels_of: F) -> RefVersions
where
    F: Fn(&TemplateRef) -> Option<&'a Labels>,
{
    let mut outdated = BTreeSet::new();
    let mut unjudged = BTreeSet::new();
    for reference in references {
        match available(labels_of(reference)) {
            Ok(available) if available == reference.version() => {}
            Ok(available) => {
                outdated
                    .insert(OutdatedRef { reference: reference.clone(), available: available.to_owned() });
            }
            Err(reason) => {
                unjudged.insert(Unjudged { reference: reference.clone(), reason });
            }
        }
    }
    match (unjudged.is_empty(), outdated.is_empty()) {
        (false, _) => RefVersions::Unknown(unjudged.into_iter().collect()),
        (true, false) => RefVersions::Outdated(outdated.into_iter().collect()),
        (true, true) => RefVersions::UpToDate,
    }
}

fn available(labels: Option<&Labels>) -> Result<&str, UnjudgedReason> {
    let labels = labels.ok_or(UnjudgedReason::NoDefinition)?;
    newest_version(labels).ok_or(UnjudgedReason::NoContract)
}

/// The newest version of the newest contract that a definition with these labels follows, `None` without a
/// contract label that we know. A label with an empty value counts as absent.
#[must_use]
pub fn newest_version(labels: &Labels) -> Option<&str> {
    CONTRACTS
        .iter()
        .filter_map(|contract| labels.get(&format!("{CONTRACT_LABEL_PREFIX}{contract}")))
        .find(|versions| !versions.is_empty())
        .and_then(|versions| versions.split('_').max_by(|a, b| compare_versions(a, b)))
}

/// The name of the `CustomResourceDefinition` of a kind, as the contract prescribes it: the kind in lower case and
/// plural, then the group.
#[must_use]
pub fn definition_name(group: &str, kind: &str) -> String {
    format!("{}.{group}", plural(&kind.to_lowercase()))
}

fn plural(word: &str) -> String {
    if let Some(stem) = word.strip_suffix('y')
        && !stem.ends_with(['a', 'e', 'i', 'o', 'u'])
    {
        return format!("{stem}ies");
    }
    if word.ends_with(['s', 'x', 'z']) || word.ends_with("ch") || word.ends_with("sh") {
        return format!("{word}es");
    }
    format!("{word}s")
}

/// Orders API versions as Kubernetes does: `v1alpha1` < `v1beta1` < `v1beta2` < `v1` < `v2`; anything else is
/// older than all of them and ordered backwards.
fn compare_versions(a: &str, b: &str) -> Ordering {
    match (parse_version(a), parse_version(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => b.cmp(a),
    }
}

/// Maturity (0 alpha, 1 beta, 2 stable), major and minor number.
fn parse_version(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (major, suffix) = rest.split_at(digits);
    let (maturity, minor) = match suffix {
        "" => (2, "0"),
        _ if suffix.starts_with("alpha") => (0, &suffix["alpha".len()..]),
        _ if suffix.starts_with("beta") => (1, &suffix["beta".len()..]),
        _ => return None,
    };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(minor) {
        return None;
    }
    Some((maturity, major.parse().ok()?, minor.parse().ok()?))
}

impl RefVersions {
    /// Both conditions that say so.
    #[must_use]
    pub fn conditions(&self, generation: Option<i64>) -> (conditions::Wanted, v1beta1::Wanted) {
        let wanted = |status, reason| {
            conditions::Wanted::new(types::REF_VERSIONS_UP_TO_DATE, status, reason)
                .observed_generation(generation)
        };
        let type_ = v1beta1::types::REF_VERSIONS_UP_TO_DATE;
        match self {
            Self::UpToDate => {
                (wanted(Status::True, reasons::REF_VERSIONS_UP_TO_DATE), v1beta1::Wanted::holds(type_))
            }
            Self::Outdated(references) => {
                let message = lines("Newer versions of referenced templates are available:", references);
                let deprecated = v1beta1::Wanted::fails(
                    type_,
                    v1beta1::reasons::OUTDATED_REF_VERSIONS,
                    v1beta1::Severity::Warning,
                    &message,
                );
                (wanted(Status::False, reasons::REF_VERSIONS_NOT_UP_TO_DATE).message(&message), deprecated)
            }
            Self::Unknown(references) => {
                let message = lines("Versions of referenced templates cannot be compared:", references);
                let reason = v1beta1::reasons::INTERNAL_ERROR;
                let deprecated = v1beta1::Wanted::unknown(type_, reason, &message);
                (wanted(Status::Unknown, reasons::INTERNAL_ERROR).message(&message), deprecated)
            }
        }
    }
}

fn lines<T: fmt::Display>(head: &str, items: &[T]) -> String {
    let mut lines = vec![head.to_owned()];
    lines.extend(items.iter().take(MAX_LISTED).map(T::to_string));
    if items.len() > MAX_LISTED {
        lines.push(format!("* and {} more", items.len() - MAX_LISTED));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use similar_asserts::assert_eq;

    use super::*;

    fn template(kind: &str, name: &str, version: &str) -> TemplateRef {
        TemplateRef {
            api_version: format!("bootstrap.example/{version}"),
            kind: kind.to_owned(),
            name: name.to_owned(),
        }
    }

    fn labels(entries: &[(&str, &str)]) -> Labels {
        entries
            .iter()
            .map(|(contract, versions)| (format!("cluster.x-k8s.io/{contract}"), (*versions).to_owned()))
            .collect()
    }

    #[rstest]
    #[case::newest_of_the_list(&[("v1beta2", "v1beta1_v1beta2")], Some("v1beta2"))]
    #[case::order_in_the_label_does_not_count(&[("v1beta2", "v1_v2_v1beta3")], Some("v2"))]
    #[case::newest_contract_first(&[("v1beta1", "v1beta9"), ("v1beta2", "v1beta1")], Some("v1beta1"))]
    #[case::older_contract_will_do(&[("v1beta1", "v1beta1")], Some("v1beta1"))]
    #[case::empty_counts_as_absent(&[("v1beta1", "v1"), ("v1beta2", "")], Some("v1"))]
    #[case::other_contracts_do_not_count(&[("v1alpha4", "v1alpha4"), ("v1", "v1")], None)]
    #[case::odd_versions_are_oldest(&[("v1beta2", "nightly_v1alpha1")], Some("v1alpha1"))]
    #[case::no_label(&[], None)]
    fn the_newest_version_is_that_of_the_newest_contract(
        #[case] entries: &[(&str, &str)],
        #[case] expected: Option<&str>,
    ) {
        assert_eq!(newest_version(&labels(entries)), expected);
    }

    #[test]
    fn versions_are_ordered_as_kubernetes_does() {
        let mut versions =
            ["v2", "v10beta3", "v1", "foo10", "v11alpha2", "v3beta1", "foo1", "v12alpha1", "v10"];
        versions.sort_by(|a, b| compare_versions(b, a));
        assert_eq!(
            versions,
            ["v10", "v2", "v1", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
        );
    }

    #[test]
    fn outdated_references_are_listed_once_and_sorted() {
        let both = labels(&[("v1beta2", "v1beta1_v1beta2")]);
        let references = [
            template("WorkerTemplate", "tide", "v1beta1"),
            template("ClusterTemplate", "ebb", "v1beta1"),
            template("WorkerTemplate", "tide", "v1beta1"),
            template("WorkerTemplate", "flow", "v1beta2"),
        ];
        let verdict = judge(&references, |_| Some(&both));
        let (wanted, deprecated) = verdict.conditions(Some(3));
        let message = "Newer versions of referenced templates are available:\n\
                       * ClusterTemplate ebb: uses v1beta1, v1beta2 is available\n\
                       * WorkerTemplate tide: uses v1beta1, v1beta2 is available";
        assert_eq!(
            wanted,
            conditions::Wanted::new("RefVersionsUpToDate", Status::False, "RefVersionsNotUpToDate")
                .message(message)
                .observed_generation(Some(3))
        );
        assert_eq!(
            deprecated,
            v1beta1::Wanted::fails(
                "RefVersionsUpToDate",
                "OutdatedRefVersions",
                v1beta1::Severity::Warning,
                message
            )
        );
    }

    #[test]
    fn references_to_the_only_version_are_up_to_date() {
        let only = labels(&[("v1beta2", "v1beta1")]);
        let verdict = judge(&[template("WorkerTemplate", "tide", "v1beta1")], |_| Some(&only));
        assert_eq!(verdict, RefVersions::UpToDate);
        assert_eq!(judge(&[], |_| None), RefVersions::UpToDate);
    }

    #[test]
    fn a_definition_that_cannot_be_judged_makes_it_unknown() {
        let (both, none) = (labels(&[("v1beta2", "v1beta2")]), labels(&[]));
        let references = [
            template("WorkerTemplate", "tide", "v1beta1"),
            template("MissingTemplate", "ebb", "v1beta1"),
            template("BareTemplate", "flow", "v1beta1"),
        ];
        let verdict = judge(&references, |reference| match reference.kind.as_str() {
            "WorkerTemplate" => Some(&both),
            "BareTemplate" => Some(&none),
            _ => None,
        });
        let message = "Versions of referenced templates cannot be compared:\n\
                       * BareTemplate flow: CustomResourceDefinition baretemplates.bootstrap.example has no label \
                       cluster.x-k8s.io/v1beta2 or cluster.x-k8s.io/v1beta1\n\
                       * MissingTemplate ebb: CustomResourceDefinition missingtemplates.bootstrap.example not found";
        let (wanted, _) = verdict.conditions(None);
        assert_eq!(
            wanted,
            conditions::Wanted::new("RefVersionsUpToDate", Status::Unknown, "InternalError").message(message)
        );
    }

    #[rstest]
    #[case::template("KubeadmConfigTemplate", "kubeadmconfigtemplates.g.example")]
    #[case::sibilant("FooClass", "fooclasses.g.example")]
    #[case::consonant_and_y("Policy", "policies.g.example")]
    #[case::vowel_and_y("Gateway", "gateways.g.example")]
    fn a_definition_is_named_after_the_plural(#[case] kind: &str, #[case] expected: &str) {
        assert_eq!(definition_name("g.example", kind), expected);
    }
}
