//! The API server's own account of what it was asked.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// Every request with its body, except what the API server asks itself. The first stage is left out:
/// it says nothing that the next does not.
pub(crate) const POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: [\"system:apiserver\"]
- level: Request
";

/// How far a request had come when the API server wrote about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Stage {
    /// The answer's head was sent; only long-running requests (watches) have this stage.
    ResponseStarted,
    /// The request is over.
    ResponseComplete,
    /// The API server failed on the request.
    Panic,
}

/// One request that the API server was sent.
///
/// Text that a request does not have (a user agent, the namespace of a cluster's own object, every
/// resource field of a request such as `/healthz`) is empty.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditEvent {
    /// The API server's id for the request.
    pub id: String,
    /// The latest stage that was written. An open watch stands at [`Stage::ResponseStarted`].
    pub stage: Stage,
    /// When the request came in, in microseconds.
    pub received_at: Timestamp,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; the lower-case
    /// HTTP method for what is not about a resource.
    pub verb: String,
    /// The name of the user that was authenticated.
    pub user: String,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// The path of the request.
    pub path: String,
    /// The query string of the request as it was sent, without the question mark; see
    /// [`AuditEvent::parameter`].
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
    /// The HTTP status of the answer; `None` while there is none.
    pub code: Option<u16>,
    /// The body of the request; `None` when it had none. A patch is here as it was sent.
    pub body: Option<Value>,
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
}

/// A position in the audit log, to read on from later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AuditMark(u64);

/// Where the log ends now.
pub(crate) fn mark(log: &Path) -> Result<AuditMark> {
    match log.metadata() {
        Ok(metadata) => Ok(AuditMark(metadata.len())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(AuditMark::default()),
        Err(error) => Err(error).with_context(|| format!("failed to look at {}", log.display())),
    }
}

/// The requests written about after the mark, one event each, in the order of their first mention.
pub(crate) fn read(log: &Path, since: AuditMark) -> Result<Vec<AuditEvent>> {
    let mut text = String::new();
    File::open(log)
        .and_then(|mut file| {
            file.seek(SeekFrom::Start(since.0))?;
            file.read_to_string(&mut text)
        })
        .with_context(|| format!("failed to read {}", log.display()))?;
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<AuditEvent>> {
    let mut events: Vec<AuditEvent> = Vec::new();
    let mut places = HashMap::new();
    // A line without its end is still being written.
    for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        let wire: Wire = serde_json::from_str(line).with_context(|| format!("unexpected event {line}"))?;
        let event = AuditEvent::from(wire);
        if let Some(&place) = places.get(&event.id) {
            events[place] = event;
        } else {
            places.insert(event.id.clone(), events.len());
            events.push(event);
        }
    }
    Ok(events)
}

/// An event of `audit.k8s.io/v1`, as far as it matters here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    #[serde(rename = "auditID")]
    audit_id: String,
    stage: Stage,
    request_received_timestamp: Timestamp,
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    user: User,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: ObjectRef,
    response_status: Option<ResponseStatus>,
    request_object: Option<Value>,
}

#[derive(Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectRef {
    api_group: String,
    api_version: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Deserialize)]
struct ResponseStatus {
    #[serde(default)]
    code: u16,
}

impl From<Wire> for AuditEvent {
    fn from(wire: Wire) -> Self {
        let (path, query) = wire.request_uri.split_once('?').unwrap_or((&wire.request_uri, ""));
        Self {
            id: wire.audit_id,
            stage: wire.stage,
            received_at: wire.request_received_timestamp,
            verb: wire.verb,
            user: wire.user.username,
            user_agent: wire.user_agent,
            path: path.to_owned(),
            query: query.to_owned(),
            group: wire.object_ref.api_group,
            version: wire.object_ref.api_version,
            resource: wire.object_ref.resource,
            subresource: wire.object_ref.subresource,
            namespace: wire.object_ref.namespace,
            name: wire.object_ref.name,
            code: wire.response_status.map(|status| status.code).filter(|&code| code != 0),
            body: wire.request_object,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(id: &str, stage: &str) -> String {
        let event = json!({
            "kind": "Event", "level": "Request", "auditID": id, "stage": stage,
            "requestURI": "/apis/example.io/v1/namespaces/a/things/b/status?fieldManager=me&force=true",
            "verb": "patch", "user": { "username": "someone", "groups": [] }, "userAgent": "agent/1",
            "objectRef": { "resource": "things", "namespace": "a", "name": "b", "apiGroup": "example.io",
                           "apiVersion": "v1", "subresource": "status" },
            "responseStatus": { "metadata": {}, "code": 200 }, "requestObject": { "status": {} },
            "requestReceivedTimestamp": "2026-01-02T03:04:05.000006Z",
        });
        format!("{event}\n")
    }

    #[test]
    fn an_event_has_the_parts_of_its_request() {
        let expected = AuditEvent {
            id: "1".to_owned(),
            stage: Stage::ResponseComplete,
            received_at: "2026-01-02T03:04:05.000006Z".parse().unwrap(),
            verb: "patch".to_owned(),
            user: "someone".to_owned(),
            user_agent: "agent/1".to_owned(),
            path: "/apis/example.io/v1/namespaces/a/things/b/status".to_owned(),
            query: "fieldManager=me&force=true".to_owned(),
            group: "example.io".to_owned(),
            version: "v1".to_owned(),
            resource: "things".to_owned(),
            subresource: "status".to_owned(),
            namespace: "a".to_owned(),
            name: "b".to_owned(),
            code: Some(200),
            body: Some(json!({ "status": {} })),
        };
        assert_eq!(parse(&line("1", "ResponseComplete")).unwrap(), [expected]);
    }

    #[test]
    fn a_parameter_is_found_by_its_name() {
        let events = parse(&line("1", "ResponseComplete")).unwrap();
        let found = ["fieldManager", "force", "dryRun"].map(|name| events[0].parameter(name));
        assert_eq!(found, [Some("me".to_owned()), Some("true".to_owned()), None]);
    }

    #[test]
    fn a_request_is_one_event_at_its_latest_stage() {
        let log = ["ResponseStarted", "ResponseComplete"].map(|stage| line("1", stage)).concat();
        let events = parse(&(log + &line("2", "ResponseStarted"))).unwrap();
        let seen: Vec<_> = events.iter().map(|event| (event.id.as_str(), event.stage)).collect();
        assert_eq!(seen, [("1", Stage::ResponseComplete), ("2", Stage::ResponseStarted)]);
    }

    #[test]
    fn a_line_that_is_still_being_written_is_left_for_later() {
        assert_eq!(parse("{\"auditID\":").unwrap(), []);
    }
}
