//! Watches: a line of JSON for each event, for as long as the client listens.
//!
//! A watch holds a place in the history of its collection and nothing else. When the client is slow it
//! reads later; when what it would read is gone by then, it is told so (410) and ends.
//!
//! Behaviour: apiserver `pkg/endpoints/handlers/watch.go`, `pkg/storage/cacher`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use http::{HeaderValue, Response, header};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::accept::{Form, Include};
use super::options::ListOptions;
use super::request::Target;
use super::{answer, read, table};
use crate::core::Core;
use crate::faults::Drops;
use crate::registry::Endpoint;
use crate::status::{Result, Status};
use crate::store::{Change, Event, Object, OutOfReach, Place, Wake, write};

/// How long a watch lasts that does not say it, at least.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(30);
const BOOKMARK_PERIOD: Duration = Duration::from_mins(1);
/// A last bookmark comes this long before the end.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// Starts a watch.
pub(crate) fn watch(
    core: &Arc<Core>,
    endpoint: Endpoint,
    target: &Target,
    options: ListOptions,
    form: Form,
    drops: Drops,
) -> Result<Response<Body>> {
    let watch = Watch::start(core.clone(), endpoint, target, options, form, drops)?;
    let lines = stream::unfold(watch, |mut watch| async move {
        let line = watch.next().await?;
        Some((Ok::<_, std::convert::Infallible>(line), watch))
    });
    let mut response = Response::new(Body::from_stream(lines));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    Ok(response)
}

/// Something that is to be sent. Objects are written when it is their turn: until then they cost nothing.
enum Pending {
    Line(Bytes),
    Object(&'static str, Arc<Object>),
}

struct Watch {
    core: Arc<Core>,
    endpoint: Endpoint,
    namespace: Option<String>,
    options: ListOptions,
    form: Form,
    follow: Option<(Place, Wake)>,
    pending: VecDeque<Pending>,
    has_sent_columns: bool,
    next_bookmark: Instant,
    end: Instant,
    drops: Drops,
}

impl Watch {
    fn start(
        core: Arc<Core>,
        endpoint: Endpoint,
        target: &Target,
        options: ListOptions,
        form: Form,
        drops: Drops,
    ) -> Result<Self> {
        let now = Instant::now();
        let timeout = options.timeout_seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs);
        let mut watch = Self {
            namespace: read::namespace(&endpoint, target).map(str::to_owned),
            core,
            endpoint,
            options,
            form,
            follow: None,
            pending: VecDeque::new(),
            has_sent_columns: false,
            next_bookmark: now + BOOKMARK_PERIOD,
            // Far away, but not so far that adding it to the present could fail.
            end: now + timeout.unwrap_or(DEFAULT_TIMEOUT).min(Duration::from_hours(24 * 365)),
            drops,
        };
        watch.begin(target)?;
        Ok(watch)
    }

    /// Takes a place: at a revision that the client knows, or after everything that is there now.
    fn begin(&mut self, target: &Target) -> Result<()> {
        let known = self.options.resource_version.filter(|_| !self.options.sends_initial_events);
        let revision = match known {
            Some(revision) => revision,
            None => self.send_present(target)?,
        };
        match self.core.store.follow(self.endpoint.collection(), revision) {
            Ok(follow) => self.follow = Some(follow),
            Err(OutOfReach::Gone { floor }) => self.send_gone(revision, floor),
            Err(OutOfReach::Future { current }) => return Err(Status::from_the_future(revision, current)),
        }
        Ok(())
    }

    fn send_present(&mut self, target: &Target) -> Result<u64> {
        let everything = ListOptions {
            filter: self.options.filter.clone(),
            resource_version: self.options.resource_version,
            ..ListOptions::default()
        };
        let page = read::page(&self.core, &self.endpoint, target, &everything)?;
        for object in &page.objects {
            self.send("ADDED", object);
        }
        if self.options.sends_initial_events && self.options.allows_bookmarks {
            self.send_bookmark(page.revision, true);
        }
        Ok(page.revision)
    }

    /// The next line; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match self.pending.pop_front() {
                Some(Pending::Line(line)) => return Some(line),
                Some(Pending::Object(change, object)) => return Some(self.line(change, &object)),
                None => {}
            }
            self.read()?;
            if self.pending.is_empty() && !self.wait().await {
                return None;
            }
        }
    }

    /// Takes what is new from the history; `None` when the watch is over.
    fn read(&mut self) -> Option<()> {
        let (mut place, wake) = self.follow.take()?;
        match self.core.store.read(&mut place) {
            Ok(events) => {
                self.follow = Some((place, wake));
                for event in &events {
                    self.take(event);
                }
            }
            Err(OutOfReach::Gone { floor } | OutOfReach::Future { current: floor }) => {
                self.send_gone(place.revision(), floor);
            }
        }
        Some(())
    }

    /// Waits until there may be something to send; false when the watch is over.
    async fn wait(&mut self) -> bool {
        let bookmark_at = self.bookmark_at();
        let Some((place, wake)) = &mut self.follow else { return true };
        let revision = place.revision();
        tokio::select! {
            biased;
            () = self.drops.dropped() => return false,
            () = wake.written() => return true,
            () = sleep_until(self.end) => return false,
            () = sleep_until(bookmark_at), if self.options.allows_bookmarks => {}
        }
        self.next_bookmark = Instant::now() + BOOKMARK_PERIOD;
        self.send_bookmark(revision, false);
        true
    }

    fn bookmark_at(&self) -> Instant {
        let last = self.end.checked_sub(LAST_BOOKMARK).filter(|last| *last > Instant::now());
        last.map_or(self.next_bookmark, |last| self.next_bookmark.min(last))
    }

    /// Sends an event as this watch sees it: by whether its filter matched before and matches now.
    fn take(&mut self, event: &Event) {
        if self.namespace.as_deref().is_some_and(|namespace| event.object.key.namespace() != Some(namespace))
        {
            return;
        }
        let filter = &self.options.filter;
        let is_in = event.change != Change::Deleted && filter.matches(&event.object);
        let was_in = event.previous.as_ref().is_some_and(|previous| filter.matches(previous));
        match (was_in, is_in) {
            (false, false) => {}
            (false, true) => self.send("ADDED", &event.object),
            (true, true) => self.send("MODIFIED", &event.object),
            (true, false) if event.change == Change::Deleted => self.send("DELETED", &event.object),
            (true, false) => self.send_left(event),
        }
    }

    /// The object is there, but no longer one of those that the client asked for: it sees the last state
    /// that it asked for, at the revision of the write.
    fn send_left(&mut self, event: &Event) {
        let Some(previous) = &event.previous else { return };
        let mut draft = crate::store::Draft {
            value: previous.decode(),
            fields: previous.fields.clone(),
            encoding: previous.encoding,
        };
        let object = Object::encode(previous.key.clone(), event.revision(), &mut draft);
        self.send("DELETED", &Arc::new(object));
    }

    fn send(&mut self, change: &'static str, object: &Arc<Object>) {
        self.pending.push_back(Pending::Object(change, object.clone()));
    }

    fn line(&mut self, change: &str, object: &Arc<Object>) -> Bytes {
        let mut line = format!("{{\"type\":\"{change}\",\"object\":").into_bytes();
        match self.form {
            Form::Plain => extend(&mut line, &answer::plain(&self.endpoint, object)),
            Form::Metadata => extend(&mut line, &answer::metadata(object)),
            Form::Table(include) => {
                let table = self.table(std::slice::from_ref(object), &object.revision.to_string(), include);
                write(&mut line, &table);
            }
        }
        ended(line)
    }

    fn table(&mut self, objects: &[Arc<Object>], revision: &str, include: Include) -> Value {
        let head = table::head(&self.endpoint, Some(revision), None, None);
        let has_columns = !std::mem::replace(&mut self.has_sent_columns, true);
        table::table(&head, &self.endpoint, objects, include, has_columns, self.core.clock.timestamp())
    }

    fn send_bookmark(&mut self, revision: u64, is_initial: bool) {
        let mut metadata = json!({ "resourceVersion": revision.to_string() });
        if is_initial {
            metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        let mut object = match self.form {
            Form::Plain => json!({}),
            Form::Metadata => json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1" }),
            Form::Table(include) => {
                let mut table = self.table(&[], &revision.to_string(), include);
                let object = json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata });
                table["rows"] = json!([{ "cells": [], "object": object }]);
                table
            }
        };
        if self.form == Form::Plain {
            self.endpoint.set_type(&mut object);
        }
        if !matches!(self.form, Form::Table(_)) {
            object["metadata"] = metadata;
        }
        let mut line = b"{\"type\":\"BOOKMARK\",\"object\":".to_vec();
        write(&mut line, &object);
        self.push(line);
    }

    /// What the client would have to see next is gone; it has to start over.
    fn send_gone(&mut self, revision: u64, floor: u64) {
        let status = Status::expired(format!("too old resource version: {revision} ({floor})"));
        let mut line = b"{\"type\":\"ERROR\",\"object\":".to_vec();
        write(&mut line, &status.to_value());
        self.push(line);
        self.follow = None;
    }

    fn push(&mut self, line: Vec<u8>) {
        self.pending.push_back(Pending::Line(ended(line)));
    }
}

fn ended(mut line: Vec<u8>) -> Bytes {
    line.extend_from_slice(b"}\n");
    line.into()
}

fn extend(line: &mut Vec<u8>, pieces: &[Bytes]) {
    for piece in pieces {
        line.extend_from_slice(piece);
    }
}
