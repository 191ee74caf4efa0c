//! Which owner references an object should have: only ever added or re-pointed, never removed.
//!
//! Mirrors controller-runtime's `SetOwnerReference` as Cluster API uses it for templates. The caller makes sure
//! that an owner lives in the object's namespace or is cluster-scoped.

use std::collections::HashMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

/// The list of owner references with every wanted owner in it, or `None` when there is nothing to change.
///
/// An owner is the same when group, kind and name are; the version in `apiVersion` does not count. A reference
/// to the same owner with another UID (the owner was recreated, or the object copied) or another version is
/// re-pointed in place and keeps its flags; other references stay untouched. New ones go to the end in the
/// order of `wanted`.
#[must_use]
pub fn plan(current: &[OwnerReference], wanted: &[OwnerReference]) -> Option<Vec<OwnerReference>> {
    let mut planned = current.to_vec();
    // Every reference by what it names, so that the cost is that of one look at each.
    let mut places: HashMap<Named<'_>, Vec<usize>> = HashMap::with_capacity(current.len() + wanted.len());
    for (place, reference) in current.iter().enumerate() {
        places.entry(named(reference)).or_default().push(place);
    }
    for owner in wanted {
        ensure(&mut planned, places.entry(named(owner)).or_default(), owner);
    }
    (planned != current).then_some(planned)
}

/// Group, kind and name of an owner.
type Named<'a> = (&'a str, &'a str, &'a str);

fn named(reference: &OwnerReference) -> Named<'_> {
    (group(&reference.api_version), &reference.kind, &reference.name)
}

/// Has one of the references at `places`, which all name the owner, be the owner's; or adds one.
fn ensure(references: &mut Vec<OwnerReference>, places: &mut Vec<usize>, owner: &OwnerReference) {
    let has_uid = |place: &&usize| references[**place].uid == owner.uid;
    let is_exact = |place: &usize| references[*place].api_version == owner.api_version;
    if places.iter().filter(has_uid).any(is_exact) {
        return;
    }
    // Where several references name the owner, the one with its UID is it; the others are not ours to touch.
    if let Some(place) = places.iter().find(has_uid).or(places.first()).copied() {
        references[place].api_version.clone_from(&owner.api_version);
        references[place].uid.clone_from(&owner.uid);
    } else {
        places.push(references.len());
        references.push(owner.clone());
    }
}

fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use similar_asserts::assert_eq;

    use super::*;

    const V1BETA1: &str = "cluster.x-k8s.io/v1beta1";
    const V1BETA2: &str = "cluster.x-k8s.io/v1beta2";

    fn class(api_version: &str, name: &str, uid: &str) -> OwnerReference {
        OwnerReference {
            api_version: api_version.to_owned(),
            kind: "ClusterClass".to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
            ..OwnerReference::default()
        }
    }

    fn ours() -> OwnerReference {
        class(V1BETA2, "tide", "1")
    }

    fn foreign() -> OwnerReference {
        OwnerReference { kind: "Heron".to_owned(), ..class("birds.example/v1", "tide", "9") }
    }

    #[rstest]
    #[case::added_behind_foreign_owners(vec![foreign()], Some(vec![foreign(), ours()]))]
    #[case::nothing_to_do(vec![ours(), foreign()], None)]
    #[case::re_pointed_after_the_owner_was_recreated(
        vec![class(V1BETA2, "tide", "0"), foreign()], Some(vec![ours(), foreign()])
    )]
    #[case::an_older_version_is_the_same_owner(vec![class(V1BETA1, "tide", "1")], Some(vec![ours()]))]
    #[case::an_older_version_with_an_old_uid_too(vec![class(V1BETA1, "tide", "0")], Some(vec![ours()]))]
    #[case::a_second_reference_to_a_dead_owner_stays(vec![class(V1BETA2, "tide", "0"), ours()], None)]
    #[case::the_one_with_the_right_uid_is_re_pointed(
        vec![class(V1BETA2, "tide", "0"), class(V1BETA1, "tide", "1")],
        Some(vec![class(V1BETA2, "tide", "0"), ours()])
    )]
    #[case::another_name_is_another_owner(
        vec![class(V1BETA2, "ebb", "1")], Some(vec![class(V1BETA2, "ebb", "1"), ours()])
    )]
    #[case::another_group_is_another_owner(
        vec![class("heron.example/v1beta2", "tide", "1")],
        Some(vec![class("heron.example/v1beta2", "tide", "1"), ours()])
    )]
    fn a_wanted_owner_is_added_or_re_pointed(
        #[case] current: Vec<OwnerReference>,
        #[case] expected: Option<Vec<OwnerReference>>,
    ) {
        let planned = plan(&current, &[ours()]);
        assert_eq!(planned, expected);
        assert_eq!(plan(&planned.unwrap_or(current), &[ours()]), None);
    }

    #[test]
    fn ten_thousand_owners_are_looked_at_once_each() {
        let owners = |generation: &str| -> Vec<OwnerReference> {
            (0..10_000)
                .map(|number| class(V1BETA2, &format!("class-{number}"), &format!("{generation}-{number}")))
                .collect()
        };
        let (old, new) = (owners("old"), owners("new"));
        assert_eq!(plan(&[], &new).as_deref(), Some(&*new));
        assert_eq!(plan(&old, &new).as_deref(), Some(&*new));
        assert_eq!(plan(&new, &new), None);
        // The same owner many times over, in a list that names it often.
        assert_eq!(plan(&new, &vec![new[9_999].clone(); 10_000]), None);
    }

    #[test]
    fn several_owners_come_in_one_plan() {
        let ebb = class(V1BETA2, "ebb", "2");
        assert_eq!(plan(&[], &[ebb.clone(), ours()]), Some(vec![ebb, ours()]));
    }

    #[test]
    fn a_re_pointed_reference_keeps_its_flags() {
        let flagged = |uid: &str| OwnerReference {
            controller: Some(true),
            block_owner_deletion: Some(true),
            ..class(V1BETA2, "tide", uid)
        };
        assert_eq!(plan(&[flagged("0")], &[ours()]), Some(vec![flagged("1")]));
    }
}
