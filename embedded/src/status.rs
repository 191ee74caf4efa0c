//! What is answered when a request is not done: `Status` objects, worded as the API server words them.
//!
//! Behaviour: apimachinery `pkg/api/errors/errors.go`.

use std::borrow::Cow;
use std::collections::HashSet;

use http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};

/// A result of a handler.
pub(crate) type Result<T> = std::result::Result<T, Status>;

/// A refusal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Status(Box<Content>);

#[derive(Clone, Debug, PartialEq)]
struct Content {
    code: StatusCode,
    reason: Cow<'static, str>,
    message: String,
    details: Option<Details>,
    next: Option<String>,
}

/// What a refusal is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Details {
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) name: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) group: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) kind: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) uid: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) causes: Vec<Cause>,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) retry_after_seconds: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// One reason of a refusal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Cause {
    pub(crate) reason: Cow<'static, str>,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) field: String,
}

impl Cause {
    fn new(reason: &'static str, field: impl Into<String>, message: String) -> Self {
        Self { reason: Cow::Borrowed(reason), message, field: field.into() }
    }

    /// `value` is shown as it is, so quote it where the API server does.
    pub(crate) fn invalid(field: impl Into<String>, value: &str, detail: &str) -> Self {
        let message = format!("Invalid value: {value}: {detail}");
        Self::new("FieldValueInvalid", field, message)
    }

    pub(crate) fn required(field: impl Into<String>, detail: &str) -> Self {
        Self::new("FieldValueRequired", field, joined("Required value", detail))
    }

    pub(crate) fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self::new("FieldValueForbidden", field, joined("Forbidden", detail))
    }

    pub(crate) fn too_long(field: impl Into<String>, limit: usize) -> Self {
        Self::new("FieldValueTooLong", field, format!("Too long: may not be more than {limit} bytes"))
    }

    pub(crate) fn not_supported(field: impl Into<String>, value: &str, supported: &[&str]) -> Self {
        let supported: Vec<_> = supported.iter().map(|text| quoted(text)).collect();
        let message =
            format!("Unsupported value: {}: supported values: {}", quoted(value), supported.join(", "));
        Self::new("FieldValueNotSupported", field, message)
    }

    /// Whether rules in CEL are left alone once this is wrong.
    pub(crate) fn blocks_rules(&self) -> bool {
        kapstan_schema::Cause::from_reason(&self.reason).is_some_and(kapstan_schema::Cause::blocks_rules)
    }

    fn in_text(&self) -> String {
        format!("{}: {}", self.field, self.message)
    }
}

impl From<kapstan_schema::FieldError> for Cause {
    fn from(error: kapstan_schema::FieldError) -> Self {
        let message = error.body();
        Self::new(error.cause.reason(), error.path, message)
    }
}

fn joined(words: &str, detail: &str) -> String {
    if detail.is_empty() { words.to_owned() } else { format!("{words}: {detail}") }
}

/// A text in quotes, escaped as Go's `%q` does for what occurs in names and values.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A group and a resource, or a group and a kind; refusals name one or the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) group: &'a str,
    pub(crate) word: &'a str,
}

impl Subject<'_> {
    fn qualified(self) -> String {
        if self.group.is_empty() { self.word.to_owned() } else { format!("{}.{}", self.word, self.group) }
    }

    fn details(self, name: &str) -> Details {
        Details {
            name: name.to_owned(),
            group: self.group.to_owned(),
            kind: self.word.to_owned(),
            ..Details::default()
        }
    }
}

impl Status {
    pub(crate) fn new(
        code: StatusCode,
        reason: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        let (reason, message) = (reason.into(), message.into());
        Self(Box::new(Content { code, reason, message, details: None, next: None }))
    }

    fn about(mut self, details: Details) -> Self {
        self.0.details = Some(details);
        self
    }

    pub(crate) fn not_found(resource: Subject<'_>, name: &str) -> Self {
        let message = format!("{} {} not found", resource.qualified(), quoted(name));
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about(resource.details(name))
    }

    /// The path names no resource that is served.
    pub(crate) fn no_such_resource() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about(Details::default())
    }

    pub(crate) fn already_exists(resource: Subject<'_>, name: &str) -> Self {
        let message = format!("{} {} already exists", resource.qualified(), quoted(name));
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message).about(resource.details(name))
    }

    pub(crate) fn conflict(subject: Subject<'_>, name: &str, why: &str) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {} {}: {why}", subject.qualified(), quoted(name));
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(subject.details(name))
    }

    /// Somebody else wrote the object since it was read.
    pub(crate) fn modified(resource: Subject<'_>, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    pub(crate) fn forbidden(resource: Subject<'_>, name: &str, why: &str, causes: Vec<Cause>) -> Self {
        let message = format!("{} {} is forbidden: {why}", resource.qualified(), quoted(name));
        let details = Details { causes, ..resource.details(name) };
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).about(details)
    }

    pub(crate) fn invalid(kind: Subject<'_>, name: &str, causes: Vec<Cause>) -> Self {
        let mut seen = HashSet::new();
        let mut texts: Vec<_> = causes.iter().map(Cause::in_text).collect();
        texts.retain(|text| seen.insert(text.clone()));
        let text = match &texts[..] {
            [only] => only.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{} {} is invalid: {text}", kind.qualified(), quoted(name));
        let details = Details { causes, ..kind.details(name) };
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).about(details)
    }

    /// A JSON patch that does not fit the object; the API server says no more than this.
    pub(crate) fn patch_does_not_fit() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).about(Details::default())
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).about(Details::default())
    }

    /// A resource that the API server serves and this one does not.
    pub(crate) fn not_served(resource: &str) -> Self {
        let message = format!(
            "the server could not find the requested resource: the embedded API server does not serve {resource}"
        );
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about(Details::default())
    }

    /// Something the API server does and this one does not.
    pub(crate) fn not_implemented(feature: &str) -> Self {
        let message = format!("the embedded API server does not support {feature}");
        Self::new(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message)
    }

    pub(crate) fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
    }

    pub(crate) fn not_acceptable(accepted: &[&str]) -> Self {
        let message = format!("only the following media types are accepted: {}", accepted.join(", "));
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        let message = format!("limit is {limit}");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    /// What was asked for is no longer in the history.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// A list page that can no longer be consistent; `next` goes on from there at the present revision.
    pub(crate) fn page_expired(next: String) -> Self {
        let message = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
        let mut status = Self::expired(message);
        status.0.next = Some(next);
        status
    }

    /// A revision that is still to come was asked for.
    pub(crate) fn from_the_future(asked: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {asked}, current: {current}");
        let cause = Cause::new("ResourceVersionTooLarge", "", "Too large resource version".to_owned());
        let details = Details { causes: vec![cause], retry_after_seconds: 1, ..Details::default() };
        Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", format!("Timeout: {message}")).about(details)
    }

    /// What the API server calls an error of its own, though it is the client's.
    pub(crate) fn unexplained(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
    }

    /// A verb that a custom resource, or its subresource, does not have.
    pub(crate) fn verb_not_supported(resource: Subject<'_>, verb: &str) -> Self {
        let message =
            format!("{verb} is not supported on resources of kind {}", quoted(&resource.qualified()));
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).about(resource.details(""))
    }

    pub(crate) fn with_causes(
        code: StatusCode,
        reason: &'static str,
        message: String,
        causes: Vec<Cause>,
    ) -> Self {
        Self::new(code, reason, message).about(Details { causes, ..Details::default() })
    }

    pub(crate) fn code(&self) -> StatusCode {
        self.0.code
    }

    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    pub(crate) fn retry_after(&self) -> Option<u32> {
        self.0.details.as_ref().map(|details| details.retry_after_seconds).filter(|seconds| *seconds > 0)
    }

    /// The `Status` object.
    pub(crate) fn to_value(&self) -> Value {
        let Content { code, reason, message, details, next } = &*self.0;
        let metadata = next.as_ref().map_or_else(|| json!({}), |next| json!({ "continue": next }));
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata,
            "status": "Failure",
            "message": message,
            "code": code.as_u16(),
        });
        if !reason.is_empty() {
            status["reason"] = json!(reason);
        }
        if let Some(details) = details {
            status["details"] = json!(details);
        }
        status
    }
}

/// The `Status` object of a deletion that is done.
pub(crate) fn deleted(resource: Subject<'_>, name: &str, uid: &str) -> Value {
    let details = Details { uid: uid.to_owned(), ..resource.details(name) };
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}
