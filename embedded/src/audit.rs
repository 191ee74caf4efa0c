//! The server's own account of what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;

/// How much of each request is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AuditLevel {
    /// Nothing is kept.
    Off,
    /// Everything but bodies.
    Metadata,
    /// Bodies too. They are shared with the request, not copied.
    #[default]
    Request,
}

/// One request that was answered, or a watch that began.
///
/// Text that a request does not have (a namespace of a cluster's own object, every resource field of a
/// request such as `/version`) is empty.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditEvent {
    /// When the request came in, by the server's clock.
    pub received_at: Timestamp,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; the lower-case
    /// HTTP method for what is not about a resource.
    pub verb: String,
    /// Who asked: the name that belongs to the token, or the in-process client's.
    pub user: String,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// The path of the request.
    pub path: String,
    /// The query string as it was sent, without the question mark; see [`AuditEvent::parameter`].
    pub query: String,
    /// The API group; empty for the core group too.
    pub group: String,
    /// The version of the API group.
    pub version: String,
    /// The resource in lower-case plural, as in the path.
    pub resource: String,
    /// The subresource, such as `status`.
    pub subresource: String,
    /// The namespace.
    pub namespace: String,
    /// The name of the object; also for one that is created, when the request says it.
    pub name: String,
    /// The HTTP status of the answer.
    pub code: u16,
    body: Bytes,
    open: Open,
}

/// Whether the body of a watch's answer is still there.
#[derive(Clone, Debug, Default)]
struct Open(Weak<()>);

impl Open {
    fn is_open(&self) -> bool {
        self.0.strong_count() > 0
    }
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.is_open() == other.is_open()
    }
}

impl AuditEvent {
    /// Whether the request asks for a change, granted or not.
    #[must_use]
    pub fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
    }

    /// The decoded value of the first parameter of this name in the query string, such as `fieldManager`.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<String> {
        let mut parameters = url::form_urlencoded::parse(self.query.as_bytes());
        parameters.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }

    /// Whether this is a watch that has not ended yet.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open.is_open()
    }

    fn size(&self) -> usize {
        let texts = [
            &self.verb,
            &self.user,
            &self.user_agent,
            &self.path,
            &self.query,
            &self.group,
            &self.version,
            &self.resource,
            &self.subresource,
            &self.namespace,
            &self.name,
        ];
        size_of::<Self>() + self.body.len() + texts.into_iter().map(String::len).sum::<usize>()
    }

    /// The body of the request; `None` when it had none, when it was no JSON, or below
    /// [`AuditLevel::Request`].
    #[must_use]
    pub fn body(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

/// A position in the audit log, to read on from later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AuditMark(u64);

/// The requests that a server was sent; cheap to clone.
///
/// Only the latest are kept; [`Audit::forgotten`] says how many are no longer there.
#[derive(Clone, Debug)]
pub struct Audit {
    level: AuditLevel,
    capacity: usize,
    limit: usize,
    log: Arc<Mutex<Log>>,
}

/// How many bytes all events may take.
const LIMIT: usize = 256 * 1024 * 1024;

#[derive(Debug, Default)]
struct Log {
    events: VecDeque<AuditEvent>,
    bytes: usize,
    forgotten: u64,
}

/// A request before it is answered.
pub(crate) struct Asked {
    pub(crate) event: AuditEvent,
}

impl Asked {
    pub(crate) fn new(received_at: Timestamp, user: String, user_agent: String, body: Bytes) -> Self {
        let empty = String::new;
        Self {
            event: AuditEvent {
                received_at,
                verb: empty(),
                user,
                user_agent,
                path: empty(),
                query: empty(),
                group: empty(),
                version: empty(),
                resource: empty(),
                subresource: empty(),
                namespace: empty(),
                name: empty(),
                code: 0,
                body,
                open: Open::default(),
            },
        }
    }

    /// The request is a watch, which is open for as long as what is handed out here lives.
    pub(crate) fn opened(&mut self) -> Arc<()> {
        let open = Arc::new(());
        self.event.open = Open(Arc::downgrade(&open));
        open
    }
}

impl Audit {
    pub(crate) fn new(level: AuditLevel, capacity: usize) -> Self {
        Self { level, capacity: capacity.max(1), limit: LIMIT, log: Arc::default() }
    }

    pub(crate) fn record(&self, asked: Asked, code: u16) {
        if self.level == AuditLevel::Off {
            return;
        }
        let mut event = AuditEvent { code, ..asked.event };
        if self.level == AuditLevel::Metadata {
            event.body = Bytes::new();
        } else if event.name.is_empty() && event.verb == "create" {
            event.name = name_in(&event.body);
        }
        let mut log = self.log.lock();
        log.bytes += event.size();
        log.events.push_back(event);
        while log.events.len() > 1 && (log.events.len() > self.capacity || log.bytes > self.limit) {
            log.bytes -= log.events.pop_front().map_or(0, |oldest| oldest.size());
            log.forgotten += 1;
        }
    }

    /// Every request so far, in the order of the answers; a watch when it began.
    #[must_use]
    pub fn events(&self) -> Vec<AuditEvent> {
        self.events_since(AuditMark::default())
    }

    /// The requests since the mark.
    #[must_use]
    pub fn events_since(&self, mark: AuditMark) -> Vec<AuditEvent> {
        let log = self.log.lock();
        let skipped = usize::try_from(mark.0.saturating_sub(log.forgotten)).unwrap_or(usize::MAX);
        log.events.iter().skip(skipped).cloned().collect()
    }

    /// How many of the requests satisfy the condition; nothing is copied.
    #[must_use]
    pub fn count(&self, condition: impl Fn(&AuditEvent) -> bool) -> usize {
        self.log.lock().events.iter().filter(|event| condition(event)).count()
    }

    /// A mark to hand to [`Audit::events_since`].
    #[must_use]
    pub fn mark(&self) -> AuditMark {
        let log = self.log.lock();
        AuditMark(log.forgotten + log.events.len() as u64)
    }

    /// How many requests were dropped because there were too many.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.log.lock().forgotten
    }
}

fn name_in(body: &[u8]) -> String {
    #[derive(serde::Deserialize, Default)]
    struct Named {
        #[serde(default)]
        metadata: Metadata,
    }
    #[derive(serde::Deserialize, Default)]
    struct Metadata {
        #[serde(default)]
        name: String,
    }
    serde_json::from_slice::<Named>(body).unwrap_or_default().metadata.name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_bounded_by_the_bytes_that_it_takes() {
        let audit = Audit { limit: 8 * 1024, ..Audit::new(AuditLevel::Request, 1000) };
        for number in 0..10 {
            let body = Bytes::from(vec![b' '; 2 * 1024]);
            let mut asked = Asked::new(Timestamp::UNIX_EPOCH, String::new(), String::new(), body);
            asked.event.name = number.to_string();
            audit.record(asked, 200);
        }
        let names: Vec<_> = audit.events().into_iter().map(|event| event.name).collect();
        assert_eq!((names, audit.forgotten()), (vec!["7".to_owned(), "8".to_owned(), "9".to_owned()], 7));
    }
}
