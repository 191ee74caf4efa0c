//! The options of requests: what is in the query, and in the body of a deletion.
//!
//! Behaviour: apimachinery `pkg/apis/meta/v1` and its `validation`.

use bytes::Bytes;
use http::HeaderMap;
use serde_json::Value;

use super::request::Query;
use crate::status::{Cause, Result, Status, Subject, quoted};
use crate::store::{Filter, Key, fields, labels};

/// What becomes of fields that the kind does not have, and of those that are there twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// The options of a create, an update or a patch.
#[derive(Clone, Debug)]
pub(crate) struct WriteOptions {
    pub(crate) is_dry_run: bool,
    /// Empty if the request names none.
    pub(crate) field_manager: String,
    pub(crate) field_validation: FieldValidation,
    /// Of an apply: takes what others own.
    pub(crate) force: bool,
}

impl WriteOptions {
    /// `kind` is what the API server calls the options, such as `CreateOptions`.
    pub(crate) fn parse(query: &Query, kind: &str, is_apply: bool) -> Result<Self> {
        let mut causes = dry_run_causes(query.all("dryRun"));
        let field_manager = query.get("fieldManager").unwrap_or_default();
        causes.extend(manager_causes(field_manager));
        let validation = query.get("fieldValidation");
        let field_validation = match validation {
            None | Some("Warn") => FieldValidation::Warn,
            Some("Ignore") => FieldValidation::Ignore,
            Some("Strict") => FieldValidation::Strict,
            Some(other) => {
                causes.push(Cause::not_supported(
                    "fieldValidation",
                    other,
                    &["", "Ignore", "Strict", "Warn"],
                ));
                FieldValidation::Warn
            }
        };
        if is_apply && field_manager.is_empty() {
            causes.push(Cause::required("fieldManager", "is required for apply patch"));
        }
        if !is_apply && query.get("force").is_some() {
            causes.push(Cause::forbidden("force", "may not be specified for non-apply patch"));
        }
        refuse(kind, causes)?;
        Ok(Self {
            is_dry_run: query.all("dryRun").next().is_some(),
            field_manager: field_manager.to_owned(),
            field_validation,
            force: query.is_true("force"),
        })
    }
}

fn refuse(kind: &str, causes: Vec<Cause>) -> Result<()> {
    if causes.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(Subject { group: "meta.k8s.io", word: kind }, "", causes))
}

fn dry_run_causes<'a>(values: impl Iterator<Item = &'a str>) -> Vec<Cause> {
    let values: Vec<_> = values.collect();
    if values.iter().all(|value| *value == "All") {
        return Vec::new();
    }
    let shown: Vec<_> = values.iter().map(|value| quoted(value)).collect();
    let message = format!("Unsupported value: [{}]: supported values: \"All\"", shown.join(","));
    vec![Cause { reason: "FieldValueNotSupported".into(), message, field: "dryRun".to_owned() }]
}

fn manager_causes(manager: &str) -> Option<Cause> {
    if manager.len() > 128 {
        return Some(Cause::too_long("fieldManager", 128));
    }
    let is_printable = manager.chars().all(|character| !character.is_control());
    (!is_printable)
        .then(|| Cause::invalid("fieldManager", &quoted(manager), "should only contain printable characters"))
}

/// What becomes of the objects that a deleted one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Orphan,
    Background,
    Foreground,
}

/// The options of a deletion.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) is_dry_run: bool,
    pub(crate) propagation: Option<Propagation>,
    /// Whether `propagation` was said with the old word `orphanDependents`.
    pub(crate) orphan_dependents: Option<bool>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
}

impl DeleteOptions {
    /// From the body, or from the query if there is none.
    pub(crate) fn parse(query: &Query, headers: &HeaderMap, body: &Bytes) -> Result<Self> {
        let options = if body.is_empty() { from_query(query) } else { super::body::options(headers, body)? };
        let mut causes = Vec::new();
        let propagation = match options["propagationPolicy"].as_str() {
            None | Some("") => None,
            Some("Orphan") => Some(Propagation::Orphan),
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some(other) => {
                let supported = ["Foreground", "Background", "Orphan", "nil"];
                causes.push(Cause::not_supported("propagationPolicy", other, &supported));
                None
            }
        };
        let orphan_dependents = options["orphanDependents"].as_bool();
        if orphan_dependents.is_some() && propagation.is_some() {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            causes.push(Cause::invalid(
                "propagationPolicy",
                &options["propagationPolicy"].to_string(),
                detail,
            ));
        }
        let dry_run = options["dryRun"].as_array().map(Vec::as_slice).unwrap_or_default();
        causes.extend(dry_run_causes(dry_run.iter().filter_map(Value::as_str)));
        refuse("DeleteOptions", causes)?;
        let precondition = |name: &str| options["preconditions"][name].as_str().map(str::to_owned);
        Ok(Self {
            is_dry_run: !dry_run.is_empty(),
            propagation,
            orphan_dependents,
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
        })
    }
}

fn from_query(query: &Query) -> Value {
    let dry_run: Vec<_> = query.all("dryRun").collect();
    let orphan = query.get("orphanDependents").map(|value| value == "true");
    serde_json::json!({
        "propagationPolicy": query.get("propagationPolicy"),
        "orphanDependents": orphan,
        "dryRun": dry_run,
    })
}

/// The options of a list, a watch or the deletion of a collection.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are the API's")]
pub(crate) struct ListOptions {
    pub(crate) filter: Filter,
    /// Zero means all.
    pub(crate) limit: usize,
    pub(crate) next: Option<Continue>,
    /// `None` if unset or zero: whatever is there.
    pub(crate) resource_version: Option<u64>,
    /// Whether it was set, be it to zero.
    pub(crate) has_resource_version: bool,
    pub(crate) is_exact: bool,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) allows_bookmarks: bool,
    pub(crate) sends_initial_events: bool,
}

impl ListOptions {
    /// `selectable` are the fields that a field selector may name.
    pub(crate) fn parse(query: &Query, selectable: impl Fn(&str) -> bool) -> Result<Self> {
        let filter = Filter {
            labels: labels(query.get("labelSelector").unwrap_or_default())
                .map_err(|why| Status::bad_request(format!("unable to parse requirement: {why}")))?,
            fields: fields(query.get("fieldSelector").unwrap_or_default()).map_err(Status::bad_request)?,
        };
        for requirement in &filter.fields {
            if !selectable(&requirement.field) {
                let message = format!("field label not supported: {}", requirement.field);
                return Err(Status::bad_request(message));
            }
        }
        let parse = |text: &str| if query.is_true("watch") { watch_revision(text) } else { revision(text) };
        let resource_version = query.get("resourceVersion").map(parse).transpose()?;
        let next = query.get("continue").map(Continue::decode).transpose()?;
        let options = Self {
            filter,
            limit: number(query, "limit")?.unwrap_or_default(),
            next,
            resource_version: resource_version.filter(|revision| *revision > 0),
            has_resource_version: resource_version.is_some(),
            is_exact: query.get("resourceVersionMatch") == Some("Exact"),
            timeout_seconds: number(query, "timeoutSeconds")?.map(|seconds| seconds as u64),
            allows_bookmarks: query.is_true("allowWatchBookmarks"),
            sends_initial_events: query.is_true("sendInitialEvents"),
        };
        options.check(query)?;
        Ok(options)
    }

    fn check(&self, query: &Query) -> Result<()> {
        let matching = query.get("resourceVersionMatch");
        let mut causes = Vec::new();
        let is_watch = query.is_true("watch");
        if query.get("sendInitialEvents").is_some() {
            if !is_watch {
                causes.push(Cause::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
            } else if matching != Some("NotOlderThan") {
                let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
                causes.push(Cause::forbidden("resourceVersionMatch", detail));
            }
        } else if matching.is_some() && is_watch {
            let detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            causes.push(Cause::forbidden("resourceVersionMatch", detail));
            if matching != Some("NotOlderThan") {
                let matching = matching.unwrap_or_default();
                causes.push(Cause::not_supported("resourceVersionMatch", matching, &["NotOlderThan"]));
            }
        } else if let Some(matching) = matching {
            causes.extend(self.match_causes(matching));
        }
        if self.next.is_some() && self.resource_version.is_some() {
            return Err(Status::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        refuse("ListOptions", causes)
    }

    fn match_causes(&self, matching: &str) -> Option<Cause> {
        let field = "resourceVersionMatch";
        match matching {
            _ if !self.has_resource_version => Some(Cause::forbidden(
                field,
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            )),
            _ if self.next.is_some() => {
                Some(Cause::forbidden(field, "resourceVersionMatch is forbidden when continue is provided"))
            }
            "Exact" if self.resource_version.is_none() => Some(Cause::forbidden(
                field,
                "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            )),
            "Exact" | "NotOlderThan" => None,
            other => Some(Cause::not_supported(field, other, &["Exact", "NotOlderThan", ""])),
        }
    }
}

fn number(query: &Query, name: &str) -> Result<Option<usize>> {
    let parse = |text: &str| {
        text.parse::<i64>().ok().and_then(|number| usize::try_from(number).ok()).ok_or_else(|| {
            Status::bad_request(format!("strconv.ParseInt: parsing {}: invalid syntax", quoted(text)))
        })
    };
    query.get(name).map(parse).transpose()
}

/// Reads a `resourceVersion`.
pub(crate) fn revision(text: &str) -> Result<u64> {
    parse_revision(text).map_err(|why| Status::bad_request(format!("invalid resource version: {why}")))
}

/// The same for a watch, where the API server takes the client's mistake for its own.
fn watch_revision(text: &str) -> Result<u64> {
    parse_revision(text).map_err(Status::unexplained)
}

fn parse_revision(text: &str) -> std::result::Result<u64, String> {
    text.parse().map_err(|_| {
        let why = format!("strconv.ParseUint: parsing {}: invalid syntax", quoted(text));
        let cause = Cause::invalid("resourceVersion", &quoted(text), &why);
        format!("resourceVersion: {}", cause.message)
    })
}

/// Where the next page of a list begins.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Continue {
    /// The revision that the list shows; `None` for whatever is there.
    pub(crate) revision: Option<u64>,
    pub(crate) after: Key,
}

impl Continue {
    pub(crate) fn encode(&self) -> String {
        use base64::Engine as _;
        let revision = self.revision.map_or(-1, |revision| i64::try_from(revision).unwrap_or(i64::MAX));
        let token = serde_json::json!({ "v": "meta.k8s.io/v1", "rv": revision, "start": self.after.text() });
        base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(token.to_string())
    }

    fn decode(text: &str) -> Result<Self> {
        use base64::Engine as _;
        let refused = || Status::bad_request("continue key is not valid: it was not made by this server");
        let json = base64::prelude::BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| refused())?;
        let token: Value = serde_json::from_slice(&json).map_err(|_| refused())?;
        let revision = token["rv"].as_i64().ok_or_else(refused)?;
        let after = token["start"].as_str().ok_or_else(refused)?;
        Ok(Self { revision: u64::try_from(revision).ok(), after: Key::from_text(after) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_continue_token_comes_back_as_it_was() {
        let token = Continue { revision: Some(7), after: Key::new(Some("ns"), "a") };
        assert_eq!(Continue::decode(&token.encode()), Ok(token));
        let token = Continue { revision: None, after: Key::new(None, "a") };
        assert_eq!(Continue::decode(&token.encode()), Ok(token));
        assert!(Continue::decode("nonsense").is_err_and(|status| status.code() == 400));
    }
}
