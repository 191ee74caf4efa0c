//! Lists that are merged, and the order of what comes out.

use serde_json::Value;

use super::schema::Field;
use super::{DIRECTIVE, Error, ORDER, merge_maps, unknown_directive, without_directives, wrong_kind};
use crate::apply::{plain, type_name};

/// Merges a list into another one, or deletes it from there.
pub(super) fn merge(
    original: Vec<Value>,
    patch: Vec<Value>,
    field: Field,
    deletes: bool,
) -> Result<Vec<Value>, Error> {
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    let are_maps = are_maps(&original, &patch)?;
    if !are_maps && deletes {
        return Ok(original.into_iter().filter(|item| !patch.contains(item)).collect());
    }
    let Merged { items, order, was, .. } = merge_items(original, patch, field, are_maps)?;
    arranged(items, &order, &was, field, are_maps)
}

fn merge_items(
    original: Vec<Value>,
    patch: Vec<Value>,
    field: Field,
    are_maps: bool,
) -> Result<Merged, Error> {
    if are_maps {
        return merge_maps_of(original, patch, field);
    }
    let mut items: Vec<Value> = Vec::new();
    for item in original.iter().chain(&patch) {
        if !items.contains(item) {
            items.push(item.clone());
        }
    }
    Ok(Merged { items, order: patch, left_behind: original.clone(), was: original })
}

/// A merged list that is not yet in order.
struct Merged {
    items: Vec<Value>,
    /// The patch, without directives.
    order: Vec<Value>,
    /// The original, without what is deleted.
    was: Vec<Value>,
    /// The original as upstream leaves it behind: it deletes and appends in place, so that what comes
    /// later in the array moves up or is overwritten. A given order is completed from it.
    left_behind: Vec<Value>,
}

/// Merges a list into another one in an order that is given. None: there is no list at all.
pub(super) fn merge_ordered(
    original: Option<Vec<Value>>,
    patch: Option<Vec<Value>>,
    order: &[Value],
    field: Field,
) -> Result<Option<Vec<Value>>, Error> {
    check_order(patch.as_deref().unwrap_or_default(), order, field)?;
    let mut was = original.clone().unwrap_or_default();
    let are_maps = match (&original, &patch) {
        (None, None) => return Ok(None),
        _ => are_maps(&was, patch.as_deref().unwrap_or_default())?,
    };
    let items = match (original, patch) {
        (Some(original), None) => original,
        (Some(original), Some(patch)) if field.merges() => {
            let merged = merge_items(original, patch, field, are_maps)?;
            was = merged.left_behind;
            merged.items
        }
        (Some(_), Some(patch)) => patch,
        (None, patch) => patch.into_iter().flatten().filter_map(without_directives).collect(),
    };
    arranged(items, order, &was, field, are_maps).map(Some)
}

/// Whether all items are maps. They must be of one kind, and that not lists.
fn are_maps(a: &[Value], b: &[Value]) -> Result<bool, Error> {
    let mut items = a.iter().chain(b);
    let first =
        items.next().ok_or_else(|| Error::Other("no elements in any of the given slices".to_owned()))?;
    if first.is_array() {
        return Err(Error::Unprocessable);
    }
    if first.is_null() || items.any(|item| type_name(item) != type_name(first)) {
        let lists = [a, b].map(|list| plain(&Value::Array(list.to_vec()))).join(" ");
        return Err(Error::Other(format!("list element types are not identical: [{lists}]")));
    }
    Ok(first.is_object())
}

/// Merges lists of maps and does what the directives say.
fn merge_maps_of(mut original: Vec<Value>, patch: Vec<Value>, field: Field) -> Result<Merged, Error> {
    if field.key.is_empty() {
        return Err(Error::Other("cannot merge lists without merge key for struct".to_owned()));
    }
    let mut left_behind = original.clone();
    let mut replaces = false;
    let mut order = Vec::new();
    for item in patch {
        match item.get(DIRECTIVE).cloned() {
            None => order.push(item),
            Some(directive) if directive == "delete" => {
                delete(&mut original, &mut left_behind, key_of(&item, field.key)?, field);
            }
            Some(directive) if directive == "replace" => replaces = true,
            Some(directive) if directive == "merge" => {
                return Err(Error::Other("merging lists cannot yet be specified in the patch".to_owned()));
            }
            Some(directive) => {
                let mut map = item.as_object().cloned().unwrap_or_default();
                map.remove(DIRECTIVE);
                return Err(unknown_directive(directive, map));
            }
        }
    }
    if replaces {
        return Ok(Merged { items: order.clone(), order: Vec::new(), was: order, left_behind });
    }
    let items = merge_by_key(original.clone(), &order, field)?;
    let appended = items.iter().skip(original.len());
    for (place, item) in left_behind.iter_mut().skip(original.len()).zip(appended) {
        *place = item.clone();
    }
    Ok(Merged { items, order, was: original, left_behind })
}

/// Deletes the items that have a key.
fn delete(original: &mut Vec<Value>, left_behind: &mut [Value], key: &Value, field: Field) {
    while let Some(i) = original.iter().position(|item| item.get(field.key) == Some(key)) {
        original.remove(i);
        for (place, item) in left_behind.iter_mut().zip(&*original).skip(i) {
            *place = item.clone();
        }
    }
}

fn merge_by_key(mut merged: Vec<Value>, patch: &[Value], field: Field) -> Result<Vec<Value>, Error> {
    for item in patch {
        let key = key_of(item, field.key)?;
        let place = merged.iter_mut().find(|other| other.get(field.key) == Some(key));
        match (place, item) {
            (Some(Value::Object(original)), Value::Object(patch)) => {
                let original_map = std::mem::take(original);
                *original = merge_maps(original_map, patch.clone(), field.place)?;
            }
            _ => merged.push(item.clone()),
        }
    }
    Ok(merged)
}

fn key_of<'a>(item: &'a Value, key: &str) -> Result<&'a Value, Error> {
    item.get(key).ok_or_else(|| {
        Error::Other(format!("map: {} does not contain declared merge key: {key}", plain(item)))
    })
}

/// What tells an item apart: the value of its key, or itself.
fn identity<'a>(item: &'a Value, key: &str) -> &'a Value {
    if key.is_empty() { item } else { item.get(key).unwrap_or(&Value::Null) }
}

fn place_in(list: &[Value], item: &Value, key: &str) -> Option<usize> {
    list.iter().position(|other| identity(other, key) == identity(item, key))
}

/// Puts items in order: those that the order names as it has them, the others as they were, and between
/// the two as they were where that is known.
fn arranged(
    items: Vec<Value>,
    order: &[Value],
    was: &[Value],
    field: Field,
    are_maps: bool,
) -> Result<Vec<Value>, Error> {
    let key = if are_maps { field.key } else { "" };
    if !key.is_empty() {
        for item in items.iter().chain(order).chain(was) {
            match item {
                Value::Object(_) => drop(key_of(item, key)?),
                other => return Err(wrong_kind(&Value::Object(serde_json::Map::new()), other)),
            }
        }
    }
    let (mut named, mut others): (Vec<_>, Vec<_>) =
        items.into_iter().partition(|item| place_in(order, item, key).is_some());
    named.sort_by_key(|item| place_in(order, item, key));
    others.sort_by_key(|item| place_in(was, item, key));
    let mut arranged = Vec::new();
    let mut named = named.into_iter().peekable();
    for other in others {
        let place = place_in(was, &other, key);
        // What was behind or was not there goes first.
        while let Some(next) = named.next_if(|next| match (place, place_in(was, next, key)) {
            (Some(other), Some(next)) => other >= next,
            _ => true,
        }) {
            arranged.push(next);
        }
        arranged.push(other);
    }
    arranged.extend(named);
    Ok(arranged)
}

/// Whether the items of the patch come as the order has them.
fn check_order(patch: &[Value], order: &[Value], field: Field) -> Result<(), Error> {
    if order.is_empty() || patch.is_empty() {
        return Ok(());
    }
    let mut left = patch.iter().filter(|item| item.get(DIRECTIVE).is_none()).peekable();
    for place in order {
        let Some(item) = left.peek() else { return Ok(()) };
        let (item, place) = if field.key.is_empty() {
            (*item, place)
        } else {
            (key_of(item, field.key)?, key_of(place, field.key)?)
        };
        if item == place {
            left.next();
        }
    }
    match left.next() {
        None => Ok(()),
        Some(_) => Err(Error::Other(format!(
            "The order in patch list:\n{}\n doesn't match {ORDER} list:\n{}\n",
            plain(&Value::Array(patch.to_vec())),
            plain(&Value::Array(order.to_vec())),
        ))),
    }
}
