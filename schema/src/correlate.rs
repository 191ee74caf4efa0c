//! Which part of the old value a part of the new one corresponds to.
//!
//! Behaviour: apiserver `pkg/cel/common`, `CorrelatedObject` and `MapList`.

use serde_json::{Map, Value};

use crate::node::{ListType, Node, Type};

/// A value, what it was before, and its schema.
#[derive(Clone, Copy)]
pub(crate) struct Correlated<'a> {
    pub(crate) old: &'a Value,
    pub(crate) new: &'a Value,
    pub(crate) node: &'a Node,
}

impl Correlated<'_> {
    /// The field or map entry, where both values have it and the schema knows it.
    pub(crate) fn key(&self, name: &str) -> Option<Self> {
        let (Value::Object(old), Value::Object(new)) = (self.old, self.new) else { return None };
        Some(Self { old: old.get(name)?, new: new.get(name)?, node: self.node.child(name)? })
    }

    /// The list item, where the list is a map list and had an item of the same keys.
    pub(crate) fn index(&self, index: usize) -> Option<Self> {
        let (Value::Array(old), Value::Array(new)) = (self.old, self.new) else { return None };
        let new = new.get(index)?;
        let old = find_item(self.node, old, new).filter(|old| !old.is_null())?;
        Some(Self { old, new, node: self.node.items()? })
    }

    /// The value is what it was, as far as the schema can tell.
    pub(crate) fn is_unchanged(&self) -> bool {
        match (self.old, self.new) {
            (Value::Array(old), Value::Array(new)) => {
                if old.len() != new.len() {
                    return false;
                }
                if self.node.list_type() != ListType::Map {
                    return old == new;
                }
                (0..new.len()).all(|index| self.index(index).is_some_and(|item| item.is_unchanged()))
            }
            (Value::Object(old), Value::Object(new)) => {
                old.len() == new.len()
                    && new.keys().all(|name| self.key(name).is_some_and(|field| field.is_unchanged()))
            }
            (old, new) => old == new,
        }
    }
}

/// The first item of a map list that has the same keys as another item.
pub(crate) fn find_item<'a>(list: &Node, items: &'a [Value], wanted: &Value) -> Option<&'a Value> {
    if list.value_type() != Some(Type::Array)
        || list.list_type() != ListType::Map
        || list.list_map_keys.is_empty()
    {
        return None;
    }
    let wanted = keys(list, wanted.as_object()?)?;
    items
        .iter()
        .find(|item| item.as_object().and_then(|item| keys(list, item)).is_some_and(|keys| keys == wanted))
}

/// The values of the keys; `None` when one is missing or no scalar.
fn keys<'a>(list: &Node, item: &'a Map<String, Value>) -> Option<Vec<&'a Value>> {
    let scalar = |value: &&Value| !matches!(value, Value::Null | Value::Array(_) | Value::Object(_));
    list.list_map_keys.iter().map(|key| item.get(key).filter(scalar)).collect()
}
