//! What happened lately in one collection: what watches read, and what lists of an earlier revision are
//! made from.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::object::{Key, Object};

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Added,
    Modified,
    Deleted,
}

/// One write.
#[derive(Clone)]
pub(crate) struct Event {
    pub(crate) change: Change,
    /// The object after the write; of a deleted one the last state, at the revision of the deletion.
    pub(crate) object: Arc<Object>,
    /// The object before the write.
    pub(crate) previous: Option<Arc<Object>>,
}

impl Event {
    pub(crate) fn revision(&self) -> u64 {
        self.object.revision
    }

    /// What the event keeps in memory, at most: others may hold on to the same objects.
    fn size(&self) -> usize {
        self.object.size() + self.previous.as_ref().map_or(0, |previous| previous.size())
    }
}

/// How much history is kept of each kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The most writes, at least one.
    pub(crate) writes: usize,
    /// The most bytes of the objects that the writes hold on to. The latest write is kept in any case.
    pub(crate) bytes: usize,
}

/// The last writes, oldest first, within limits.
///
/// Readers keep a place (a revision) of their own here, so a slow one costs nothing: when what it would
/// read next is gone, it is told so and has to start over.
pub(crate) struct History {
    events: VecDeque<Event>,
    bytes: usize,
    limits: Limits,
    /// The revision of the latest write that is gone; reads must start at it or later.
    floor: u64,
}

impl History {
    pub(crate) fn new(limits: Limits, floor: u64) -> Self {
        Self { events: VecDeque::new(), bytes: 0, limits, floor }
    }

    pub(crate) fn push(&mut self, event: Event) {
        self.bytes += event.size();
        self.events.push_back(event);
        while self.events.len() > 1 && self.is_full() {
            self.drop_oldest();
        }
    }

    fn is_full(&self) -> bool {
        self.events.len() > self.limits.writes || self.bytes > self.limits.bytes
    }

    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.events.pop_front() {
            self.bytes -= oldest.size();
            self.floor = oldest.revision();
        }
    }

    /// Forgets everything up to this revision.
    pub(crate) fn compact(&mut self, revision: u64) {
        while self.events.front().is_some_and(|event| event.revision() <= revision) {
            self.drop_oldest();
        }
        self.floor = self.floor.max(revision);
    }

    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    pub(crate) fn reaches(&self, revision: u64) -> bool {
        revision >= self.floor
    }

    /// The writes after this revision, at most `limit` of them.
    pub(crate) fn after(&self, revision: u64, limit: usize) -> Vec<Event> {
        self.events.iter().skip(self.position_after(revision)).take(limit).cloned().collect()
    }

    fn position_after(&self, revision: u64) -> usize {
        self.events.partition_point(|event| event.revision() <= revision)
    }

    /// What has to be laid over the present to see an earlier revision: each object that changed since,
    /// as it was then; `None` when it was not there.
    pub(crate) fn overlay(&self, revision: u64) -> BTreeMap<Key, Option<Arc<Object>>> {
        let mut overlay = BTreeMap::new();
        for event in self.events.iter().skip(self.position_after(revision)) {
            overlay.entry(event.object.key.clone()).or_insert_with(|| event.previous.clone());
        }
        overlay
    }
}
