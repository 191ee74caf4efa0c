//! What the index keeps of a `ClusterClass`: what its result depends on, and what its status says now. The
//! rest of the object, schemas included, is dropped when it is parsed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kapstan_api::{
    annotations,
    cluster_class::{ClusterClass, ClusterClassStatus, ClusterClassVariable, HandlerRole, TemplateRef},
    conditions::v1beta1,
};
use tokio::time::Instant;

use super::{
    gather::Parts,
    graph::Evaluation,
    keys::{ClassKey, GroupKind, Name, TemplateKey},
    revision::Revision,
    waiting::Waiting,
};
use crate::{controllers::cluster_class::plan::Desired, digest::Digest, runtime::Cause};

/// A `ClusterClass`, parsed once when it comes from the watch.
#[derive(Clone, Debug)]
pub struct Class {
    /// Namespace and name.
    pub key: ClassKey,
    /// Its UID: who it is, whatever its name.
    pub uid: Name,
    /// `metadata.generation`.
    pub generation: i64,
    /// `metadata.resourceVersion`, the precondition of a write.
    pub resource_version: String,
    /// Whether it is paused.
    pub is_paused: bool,
    /// Whether it is on its way out.
    pub is_deleting: bool,
    /// `spec.variables` as JSON, which is a fraction of the size of the parsed form.
    variables: Box<[u8]>,
    /// The patches whose variables are asked for, in the order of the spec.
    pub questions: Vec<PatchQuestion>,
    /// Every handler named, with its role.
    pub roles: BTreeSet<(Name, HandlerRole)>,
    /// Each distinct template reference, sorted.
    pub templates: Vec<TemplateRef>,
    /// What the status says.
    pub observed: Observed,
}

/// A patch that gets variables from a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchQuestion {
    /// The patch's name.
    pub patch: Name,
    /// Full name of the handler, as the user wrote it.
    pub handler: Name,
    /// The patch's own settings; they win over those of the `ExtensionConfig`.
    pub settings: BTreeMap<String, String>,
}

/// What the status of a class says, as far as it is ours to write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// `status.observedGeneration`.
    pub observed_generation: Option<i64>,
    /// `status.conditions`, foreign ones included.
    pub conditions: Vec<Condition>,
    /// `status.deprecated.v1beta1.conditions`, foreign ones included.
    pub v1beta1_conditions: Vec<v1beta1::Condition>,
    /// Digest of `status.variables`.
    pub variables: Option<Digest>,
}

impl Class {
    /// Parses an object from the cluster.
    ///
    /// # Panics
    /// When the object has no name: the API server never sends one without.
    #[must_use]
    pub fn parse(object: &ClusterClass) -> Self {
        let metadata = &object.metadata;
        let name = metadata.name.as_deref().expect("watched ClusterClass must have a name");
        let questions = object.external_patches().filter_map(|patch| {
            let handler =
                patch.external.discover_variables_extension.as_deref().filter(|name| !name.is_empty())?;
            Some(PatchQuestion {
                patch: patch.name.into(),
                handler: handler.into(),
                settings: patch.external.settings.clone(),
            })
        });
        Self {
            key: ClassKey::new(metadata.namespace.as_deref().unwrap_or_default(), name),
            uid: metadata.uid.as_deref().unwrap_or_default().into(),
            generation: metadata.generation.unwrap_or_default(),
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
            is_paused: annotations::is_paused(metadata),
            is_deleting: metadata.deletion_timestamp.is_some(),
            variables: serde_json::to_vec(&object.spec.variables).expect("variables have a JSON form").into(),
            questions: questions.collect(),
            roles: object.named_handlers().into_iter().map(|(role, name)| (name.into(), role)).collect(),
            templates: object.template_refs(),
            observed: object.status.as_ref().map(Observed::of).unwrap_or_default(),
        }
    }

    /// `spec.variables`.
    ///
    /// # Panics
    /// Never: they were written by [`Class::parse`].
    #[must_use]
    pub fn variables(&self) -> Vec<ClusterClassVariable> {
        serde_json::from_slice(&self.variables).expect("variables were written by parse")
    }

    /// The key of one of its templates.
    #[must_use]
    pub fn template_key(&self, reference: &TemplateRef) -> TemplateKey {
        TemplateKey {
            kind: GroupKind { group: reference.group().into(), kind: reference.kind.as_str().into() },
            namespace: Arc::clone(&self.key.namespace),
            name: reference.name.as_str().into(),
        }
    }

    /// Whether the same spec is meant, judged as the same manager would: nothing in it that a result depends on
    /// is different.
    pub(super) fn means_the_same(&self, other: &Self) -> bool {
        self.uid == other.uid
            && self.generation == other.generation
            && self.is_paused == other.is_paused
            && self.is_deleting == other.is_deleting
    }

    pub(super) fn revision(&self) -> Revision<'_> {
        Revision { uid: &self.uid, resource_version: &self.resource_version }
    }
}

impl Observed {
    fn of(status: &ClusterClassStatus) -> Self {
        let v1beta1 = status.deprecated.as_ref().and_then(|deprecated| deprecated.v1beta1.as_ref());
        Self {
            observed_generation: status.observed_generation,
            conditions: status.conditions.clone(),
            v1beta1_conditions: v1beta1.map(|status| status.conditions.clone()).unwrap_or_default(),
            variables: (!status.variables.is_empty()).then(|| Digest::of(&status.variables)),
        }
    }
}

/// What the last evaluation of a class was made from, and what came out.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// Digest of everything that went in.
    pub inputs: Digest,
    /// What came out, the list of variables left out.
    pub desired: Arc<Desired>,
}

/// A class and everything that goes with it.
#[derive(Clone, Debug)]
pub struct ClassEntry {
    /// The object.
    pub class: Arc<Class>,
    /// The last evaluation since the manager started; it belongs to the UID.
    pub evaluated: Option<Evaluated>,
    /// What the API server made of the variables written last: the digest written, and the one it then showed.
    /// They differ where the schema of `status` has defaults.
    pub accepted: Option<(Digest, Digest)>,
    /// The last time that its status was computed.
    pub(super) last: Option<Evaluation>,
    /// What it was computed from then.
    pub(super) parts: Option<Parts>,
    /// Since when something that it names has been found to be absent.
    pub(super) lacks_since: Option<Instant>,
    /// Since when it waits for something that is to come.
    pub(super) waiting: Waiting,
    /// Why its questions are asked.
    pub(super) cause: Cause,
}

impl ClassEntry {
    pub(super) fn new(class: Arc<Class>, cause: Cause) -> Self {
        Self {
            class,
            evaluated: None,
            accepted: None,
            last: None,
            parts: None,
            lacks_since: None,
            waiting: Waiting::default(),
            cause,
        }
    }
}
