//! Which kinds are served: the built-in ones, and one for each CRD.

mod absent;
mod builtin;
mod custom;
mod kind;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use absent::is_of_kubernetes;
pub(crate) use builtin::builtin;
pub(crate) use custom::custom;
pub(crate) use kind::{Column, Endpoint, Kind, Version, content};

/// The kinds that are served at one moment. A change makes another.
#[derive(Clone, Default)]
pub(crate) struct Registry {
    /// By group, then by plural.
    kinds: BTreeMap<Box<str>, BTreeMap<Box<str>, Arc<Kind>>>,
    /// Grows with every change; answers of discovery are tagged with it.
    generation: u64,
}

impl Registry {
    pub(crate) fn with(mut self, kind: Arc<Kind>) -> Self {
        let plurals = self.kinds.entry(kind.names.group.clone()).or_default();
        plurals.insert(kind.names.plural.clone(), kind);
        self.generation += 1;
        self
    }

    pub(crate) fn without(mut self, group: &str, plural: &str) -> Self {
        if let Some(plurals) = self.kinds.get_mut(group) {
            plurals.remove(plural);
            if plurals.is_empty() {
                self.kinds.remove(group);
            }
        }
        self.generation += 1;
        self
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// What is served at `/apis/<group>/<version>/<plural>`.
    pub(crate) fn endpoint(&self, group: &str, version: &str, plural: &str) -> Option<Endpoint> {
        let kind = self.kinds.get(group)?.get(plural)?;
        let version = kind.versions.iter().position(|one| &*one.name == version && one.is_served)?;
        Some(Endpoint::new(kind.clone(), version))
    }

    pub(crate) fn kind(&self, group: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.kinds.get(group)?.get(plural)
    }

    /// The kind of this name in a group.
    pub(crate) fn named(&self, group: &str, name: &str) -> Option<&Arc<Kind>> {
        self.kinds.get(group)?.values().find(|kind| &*kind.names.kind == name)
    }

    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.kinds.values().flat_map(BTreeMap::values)
    }

    /// The groups, the core group (whose name is empty) among them.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &Arc<Kind>>)> {
        self.kinds.iter().map(|(group, kinds)| (&**group, kinds.values()))
    }

    /// The served versions of a group, the preferred one first.
    pub(crate) fn versions(&self, group: &str) -> Vec<&str> {
        let kinds = self.kinds.get(group).into_iter().flat_map(BTreeMap::values);
        let versions = kinds.flat_map(|kind| kind.versions.iter()).filter(|version| version.is_served);
        let mut versions: Vec<_> = versions.map(|version| &*version.name).collect();
        versions.sort_by_key(|version| kind::priority(version));
        versions.dedup();
        versions
    }
}
