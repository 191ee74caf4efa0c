//! Which owner references a template should have. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kapstan_api::{cluster_class, owner_references};
use kube::core::ApiResource;

use crate::index::{
    Index,
    keys::{ClassKey, TemplateKey},
    template::Template,
};

/// The write that a template needs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The template as it was when this was decided.
    pub template: Template,
    /// Where it is reached.
    pub resource: ApiResource,
    /// All its owner references as they should be.
    pub owners: Vec<OwnerReference>,
    /// Whether a reference that is there points to an owner that is gone.
    pub is_urgent: bool,
}

/// What is to be written to a template; `None` when nothing is: all owners are there, or the template is not.
///
/// A class that is paused or on its way out is no reason to write. A class and its templates are in one namespace.
#[must_use]
pub fn owners(index: &Index, key: &TemplateKey) -> Option<Plan> {
    let template = index.template(key).filter(|template| !template.is_deleting)?;
    let classes = index.classes_of_template(key).map(|entry| &entry.class);
    let wanted: Vec<OwnerReference> = classes
        .filter(|class| !class.is_paused && !class.is_deleting)
        .map(|class| OwnerReference {
            api_version: format!("{}/{}", cluster_class::GROUP, cluster_class::VERSION),
            kind: "ClusterClass".to_owned(),
            name: class.key.name.to_string(),
            uid: class.uid.to_string(),
            ..OwnerReference::default()
        })
        .collect();
    let owners = owner_references::plan(&template.owners, &wanted)?;
    let is_urgent = owners.iter().zip(&template.owners).any(|(after, before)| after.uid != before.uid);
    Some(Plan { resource: index.resource_of(&key.kind)?, template: template.clone(), owners, is_urgent })
}

/// Whether a reference on the template points to an earlier object of the name of one of its classes, so that the
/// garbage collector takes the owner for gone.
#[must_use]
pub fn is_outdated(index: &Index, key: &TemplateKey) -> bool {
    let Some(template) = index.template(key) else { return false };
    template.owners.iter().filter(|owner| is_class(owner)).any(|owner| {
        let class = ClassKey { namespace: key.namespace.clone(), name: owner.name.as_str().into() };
        index.class(&class).is_some_and(|entry| *entry.class.uid != *owner.uid)
    })
}

fn is_class(owner: &OwnerReference) -> bool {
    owner.kind == "ClusterClass"
        && owner.api_version.split_once('/').is_some_and(|(group, _)| group == cluster_class::GROUP)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::index::tests::fixtures::{World, class, owned_by, owner, template};

    fn world(owners: &[OwnerReference], classes: &[crate::index::tests::fixtures::Object]) -> World {
        let mut world = World::default();
        for class in classes {
            let _ = world.class(class.clone().using("MachineTemplate", "t"));
        }
        let _ = world.kind("MachineTemplate", &[("ns/t", owned_by(owners)), ("other/t", owned_by(&[]))]);
        world
    }

    /// The owners that `ns/t` should have, and whether that is urgent.
    fn planned(world: &World) -> Option<(Vec<OwnerReference>, bool)> {
        let plan = owners(&world.index, &template("MachineTemplate", "ns/t"))?;
        Some((plan.owners, plan.is_urgent))
    }

    #[test]
    fn all_classes_of_a_template_and_none_of_another_namespace_are_its_owners() {
        let world = world(&[], &[class("ns/one"), class("ns/two"), class("other/three")]);
        let expected = vec![owner("one", "uid-ns-one"), owner("two", "uid-ns-two")];
        assert_eq!(planned(&world), Some((expected, false)));
    }

    #[test]
    fn an_outdated_reference_is_pointed_anew_in_its_place_and_foreign_ones_stay() {
        let held = [foreign(), owner("one", "uid-from-another-cluster"), owner("gone", "uid-gone")];
        let world = world(&held, &[class("ns/one")]);
        let expected = vec![foreign(), owner("one", "uid-ns-one"), owner("gone", "uid-gone")];
        assert_eq!(planned(&world), Some((expected, true)));
    }

    #[test]
    fn nothing_is_planned_where_all_owners_are_there() {
        assert_eq!(planned(&world(&[foreign(), owner("one", "uid-ns-one")], &[class("ns/one")])), None);
        assert_eq!(planned(&world(&[foreign()], &[])), None);
    }

    #[test]
    fn a_class_that_is_paused_or_on_its_way_out_is_no_reason_to_write() {
        let world = world(&[], &[class("ns/one").paused(), class("ns/two").deleting()]);
        assert_eq!(planned(&world), None);
    }

    #[test]
    fn a_template_that_is_gone_or_on_its_way_out_is_not_touched() {
        let mut world = world(&[], &[class("ns/one")]);
        let key = template("MachineTemplate", "ns/t");
        let _ = world.template(&key, Template { is_deleting: true, ..owned_by(&[]) });
        assert_eq!(planned(&world), None);
        let _ = world.delete_template(&key);
        assert_eq!(planned(&world), None);
    }

    #[rstest]
    #[case::none(&[], false)]
    #[case::the_class_as_it_is(&[owner("one", "uid-ns-one")], false)]
    #[case::the_class_as_it_was(&[owner("one", "gone")], true)]
    #[case::the_class_as_it_was_beside_a_foreign_owner(&[foreign(), owner("one", "gone")], true)]
    #[case::a_class_that_is_gone(&[owner("other", "gone")], false)]
    #[case::a_foreign_owner_of_the_same_name(&[foreign()], false)]
    fn a_reference_to_an_earlier_object_of_the_name_is_outdated(
        #[case] owners: &[OwnerReference],
        #[case] expected: bool,
    ) {
        let mut world = World::default();
        let _ = world.class(class("ns/one").using("MachineTemplate", "t"));
        let _ = world.kind("MachineTemplate", &[("ns/t", owned_by(owners))]);
        assert_eq!(is_outdated(&world.index, &template("MachineTemplate", "ns/t")), expected);
    }

    fn foreign() -> OwnerReference {
        OwnerReference { api_version: "birds.example/v1".to_owned(), ..owner("one", "foreign") }
    }
}
