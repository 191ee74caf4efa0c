//! Which form of an answer the client wants.
//!
//! Behaviour: apiserver `pkg/endpoints/handlers/negotiation`.

use http::HeaderMap;

use super::request::Query;
use crate::status::{Cause, Result, Status, Subject};

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The object as it is.
    Plain,
    /// Only its metadata.
    Metadata,
    /// Rows of a table.
    Table(Include),
}

/// What a row of a table holds besides its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    Nothing,
    Metadata,
    Object,
}

const OFFERED: [&str; 1] = ["application/json"];

/// The first form in the `Accept` header that there is.
pub(crate) fn form(headers: &HeaderMap, query: &Query) -> Result<Form> {
    let mut is_any = false;
    for clause in clauses(headers) {
        is_any = true;
        if let Some(form) = clause_form(clause, query)? {
            return Ok(form);
        }
    }
    if is_any { Err(Status::not_acceptable(&OFFERED)) } else { Ok(Form::Plain) }
}

/// The clauses of all `Accept` headers.
pub(crate) fn clauses(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(http::header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|clause| !clause.is_empty())
}

fn clause_form(clause: &str, query: &Query) -> Result<Option<Form>> {
    let mut parts = clause.split(';').map(str::trim);
    if !matches!(parts.next(), Some("application/json" | "application/*" | "*/*")) {
        return Ok(None);
    }
    let parameter = |name: &str| {
        clause
            .split(';')
            .filter_map(|part| part.trim().split_once('='))
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    };
    let Some(target) = parameter("as") else { return Ok(Some(Form::Plain)) };
    let is_meta = parameter("g") == Some("meta.k8s.io") && matches!(parameter("v"), Some("v1" | "v1beta1"));
    match target {
        "Table" if is_meta => Ok(Some(Form::Table(include(query)?))),
        "PartialObjectMetadata" | "PartialObjectMetadataList" if is_meta => Ok(Some(Form::Metadata)),
        _ => Ok(None),
    }
}

fn include(query: &Query) -> Result<Include> {
    match query.get("includeObject") {
        None | Some("Metadata") => Ok(Include::Metadata),
        Some("None") => Ok(Include::Nothing),
        Some("Object") => Ok(Include::Object),
        Some(other) => {
            let cause = Cause::not_supported("includeObject", other, &["None", "Object", "Metadata", ""]);
            Err(Status::invalid(Subject { group: "meta.k8s.io", word: "TableOptions" }, "", vec![cause]))
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";

    #[rstest]
    #[case::nothing("", Some(Form::Plain))]
    #[case::json("application/json", Some(Form::Plain))]
    #[case::anything("*/*", Some(Form::Plain))]
    #[case::protobuf_or_json("application/vnd.kubernetes.protobuf, application/json", Some(Form::Plain))]
    #[case::protobuf("application/vnd.kubernetes.protobuf", None)]
    #[case::kubectl(TABLE, Some(Form::Table(Include::Metadata)))]
    #[case::metadata("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", Some(Form::Metadata))]
    #[case::unknown("application/json;as=Nope;g=meta.k8s.io;v=v1", None)]
    fn forms(#[case] accept: &str, #[case] expected: Option<Form>) {
        let mut headers = HeaderMap::new();
        if !accept.is_empty() {
            headers.insert(http::header::ACCEPT, accept.parse().unwrap());
        }
        assert_eq!(form(&headers, &Query::default()).ok(), expected);
    }
}
