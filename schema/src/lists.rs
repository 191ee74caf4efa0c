//! Uniqueness in lists of type set and map.
//!
//! Behaviour: apiextensions-apiserver `pkg/apiserver/schema/listtype`.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::error::{FieldError, MAX_ERRORS};
use crate::go;
use crate::node::Node;
use crate::path::Path;

pub(crate) fn check(value: &Value, node: &Node, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    match value {
        _ if errors.len() >= MAX_ERRORS => {}
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(values) = node.map_values() {
                    check(value, values, &path.key(name), errors);
                }
                if let Some(property) = node.properties.get(name) {
                    check(value, property, &path.field(name), errors);
                }
            }
        }
        Value::Array(items) => {
            match node.list_type.as_deref() {
                Some("set") => {
                    let keys: Vec<_> = items.iter().map(go::json).collect();
                    let duplicates = duplicates(&keys).into_iter().take(MAX_ERRORS);
                    errors.extend(
                        duplicates.map(|i| FieldError::duplicate(path.index(i).text(), items[i].clone())),
                    );
                }
                Some("map") => check_map(items, node, path, errors),
                _ => {}
            }
            let Some(schema) = node.items() else { return };
            for (index, item) in items.iter().enumerate() {
                check(item, schema, &path.index(index), errors);
            }
        }
        _ => {}
    }
}

fn check_map(items: &[Value], node: &Node, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if let Some((index, item)) =
        items.iter().enumerate().find(|(_, item)| !item.is_object() && !item.is_null())
    {
        let why = "must be an object for an array of list-type map";
        errors.push(FieldError::invalid(path.index(index).text(), item.clone(), why));
        return;
    }
    let identity = |item: &Value| {
        let keys = node.list_map_keys.iter();
        let found = keys.filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
        Value::Object(found.collect::<Map<_, _>>())
    };
    let identities: Vec<_> = items.iter().map(identity).collect();
    let texts: Vec<_> = identities.iter().map(go::json).collect();
    for index in duplicates(&texts).into_iter().take(MAX_ERRORS) {
        errors.push(FieldError::duplicate(path.index(index).text(), identities[index].clone()));
    }
}

/// The index of the second of each group of equals.
fn duplicates(keys: &[String]) -> Vec<usize> {
    let mut times: HashMap<&str, usize> = HashMap::with_capacity(keys.len());
    let mut out = Vec::new();
    for (index, key) in keys.iter().enumerate() {
        let seen = times.entry(key).or_default();
        *seen += 1;
        if *seen == 2 {
            out.push(index);
        }
    }
    out
}
