//! Patches: JSON patch, JSON merge patch, and server-side apply.
//!
//! Behaviour: apiserver `pkg/endpoints/handlers/patch.go`.

use http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::body::{self, Syntax};
use super::write::{Absent, Made, Write, Written};
use crate::status::{Cause, Result, Status, Subject, quoted};
use crate::{apply, strategic};

/// The most operations a JSON patch may have.
const MAX_OPERATIONS: usize = 10_000;

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// Whether the request is a server-side apply.
pub(crate) fn is_apply(headers: &HeaderMap) -> bool {
    body::content_type(headers) == APPLY
}

/// Patches an object.
pub(crate) fn patch(write: &Write<'_>, headers: &HeaderMap, bytes: &[u8]) -> Result<Written> {
    let is_builtin = write.endpoint.strategy().is_some();
    match body::content_type(headers) {
        JSON => json(write, bytes),
        MERGE => merge(write, bytes),
        STRATEGIC if is_builtin => strategic(write, bytes),
        APPLY => applied(write, bytes),
        _ if is_builtin => Err(Status::unsupported_media_type(&[JSON, MERGE, STRATEGIC, APPLY])),
        _ => Err(Status::unsupported_media_type(&[JSON, MERGE, APPLY])),
    }
}

fn undecodable(why: impl std::fmt::Display) -> Status {
    Status::bad_request(format!("error decoding patch: {why}"))
}

fn json(write: &Write<'_>, bytes: &[u8]) -> Result<Written> {
    let document = body::read(bytes, Syntax::Json).map_err(undecodable)?.value;
    let operations = document.as_array().map_or(0, Vec::len);
    if operations > MAX_OPERATIONS {
        let message =
            format!("The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {operations}");
        return Err(Status::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message));
    }
    let patch: json_patch::Patch = serde_json::from_value(document).map_err(undecodable)?;
    write.update(Absent::Refuse, &|live| {
        let mut value = live.cloned().unwrap_or_default();
        json_patch::patch(&mut value, &patch).map_err(|_| Status::patch_does_not_fit())?;
        made(write, value, &[])
    })
}

fn merge(write: &Write<'_>, bytes: &[u8]) -> Result<Written> {
    let read = body::read(bytes, Syntax::Json).map_err(undecodable)?;
    if !read.value.is_object() {
        return Err(undecodable("a merge patch is an object"));
    }
    write.update(Absent::Refuse, &|live| {
        let mut value = live.cloned().unwrap_or_default();
        json_patch::merge(&mut value, &read.value);
        made(write, value, &read.duplicates)
    })
}

fn strategic(write: &Write<'_>, bytes: &[u8]) -> Result<Written> {
    let read = body::read(bytes, Syntax::Json).map_err(undecodable)?;
    let Value::Object(patch) = &read.value else { return Err(undecodable("a merge patch is an object")) };
    let (api_version, kind) = (write.endpoint.api_version(), &write.endpoint.names().kind);
    write.update(Absent::Refuse, &|live| {
        let original = live.and_then(Value::as_object).cloned().unwrap_or_default();
        let patched = strategic::patch(&original, patch, api_version, kind)
            .ok_or_else(|| Status::not_implemented("strategic merge patches of this kind"))?
            .map_err(|error| {
                let code = StatusCode::from_u16(error.code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                Status::new(code, error.reason(), error.to_string())
            })?;
        made(write, Value::Object(patched), &read.duplicates)
    })
}

fn applied(write: &Write<'_>, bytes: &[u8]) -> Result<Written> {
    let read = body::read(bytes, Syntax::Json).or_else(|_| body::read(bytes, Syntax::Yaml));
    let read = read.map_err(|why| Status::bad_request(format!("error decoding YAML: {why}")))?;
    if !read.value.is_object() {
        return Err(Status::bad_request("error decoding YAML: an applied configuration is an object"));
    }
    let mut given = read.value;
    check_name(write, &given)?;
    if let Some(namespace) = write.endpoint.kind().is_namespaced.then_some(&write.target.namespace) {
        super::rules::place(&mut given, Some(namespace))?;
    }
    write.update(Absent::Create, &|live| {
        let value = apply::apply(live, &given, &write.context()).map_err(refusal)?;
        Ok(Made { is_tracked: true, ..made(write, value, &read.duplicates)? })
    })
}

fn check_name(write: &Write<'_>, given: &Value) -> Result<()> {
    let (name, expected) = (given["metadata"]["name"].as_str().unwrap_or_default(), &write.target.name);
    if name.is_empty() || name == expected {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "the name of the object ({name}) does not match the name on the URL ({expected})"
    )))
}

fn refusal(error: apply::Error) -> Status {
    let code = StatusCode::from_u16(error.code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let (reason, message) = (error.reason(), error.to_string());
    match error {
        apply::Error::Conflict { causes, .. } => {
            let cause = |cause: apply::Cause| Cause {
                reason: "FieldManagerConflict".into(),
                message: cause.message,
                field: cause.field,
            };
            Status::with_causes(code, reason, message, causes.into_iter().map(cause).collect())
        }
        _ => Status::new(code, reason, message),
    }
}

/// The patched object, decoded again as if it had been sent.
fn made(write: &Write<'_>, value: Value, duplicates: &[String]) -> Result<Made> {
    check_name(write, &value)?;
    body::check_type(write.endpoint, &value, b"")?;
    let shown = value.to_string();
    let validation = write.options.field_validation;
    let decoded = body::try_complete(write.endpoint, value, duplicates, validation).map_err(|why| {
        let cause = Cause::invalid("patch", &quoted(&shown), &why);
        Status::invalid(Subject { group: "", word: "" }, "", vec![cause])
    })?;
    Ok(Made { value: decoded.value, warnings: decoded.warnings, is_tracked: false })
}
