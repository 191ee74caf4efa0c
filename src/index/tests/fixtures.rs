//! For tests: objects that read like adjectives, and an index with everything that moves it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::{ByteString, apimachinery::pkg::apis::meta::v1::OwnerReference};
use kapstan_api::{
    annotations::{INJECT_CA_FROM_SECRET, PAUSED},
    cluster_class::ClusterClass,
    extension_config::{ExtensionConfig, ExtensionHandler, FailurePolicy, GroupVersionHookRef},
    hooks::catalog,
};
use kube::core::ApiResource;
use serde_json::{Value, json};

use super::super::{
    Awaited, Index,
    class::Class,
    config::{Config, DiscoveryResult},
    gather::{Gathered, Known},
    keys::{ClassKey, GroupKind, Job, Name, SecretKey, TemplateKey},
    place::SecretState,
    question::{Call, QuestionOutcome},
    template::Template,
    wake::Wake,
};
use crate::{
    digest::Digest,
    runtime::{Question, QuestionKey},
};

/// The API group of templates.
pub(crate) const GROUP: &str = "infrastructure.cluster.x-k8s.io";

/// An object in the making.
#[derive(Clone, Debug)]
pub(crate) struct Object(pub(crate) Value);

/// An `ExtensionConfig` that serves every namespace; generation 1.
pub(crate) fn config(name: &str) -> Object {
    let spec = json!({ "clientConfig": { "url": format!("https://{name}.test") } });
    object(json!({ "name": name }), &spec)
}

/// A `ClusterClass` without anything in it; generation 1.
pub(crate) fn class(key: &str) -> Object {
    let (namespace, name) = key.split_once('/').unwrap();
    object(json!({ "namespace": namespace, "name": name }), &json!({}))
}

fn object(mut metadata: Value, spec: &Value) -> Object {
    let place = metadata["namespace"].as_str().map(|namespace| format!("{namespace}-")).unwrap_or_default();
    metadata["uid"] = format!("uid-{place}{}", metadata["name"].as_str().unwrap()).into();
    metadata["generation"] = 1.into();
    metadata["resourceVersion"] = "1".into();
    Object(json!({ "metadata": metadata, "spec": spec }))
}

impl Object {
    fn metadata(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.0["metadata"][field] = value.into();
        self
    }

    fn annotated(mut self, name: &str, value: &str) -> Self {
        self.0["metadata"]["annotations"][name] = value.into();
        self
    }

    pub(crate) fn recreated(self) -> Self {
        let uid = format!("{}-again", self.0["metadata"]["uid"].as_str().unwrap());
        self.metadata("uid", uid)
    }

    pub(crate) fn with_uid(self, uid: u64) -> Self {
        self.metadata("uid", format!("uid-{uid}"))
    }

    pub(crate) fn at_generation(self, generation: i64) -> Self {
        self.metadata("generation", generation)
    }

    pub(crate) fn at_version(self, version: u64) -> Self {
        self.metadata("resourceVersion", version.to_string())
    }

    pub(crate) fn labelled(self, name: &str, value: &str) -> Self {
        self.metadata("labels", json!({ name: value }))
    }

    pub(crate) fn paused(self) -> Self {
        self.annotated(PAUSED, "")
    }

    pub(crate) fn deleting(self) -> Self {
        self.metadata("deletionTimestamp", "2026-01-01T00:00:00Z")
    }

    pub(crate) fn with_status(mut self, status: Value) -> Self {
        self.0["status"] = status;
        self
    }

    // ---- ExtensionConfigs ----

    pub(crate) fn at_url(mut self, url: &str) -> Self {
        self.0["spec"]["clientConfig"]["url"] = url.into();
        self
    }

    pub(crate) fn with_setting(mut self, name: &str, value: &str) -> Self {
        self.0["spec"]["settings"][name] = value.into();
        self
    }

    pub(crate) fn selecting(mut self, label: &str, value: &str) -> Self {
        self.0["spec"]["namespaceSelector"]["matchLabels"] = json!({ label: value });
        self
    }

    /// With a selector that makes no sense.
    pub(crate) fn selecting_by(mut self, operator: &str) -> Self {
        self.0["spec"]["namespaceSelector"]["matchExpressions"] =
            json!([{ "key": "env", "operator": operator }]);
        self
    }

    pub(crate) fn with_ca_from(self, secret: &str) -> Self {
        self.annotated(INJECT_CA_FROM_SECRET, secret)
    }

    pub(crate) fn with_bundle(mut self, bundle: &str) -> Self {
        self.0["spec"]["clientConfig"]["caBundle"] = json!(ByteString(bundle.into()));
        self
    }

    pub(crate) fn config(self) -> Config {
        Config::parse(serde_json::from_value::<ExtensionConfig>(self.0).unwrap())
    }

    // ---- ClusterClasses ----

    /// With a further patch whose variables come from `handler`.
    pub(crate) fn asking(self, handler: &str) -> Self {
        self.patched(&json!({ "discoverVariablesExtension": handler }))
    }

    pub(crate) fn asking_with(self, handler: &str, setting: &str, value: &str) -> Self {
        self.patched(&json!({ "discoverVariablesExtension": handler, "settings": { setting: value } }))
    }

    pub(crate) fn generating_with(self, handler: &str) -> Self {
        self.patched(&json!({ "generatePatchesExtension": handler }))
    }

    pub(crate) fn validating_with(self, handler: &str) -> Self {
        self.patched(&json!({ "validateTopologyExtension": handler }))
    }

    pub(crate) fn upgrading_with(mut self, handler: &str) -> Self {
        self.0["spec"]["upgrade"]["external"]["generateUpgradePlanExtension"] = handler.into();
        self
    }

    fn patched(mut self, external: &Value) -> Self {
        let patches = &mut self.0["spec"]["patches"];
        let mut all = patches.as_array().cloned().unwrap_or_default();
        all.push(json!({ "name": format!("patch-{}", all.len()), "external": external }));
        *patches = all.into();
        self
    }

    /// With an inline variable of this type.
    pub(crate) fn with_variable(mut self, name: &str, type_: &str) -> Self {
        let variables = &mut self.0["spec"]["variables"];
        let mut all = variables.as_array().cloned().unwrap_or_default();
        all.push(json!({ "name": name, "schema": { "openAPIV3Schema": { "type": type_ } } }));
        *variables = all.into();
        self
    }

    /// With one more template, of version `v1beta2`.
    pub(crate) fn using(self, kind: &str, name: &str) -> Self {
        self.using_version("v1beta2", kind, name)
    }

    pub(crate) fn using_version(mut self, version: &str, kind: &str, name: &str) -> Self {
        let deployments = &mut self.0["spec"]["workers"]["machineDeployments"];
        let mut all = deployments.as_array().cloned().unwrap_or_default();
        let reference = json!({ "apiVersion": format!("{GROUP}/{version}"), "kind": kind, "name": name });
        all.push(json!({
            "class": format!("class-{}", all.len()),
            "infrastructure": { "templateRef": reference },
        }));
        *deployments = all.into();
        self
    }

    pub(crate) fn class(self) -> Class {
        Class::parse(&serde_json::from_value::<ClusterClass>(self.0).unwrap())
    }
}

/// A handler by its full name.
pub(crate) fn handler(name: &str, hook: &str) -> ExtensionHandler {
    ExtensionHandler {
        name: name.to_owned(),
        request_hook: GroupVersionHookRef {
            api_version: catalog::API_VERSION.to_owned(),
            hook: hook.to_owned(),
            ..GroupVersionHookRef::default()
        },
        timeout_seconds: Some(10),
        failure_policy: Some(FailurePolicy::Fail),
        ..ExtensionHandler::default()
    }
}

/// Handlers of `DiscoverVariables`, by their full names.
pub(crate) fn asked(names: &[&str]) -> Vec<ExtensionHandler> {
    names.iter().map(|name| handler(name, "DiscoverVariables")).collect()
}

pub(crate) fn key(class: &str) -> ClassKey {
    let (namespace, name) = class.split_once('/').unwrap();
    ClassKey::new(namespace, name)
}

pub(crate) fn kind(kind: &str) -> GroupKind {
    GroupKind { group: GROUP.into(), kind: kind.into() }
}

/// The template `namespace/name` of this kind.
pub(crate) fn template(kind_name: &str, template: &str) -> TemplateKey {
    let (namespace, name) = template.split_once('/').unwrap();
    TemplateKey { kind: kind(kind_name), namespace: namespace.into(), name: name.into() }
}

pub(crate) fn resource(kind: &str) -> ApiResource {
    ApiResource {
        group: GROUP.to_owned(),
        version: "v1beta2".to_owned(),
        api_version: format!("{GROUP}/v1beta2"),
        kind: kind.to_owned(),
        plural: format!("{}s", kind.to_lowercase()),
    }
}

/// The name of the CRD of a kind.
pub(crate) fn crd(kind: &str) -> Name {
    format!("{}s.{GROUP}", kind.to_lowercase()).into()
}

/// An owner reference to the class of this name.
pub(crate) fn owner(name: &str, uid: &str) -> OwnerReference {
    OwnerReference {
        api_version: "cluster.x-k8s.io/v1beta2".to_owned(),
        kind: "ClusterClass".to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        ..OwnerReference::default()
    }
}

/// A template with these owners.
pub(crate) fn owned_by(owners: &[OwnerReference]) -> Template {
    Template {
        uid: "uid-template".into(),
        resource_version: "1".to_owned(),
        owners: owners.to_vec(),
        is_deleting: false,
    }
}

pub(crate) fn unowned() -> Template {
    owned_by(&[])
}

pub(crate) fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

pub(crate) fn answered(text: &str) -> QuestionOutcome {
    QuestionOutcome::Answered(Digest::of(text))
}

/// The classes of a wake, as text.
pub(crate) fn classes(wake: &Wake) -> Vec<String> {
    wake.classes.iter().map(ToString::to_string).collect()
}

/// The configs of a wake, as text.
pub(crate) fn configs(wake: &Wake) -> Vec<String> {
    wake.configs.iter().map(ToString::to_string).collect()
}

/// An index, and what is left to be done for it.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) index: Index,
    /// Classes to be looked at.
    pub(crate) woken: BTreeSet<ClassKey>,
    /// What each class was last evaluated from, in words; gone while it waits.
    pub(crate) results: BTreeMap<ClassKey, Vec<String>>,
    /// How often each class was evaluated from something new.
    pub(crate) evaluations: BTreeMap<ClassKey, usize>,
    /// The questions asked so far.
    pub(crate) asked: Vec<QuestionKey>,
}

impl World {
    /// Notes what a change woke, and hands it on.
    pub(crate) fn note(&mut self, wake: Wake) -> Wake {
        self.woken.extend(wake.classes.iter().cloned());
        wake
    }

    pub(crate) fn config(&mut self, object: Object) -> Wake {
        let wake = self.index.apply_config(object.config());
        self.note(wake)
    }

    pub(crate) fn delete_config(&mut self, name: &str) -> Wake {
        let wake = self.index.delete_config(&name.into());
        self.note(wake)
    }

    pub(crate) fn class(&mut self, object: Object) -> Wake {
        let wake = self.index.apply_class(object.class());
        self.note(wake)
    }

    pub(crate) fn delete_class(&mut self, class: &str) -> Wake {
        let wake = self.index.delete_class(&key(class));
        self.note(wake)
    }

    pub(crate) fn namespace(&mut self, name: &str, pairs: &[(&str, &str)]) -> Wake {
        let wake = self.index.apply_namespace(&name.into(), labels(pairs));
        self.note(wake)
    }

    pub(crate) fn secret(&mut self, secret: &str, state: SecretState) -> Wake {
        let wake = self.index.apply_secret(&SecretKey::parse(secret).unwrap(), state);
        self.note(wake)
    }

    pub(crate) fn template(&mut self, template: &TemplateKey, state: Template) -> Wake {
        let wake = self.index.apply_template(template, state);
        self.note(wake)
    }

    pub(crate) fn delete_template(&mut self, template: &TemplateKey) -> Wake {
        let wake = self.index.delete_template(template);
        self.note(wake)
    }

    /// The kind is served and these are its templates.
    pub(crate) fn kind(&mut self, name: &str, templates: &[(&str, Template)]) -> Wake {
        self.index.kind_found(&kind(name), resource(name));
        let templates = templates.iter().map(|(key, state)| (template(name, key), state.clone()));
        let wake = self.index.reset_templates(&kind(name), templates.collect());
        self.note(wake)
    }

    pub(crate) fn crd(&mut self, kind: &str, pairs: &[(&str, &str)]) -> Wake {
        let wake = self.index.apply_crd(&crd(kind), labels(pairs));
        self.note(wake)
    }

    /// A Discovery of the config as it is now ends with these handlers.
    pub(crate) fn discover(&mut self, name: &str, handlers: &[ExtensionHandler]) -> Wake {
        self.discovery_ends(name, Ok(handlers.into()))
    }

    pub(crate) fn fail_discovery(&mut self, name: &str, why: &str) -> Wake {
        self.discovery_ends(name, Err(why.into()))
    }

    fn discovery_ends(&mut self, name: &str, result: DiscoveryResult) -> Wake {
        let job = self.discovery(name);
        let Job::Discovery(target) = &job else { panic!("{job:?}") };
        assert!(self.index.begin(&job).is_some(), "{name} cannot be discovered");
        let wake = self.index.discovered(target, result);
        self.note(wake)
    }

    /// The Discovery of a config as it is now.
    pub(crate) fn discovery(&self, name: &str) -> Job {
        self.index.config(name).unwrap().config.discovery()
    }

    pub(crate) fn answer(&mut self, key: QuestionKey, outcome: QuestionOutcome) -> Wake {
        let wake = self.index.answered(key, outcome);
        self.note(wake)
    }

    /// Looks at one class as its reconcile does.
    pub(crate) fn gather(&mut self, class: &ClassKey) -> Option<Gathered> {
        self.woken.remove(class);
        let gathered = self.index.gather(class);
        self.results.remove(class);
        let gathered = gathered?;
        self.asked.extend(gathered.jobs.iter().filter_map(|job| match job {
            Job::Question(key) => Some(*key),
            Job::Discovery(_) => None,
        }));
        if gathered.open.is_empty() {
            self.results.insert(class.clone(), words(&gathered));
            let inputs = gathered.inputs();
            if gathered.entry.evaluated.as_ref().is_none_or(|last| last.inputs != inputs) {
                *self.evaluations.entry(class.clone()).or_default() += 1;
                let desired =
                    Arc::new(crate::controllers::cluster_class::plan::paused(&gathered.entry.class));
                let evaluated = super::super::class::Evaluated { inputs, desired };
                self.index.evaluated(&gathered.entry.class, evaluated);
            }
        }
        Some(gathered)
    }

    /// Does all work there is: questions are answered with "answer", templates get their owners.
    pub(crate) fn settle(&mut self) {
        while let Some(class) = self.woken.first().cloned() {
            let Some(gathered) = self.gather(&class) else { continue };
            for awaited in gathered.open {
                match awaited {
                    Awaited::Question(key) => drop(self.answer(key, answered("answer"))),
                    Awaited::Owned(key) => drop(self.own(&key)),
                    Awaited::Discovery(_) | Awaited::Kind(_) | Awaited::Namespace(_) => {}
                }
            }
        }
    }

    /// Gives a template the owners that it lacks, as its reconcile does.
    pub(crate) fn own(&mut self, key: &TemplateKey) -> Option<Wake> {
        let plan = crate::controllers::template_owners::plan::owners(&self.index, key)?;
        let resource_version = (plan.template.resource_version.parse::<u64>().unwrap() + 1).to_string();
        let written = Template { owners: plan.owners, resource_version, ..plan.template };
        Some(self.template(key, written))
    }

    /// Settles, and forgets what led there.
    pub(crate) fn at_rest(mut self) -> Self {
        self.settle();
        self.asked.clear();
        self.evaluations.clear();
        self
    }

    /// What a class was last evaluated from.
    pub(crate) fn result(&self, class: &str) -> &[String] {
        &self.results[&key(class)]
    }

    /// Nothing is held of anything.
    pub(crate) fn assert_empty(&self) {
        let index = &self.index;
        assert!(index.sizes().iter().all(|(_, size)| *size == 0), "{:?}", index.sizes());
        assert!(index.crds.is_empty());
        assert!(index.roles.is_empty() && index.pairs.is_empty() && index.namespaces_of.is_empty());
        assert!(index.asks.is_empty() && index.awaiting.is_empty() && index.secret_of.is_empty());
        assert!(index.templates_of.is_empty() && index.versions_of.is_empty() && index.clocked.len() == 0);
    }

    /// The one question that a class asks.
    pub(crate) fn question(&self, class: &str) -> QuestionKey {
        let class = key(class);
        let mut asks = self.index.asks.rights(&class);
        let question = *asks.next().unwrap();
        assert_eq!(asks.next(), None);
        question
    }

    /// The call that is made for a question.
    pub(crate) fn call(&mut self, key: QuestionKey) -> Option<Question> {
        match self.index.begin(&Job::Question(key))? {
            Call::Question { question, .. } => Some(question),
            Call::Discovery { .. } => None,
        }
    }
}

/// What an evaluation is made from, one line for each patch and each template.
pub(crate) fn words(gathered: &Gathered) -> Vec<String> {
    let answers = gathered.answers.iter().map(|(patch, known)| match known {
        Known::Answer(answer) => format!("{patch}: {} said {:?}", answer.question.handler, answer.digest),
        Known::Nothing => format!("{patch}: nothing"),
        Known::Failed(why) => format!("{patch}: {why}"),
    });
    let templates = gathered.templates.iter().map(|(reference, finding)| format!("{reference}: {finding:?}"));
    answers.chain(templates).collect()
}
