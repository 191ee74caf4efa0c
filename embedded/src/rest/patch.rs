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
/// The most bytes that the operations of a JSON patch may copy.
const MAX_COPIED: usize = 3 * 1024 * 1024;

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

/// What Go says about a value that is to be a map and is none.
fn no_map(value: &Value) -> String {
    let found = match value {
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        Value::Null | Value::Object(_) => "object",
    };
    format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}")
}

fn json(write: &Write<'_>, bytes: &[u8]) -> Result<Written> {
    let document = body::read(bytes, Syntax::Json).map_err(undecodable)?.value;
    let operations = match document {
        Value::Array(operations) => operations,
        Value::Null => Vec::new(),
        _ => return Err(undecodable("a JSON patch is a list of operations")),
    };
    if operations.len() > MAX_OPERATIONS {
        let count = operations.len();
        let message =
            format!("The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {count}");
        return Err(Status::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message));
    }
    let patch = serde_json::from_value::<json_patch::Patch>(operations.into());
    write.update(Absent::Refuse, &|live| {
        let mut value = live.cloned().unwrap_or_default();
        let json_patch::Patch(operations) = patch.as_ref().map_err(|_| Status::patch_does_not_fit())?;
        operate(&mut value, operations).ok_or_else(Status::patch_does_not_fit)?;
        made(write, value, &[])
    })
}

/// Does one operation after the other; `None` when one does not fit, or when they copy too much.
fn operate(value: &mut Value, operations: &[json_patch::PatchOperation]) -> Option<()> {
    let mut copied = 0;
    for operation in operations {
        if let json_patch::PatchOperation::Copy(copy) = operation {
            copied += value.pointer(copy.from.as_str())?.to_string().len();
            if copied > MAX_COPIED {
                return None;
            }
        }
        json_patch::patch(value, std::slice::from_ref(operation)).ok()?;
    }
    Some(())
}

fn merge(write: &Write<'_>, bytes: &[u8]) -> Result<Written> {
    let read = body::read(bytes, Syntax::Json).map_err(undecodable)?;
    match &read.value {
        Value::Object(_) => {}
        Value::Null => return Err(Status::bad_request("Invalid JSON Patch")),
        other => return Err(undecodable(no_map(other))),
    }
    write.update(Absent::Refuse, &|live| {
        let mut value = live.cloned().unwrap_or_default();
        json_patch::merge(&mut value, &read.value);
        made(write, value, &read.duplicates)
    })
}

fn strategic(write: &Write<'_>, bytes: &[u8]) -> Result<Written> {
    let read = body::read(bytes, Syntax::Json).map_err(Status::bad_request)?;
    let patch = match read.value {
        Value::Object(patch) => patch,
        Value::Null => serde_json::Map::new(),
        other => return Err(Status::bad_request(no_map(&other))),
    };
    let (api_version, kind) = (write.endpoint.api_version(), &write.endpoint.names().kind);
    write.update(Absent::Refuse, &|live| {
        let original = live.and_then(Value::as_object).cloned().unwrap_or_default();
        let patched = strategic::patch(&original, &patch, api_version, kind)
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
        let why = no_map(&read.value);
        let decoding = "error decoding YAML: error unmarshaling JSON: while decoding JSON";
        return Err(Status::bad_request(format!("{decoding}: {why}")));
    }
    let given = read.value;
    write.update(Absent::Create, &|live| {
        if live.is_none() {
            super::serve::check_name(&given, &write.target.name)?;
        }
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
