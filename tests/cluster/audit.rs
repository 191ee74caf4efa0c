//! What an API server was asked, in its own words, whichever it is.

use serde_json::Value;

/// One request that the API server was sent. Text that a request does not have is empty.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AuditEvent {
    pub(crate) verb: String,
    pub(crate) user: String,
    pub(crate) path: String,
    query: String,
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The HTTP status of the answer; `None` while there is none.
    pub(crate) code: Option<u16>,
    pub(crate) body: Option<Value>,
    /// Whether it is a watch that has not ended.
    pub(crate) is_open: bool,
}

impl AuditEvent {
    /// Whether the request asks for a change, granted or not.
    pub(crate) fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
    }

    /// The decoded value of the first parameter of this name in the query string, such as `fieldManager`.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let mut parameters = url::form_urlencoded::parse(self.query.as_bytes());
        parameters.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }
}

impl From<kapstan_envtest::AuditEvent> for AuditEvent {
    fn from(event: kapstan_envtest::AuditEvent) -> Self {
        Self {
            is_open: event.verb == "watch" && event.stage == kapstan_envtest::Stage::ResponseStarted,
            verb: event.verb,
            user: event.user,
            path: event.path,
            query: event.query,
            group: event.group,
            resource: event.resource,
            subresource: event.subresource,
            namespace: event.namespace,
            name: event.name,
            code: event.code,
            body: event.body,
        }
    }
}

impl From<kapstan_embedded::AuditEvent> for AuditEvent {
    fn from(event: kapstan_embedded::AuditEvent) -> Self {
        Self {
            is_open: event.is_open(),
            body: event.body(),
            verb: event.verb,
            user: event.user,
            path: event.path,
            query: event.query,
            group: event.group,
            resource: event.resource,
            subresource: event.subresource,
            namespace: event.namespace,
            name: event.name,
            code: Some(event.code),
        }
    }
}

/// A position in the audit log, to read on from later.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AuditMark {
    Beginning,
    Embedded(kapstan_embedded::AuditMark),
    Real(kapstan_envtest::AuditMark),
}

impl AuditMark {
    pub(crate) fn embedded(self) -> kapstan_embedded::AuditMark {
        match self {
            Self::Embedded(mark) => mark,
            Self::Beginning | Self::Real(_) => kapstan_embedded::AuditMark::default(),
        }
    }

    pub(crate) fn real(self) -> kapstan_envtest::AuditMark {
        match self {
            Self::Real(mark) => mark,
            Self::Beginning | Self::Embedded(_) => kapstan_envtest::AuditMark::default(),
        }
    }
}
