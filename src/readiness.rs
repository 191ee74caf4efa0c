//! When an ExtensionConfig or a ClusterClass is ready, judged by what everybody can see in the cluster.
//!
//! An ExtensionConfig is when it is discovered. A ClusterClass is when its variables and its references to templates are
//! settled and each of its templates has it as an owner. A condition counts only if it is about the present generation.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, OwnerReference};
use kapstan_api::{
    cluster_class::{ClusterClass, TemplateRef},
    conditions::{self, types},
    extension_config::ExtensionConfig,
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DynamicObject, ListParams},
    core::{ApiResource, GroupVersionKind},
};

/// How all objects of the two kinds are at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// By name.
    pub configs: Vec<Config>,
    /// By namespace and name.
    pub classes: Vec<Class>,
}

/// How an ExtensionConfig is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Its name.
    pub name: String,
    /// The status of `Discovered`, whatever generation it is about; unset when it has none.
    pub discovered: Option<String>,
    /// The names of its handlers, as in its status.
    pub handlers: Vec<String>,
    /// What keeps it from being ready; empty when it is.
    pub problems: Vec<String>,
}

/// How a ClusterClass is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The status of `VariablesReady`, whatever generation it is about; unset when it has none.
    pub variables_ready: Option<String>,
    /// The status of `RefVersionsUpToDate`, likewise.
    pub ref_versions_up_to_date: Option<String>,
    /// The names of its variables, as in its status.
    pub variables: Vec<String>,
    /// How many distinct templates it refers to.
    pub templates: usize,
    /// How many of them have it as an owner.
    pub owned: usize,
    /// What keeps it from being ready; empty when it is.
    pub problems: Vec<String>,
}

impl Snapshot {
    /// Looks at all objects in the cluster: one list of each of the two kinds, and one of the metadata of each kind of
    /// template that classes refer to.
    ///
    /// # Errors
    /// When one of the lists fails. A kind of template that is not served has no templates, which is no error.
    pub async fn read(client: &Client) -> Result<Self, kube::Error> {
        let configs = Api::<ExtensionConfig>::all(client.clone()).list(&ListParams::default()).await?;
        let classes = Api::<ClusterClass>::all(client.clone()).list(&ListParams::default()).await?;
        let owners = Owners::read(client, &classes.items).await?;
        let mut snapshot = Self {
            configs: configs.iter().map(Config::of).collect(),
            classes: classes.iter().map(|class| Class::of(class, &owners)).collect(),
        };
        snapshot.configs.sort_by(|a, b| a.name.cmp(&b.name));
        snapshot.classes.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        Ok(snapshot)
    }

    /// Whether every object is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.problems().next().is_none()
    }

    /// What keeps which object from being ready.
    pub fn problems(&self) -> impl Iterator<Item = (String, &str)> {
        let configs = self.configs.iter().map(|config| (config.title(), &config.problems));
        let classes = self.classes.iter().map(|class| (class.title(), &class.problems));
        configs.chain(classes).flat_map(|(title, problems)| {
            problems.iter().map(move |problem| (title.clone(), problem.as_str()))
        })
    }
}

impl Config {
    /// Judges one.
    #[must_use]
    pub fn of(config: &ExtensionConfig) -> Self {
        let status = config.status.clone().unwrap_or_default();
        let judge = Judge { generation: config.metadata.generation, conditions: &status.conditions };
        Self {
            name: config.name_any(),
            discovered: judge.status(types::DISCOVERED),
            handlers: status.handlers.iter().map(|handler| handler.name.clone()).collect(),
            problems: judge.problem(types::DISCOVERED).into_iter().collect(),
        }
    }

    /// Kind and name.
    #[must_use]
    pub fn title(&self) -> String {
        format!("ExtensionConfig {}", self.name)
    }
}

impl Class {
    /// Judges one, given the owners of its templates.
    #[must_use]
    pub fn of(class: &ClusterClass, owners: &Owners) -> Self {
        let status = class.status.clone().unwrap_or_default();
        let judge = Judge { generation: class.metadata.generation, conditions: &status.conditions };
        let wanted = [types::VARIABLES_READY, types::REF_VERSIONS_UP_TO_DATE];
        let mut problems: Vec<_> = wanted.into_iter().filter_map(|type_| judge.problem(type_)).collect();
        let templates = class.template_refs();
        let owned = templates.iter().filter(|template| owners.contain(template, class)).count();
        if owned < templates.len() {
            problems.push(format!("it owns {owned} of its {} templates", templates.len()));
        }
        Self {
            namespace: class.namespace().unwrap_or_default(),
            name: class.name_any(),
            variables_ready: judge.status(types::VARIABLES_READY),
            ref_versions_up_to_date: judge.status(types::REF_VERSIONS_UP_TO_DATE),
            variables: status.variables.iter().map(|variable| variable.name.clone()).collect(),
            templates: templates.len(),
            owned,
            problems,
        }
    }

    /// Kind, namespace and name.
    #[must_use]
    pub fn title(&self) -> String {
        format!("ClusterClass {}/{}", self.namespace, self.name)
    }
}

/// The conditions of one object, which must be about its present generation.
struct Judge<'a> {
    generation: Option<i64>,
    conditions: &'a [Condition],
}

impl Judge<'_> {
    fn status(&self, type_: &str) -> Option<String> {
        conditions::get(self.conditions, type_).map(|condition| condition.status.clone())
    }

    fn problem(&self, type_: &str) -> Option<String> {
        let Some(condition) = conditions::get(self.conditions, type_) else {
            return Some(format!("{type_} is not set"));
        };
        if condition.observed_generation != self.generation {
            return Some(format!("{type_} is about an earlier generation"));
        }
        let Condition { status, reason, message, .. } = condition;
        (status != "True").then(|| format!("{type_} is {status}: {reason}: {message}"))
    }
}

/// Which UIDs own which templates.
#[derive(Clone, Debug, Default)]
pub struct Owners(HashSet<(TemplateKey, String)>);

/// Group, kind, namespace and name of a template.
type TemplateKey = (String, String, String, String);

impl Owners {
    /// The owners of all templates of the kinds that the classes refer to.
    async fn read(client: &Client, classes: &[ClusterClass]) -> Result<Self, kube::Error> {
        let references: BTreeSet<_> = classes.iter().flat_map(ClusterClass::template_refs).collect();
        // Whatever the version, the objects are the same.
        let kinds: BTreeMap<_, _> = references
            .iter()
            .map(|reference| ((reference.group(), &reference.kind), reference.version()))
            .collect();
        let mut owners = Self::default();
        for ((group, kind), version) in kinds {
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
            let templates = Api::<DynamicObject>::all_with(client.clone(), &resource);
            let listed = match templates.list_metadata(&ListParams::default()).await {
                Ok(listed) => listed.items,
                Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
                Err(error) => return Err(error),
            };
            for template in listed {
                let key = (
                    group.to_owned(),
                    kind.clone(),
                    template.namespace().unwrap_or_default(),
                    template.name_any(),
                );
                owners.add(&key, template.owner_references());
            }
        }
        Ok(owners)
    }

    fn add(&mut self, key: &TemplateKey, references: &[OwnerReference]) {
        self.0.extend(references.iter().map(|reference| (key.clone(), reference.uid.clone())));
    }

    fn contain(&self, reference: &TemplateRef, class: &ClusterClass) -> bool {
        let namespace = class.namespace().unwrap_or_default();
        let key = (reference.group().to_owned(), reference.kind.clone(), namespace, reference.name.clone());
        class.metadata.uid.as_ref().is_some_and(|uid| self.0.contains(&(key, uid.clone())))
    }
}

#[cfg(test)]
mod tests {
    use kapstan_api::{cluster_class, extension_config};
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn condition(type_: &str, status: &str, generation: i64) -> Value {
        json!({
            "type": type_, "status": status, "reason": "Why", "message": "words", "observedGeneration": generation,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    }

    fn config(conditions: &[Value]) -> ExtensionConfig {
        serde_json::from_value(json!({
            "apiVersion": format!("{}/{}", extension_config::GROUP, extension_config::VERSION), "kind": "ExtensionConfig",
            "metadata": { "name": "e", "generation": 2 },
            "spec": { "clientConfig": { "url": "https://e" } },
            "status": { "conditions": conditions, "handlers": [{
                "name": "h.e", "requestHook": { "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": "GeneratePatches" },
            }] },
        }))
        .unwrap()
    }

    #[rstest]
    #[case::discovered(vec![condition("Discovered", "True", 2)], vec![])]
    #[case::nothing_said(vec![], vec!["Discovered is not set"])]
    #[case::an_earlier_generation(vec![condition("Discovered", "True", 1)], vec!["Discovered is about an earlier generation"])]
    #[case::failed(vec![condition("Discovered", "False", 2)], vec!["Discovered is False: Why: words"])]
    fn a_config_is_ready_when_its_present_generation_is_discovered(
        #[case] conditions: Vec<Value>,
        #[case] problems: Vec<&str>,
    ) {
        let seen = Config::of(&config(&conditions));
        assert_eq!(
            (seen.problems, seen.handlers),
            (problems.into_iter().map(str::to_owned).collect(), vec!["h.e".to_owned()])
        );
    }

    fn class(conditions: &[Value]) -> ClusterClass {
        let template = |kind: &str| json!({ "templateRef": { "apiVersion": "t.example/v1", "kind": kind, "name": "t" } });
        serde_json::from_value(json!({
            "apiVersion": format!("{}/{}", cluster_class::GROUP, cluster_class::VERSION), "kind": "ClusterClass",
            "metadata": { "name": "c", "namespace": "n", "generation": 2, "uid": "1" },
            "spec": { "infrastructure": template("Box"), "controlPlane": template("Brain") },
            "status": { "conditions": conditions },
        }))
        .unwrap()
    }

    fn owners(namespace: &str, uid: &str, kinds: &[&str]) -> Owners {
        let mut owners = Owners::default();
        for kind in kinds {
            let key = ("t.example".to_owned(), (*kind).to_owned(), namespace.to_owned(), "t".to_owned());
            owners.add(&key, &[OwnerReference { uid: uid.to_owned(), ..OwnerReference::default() }]);
        }
        owners
    }

    fn settled() -> Vec<Value> {
        vec![condition("VariablesReady", "True", 2), condition("RefVersionsUpToDate", "True", 2)]
    }

    #[rstest]
    #[case::all_there(settled(), owners("n", "1", &["Box", "Brain"]), vec![])]
    #[case::a_template_short(settled(), owners("n", "1", &["Box"]), vec!["it owns 1 of its 2 templates"])]
    #[case::owned_by_its_predecessor(settled(), owners("n", "0", &["Box", "Brain"]), vec!["it owns 0 of its 2 templates"])]
    #[case::of_another_namespace(settled(), owners("m", "1", &["Box", "Brain"]), vec!["it owns 0 of its 2 templates"])]
    #[case::half_said(
        vec![condition("VariablesReady", "False", 2)], owners("n", "1", &["Box", "Brain"]),
        vec!["VariablesReady is False: Why: words", "RefVersionsUpToDate is not set"]
    )]
    fn a_class_is_ready_when_it_is_settled_and_owns_its_templates(
        #[case] conditions: Vec<Value>,
        #[case] owners: Owners,
        #[case] problems: Vec<&str>,
    ) {
        assert_eq!(Class::of(&class(&conditions), &owners).problems, problems);
    }

    #[test]
    fn everything_is_ready_when_each_object_is() {
        let mut snapshot = Snapshot {
            configs: vec![Config::of(&config(&[condition("Discovered", "True", 2)]))],
            classes: vec![Class::of(&class(&settled()), &owners("n", "1", &["Box", "Brain"]))],
        };
        assert!(snapshot.is_ready());
        snapshot.classes.push(Class::of(&class(&settled()), &Owners::default()));
        let problems: Vec<_> = snapshot.problems().collect();
        assert_eq!(problems, [("ClusterClass n/c".to_owned(), "it owns 0 of its 2 templates")]);
    }
}
