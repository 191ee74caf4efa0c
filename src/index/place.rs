//! Secrets and Namespaces: what they are to an `ExtensionConfig`.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use k8s_openapi::ByteString;

use super::{
    Awaited, Index,
    config::Selection,
    keys::{Name, SecretKey},
    wake::Wake,
};

/// What is known of a Secret that some config names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretState {
    /// Its watch has not listed yet.
    Starting,
    /// It cannot be watched; the text says why.
    Unavailable(Arc<str>),
    /// It does not exist.
    Absent,
    /// It exists; its `ca.crt`, if it has one.
    Present(Option<ByteString>),
}

impl Index {
    /// A Secret named by some config came, went or changed.
    pub fn apply_secret(&mut self, key: &SecretKey, state: SecretState) -> Wake {
        let mut wake = Wake::default();
        if !self.secret_of.has_right(key) || self.secrets.get(key) == Some(&state) {
            return wake;
        }
        self.secrets.insert(key.clone(), state);
        wake.configs.extend(self.secret_of.lefts(key).cloned());
        wake
    }

    /// What is known of a Secret.
    #[must_use]
    pub fn secret(&self, key: &SecretKey) -> SecretState {
        self.secrets.get(key).cloned().unwrap_or(SecretState::Starting)
    }

    /// The Secrets to watch.
    pub(super) fn secrets_in_use(&self) -> HashSet<SecretKey> {
        self.secret_of.all_rights().cloned().collect()
    }

    /// A Namespace was created or changed.
    pub fn apply_namespace(&mut self, name: &Name, labels: BTreeMap<String, String>) -> Wake {
        let before = self.namespaces.insert(Arc::clone(name), labels);
        let mut wake = self.wake_flipped_by_labels(name, before.as_ref());
        self.arrived(&Awaited::Namespace(Arc::clone(name)), &mut wake);
        wake
    }

    /// A Namespace is gone.
    pub fn delete_namespace(&mut self, name: &Name) -> Wake {
        let before = self.namespaces.remove(name);
        self.wake_flipped_by_labels(name, before.as_ref())
    }

    /// These are all Namespaces that there are.
    pub fn reset_namespaces(&mut self, namespaces: Vec<(Name, BTreeMap<String, String>)>) -> Wake {
        let listed: HashSet<Name> = namespaces.iter().map(|(name, _)| Arc::clone(name)).collect();
        let gone: Vec<Name> =
            self.namespaces.keys().filter(|name| !listed.contains(*name)).cloned().collect();
        let mut wake = Wake::default();
        for name in &gone {
            wake.extend(self.delete_namespace(name));
        }
        for (name, labels) in namespaces {
            wake.extend(self.apply_namespace(&name, labels));
        }
        wake
    }

    /// Wakes the classes of `namespace` for whom a config begins or ceases to be selected.
    fn wake_flipped_by_labels(&self, namespace: &Name, before: Option<&BTreeMap<String, String>>) -> Wake {
        let mut wake = Wake::default();
        let after = self.namespaces.get(namespace);
        for config in self.namespaces_of.lefts(namespace) {
            let Some(entry) = self.configs.get(config) else { continue };
            let selection = &entry.config.selection;
            if selection.verdict(before) != selection.verdict(after) {
                wake.classes.extend(self.pairs.lefts(&(Arc::clone(namespace), Arc::clone(config))).cloned());
            }
        }
        wake
    }

    /// Wakes the classes for whom a config whose selector was `before` begins or ceases to be selected.
    pub(super) fn wake_flipped_by_selector(&self, config: &Name, before: &Selection, wake: &mut Wake) {
        let Some(entry) = self.configs.get(config) else { return };
        for namespace in self.namespaces_of.rights(config) {
            let labels = self.namespaces.get(namespace);
            if before.verdict(labels) != entry.config.selection.verdict(labels) {
                wake.classes.extend(self.pairs.lefts(&(Arc::clone(namespace), Arc::clone(config))).cloned());
            }
        }
    }

    /// The labels of a Namespace, `None` when it does not exist.
    #[must_use]
    pub fn namespace(&self, name: &str) -> Option<&BTreeMap<String, String>> {
        self.namespaces.get(name)
    }
}
