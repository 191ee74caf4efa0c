//! Which owner references a template should have. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kapstan_api::{cluster_class, owner_references};
use kube::core::ApiResource;

use crate::index::{Index, keys::TemplateKey, template::Template};

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
