//! Following a collection from a revision on.

use super::history::Event;
use super::{CollectionId, OutOfReach, Store};

/// How many writes a watch takes at a time.
const BATCH: usize = 256;

/// A place in a collection's history. It holds no events; what it has not read yet may be dropped from
/// the history, and then it can only start over.
#[derive(Debug)]
pub(crate) struct Place {
    collection: CollectionId,
    revision: u64,
}

/// Wakes up when the collection was written to.
pub(crate) struct Wake(tokio::sync::watch::Receiver<u64>);

impl Wake {
    /// Returns at the first write after the last time that this returned; at once, if there was one.
    /// Never returns when the store is gone.
    pub(crate) async fn written(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Store {
    /// A place after this revision, and what wakes up when there is something to read.
    pub(crate) fn follow(
        &self,
        collection: CollectionId,
        revision: u64,
    ) -> Result<(Place, Wake), OutOfReach> {
        let state = self.state.lock();
        let followed = &state.collections[collection.0];
        if revision > state.revision {
            return Err(OutOfReach::Future { current: state.revision });
        }
        if !followed.history.reaches(revision) {
            return Err(OutOfReach::Gone { floor: followed.history.floor() });
        }
        let wake = Wake(followed.latest.subscribe());
        Ok((Place { collection, revision }, wake))
    }

    /// The next writes; none when all were read. Then the place is at the store's present revision.
    pub(crate) fn read(&self, place: &mut Place) -> Result<Vec<Event>, OutOfReach> {
        let state = self.state.lock();
        let history = &state.collections[place.collection.0].history;
        if !history.reaches(place.revision) {
            return Err(OutOfReach::Gone { floor: history.floor() });
        }
        let events = history.after(place.revision, BATCH);
        place.revision = events.last().map_or(state.revision, Event::revision);
        Ok(events)
    }
}

impl Place {
    /// Everything up to this revision was read.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }
}
