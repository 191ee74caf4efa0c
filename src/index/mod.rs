//! The reverse index: from what can change (an `ExtensionConfig`, its handlers, a Secret, a Namespace, a template,
//! a CRD, an answer) to exactly what that change can concern.
//!
//! Owns: the parsed state of everything watched, the registry of handlers, the state of every question, and who
//! waits for what. Plain data behind one lock: no I/O, no clock, and no guard is held across an await. Each change
//! returns a [`Wake`]; whoever makes the change passes it on ([`Shared`](shared::Shared)).
//!
//! Leaves to others: watching ([`driver`]), calling extensions (`runtime`), deciding and writing (`controllers`).
//!
//! The unit of change is content, never `resourceVersion`: a status write of ours wakes nobody.

pub mod class;
pub mod config;
pub mod driver;
pub mod duel;
pub mod graph;
pub mod keys;
pub mod lenient;
pub mod question;
pub mod relation;
pub mod shared;
pub mod template;
pub mod waiting;
pub mod wake;
pub mod watches;

mod clocked;
pub mod gather;
pub mod place;
mod revision;
#[cfg(test)]
pub(crate) mod tests;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use jiff::Timestamp;
use k8s_openapi::ByteString;
use kapstan_api::{cluster_class::HandlerRole, handler_name};
use tokio::time::Instant;

use self::{
    class::{Class, ClassEntry, Evaluated},
    clocked::Clocked,
    config::{Config, ConfigEntry, Discovered, DiscoveryResult, Registration, View},
    duel::Duel,
    gather::Parts,
    graph::Evaluation,
    keys::{ClassKey, GroupKind, Job, Name, SecretKey, Target, TemplateKey},
    place::SecretState,
    question::QuestionEntry,
    relation::Relation,
    revision::Revision,
    template::KindEntry,
    waiting::Waiting,
    wake::{Gone, Wake},
};
use crate::{
    digest::Digest,
    runtime::{Cause, QuestionKey},
};

/// A namespace and an `ExtensionConfig` of which some class in that namespace asks for variables.
type Pair = (Name, Name);

/// What a class waits for before it can be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Awaited {
    /// The end of a Discovery.
    Discovery(Name),
    /// An answer.
    Question(QuestionKey),
    /// The first list of a kind of template.
    Kind(GroupKind),
    /// Its own owner reference on a template.
    Owned(TemplateKey),
    /// The labels of its namespace.
    Namespace(Name),
}

/// The index. See the module's documentation.
#[derive(Debug, Default)]
pub struct Index {
    configs: HashMap<Name, ConfigEntry>,
    classes: HashMap<ClassKey, ClassEntry>,
    questions: HashMap<QuestionKey, QuestionEntry>,
    secrets: HashMap<SecretKey, SecretState>,
    namespaces: HashMap<Name, BTreeMap<String, String>>,
    kinds: HashMap<GroupKind, KindEntry>,
    /// Contract labels by name of the CRD.
    crds: HashMap<Name, BTreeMap<String, String>>,

    /// Every handler that a class names, in any role.
    roles: Relation<ClassKey, (Name, HandlerRole)>,
    /// The `ExtensionConfig`s that a class asks for variables.
    pairs: Relation<ClassKey, Pair>,
    namespaces_of: Relation<Name, Name>,
    asks: Relation<ClassKey, QuestionKey>,
    awaiting: Relation<ClassKey, Awaited>,
    secret_of: Relation<Name, SecretKey>,
    templates_of: Relation<ClassKey, TemplateKey>,
    versions_of: Relation<ClassKey, (GroupKind, Name)>,
    /// What the clock asks again, in its order.
    clocked: Clocked,
    is_started: bool,
}

/// What is to be watched besides the fixed kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// Secrets with a CA.
    pub secrets: HashSet<SecretKey>,
    /// Kinds of template, each with the versions in which classes name it.
    pub kinds: BTreeMap<GroupKind, BTreeSet<Name>>,
}

impl Index {
    /// The manager has seen what there was when it started: what comes from now on is a change.
    pub fn started(&mut self) {
        self.is_started = true;
    }

    fn cause(&self) -> Cause {
        if self.is_started { Cause::Change } else { Cause::Restart }
    }

    // ---- ExtensionConfigs ----

    /// An `ExtensionConfig` was created or changed.
    pub fn apply_config(&mut self, config: Config) -> Wake {
        let held = self.configs.get(&config.name).map(|entry| revision(&entry.config));
        if held.is_some_and(|held| revision(&config).is_older_than(held)) {
            return Wake::default();
        }
        self.put_config(config)
    }

    /// The answer to a read or write of ours shows an `ExtensionConfig`. Only the watch says that one came or went:
    /// this answer may be late.
    pub fn update_config(&mut self, config: Config) -> Wake {
        match self.configs.get(&config.name) {
            Some(held) if held.config.uid == config.uid => self.apply_config(config),
            _ => Wake::default(),
        }
    }

    fn put_config(&mut self, config: Config) -> Wake {
        let mut wake = Wake::default();
        let name = Arc::clone(&config.name);
        if self.configs.get(&name).is_some_and(|held| held.config.uid != config.uid) {
            self.forget_config(&name, true, &mut wake);
        }
        self.watch_secret_of(&config, &mut wake);
        self.follow_discovery(&config, &mut wake);
        let cause = self.cause();
        if let Some(entry) = self.configs.get_mut(&name) {
            if is_worth_a_look(&entry.config, &config) {
                wake.configs.insert(Arc::clone(&name));
            }
            if is_edited(&entry.config, &config) {
                wake.edited_configs.insert(Arc::clone(&name));
            }
            let before = entry.config.selection.clone();
            entry.update(config);
            self.wake_flipped_by_selector(&name, &before, &mut wake);
        } else {
            wake.configs.insert(Arc::clone(&name));
            wake.edited_configs.insert(Arc::clone(&name));
            self.configs.insert(Arc::clone(&name), ConfigEntry::new(config, cause));
        }
        self.tell(&name, &mut wake);
        wake
    }

    /// The clock repeats the Discovery of a config as it is now, if it can be called; what it was before is over.
    fn follow_discovery(&mut self, config: &Config, wake: &mut Wake) {
        let job = config.discovery();
        let held = self.configs.get(&config.name).map(|entry| entry.config.discovery());
        if let Some(held) = held.filter(|held| *held != job) {
            self.clocked.remove(&held);
            wake.over.push(held);
        }
        if config.can_be_called() {
            self.clocked.insert(job);
        } else {
            self.clocked.remove(&job);
        }
    }

    /// An `ExtensionConfig` is gone.
    pub fn delete_config(&mut self, name: &Name) -> Wake {
        let mut wake = Wake::default();
        self.forget_config(name, false, &mut wake);
        wake.watches |= !self.secret_of.remove(name).vanished.is_empty();
        wake
    }

    /// These are all `ExtensionConfig`s that there are.
    pub fn reset_configs(&mut self, configs: Vec<Config>) -> Wake {
        let listed: HashSet<Name> = configs.iter().map(|config| Arc::clone(&config.name)).collect();
        let gone: Vec<Name> = self.configs.keys().filter(|name| !listed.contains(*name)).cloned().collect();
        let mut wake = Wake::default();
        for name in &gone {
            wake.extend(self.delete_config(name));
        }
        // As listed, be it older than what is held: the API server may have been set back.
        for config in configs {
            wake.extend(self.put_config(config));
        }
        wake
    }

    /// What is known of an `ExtensionConfig`.
    #[must_use]
    pub fn config(&self, name: &str) -> Option<&ConfigEntry> {
        self.configs.get(name)
    }

    /// The bundle of a config's Secret was written over the value that `before` had.
    pub fn injected(&mut self, before: &Config, bundle: &ByteString, now: Instant) {
        let entry = self.configs.get_mut(&before.name).filter(|entry| entry.config.uid == before.uid);
        if let Some(entry) = entry {
            Duel::note(&mut entry.duel, bundle, before.bundle(), now);
        }
    }

    /// The waiting of a config, if this is still the object.
    pub fn config_waiting(&mut self, config: &Config) -> Option<&mut Waiting> {
        let entry = self.configs.get_mut(&config.name).filter(|entry| entry.config.uid == config.uid);
        entry.map(|entry| &mut entry.waiting)
    }

    /// A Discovery ended. What came of one whose config is another by now is no news.
    pub fn discovered(&mut self, target: &Target, result: DiscoveryResult) -> Wake {
        let (mut wake, name) = (Wake::default(), &target.name);
        let entry = self.configs.get_mut(name).filter(|entry| entry.config.target() == *target);
        let Some(entry) = entry else { return wake };
        let registration = result.as_ref().ok().map(|found| Registration::new(target.content, found));
        let discovered = Discovered { generation: target.generation, result };
        wake.is_clock = entry.cause.is_clock();
        entry.is_in_flight = false;
        entry.cause = if discovered.result.is_ok() { Cause::Refresh } else { Cause::Probe };
        if entry.discovered.as_ref() != Some(&discovered) {
            wake.configs.insert(Arc::clone(name));
        }
        entry.discovered = Some(discovered);
        if registration.is_some() {
            entry.registration = registration;
        }
        self.tell(name, &mut wake);
        wake
    }

    fn forget_config(&mut self, name: &Name, is_replaced: bool, wake: &mut Wake) {
        let Some(entry) = self.configs.remove(name) else { return };
        let discovery = entry.config.discovery();
        self.clocked.remove(&discovery);
        wake.over.push(discovery);
        wake.gone.push(Gone { name: Arc::clone(name), uid: entry.config.uid, is_replaced });
        if !is_replaced {
            wake.configs.insert(Arc::clone(name));
            self.arrived(&Awaited::Discovery(Arc::clone(name)), wake);
            self.wake_askers_of(name, wake);
        }
    }

    /// Wakes the classes whose result can differ from what they were last told of this config.
    fn tell(&mut self, name: &Name, wake: &mut Wake) {
        let Some(entry) = self.configs.get_mut(name) else { return };
        let view = entry.view();
        if view.is_open() {
            return; // nothing to tell before the Discovery has ended
        }
        let told = entry.told.replace(view.clone());
        match told {
            Some(told) if !told.differs_as_a_whole(&view) => {
                // What looks like the name of a handler of any other config names nothing.
                if handler_name::is_nameable(name) {
                    self.wake_askers_of_moved(&told, &view, wake);
                }
            }
            _ => self.wake_askers_of(name, wake),
        }
        self.arrived(&Awaited::Discovery(Arc::clone(name)), wake);
    }

    /// Wakes the classes that ask a handler that came, went or serves another hook now.
    fn wake_askers_of_moved(&self, before: &View, after: &View, wake: &mut Wake) {
        let handlers = before.hooks.keys().chain(after.hooks.keys());
        for handler in handlers.filter(|handler| before.hooks.get(*handler) != after.hooks.get(*handler)) {
            let role = (Arc::clone(handler), HandlerRole::DiscoverVariables);
            wake.classes.extend(self.roles.lefts(&role).cloned());
        }
    }

    fn wake_askers_of(&self, config: &Name, wake: &mut Wake) {
        for namespace in self.namespaces_of.rights(config) {
            wake.classes.extend(self.pairs.lefts(&(Arc::clone(namespace), Arc::clone(config))).cloned());
        }
    }

    fn watch_secret_of(&mut self, config: &Config, wake: &mut Wake) {
        let secret = config.secret.iter().filter_map(|secret| secret.clone().ok()).collect();
        let changed = self.secret_of.set(&config.name, secret);
        wake.watches |= !changed.appeared.is_empty() || !changed.vanished.is_empty();
    }

    // ---- ClusterClasses ----

    /// A `ClusterClass` was created or changed.
    pub fn apply_class(&mut self, class: Class) -> Wake {
        let held = self.classes.get(&class.key).map(|entry| entry.class.revision());
        if held.is_some_and(|held| class.revision().is_older_than(held)) {
            return Wake::default();
        }
        self.put_class(class)
    }

    /// The answer to a read or write of ours shows a `ClusterClass`. Only the watch says that one came or went: this
    /// answer may be late.
    pub fn update_class(&mut self, class: Class) -> Wake {
        match self.classes.get(&class.key) {
            Some(held) if held.class.uid == class.uid => self.apply_class(class),
            _ => Wake::default(),
        }
    }

    fn put_class(&mut self, class: Class) -> Wake {
        let mut wake = Wake::default();
        let key = class.key.clone();
        if let Some(entry) = self.classes.get_mut(&key).filter(|entry| entry.class.means_the_same(&class)) {
            if entry.class.observed != class.observed {
                wake.classes.insert(key);
            }
            entry.class = Arc::new(class);
            return wake;
        }
        self.relate(&class, &mut wake);
        wake.classes.insert(key.clone());
        wake.edited_classes.insert(key.clone());
        let (class, cause) = (Arc::new(class), self.cause());
        match self.classes.get_mut(&key).filter(|entry| entry.class.uid == class.uid) {
            Some(entry) => {
                entry.class = class;
                entry.cause = Cause::Change;
            }
            None => {
                self.classes.insert(key, ClassEntry::new(class, cause));
            }
        }
        wake
    }

    /// A `ClusterClass` is gone.
    pub fn delete_class(&mut self, key: &ClassKey) -> Wake {
        let mut wake = Wake::default();
        self.forget_class(key, &mut wake);
        wake
    }

    /// These are all `ClusterClass`es that there are.
    pub fn reset_classes(&mut self, classes: Vec<Class>) -> Wake {
        let listed: HashSet<ClassKey> = classes.iter().map(|class| class.key.clone()).collect();
        let gone: Vec<ClassKey> = self.classes.keys().filter(|key| !listed.contains(*key)).cloned().collect();
        let mut wake = Wake::default();
        for key in &gone {
            wake.extend(self.delete_class(key));
        }
        // As listed: see `reset_configs`.
        for class in classes {
            wake.extend(self.put_class(class));
        }
        wake
    }

    /// What is known of a `ClusterClass`.
    #[must_use]
    pub fn class(&self, key: &ClassKey) -> Option<&ClassEntry> {
        self.classes.get(key)
    }

    /// Notes what came of the evaluation of a class, if that is still the object that was evaluated.
    pub fn evaluated(&mut self, class: &Class, evaluated: Evaluated) {
        let entry = self.classes.get_mut(&class.key).filter(|entry| entry.class.uid == class.uid);
        if let Some(entry) = entry {
            entry.evaluated = Some(evaluated);
            entry.cause = Cause::Change; // what is asked from now on has another reason than the start
            self.let_go(&class.key);
        }
    }

    /// The status of a class was computed, from these parts if it was judged; `because` says why it was if not.
    pub fn note_evaluation(&mut self, class: &Class, at: Timestamp, why: Result<Parts, &str>) {
        let entry = self.classes.get_mut(&class.key).filter(|entry| entry.class.uid == class.uid);
        let Some(entry) = entry else { return };
        let because = match &why {
            Ok(parts) => parts.because(entry.parts.as_ref(), class).into(),
            Err(because) => (*because).into(),
        };
        entry.last = Some(Evaluation { at, because });
        if let Ok(parts) = why {
            entry.parts = Some(parts);
        }
    }

    /// The status of a config was computed.
    pub fn note_config_evaluation(&mut self, config: &Config, at: Timestamp) {
        let entry = self.configs.get_mut(&config.name).filter(|entry| entry.config.uid == config.uid);
        if let Some(entry) = entry {
            entry.note_evaluation(at);
        }
    }

    /// The waiting of a class, if this is still the object.
    pub fn class_waiting(&mut self, class: &Class) -> Option<&mut Waiting> {
        let entry = self.classes.get_mut(&class.key).filter(|entry| entry.class.uid == class.uid);
        entry.map(|entry| &mut entry.waiting)
    }

    /// Notes what the API server made of the variables written last: the digest written, and the one it then showed.
    pub fn accepted(&mut self, class: &Class, written: Digest, shown: Digest) {
        let entry = self.classes.get_mut(&class.key).filter(|entry| entry.class.uid == class.uid);
        if let Some(entry) = entry {
            entry.accepted = Some((written, shown));
        }
    }

    fn relate(&mut self, class: &Class, wake: &mut Wake) {
        let key = &class.key;
        self.roles.set(key, class.roles.clone());
        let pairs = class
            .questions
            .iter()
            .filter_map(|question| handler_name::parse(&question.handler).ok())
            .map(|name| (Arc::clone(&key.namespace), Name::from(name.config)));
        let changed = self.pairs.set(key, pairs.collect());
        self.follow_pairs(&changed);
        self.templates_of
            .set(key, class.templates.iter().map(|reference| class.template_key(reference)).collect());
        let versions = class
            .templates
            .iter()
            .map(|reference| (class.template_key(reference).kind, Name::from(reference.version())));
        let changed = self.versions_of.set(key, versions.collect());
        self.follow_kinds(&changed, wake);
    }

    fn forget_class(&mut self, key: &ClassKey, wake: &mut Wake) {
        if self.classes.remove(key).is_none() {
            return;
        }
        wake.classes.insert(key.clone());
        self.roles.remove(key);
        let changed = self.pairs.remove(key);
        self.follow_pairs(&changed);
        self.templates_of.remove(key);
        let changed = self.versions_of.remove(key);
        self.follow_kinds(&changed, wake);
        self.rest(key);
    }

    /// Keeps `namespaces_of` equal to the pairs that exist.
    fn follow_pairs(&mut self, changed: &relation::Changed<Pair>) {
        for (namespace, config) in &changed.appeared {
            self.namespaces_of.add_pair(config, namespace);
        }
        for (namespace, config) in &changed.vanished {
            self.namespaces_of.remove_pair(config, namespace);
        }
    }

    // ---- who references what ----

    /// The classes that name this handler in any role, each with its roles.
    #[must_use]
    pub fn classes_naming(&self, handler: &Name) -> Vec<(ClassKey, HandlerRole)> {
        let roles = [
            HandlerRole::GeneratePatches,
            HandlerRole::ValidateTopology,
            HandlerRole::DiscoverVariables,
            HandlerRole::GenerateUpgradePlan,
        ];
        let mut classes = Vec::new();
        for role in roles {
            let named = (Arc::clone(handler), role);
            classes.extend(self.roles.lefts(&named).map(|class| (class.clone(), role)));
        }
        classes
    }

    /// The classes that refer to this template.
    pub fn classes_of_template(&self, template: &TemplateKey) -> impl Iterator<Item = &ClassEntry> {
        self.templates_of.lefts(template).filter_map(|key| self.classes.get(key))
    }

    /// The `ExtensionConfig`s that take their CA from this Secret.
    pub fn configs_of_secret(&self, secret: &SecretKey) -> impl Iterator<Item = &Name> {
        self.secret_of.lefts(secret)
    }

    /// How many of each thing the index holds, for metrics.
    #[must_use]
    pub fn sizes(&self) -> [(&'static str, usize); 8] {
        [
            ("extensionconfigs", self.configs.len()),
            ("clusterclasses", self.classes.len()),
            ("handlers", self.roles.len()),
            ("questions", self.questions.len()),
            ("secrets", self.secrets.len()),
            ("namespaces", self.namespaces.len()),
            ("templates", self.kinds.values().map(KindEntry::len).sum()),
            ("kinds", self.kinds.len()),
        ]
    }

    // ---- watches ----

    /// What is to be watched besides the fixed kinds. What was known of all else is dropped: it would go stale.
    ///
    /// Not dropped before, because what is taken up again in between is not listed again.
    pub fn watched(&mut self) -> Watched {
        let watched = Watched { secrets: self.secrets_in_use(), kinds: self.kinds_in_use() };
        self.secrets.retain(|secret, _| watched.secrets.contains(secret));
        self.kinds.retain(|kind, _| watched.kinds.contains_key(kind));
        watched
    }

    // ---- waiting ----

    /// What is awaited, in words.
    #[must_use]
    pub fn describe(&self, awaited: &Awaited) -> String {
        match awaited {
            Awaited::Discovery(name) => format!("the Discovery of ExtensionConfig {name}"),
            Awaited::Question(key) => match self.questions.get(key) {
                Some(entry) => format!("the answer of handler {}", entry.question.handler),
                None => "an answer".to_owned(),
            },
            Awaited::Kind(kind) => format!("the list of {kind}"),
            Awaited::Owned(template) => format!("its owner reference on {template}"),
            Awaited::Namespace(name) => format!("Namespace {name}"),
        }
    }

    /// The class neither asks nor awaits anything.
    fn rest(&mut self, key: &ClassKey) {
        self.awaiting.remove(key);
        self.ask(key, BTreeSet::new());
    }

    /// What `awaited` stands for is there. Wakes the classes that waited for nothing else.
    fn arrived(&mut self, awaited: &Awaited, wake: &mut Wake) {
        let waiting: Vec<ClassKey> = self.awaiting.lefts(awaited).cloned().collect();
        wake.classes.extend(waiting.into_iter().filter(|class| self.awaiting.remove_pair(class, awaited)));
    }

    // ---- the clock ----

    /// How many questions the clock repeats.
    #[must_use]
    pub fn clocked_len(&self) -> usize {
        self.clocked.len()
    }

    /// The question that was asked longest ago among those that the clock repeats, and when that was.
    #[must_use]
    pub fn clocked_oldest(&self) -> Option<(Instant, Job)> {
        self.clocked.oldest().cloned()
    }

    /// A question is asked now.
    pub fn asked(&mut self, job: &Job, now: Instant) {
        self.clocked.asked(job, now);
    }
}

/// Whether somebody has changed a config in a way that ends the back-off of what failed before.
fn is_edited(held: &Config, new: &Config) -> bool {
    held.generation != new.generation || held.is_paused != new.is_paused || held.secret != new.secret
}

/// Whether the difference between two states of a config is one that its reconcile looks at. Labels and other
/// annotations are not.
fn is_worth_a_look(held: &Config, new: &Config) -> bool {
    held.generation != new.generation
        || held.is_paused != new.is_paused
        || held.is_deleting() != new.is_deleting()
        || held.secret != new.secret
        || held.object.status != new.object.status
        || held.object.spec != new.object.spec
}

fn revision(config: &Config) -> Revision<'_> {
    Revision {
        uid: &config.uid,
        resource_version: config.object.metadata.resource_version.as_deref().unwrap_or_default(),
    }
}

impl Wake {
    /// Adds what another change is worth.
    pub fn extend(&mut self, other: Self) {
        self.configs.extend(other.configs);
        self.classes.extend(other.classes);
        self.edited_configs.extend(other.edited_configs);
        self.edited_classes.extend(other.edited_classes);
        self.is_clock &= other.is_clock;
        self.templates.extend(other.templates);
        self.gone.extend(other.gone);
        self.over.extend(other.over);
        self.watches |= other.watches;
    }
}
