//! Feeds the index from one watch.
//!
//! A watch lists once when it starts. A watch that breaks off is taken up where it was; only when the API server
//! no longer knows that place (410) is there another list, and until it is whole the old contents stay in force.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    ops::ControlFlow,
    sync::Arc,
};

use futures::{Stream, StreamExt as _};
use kube::runtime::{
    WatchStreamExt as _,
    watcher::{self, Event},
};

use super::{Index, shared::Shared, wake::Wake};
use crate::{health::Sync, metrics::Metrics};

/// How the objects of one watch go into the index.
pub trait Feed {
    /// What is watched.
    type Object;

    /// An object was created or changed.
    fn apply(&self, index: &mut Index, object: Self::Object) -> Wake;
    /// An object is gone.
    fn delete(&self, index: &mut Index, object: Self::Object) -> Wake;
    /// These are all objects that there are.
    fn reset(&self, index: &mut Index, objects: Vec<Self::Object>) -> Wake;
    /// What an object is called and why it cannot be decoded; `None` when it could be.
    fn unreadable(&self, _object: &Self::Object) -> (String, Option<Arc<str>>) {
        (String::new(), None)
    }
    /// The watch failed, and will be tried again unless this says otherwise.
    fn failed(&self, _shared: &Shared, _error: &watcher::Error) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Feeds the index from `stream` until the stream or the feed ends it.
pub async fn drive<F>(
    shared: Shared,
    sync: Sync,
    feed: F,
    stream: impl Stream<Item = watcher::Result<Event<F::Object>>>,
) where
    F: Feed,
    F::Object: Debug,
{
    let mut stream = Box::pin(stream.default_backoff());
    let mut listed = Vec::new();
    let mut unread = Unread { watch: sync.name(), metrics: shared.metrics(), known: BTreeMap::new() };
    while let Some(event) = stream.next().await {
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(object)) => listed.push(object),
            Ok(Event::InitDone) => {
                unread.list(listed.iter().map(|object| feed.unreadable(object)).collect());
                let objects = std::mem::take(&mut listed);
                shared.change(|index| feed.reset(index, objects));
                sync.synced();
            }
            Ok(Event::Apply(object)) => {
                unread.note(feed.unreadable(&object));
                shared.change(|index| feed.apply(index, object));
            }
            Ok(Event::Delete(object)) => {
                unread.note((feed.unreadable(&object).0, None));
                shared.change(|index| feed.delete(index, object));
            }
            Err(error) => {
                let reason: Arc<str> = crate::error::chain(&error).into();
                tracing::warn!(watch = sync.name(), error = %reason, "watch failed");
                sync.failing(&reason);
                if feed.failed(&shared, &error).is_break() {
                    return;
                }
            }
        }
    }
}

/// The objects of one watch that cannot be decoded. Each is reported once, and counted for as long as it is so.
struct Unread<'a> {
    watch: &'a str,
    metrics: &'a Metrics,
    known: BTreeMap<String, Arc<str>>,
}

impl Unread<'_> {
    /// These are all objects that there are.
    fn list(&mut self, objects: Vec<(String, Option<Arc<str>>)>) {
        let listed: BTreeSet<&String> = objects.iter().map(|(name, _)| name).collect();
        self.known.retain(|name, _| listed.contains(name));
        for object in objects {
            self.note(object);
        }
        self.count();
    }

    fn note(&mut self, (name, why): (String, Option<Arc<str>>)) {
        let Some(why) = why else {
            if self.known.remove(&name).is_some() {
                self.count();
            }
            return;
        };
        if self.known.get(&name) != Some(&why) {
            tracing::error!(watch = self.watch, object = %name, error = %why, "object cannot be read and is left out");
            self.known.insert(name, why);
            self.count();
        }
    }

    fn count(&self) {
        self.metrics.unreadable(self.watch, self.known.len());
    }
}
