//! What the extension saw: counts, times, requests, connections.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, Version};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::target::Target;

/// Arrivals that are kept for histograms.
const MAX_ARRIVALS: usize = 1_000_000;
/// Findings of `null` that are kept.
const MAX_NULLS: usize = 1_000;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// The whole path, prefix included.
    pub path: Arc<str>,
    /// What follows the `?`.
    pub query: Option<String>,
    /// The request's headers.
    pub headers: HeaderMap,
    /// HTTP/1.1 or HTTP/2.
    pub version: Version,
    /// The body; unset when it is not JSON or did not come whole.
    pub body: Option<Value>,
    /// When the head had been read, by tokio's clock.
    pub at: Instant,
}

/// When a call came.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The whole path, prefix included.
    pub path: Arc<str>,
    /// When the head had been read, by tokio's clock.
    pub at: Instant,
}

/// A `null` in a request body, which Go's decoder takes for a zero value where a strict schema refuses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NullInBody {
    /// The path of the call.
    pub path: Arc<str>,
    /// Where in the body, as a JSON pointer.
    pub pointer: String,
}

/// Counts that are read in one go, so that they fit together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls by whole path since the last reset; a call counts when its head has been read.
    pub calls: BTreeMap<Arc<str>, u64>,
    /// Calls under way: from the head read to the last byte of the answer handed over, or the call given up.
    pub in_flight: u64,
    /// The most calls under way at a time since the last reset.
    pub max_in_flight: u64,
    /// Connections open now.
    pub open_connections: u64,
    /// Connections accepted since the last reset.
    pub connections: u64,
    /// Connections since the last reset whose TLS handshake failed.
    pub failed_handshakes: u64,
}

impl Counts {
    /// Calls that a target covers.
    #[must_use]
    pub fn calls_of(&self, target: &Target) -> u64 {
        self.calls.iter().filter(|(path, _)| target.covers(path)).map(|(_, calls)| calls).sum()
    }

    /// All calls.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.calls.values().sum()
    }
}

/// Behind one lock; whoever waits is woken by every change.
pub(crate) struct Recorder {
    log: Mutex<Log>,
    changed: watch::Sender<()>,
    keep: usize,
}

#[derive(Default)]
struct Log {
    counts: Counts,
    arrivals: Vec<Arrival>,
    requests: VecDeque<RecordedRequest>,
    nulls: Vec<NullInBody>,
}

impl Recorder {
    /// Keeps the last `keep` requests.
    pub(crate) fn new(keep: usize) -> Arc<Self> {
        Arc::new(Self { log: Mutex::default(), changed: watch::Sender::new(()), keep })
    }

    fn change(&self, change: impl FnOnce(&mut Log)) {
        change(&mut self.log.lock());
        self.changed.send_replace(());
    }

    /// A call has come; it is under way until the guard is dropped.
    pub(crate) fn arrived(self: &Arc<Self>, path: &str, at: Instant) -> (Arc<str>, InFlight) {
        let path: Arc<str> = path.into();
        self.change(|log| {
            *log.counts.calls.entry(path.clone()).or_default() += 1;
            log.counts.in_flight += 1;
            log.counts.max_in_flight = log.counts.max_in_flight.max(log.counts.in_flight);
            if log.arrivals.len() < MAX_ARRIVALS {
                log.arrivals.push(Arrival { path: path.clone(), at });
            }
        });
        (path, InFlight { recorder: self.clone() })
    }

    /// A call's body has been read.
    pub(crate) fn read(&self, request: RecordedRequest) {
        let mut pointers = Vec::new();
        if let Some(body) = &request.body {
            find_nulls(body, &mut String::new(), &mut pointers);
        }
        self.change(|log| {
            let room = MAX_NULLS.saturating_sub(log.nulls.len());
            let path = request.path.clone();
            let found = pointers.into_iter().map(|pointer| NullInBody { path: path.clone(), pointer });
            log.nulls.extend(found.take(room));
            log.requests.push_back(request);
            while log.requests.len() > self.keep {
                log.requests.pop_front();
            }
        });
    }

    /// A connection has come; it is open until the guard is dropped.
    pub(crate) fn connected(self: &Arc<Self>) -> OpenConnection {
        self.change(|log| {
            log.counts.connections += 1;
            log.counts.open_connections += 1;
        });
        OpenConnection { recorder: self.clone() }
    }

    pub(crate) fn handshake_failed(&self) {
        self.change(|log| log.counts.failed_handshakes += 1);
    }

    pub(crate) fn counts(&self) -> Counts {
        self.log.lock().counts.clone()
    }

    pub(crate) fn arrivals(&self) -> Vec<Arrival> {
        self.log.lock().arrivals.clone()
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.log.lock().requests.iter().cloned().collect()
    }

    pub(crate) fn nulls(&self) -> Vec<NullInBody> {
        self.log.lock().nulls.clone()
    }

    /// Forgets everything but what is under way and open now.
    pub(crate) fn reset(&self) {
        self.change(|log| {
            let Counts { in_flight, open_connections, .. } = log.counts;
            let counts =
                Counts { in_flight, max_in_flight: in_flight, open_connections, ..Counts::default() };
            *log = Log { counts, ..Log::default() };
        });
    }

    pub(crate) async fn until(&self, mut condition: impl FnMut(&Counts) -> bool) {
        let mut changed = self.changed.subscribe();
        while !condition(&self.counts()) {
            // The sender lives as long as `self`, which is borrowed here.
            if changed.changed().await.is_err() {
                return;
            }
        }
    }
}

/// Calls by second since `start`; earlier ones are left out.
pub(crate) fn histogram(arrivals: &[Arrival], start: Instant, width: Duration) -> Vec<u64> {
    let mut slots = Vec::new();
    for arrival in arrivals.iter().filter(|arrival| arrival.at >= start) {
        let since = (arrival.at - start).as_nanos() / width.as_nanos().max(1);
        let slot = usize::try_from(since).unwrap_or(usize::MAX).min(MAX_ARRIVALS);
        if slots.len() <= slot {
            slots.resize(slot + 1, 0);
        }
        slots[slot] += 1;
    }
    slots
}

pub(crate) struct InFlight {
    recorder: Arc<Recorder>,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.recorder.change(|log| log.counts.in_flight -= 1);
    }
}

pub(crate) struct OpenConnection {
    recorder: Arc<Recorder>,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.recorder.change(|log| log.counts.open_connections -= 1);
    }
}

fn find_nulls(value: &Value, at: &mut String, found: &mut Vec<String>) {
    match value {
        Value::Null => found.push(at.clone()),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| descend(&i.to_string(), item, at, found));
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                descend(&name.replace('~', "~0").replace('/', "~1"), field, at, found);
            }
        }
        _ => {}
    }
}

fn descend(step: &str, value: &Value, at: &mut String, found: &mut Vec<String>) {
    let length = at.len();
    at.push('/');
    at.push_str(step);
    find_nulls(value, at, found);
    at.truncate(length);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_null_is_found_by_its_pointer() {
        let body = serde_json::json!({"a": null, "b": [1, {"c/d": null}], "e": "null"});
        let mut found = Vec::new();
        find_nulls(&body, &mut String::new(), &mut found);
        assert_eq!(found, ["/a", "/b/1/c~1d"]);
    }
}
