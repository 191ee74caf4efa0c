//! What the index keeps of an `ExtensionConfig`: the object, what its last discovery found, and what classes
//! were last told about it.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use k8s_openapi::{ByteString, apimachinery::pkg::apis::meta::v1::LabelSelector};
use kapstan_api::{
    annotations, ca, conditions,
    extension_config::{ExtensionConfig, ExtensionHandler, GroupVersionHookRef},
};
use kube::core::{Selector, SelectorExt as _};

use super::{
    duel::Duel,
    graph::Evaluation,
    keys::{Job, Name, SecretKey, Target},
    waiting::Waiting,
};
use crate::{
    digest::Digest,
    runtime::{Cause, Extension},
};

/// An `ExtensionConfig`, parsed once when it comes from the watch.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its name.
    pub name: Name,
    /// Its UID: who it is, whatever its name.
    pub uid: Name,
    /// `metadata.generation`.
    pub generation: i64,
    /// The object itself, without managed fields.
    pub object: Arc<ExtensionConfig>,
    /// The extension behind it, as the client takes it.
    pub extension: Arc<Extension>,
    /// The namespaces it serves.
    pub selection: Selection,
    /// The Secret that its CA comes from; `None` without the annotation.
    pub secret: Option<Result<SecretKey, ca::Missing>>,
    /// Whether it is paused.
    pub is_paused: bool,
}

/// Which namespaces an extension serves.
#[derive(Clone, Debug)]
pub enum Selection {
    /// All: no selector, or an empty one.
    All,
    /// Those whose labels match.
    Matching(Selector),
    /// None, because the selector makes no sense; the text says why.
    Nothing(Arc<str>),
}

impl Selection {
    fn of(selector: Option<&LabelSelector>) -> Self {
        let Some(selector) = selector else { return Self::All };
        if selector.match_labels.as_ref().is_none_or(BTreeMap::is_empty)
            && selector.match_expressions.as_ref().is_none_or(Vec::is_empty)
        {
            return Self::All;
        }
        match Selector::try_from(selector.clone()) {
            Ok(selector) => Self::Matching(selector),
            Err(error) => Self::Nothing(error.to_string().into()),
        }
    }

    /// Whether a namespace with these labels is served; `None` stands for a namespace that is not known.
    #[must_use]
    pub fn verdict(&self, labels: Option<&BTreeMap<String, String>>) -> Verdict<'_> {
        match (self, labels) {
            (Self::All, _) => Verdict::Served,
            (Self::Matching(_), None) => Verdict::NotKnown,
            (Self::Matching(selector), Some(labels)) if selector.matches(labels) => Verdict::Served,
            (Self::Matching(_), Some(_)) => Verdict::NotServed,
            (Self::Nothing(why), _) => Verdict::Nonsense(why),
        }
    }
}

/// Whether an extension serves a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// It does.
    Served,
    /// It does not.
    NotServed,
    /// The namespace's labels are not known yet. A class can be seen before its namespace is: they come from two watches.
    NotKnown,
    /// The selector makes no sense; the text says why.
    Nonsense(&'a str),
}

impl Config {
    /// Parses an object from the cluster.
    ///
    /// # Panics
    /// When the object has no name: the API server never sends one without.
    #[must_use]
    pub fn parse(mut object: ExtensionConfig) -> Self {
        object.metadata.managed_fields = None;
        let name: Name =
            object.metadata.name.as_deref().expect("watched ExtensionConfig must have a name").into();
        let uid: Name = object.metadata.uid.as_deref().unwrap_or_default().into();
        let extension = Extension::new(
            Arc::clone(&name),
            Arc::clone(&uid),
            object.spec.client_config.clone(),
            object.spec.settings.clone(),
        );
        let secret = SecretKey::of(&object.metadata);
        Self {
            generation: object.metadata.generation.unwrap_or_default(),
            selection: Selection::of(object.spec.namespace_selector.as_ref()),
            is_paused: annotations::is_paused(&object.metadata),
            extension: Arc::new(extension),
            object: Arc::new(object),
            name,
            uid,
            secret,
        }
    }

    /// Whether the object is on its way out.
    #[must_use]
    pub fn is_deleting(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some()
    }

    /// What its Discovery is about.
    #[must_use]
    pub fn target(&self) -> Target {
        Target { name: Arc::clone(&self.name), content: self.extension.digest(), generation: self.generation }
    }

    /// Its Discovery.
    #[must_use]
    pub fn discovery(&self) -> Job {
        Job::Discovery(self.target())
    }

    /// Whether a Discovery can be sent: a config that takes its CA from a Secret waits until it has one.
    #[must_use]
    pub fn can_be_called(&self) -> bool {
        !self.is_deleting() && !self.is_paused && (self.secret.is_none() || self.bundle().is_some())
    }

    /// The CA bundle that is in place.
    #[must_use]
    pub fn bundle(&self) -> Option<&ByteString> {
        self.object.spec.client_config.ca_bundle.as_ref().filter(|bundle| !bundle.0.is_empty())
    }
}

/// The handlers of an extension, by full name, and the content of the config under which they were found.
#[derive(Clone, Debug)]
pub struct Registration {
    /// [`Extension::digest`] at the time.
    pub content: Digest,
    /// Handlers by full name, as they stand in the status.
    pub handlers: BTreeMap<Name, ExtensionHandler>,
}

impl Registration {
    /// The registration that these handlers make.
    #[must_use]
    pub fn new(content: Digest, handlers: &[ExtensionHandler]) -> Self {
        let handlers = handlers.iter().map(|handler| (handler.name.as_str().into(), handler.clone()));
        Self { content, handlers: handlers.collect() }
    }

    /// What an earlier manager left in the status of a config that may not be called now, because it is paused.
    /// Only what it found for the present generation counts.
    fn of_status(config: &Config) -> Option<Self> {
        let status = config.object.status.as_ref()?;
        let condition = conditions::get(&status.conditions, conditions::types::DISCOVERED)?;
        (condition.status == "True" && condition.observed_generation == Some(config.generation))
            .then(|| Self::new(config.extension.digest(), &status.handlers))
    }
}

/// How the last finished Discovery of a config went.
#[derive(Clone, Debug, PartialEq)]
pub struct Discovered {
    /// The generation it was made for.
    pub generation: i64,
    /// The handlers as they go into the status, or why there are none.
    pub result: DiscoveryResult,
}

/// The handlers that a Discovery found, sorted, or why there are none.
pub type DiscoveryResult = Result<Arc<[ExtensionHandler]>, Arc<str>>;

/// Where a config stands for those who want to call its handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its Discovery is under way or about to be: wait.
    Open,
    /// Its handlers can be called.
    Usable,
    /// It has never been discovered as it is now. That is not the same as having no handlers.
    Undiscovered,
}

/// What classes see of a config; when this changes, their results can differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct View {
    standing: Standing,
    /// UID, client config and settings.
    content: Digest,
    pub(super) hooks: BTreeMap<Name, GroupVersionHookRef>,
}

/// A config and everything that goes with it.
#[derive(Clone, Debug)]
pub struct ConfigEntry {
    /// The object.
    pub config: Config,
    /// The last good discovery.
    pub registration: Option<Registration>,
    /// The last finished discovery, good or bad.
    pub discovered: Option<Discovered>,
    /// Whether a Discovery of the config as it is now is under way.
    pub(super) is_in_flight: bool,
    /// Why the next Discovery is made.
    pub(super) cause: Cause,
    /// How often its bundle was taken from its Secret against another value.
    pub duel: Option<Duel>,
    /// Since when it waits for its Discovery, or for what that needs.
    pub(super) waiting: Waiting,
    /// The last time that its status was computed, and for which generation and Discovery.
    pub(super) last: Option<Evaluation>,
    judged: Option<(i64, Option<Discovered>)>,
    /// What classes were last told.
    pub(super) told: Option<View>,
}

impl ConfigEntry {
    pub(super) fn new(config: Config, cause: Cause) -> Self {
        let registration = if config.is_paused { Registration::of_status(&config) } else { None };
        Self {
            config,
            registration,
            discovered: None,
            is_in_flight: false,
            cause,
            duel: None,
            last: None,
            judged: None,
            waiting: Waiting::default(),
            told: None,
        }
    }

    /// The status was computed.
    pub(super) fn note_evaluation(&mut self, at: Timestamp) {
        let generation = self.config.generation;
        let because = match &self.judged {
            None => "it was seen for the first time".into(),
            Some((judged, _)) if *judged != generation => {
                format!("its spec was changed (generation {generation})").into()
            }
            Some((_, discovered)) if *discovered != self.discovered => "a Discovery ended".into(),
            Some(_) => "its metadata, its status or its Secret was changed, or it has waited for long".into(),
        };
        self.last = Some(Evaluation { at, because });
        self.judged = Some((generation, self.discovered.clone()));
    }

    /// Takes over a newer state of the same object.
    pub(super) fn update(&mut self, config: Config) {
        if self.config.generation != config.generation {
            self.cause = Cause::Change;
        }
        if self.config.target() != config.target() {
            self.is_in_flight = false;
        }
        // Neither a back-off nor the clock asks what cannot be called, so what was found before may be stale.
        if !self.config.can_be_called() && config.can_be_called() {
            self.discovered = None;
        }
        self.config = config;
    }

    /// Whether the last finished Discovery is about the present generation.
    #[must_use]
    pub fn is_discovery_current(&self) -> bool {
        self.discovered.as_ref().is_some_and(|discovered| discovered.generation == self.config.generation)
    }

    /// Where the config stands.
    #[must_use]
    pub fn standing(&self) -> Standing {
        if self.config.can_be_called() && !self.is_discovery_current() {
            return Standing::Open;
        }
        match &self.registration {
            Some(registration) if registration.content == self.config.extension.digest() => Standing::Usable,
            _ => Standing::Undiscovered,
        }
    }

    pub(super) fn view(&self) -> View {
        let hooks = match (&self.registration, self.standing()) {
            (Some(registration), Standing::Usable) => registration
                .handlers
                .iter()
                .map(|(name, handler)| (Arc::clone(name), handler.request_hook.clone()))
                .collect(),
            _ => BTreeMap::new(),
        };
        let extension = &self.config.extension;
        let content = Digest::of_all([extension.digest(), Digest::of(&extension.settings)]);
        View { standing: self.standing(), content, hooks }
    }
}

impl View {
    pub(super) fn is_open(&self) -> bool {
        self.standing == Standing::Open
    }

    /// Whether every handler is concerned by the change from `self` to `other`.
    pub(super) fn differs_as_a_whole(&self, other: &Self) -> bool {
        self.standing != other.standing || self.content != other.content
    }
}
