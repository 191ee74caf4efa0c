//! The objects, in memory: one revision counter, a map and a short history for each kind, and the
//! indexes that deletion needs.
//!
//! A write puts a new object in the place of the one it was made from and fails when another came
//! between. Nothing here knows about HTTP, schemas or what a kind means, except that objects live in
//! namespaces.
//!
//! Behaviour: apiserver `pkg/storage` (revisions, watch, compaction, continue).

mod history;
mod index;
mod object;
mod selector;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch::Sender;

pub(crate) use history::{Change, Event, Limits};
pub(crate) use object::{Draft, Fields, Key, Object, metadata_mut, object_mut, write};
pub(crate) use selector::{Filter, fields, labels};
pub(crate) use watch::{Place, Wake};

use history::History;
use index::Index;
pub(crate) use index::NamespaceState;

/// A collection's number. It belongs to one group and resource for good, also when its CRD comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct CollectionId(usize);

/// The collection of namespaces; the store keeps their states by it.
pub(crate) const NAMESPACES: CollectionId = CollectionId(0);

/// The objects of a server.
pub(crate) struct Store {
    state: Mutex<State>,
    limits: Limits,
}

struct State {
    revision: u64,
    collections: Vec<Collection>,
    index: Index,
}

struct Collection {
    objects: BTreeMap<Key, Arc<Object>>,
    history: History,
    /// The revision of the latest write; watches wait for it to change.
    latest: Sender<u64>,
}

/// Where an object is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Address {
    pub(crate) collection: CollectionId,
    pub(crate) key: Key,
}

/// Why a write was not done.
#[derive(Debug)]
pub(crate) enum Refused {
    /// There is an object of this name.
    Exists,
    /// The object that the write was made from is not, or no longer, the present one.
    Stale,
    /// The namespace is not there.
    NoNamespace,
    /// The namespace is being deleted.
    NamespaceTerminating,
}

/// What a list asks for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Query<'a> {
    /// Only this namespace.
    pub(crate) namespace: Option<&'a str>,
    /// As of this revision; now, if unset.
    pub(crate) revision: Option<u64>,
    /// Only what comes after this key.
    pub(crate) after: Option<&'a Key>,
    /// No more than this many; zero means all.
    pub(crate) limit: usize,
}

/// What a list found.
pub(crate) struct Page {
    pub(crate) objects: Vec<Arc<Object>>,
    /// The revision that the page shows.
    pub(crate) revision: u64,
    /// Whether there is more after the last object.
    pub(crate) is_partial: bool,
    /// How many objects there are after the last one; `None` when a filter makes that a guess.
    pub(crate) remaining: Option<usize>,
}

/// The revision that was asked for is not, or not yet, to be had.
#[derive(Debug, PartialEq)]
pub(crate) enum OutOfReach {
    Gone { floor: u64 },
    Future { current: u64 },
}

impl Store {
    /// A store with the collection of namespaces. Each collection keeps as much history as the limits say.
    pub(crate) fn new(limits: Limits) -> Self {
        let state = State { revision: 1, collections: Vec::new(), index: Index::default() };
        let store = Self { state: Mutex::new(state), limits };
        store.add_collection();
        store
    }

    pub(crate) fn add_collection(&self) -> CollectionId {
        let mut state = self.state.lock();
        let history = History::new(self.limits, state.revision);
        let latest = Sender::new(state.revision);
        state.collections.push(Collection { objects: BTreeMap::new(), history, latest });
        CollectionId(state.collections.len() - 1)
    }

    /// The revision of the latest write to anything.
    pub(crate) fn revision(&self) -> u64 {
        self.state.lock().revision
    }

    pub(crate) fn get(&self, collection: CollectionId, key: &Key) -> Option<Arc<Object>> {
        self.state.lock().collections[collection.0].objects.get(key).cloned()
    }

    pub(crate) fn count(&self, collection: CollectionId) -> usize {
        self.state.lock().collections[collection.0].objects.len()
    }

    /// The bytes that all present objects take up; indexes and history are not counted.
    pub(crate) fn size(&self) -> usize {
        let state = self.state.lock();
        let objects = state.collections.iter().flat_map(|collection| collection.objects.values());
        objects.map(|object| object.size()).sum()
    }

    pub(crate) fn list(
        &self,
        collection: CollectionId,
        query: Query<'_>,
        filter: &Filter,
    ) -> Result<Page, OutOfReach> {
        let state = self.state.lock();
        let revision = query.revision.unwrap_or(state.revision);
        let collection = &state.collections[collection.0];
        if revision > state.revision {
            return Err(OutOfReach::Future { current: state.revision });
        }
        if query.revision.is_some() && !collection.history.reaches(revision) {
            return Err(OutOfReach::Gone { floor: collection.history.floor() });
        }
        Ok(collection.page(query, revision, filter))
    }

    pub(crate) fn create(
        &self,
        address: &Address,
        draft: &mut Draft,
        is_allowed_while_terminating: bool,
    ) -> Result<Arc<Object>, Refused> {
        let mut state = self.state.lock();
        if let Some(namespace) = address.key.namespace() {
            match state.index.namespace(namespace) {
                None => return Err(Refused::NoNamespace),
                Some(state) if state.is_terminating && !is_allowed_while_terminating => {
                    return Err(Refused::NamespaceTerminating);
                }
                Some(_) => {}
            }
        }
        if state.collections[address.collection.0].objects.contains_key(&address.key) {
            return Err(Refused::Exists);
        }
        let object = Arc::new(Object::encode(address.key.clone(), state.revision + 1, draft));
        state.put(address.collection, None, &object);
        Ok(object)
    }

    /// Puts the draft in the place of the object it was made from.
    pub(crate) fn update(
        &self,
        collection: CollectionId,
        from: &Object,
        draft: &mut Draft,
    ) -> Result<Arc<Object>, Refused> {
        let mut state = self.state.lock();
        let previous = state.present(collection, from)?;
        let object = Arc::new(Object::encode(from.key.clone(), state.revision + 1, draft));
        state.put(collection, Some(previous), &object);
        Ok(object)
    }

    /// Removes the object; `last` is its last state, which watches see.
    pub(crate) fn delete(
        &self,
        collection: CollectionId,
        from: &Object,
        last: &mut Draft,
    ) -> Result<Arc<Object>, Refused> {
        let mut state = self.state.lock();
        let previous = state.present(collection, from)?;
        let object = Arc::new(Object::encode(from.key.clone(), state.revision + 1, last));
        state.remove(collection, previous, &object);
        Ok(object)
    }

    /// Where the object of this UID is.
    pub(crate) fn find(&self, uid: &str) -> Option<Address> {
        self.state.lock().index.find(uid)
    }

    /// The objects that name this UID as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<Address> {
        self.state.lock().index.dependents(uid)
    }

    pub(crate) fn namespace(&self, name: &str) -> Option<NamespaceState> {
        self.state.lock().index.namespace(name)
    }

    /// Every object of a namespace.
    pub(crate) fn content(&self, namespace: &str) -> Vec<Address> {
        let state = self.state.lock();
        let mut content = Vec::new();
        for (number, collection) in state.collections.iter().enumerate() {
            let keys = collection.range(Some(namespace), None).map(|(key, _)| key.clone());
            content.extend(keys.map(|key| Address { collection: CollectionId(number), key }));
        }
        content
    }

    /// Forgets what happened up to now, as an API server does every few minutes: watches and list pages
    /// that start earlier are told so.
    pub(crate) fn compact(&self) {
        let mut state = self.state.lock();
        let revision = state.revision;
        for collection in &mut state.collections {
            collection.history.compact(revision);
        }
    }
}

impl State {
    /// The present object, if it is still the one that a write was made from.
    fn present(&self, collection: CollectionId, from: &Object) -> Result<Arc<Object>, Refused> {
        let present = self.collections[collection.0].objects.get(&from.key).ok_or(Refused::Stale)?;
        let is_same = present.revision == from.revision && present.uid == from.uid;
        if is_same { Ok(present.clone()) } else { Err(Refused::Stale) }
    }

    fn put(&mut self, collection: CollectionId, previous: Option<Arc<Object>>, object: &Arc<Object>) {
        self.index.put(collection, previous.as_deref(), object);
        self.collections[collection.0].objects.insert(object.key.clone(), object.clone());
        let change = if previous.is_some() { Change::Modified } else { Change::Added };
        self.record(collection, Event { change, object: object.clone(), previous });
    }

    fn remove(&mut self, collection: CollectionId, previous: Arc<Object>, last: &Arc<Object>) {
        self.index.remove(collection, &previous);
        self.collections[collection.0].objects.remove(&previous.key);
        let event = Event { change: Change::Deleted, object: last.clone(), previous: Some(previous) };
        self.record(collection, event);
    }

    fn record(&mut self, collection: CollectionId, event: Event) {
        self.revision = event.revision();
        let collection = &mut self.collections[collection.0];
        collection.history.push(event);
        collection.latest.send_replace(self.revision);
    }
}

impl Collection {
    fn range(
        &self,
        namespace: Option<&str>,
        after: Option<&Key>,
    ) -> impl Iterator<Item = (&Key, &Arc<Object>)> {
        range(&self.objects, namespace, after)
    }

    fn page(&self, query: Query<'_>, revision: u64, filter: &Filter) -> Page {
        let overlay = query.revision.map(|revision| self.history.overlay(revision)).unwrap_or_default();
        let limit = if query.limit == 0 { usize::MAX } else { query.limit };
        let (mut objects, mut is_partial, mut remaining) = (Vec::new(), false, 0);
        for object in
            merged(self.range(query.namespace, query.after), range(&overlay, query.namespace, query.after))
        {
            if objects.len() == limit {
                is_partial = is_partial || filter.matches(object);
                remaining += 1;
                if is_partial && !filter.is_empty() {
                    break;
                }
            } else if filter.matches(object) {
                objects.push(object.clone());
            }
        }
        let remaining = (is_partial && filter.is_empty()).then_some(remaining);
        Page { objects, revision, is_partial, remaining }
    }
}

/// The entries of a namespace after a key.
fn range<'a, T>(
    map: &'a BTreeMap<Key, T>,
    namespace: Option<&str>,
    after: Option<&Key>,
) -> impl Iterator<Item = (&'a Key, &'a T)> + use<'a, T> {
    let prefix = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
    let start = match after {
        Some(key) if *key.text() > *prefix => Bound::Excluded(key.clone()),
        _ => Bound::Included(Key::from_text(&prefix)),
    };
    map.range((start, Bound::Unbounded)).take_while(move |(key, _)| key.text().starts_with(&prefix))
}

/// The present with an overlay over it, in the order of keys.
fn merged<'a>(
    present: impl Iterator<Item = (&'a Key, &'a Arc<Object>)>,
    overlay: impl Iterator<Item = (&'a Key, &'a Option<Arc<Object>>)>,
) -> impl Iterator<Item = &'a Arc<Object>> {
    let (mut present, mut overlay) = (present.peekable(), overlay.peekable());
    std::iter::from_fn(move || {
        loop {
            let is_overlaid = match (present.peek(), overlay.peek()) {
                (_, None) => return present.next().map(|(_, object)| object),
                (None, Some(_)) => false,
                (Some((one, _)), Some((other, _))) if one < other => {
                    return present.next().map(|(_, object)| object);
                }
                (Some((one, _)), Some((other, _))) => one == other,
            };
            if is_overlaid {
                present.next();
            }
            if let Some((_, Some(object))) = overlay.next() {
                return Some(object);
            }
        }
    })
}
