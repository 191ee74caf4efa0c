//! What deletion has to look up: objects by UID, dependents by owner, and how full a namespace is.

use std::collections::{BTreeSet, HashMap};

use super::object::Object;
use super::{Address, CollectionId, NAMESPACES};

#[derive(Default)]
pub(super) struct Index {
    by_uid: HashMap<Box<str>, Address>,
    by_owner: HashMap<Box<str>, BTreeSet<Address>>,
    namespaces: HashMap<Box<str>, NamespaceState>,
}

/// What the store knows of a namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct NamespaceState {
    pub(crate) is_terminating: bool,
    /// How many objects are in it, of any kind.
    pub(crate) objects: usize,
}

impl Index {
    pub(super) fn find(&self, uid: &str) -> Option<Address> {
        self.by_uid.get(uid).cloned()
    }

    pub(super) fn dependents(&self, uid: &str) -> Vec<Address> {
        self.by_owner.get(uid).into_iter().flatten().cloned().collect()
    }

    pub(super) fn namespace(&self, name: &str) -> Option<NamespaceState> {
        self.namespaces.get(name).copied()
    }

    pub(super) fn put(&mut self, collection: CollectionId, previous: Option<&Object>, object: &Object) {
        let address = Address { collection, key: object.key.clone() };
        if previous.is_none() {
            self.by_uid.insert(object.uid.clone(), address.clone());
            self.count(object, 1);
        }
        if previous.is_none_or(|previous| previous.owners != object.owners) {
            if let Some(previous) = previous {
                self.disown(&address, previous);
            }
            for owner in &object.owners {
                self.by_owner.entry(owner.uid.clone()).or_default().insert(address.clone());
            }
        }
        if collection == NAMESPACES {
            let state = self.namespaces.entry(object.key.name().into()).or_default();
            state.is_terminating = object.is_deleting;
        }
    }

    pub(super) fn remove(&mut self, collection: CollectionId, object: &Object) {
        self.by_uid.remove(&object.uid);
        self.count(object, -1);
        self.disown(&Address { collection, key: object.key.clone() }, object);
        if collection == NAMESPACES {
            self.namespaces.remove(object.key.name());
        }
    }

    fn count(&mut self, object: &Object, by: isize) {
        if let Some(state) = object.key.namespace().and_then(|name| self.namespaces.get_mut(name)) {
            state.objects = state.objects.saturating_add_signed(by);
        }
    }

    fn disown(&mut self, address: &Address, object: &Object) {
        for owner in &object.owners {
            if let Some(dependents) = self.by_owner.get_mut(&owner.uid) {
                dependents.remove(address);
                if dependents.is_empty() {
                    self.by_owner.remove(&owner.uid);
                }
            }
        }
    }
}
