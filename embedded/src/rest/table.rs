//! Tables, which `kubectl get` shows.
//!
//! Behaviour: Kubernetes `pkg/printers/internalversion/printers.go`, apiextensions-apiserver
//! `customresource/tableconvertor`, apimachinery `pkg/util/duration`.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::accept::Include;
use crate::registry::{Column, Endpoint};
use crate::store::{Object, object_mut};

mod builtin;

const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

/// The metadata of a table.
pub(crate) fn head(
    _endpoint: &Endpoint,
    revision: Option<&str>,
    next: Option<&str>,
    remaining: Option<usize>,
) -> Value {
    let mut metadata = json!({});
    if let Some(revision) = revision {
        metadata["resourceVersion"] = revision.into();
    }
    if let Some(next) = next {
        metadata["continue"] = next.into();
    }
    if let Some(remaining) = remaining {
        metadata["remainingItemCount"] = remaining.into();
    }
    metadata
}

/// A table of these objects. `has_columns` says whether their definitions are in it; a watch sends them
/// once.
pub(crate) fn table(
    metadata: &Value,
    endpoint: &Endpoint,
    objects: &[Arc<Object>],
    include: Include,
    has_columns: bool,
    now: Timestamp,
) -> Value {
    let columns = has_columns.then(|| columns(endpoint));
    let rows: Vec<_> = objects.iter().map(|object| row(endpoint, object, include, now)).collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": columns,
        "rows": rows,
    })
}

fn row(endpoint: &Endpoint, object: &Object, include: Include, now: Timestamp) -> Value {
    let value = endpoint.decode(object);
    let cells = match endpoint.strategy() {
        Some(_) => builtin::cells(&endpoint.names().plural, &object.decode(), now),
        None => custom_cells(&endpoint.version().columns, &value, now).into(),
    };
    let mut row = json!({ "cells": cells });
    match include {
        Include::Nothing => {}
        Include::Metadata => {
            let metadata = value["metadata"].clone();
            row["object"] = json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata });
        }
        Include::Object => {
            object_mut(&mut row).insert("object".to_owned(), value);
        }
    }
    row
}

fn columns(endpoint: &Endpoint) -> Vec<Value> {
    if endpoint.strategy().is_some() {
        return builtin::columns(&endpoint.names().plural);
    }
    let mut columns = vec![definition("Name", "string", "name", NAME, 0)];
    columns.extend(endpoint.version().columns.iter().map(|column| {
        definition(&column.name, &column.value_type, &column.format, &column.description, column.priority)
    }));
    columns
}

fn definition(name: &str, value_type: &str, format: &str, description: &str, priority: i64) -> Value {
    json!({ "name": name, "type": value_type, "format": format, "description": description, "priority": priority })
}

fn custom_cells(columns: &[Column], value: &Value, now: Timestamp) -> Vec<Value> {
    let mut cells = vec![value["metadata"]["name"].clone()];
    for column in columns {
        let found = column.path.find(value);
        cells.push(found.first().map_or(Value::Null, |found| cell(found, &column.value_type, now)));
    }
    cells
}

fn cell(value: &Value, value_type: &str, now: Timestamp) -> Value {
    match value_type {
        "integer" => value.as_i64().or_else(|| value.as_f64().map(to_integer)).into(),
        "number" => {
            if value.is_number() {
                value.clone()
            } else {
                Value::Null
            }
        }
        "boolean" => value.as_bool().into(),
        "date" => value.as_str().map(|text| age(text, now)).into(),
        _ => match value {
            Value::String(_) => value.clone(),
            Value::Null => Value::Null,
            other => other.to_string().into(),
        },
    }
}

#[expect(clippy::cast_possible_truncation, reason = "as Go converts it")]
fn to_integer(number: f64) -> i64 {
    number as i64
}

/// How long ago a time was, as kubectl shows it.
fn age(text: &str, now: Timestamp) -> String {
    match text.parse::<Timestamp>() {
        Ok(then) => human(now.duration_since(then).as_secs()),
        Err(_) if text.is_empty() => "<unknown>".to_owned(),
        Err(_) => "<invalid>".to_owned(),
    }
}

/// A duration in seconds, in at most two units of which the second is left out when it says little.
fn human(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let two = |unit: i64, name: char, less: i64, less_name: char| match seconds % unit / less {
        0 => format!("{}{name}", seconds / unit),
        rest => format!("{}{name}{rest}{less_name}", seconds / unit),
    };
    match seconds {
        i64::MIN..=-2 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(MINUTE, 'm', 1, 's'),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(HOUR, 'h', MINUTE, 'm'),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(DAY, 'd', HOUR, 'h'),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => two(YEAR, 'y', DAY, 'd'),
        _ => format!("{}y", seconds / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(0, "0s")]
    #[case(119, "119s")]
    #[case(120, "2m")]
    #[case(135, "2m15s")]
    #[case(3599, "59m")]
    #[case(3 * 3600 + 300, "3h5m")]
    #[case(47 * 3600, "47h")]
    #[case(3 * 86_400 + 7200, "3d2h")]
    #[case(100 * 86_400, "100d")]
    #[case(3 * 365 * 86_400, "3y")]
    #[case(-5, "<invalid>")]
    fn ages_are_shown_as_kubectl_shows_them(#[case] seconds: i64, #[case] expected: &str) {
        assert_eq!(human(seconds), expected);
    }
}
