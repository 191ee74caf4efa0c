//! Feeds the index from one watch.
//!
//! A watch lists once when it starts. A watch that breaks off is taken up where it was; only when the API server
//! no longer knows that place (410) is there another list, and until it is whole the old contents stay in force.

use std::{fmt::Debug, ops::ControlFlow, sync::Arc};

use futures::{Stream, StreamExt as _};
use kube::runtime::{
    WatchStreamExt as _,
    watcher::{self, Event},
};

use super::{Index, shared::Shared, wake::Wake};
use crate::health::Sync;

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
    /// The watch failed, and will be tried again unless this says otherwise.
    fn failed(&self, _shared: &Shared, _error: &watcher::Error) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Feeds the index from `stream` until the stream or the feed ends it.
pub async fn drive<F>(
    shared: &Shared,
    sync: &Sync,
    feed: F,
    stream: impl Stream<Item = watcher::Result<Event<F::Object>>>,
) where
    F: Feed,
    F::Object: Debug,
{
    let mut stream = Box::pin(stream.default_backoff());
    let mut listed = Vec::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(object)) => listed.push(object),
            Ok(Event::InitDone) => {
                let objects = std::mem::take(&mut listed);
                shared.change(|index| feed.reset(index, objects));
                sync.synced();
            }
            Ok(Event::Apply(object)) => shared.change(|index| feed.apply(index, object)),
            Ok(Event::Delete(object)) => shared.change(|index| feed.delete(index, object)),
            Err(error) => {
                let reason: Arc<str> = crate::error::chain(&error).into();
                tracing::warn!(watch = sync.name(), error = %reason, "watch failed");
                sync.failing(&reason);
                if feed.failed(shared, &error).is_break() {
                    return;
                }
            }
        }
    }
}
