//! Templates, the kinds they are of, and the contract labels of those kinds' CRDs.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kapstan_api::annotations::CONTRACT_LABEL_PREFIX;
use kube::core::ApiResource;

use super::{
    Awaited, Index,
    keys::{ClassKey, GroupKind, Name, TemplateKey},
    relation::Changed,
    revision::Revision,
    wake::Wake,
};

/// The metadata of a template that matter to its owners.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// Its UID.
    pub uid: Name,
    /// The precondition of a write.
    pub resource_version: String,
    /// All its owners.
    pub owners: Vec<OwnerReference>,
    /// Whether it is on its way out.
    pub is_deleting: bool,
}

impl Template {
    /// Takes from an object's metadata what is needed here.
    #[must_use]
    pub fn of(metadata: &ObjectMeta) -> Self {
        Self {
            uid: metadata.uid.as_deref().unwrap_or_default().into(),
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
            owners: metadata.owner_references.clone().unwrap_or_default(),
            is_deleting: metadata.deletion_timestamp.is_some(),
        }
    }
}

/// Whether the templates of a kind are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KindState {
    /// The watch has not listed yet.
    Starting,
    /// All templates of the kind are known.
    Synced,
    /// The kind cannot be watched: it does not exist, or may not be read. The text says why.
    Unavailable(Arc<str>),
}

/// A kind of template that some class uses.
#[derive(Clone, Debug)]
pub struct KindEntry {
    pub(super) state: KindState,
    /// Where it is served, once discovery has told.
    resource: Option<ApiResource>,
    objects: HashMap<(Name, Name), Template>,
    /// Templates whose owner references could not be written, and why.
    refused: HashMap<(Name, Name), Arc<str>>,
}

impl KindEntry {
    fn new() -> Self {
        Self { state: KindState::Starting, resource: None, objects: HashMap::new(), refused: HashMap::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// The name of its CRD: plural and group.
    fn crd(&self) -> Option<Name> {
        self.resource.as_ref().map(|resource| format!("{}.{}", resource.plural, resource.group).into())
    }
}

impl Index {
    /// The kinds of template to watch, each with the versions in which classes name it.
    pub(super) fn kinds_in_use(&self) -> BTreeMap<GroupKind, BTreeSet<Name>> {
        let mut kinds: BTreeMap<GroupKind, BTreeSet<Name>> = BTreeMap::new();
        for (kind, version) in self.versions_of.all_rights() {
            kinds.entry(kind.clone()).or_default().insert(Arc::clone(version));
        }
        kinds
    }

    /// Takes up the kinds that classes use now. Those that none uses any more go with [`Index::watched`].
    pub(super) fn follow_kinds(&mut self, changed: &Changed<(GroupKind, Name)>, wake: &mut Wake) {
        for (kind, _) in &changed.appeared {
            self.kinds.entry(kind.clone()).or_insert_with(KindEntry::new);
        }
        wake.watches |= !changed.appeared.is_empty() || !changed.vanished.is_empty();
    }

    /// The kind is served, as this resource.
    pub fn kind_found(&mut self, kind: &GroupKind, resource: ApiResource) {
        if let Some(entry) = self.kinds.get_mut(kind) {
            entry.resource = Some(resource);
        }
    }

    /// The resource by which the templates of a kind are reached, once that is known.
    #[must_use]
    pub fn resource_of(&self, kind: &GroupKind) -> Option<ApiResource> {
        self.kinds.get(kind)?.resource.clone()
    }

    /// Whether all templates of a kind are known.
    #[must_use]
    pub fn is_kind_synced(&self, kind: &GroupKind) -> bool {
        self.kinds.get(kind).is_some_and(|entry| entry.state == KindState::Synced)
    }

    /// Whether a kind cannot be watched.
    #[must_use]
    pub fn is_kind_unavailable(&self, kind: &GroupKind) -> bool {
        self.kinds.get(kind).is_some_and(is_unavailable)
    }

    /// The kind cannot be watched.
    pub fn kind_unavailable(&mut self, kind: &GroupKind, why: Arc<str>) -> Wake {
        let mut wake = Wake::default();
        let Some(entry) = self.kinds.get_mut(kind) else { return wake };
        let state = KindState::Unavailable(why);
        if entry.state != state {
            entry.state = state;
            wake.classes.extend(self.classes_of_kind(kind));
        }
        self.arrived(&Awaited::Kind(kind.clone()), &mut wake);
        wake
    }

    /// A template was created or changed.
    pub fn apply_template(&mut self, key: &TemplateKey, template: Template) -> Wake {
        let held = self.template(key).map(revision);
        if held.is_some_and(|held| revision(&template).is_older_than(held)) {
            return Wake::default();
        }
        self.put_template(key, template)
    }

    /// The answer to a read or write of ours shows a template. Only the watch says that one came or went: this answer
    /// may be late.
    pub fn update_template(&mut self, key: &TemplateKey, template: Template) -> Wake {
        match self.template(key) {
            Some(held) if held.uid == template.uid => self.apply_template(key, template),
            _ => Wake::default(),
        }
    }

    fn put_template(&mut self, key: &TemplateKey, template: Template) -> Wake {
        let mut wake = Wake::default();
        let Some(entry) = self.kinds.get_mut(&key.kind) else { return wake };
        let place = (Arc::clone(&key.namespace), Arc::clone(&key.name));
        let held = entry.objects.get(&place);
        if held.is_none_or(|held| held.uid != template.uid) {
            entry.refused.remove(&place);
        }
        let is_same =
            held.is_some_and(|held| held.uid == template.uid && held.is_deleting == template.is_deleting);
        let has_same_owners = is_same && held.is_some_and(|held| held.owners == template.owners);
        // Nobody waits for owners of such a template, so all are told of them.
        let is_unownable = template.is_deleting || entry.refused.contains_key(&place);
        entry.objects.insert(place, template);
        if !self.templates_of.has_right(key) || has_same_owners {
            return wake;
        }
        wake.templates.insert(key.clone());
        if is_same && !is_unownable {
            self.wake_owners_of(key, &mut wake);
        } else {
            wake.classes.extend(self.templates_of.lefts(key).cloned());
        }
        wake
    }

    /// A template is gone.
    pub fn delete_template(&mut self, key: &TemplateKey) -> Wake {
        let mut wake = Wake::default();
        let place = (Arc::clone(&key.namespace), Arc::clone(&key.name));
        let Some(entry) = self.kinds.get_mut(&key.kind) else { return wake };
        entry.refused.remove(&place);
        if entry.objects.remove(&place).is_some() {
            wake.classes.extend(self.templates_of.lefts(key).cloned());
        }
        wake
    }

    /// These are all templates of a kind that there are.
    pub fn reset_templates(&mut self, kind: &GroupKind, templates: Vec<(TemplateKey, Template)>) -> Wake {
        let mut wake = Wake::default();
        let Some(entry) = self.kinds.get_mut(kind) else { return wake };
        if let KindState::Unavailable(_) = std::mem::replace(&mut entry.state, KindState::Synced) {
            wake.classes.extend(self.classes_of_kind(kind));
        }
        let Some(entry) = self.kinds.get_mut(kind) else { return wake };
        let listed: HashSet<(Name, Name)> =
            templates.iter().map(|(key, _)| (Arc::clone(&key.namespace), Arc::clone(&key.name))).collect();
        let gone: Vec<(Name, Name)> =
            entry.objects.keys().filter(|place| !listed.contains(*place)).cloned().collect();
        for (namespace, name) in gone {
            wake.extend(self.delete_template(&TemplateKey { kind: kind.clone(), namespace, name }));
        }
        // As listed: see `reset_configs`.
        for (key, template) in templates {
            wake.extend(self.put_template(&key, template));
        }
        self.arrived(&Awaited::Kind(kind.clone()), &mut wake);
        wake
    }

    /// A template as it is known.
    #[must_use]
    pub fn template(&self, key: &TemplateKey) -> Option<&Template> {
        self.kinds.get(&key.kind)?.objects.get(&(Arc::clone(&key.namespace), Arc::clone(&key.name)))
    }

    /// Notes whether the owner references of the template with this UID can be written; `Some` says why not.
    pub fn template_refused(&mut self, key: &TemplateKey, uid: &str, why: Option<Arc<str>>) -> Wake {
        let mut wake = Wake::default();
        let Some(entry) = self.kinds.get_mut(&key.kind) else { return wake };
        let place = (Arc::clone(&key.namespace), Arc::clone(&key.name));
        if entry.objects.get(&place).is_none_or(|held| *held.uid != *uid) {
            return wake;
        }
        let is_new = entry.refused.get(&place) != why.as_ref();
        match why {
            Some(why) => entry.refused.insert(place, why),
            None => entry.refused.remove(&place),
        };
        if is_new {
            wake.classes.extend(self.templates_of.lefts(key).cloned());
        }
        wake
    }

    pub(super) fn refusal_of(&self, key: &TemplateKey) -> Option<Arc<str>> {
        let entry = self.kinds.get(&key.kind)?;
        entry.refused.get(&(Arc::clone(&key.namespace), Arc::clone(&key.name))).cloned()
    }

    /// A CRD was created or changed.
    pub fn apply_crd(&mut self, name: &Name, labels: BTreeMap<String, String>) -> Wake {
        let mut wake = Wake::default();
        let contracts: BTreeMap<String, String> =
            labels.into_iter().filter(|(label, _)| label.starts_with(CONTRACT_LABEL_PREFIX)).collect();
        // A kind that could not be watched may be served now.
        wake.watches =
            self.kinds.iter().any(|(kind, entry)| is_unavailable(entry) && is_of_group(name, kind));
        let before = self.crds.insert(Arc::clone(name), contracts);
        if before.as_ref() != self.crds.get(name) {
            self.wake_crd(name, &mut wake);
        }
        wake
    }

    /// A CRD is gone.
    pub fn delete_crd(&mut self, name: &Name) -> Wake {
        let mut wake = Wake::default();
        if self.crds.remove(name).is_some() {
            self.wake_crd(name, &mut wake);
        }
        wake
    }

    /// These are all CRDs that there are.
    pub fn reset_crds(&mut self, crds: Vec<(Name, BTreeMap<String, String>)>) -> Wake {
        let listed: HashSet<Name> = crds.iter().map(|(name, _)| Arc::clone(name)).collect();
        let gone: Vec<Name> = self.crds.keys().filter(|name| !listed.contains(*name)).cloned().collect();
        let mut wake = Wake::default();
        for name in &gone {
            wake.extend(self.delete_crd(name));
        }
        for (name, labels) in crds {
            wake.extend(self.apply_crd(&name, labels));
        }
        wake
    }

    /// The contract labels of a kind's CRD; `None` when there is no such CRD.
    pub(super) fn contracts_of(&self, kind: &GroupKind) -> Option<&BTreeMap<String, String>> {
        self.crds.get(&self.kinds.get(kind)?.crd()?)
    }

    pub(super) fn kind_state(&self, kind: &GroupKind) -> KindState {
        self.kinds.get(kind).map_or(KindState::Starting, |entry| entry.state.clone())
    }

    fn classes_of_kind(&self, kind: &GroupKind) -> Vec<ClassKey> {
        let versions = self.versions_of.all_rights().filter(|(used, _)| used == kind);
        versions.flat_map(|version| self.versions_of.lefts(version).cloned()).collect()
    }

    fn wake_crd(&self, name: &Name, wake: &mut Wake) {
        for (kind, _) in self.kinds.iter().filter(|(_, entry)| entry.crd().as_ref() == Some(name)) {
            wake.classes.extend(self.classes_of_kind(kind));
        }
    }

    /// Wakes the classes whose reference is on the template now, or is not on it any more.
    fn wake_owners_of(&mut self, key: &TemplateKey, wake: &mut Wake) {
        let awaited = Awaited::Owned(key.clone());
        let owners: HashSet<String> = self
            .template(key)
            .map(|template| template.owners.iter().map(|owner| owner.uid.clone()).collect())
            .unwrap_or_default();
        let waiting: Vec<ClassKey> = self.awaiting.lefts(&awaited).cloned().collect();
        for class in waiting {
            let is_owner = self.classes.get(&class).is_some_and(|entry| owners.contains(&*entry.class.uid));
            if is_owner && self.awaiting.remove_pair(&class, &awaited) {
                wake.classes.insert(class);
            }
        }
    }
}

fn revision(template: &Template) -> Revision<'_> {
    Revision { uid: &template.uid, resource_version: &template.resource_version }
}

fn is_unavailable(entry: &KindEntry) -> bool {
    matches!(entry.state, KindState::Unavailable(_))
}

fn is_of_group(crd: &str, kind: &GroupKind) -> bool {
    crd.split_once('.').is_some_and(|(_, group)| *group == *kind.group)
}
