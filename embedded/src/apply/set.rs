//! Sets of field paths: what a manager owns.

use std::collections::BTreeMap;
use std::collections::btree_map;

use serde_json::{Map, Value, json};

use super::path::{BadElement, PathElement};

/// A set of field paths, kept as a tree.
///
/// That a path is in the set says nothing about the paths above and below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    nodes: BTreeMap<PathElement, Node>,
}

/// A step that is in the set itself, leads to something that is, or both; never neither.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) member: bool,
    pub(super) children: FieldSet,
}

impl Node {
    fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }
}

/// Why a value is not a field set.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadSet {
    #[error(transparent)]
    Element(#[from] BadElement),
    #[error("expected a map of fields")]
    NotAMap,
}

impl FieldSet {
    /// Whether nothing is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds a path. The whole object, an empty path, is never owned by anyone.
    pub fn insert(&mut self, path: &[PathElement]) {
        match path {
            [] => {}
            [last] => self.nodes.entry(last.clone()).or_default().member = true,
            [first, rest @ ..] => self.nodes.entry(first.clone()).or_default().children.insert(rest),
        }
    }

    /// Whether exactly this path is in the set.
    #[must_use]
    pub fn contains(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.nodes.get(last).is_some_and(|node| node.member),
            [first, rest @ ..] => self.nodes.get(first).is_some_and(|node| node.children.contains(rest)),
        }
    }

    pub(super) fn node(&self, element: &PathElement) -> Option<&Node> {
        self.nodes.get(element)
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = (&PathElement, &Node)> {
        self.nodes.iter()
    }

    /// Puts a node into a set that is being built; an empty one is left out.
    pub(super) fn put(&mut self, element: PathElement, node: Node) {
        if !node.is_empty() {
            self.nodes.insert(element, node);
        }
    }

    /// What is in either.
    #[must_use]
    pub fn union(mut self, other: Self) -> Self {
        for (element, node) in other.nodes {
            match self.nodes.entry(element) {
                btree_map::Entry::Vacant(entry) => {
                    entry.insert(node);
                }
                btree_map::Entry::Occupied(mut entry) => {
                    let mine = entry.get_mut();
                    mine.member |= node.member;
                    mine.children = std::mem::take(&mut mine.children).union(node.children);
                }
            }
        }
        self
    }

    /// What is in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut both = Self::default();
        for (element, node) in &self.nodes {
            if let Some(theirs) = other.nodes.get(element) {
                let member = node.member && theirs.member;
                let children = node.children.intersection(&theirs.children);
                both.put(element.clone(), Node { member, children });
            }
        }
        both
    }

    /// What is here and not there. Paths below one that is there stay.
    #[must_use]
    pub fn difference(mut self, other: &Self) -> Self {
        if !other.is_empty() {
            self.nodes.retain(|element, node| {
                if let Some(theirs) = other.nodes.get(element) {
                    node.member &= !theirs.member;
                    node.children = std::mem::take(&mut node.children).difference(&theirs.children);
                }
                !node.is_empty()
            });
        }
        self
    }

    /// What is here and neither there nor below something that is there.
    #[must_use]
    pub fn without(mut self, other: &Self) -> Self {
        self.nodes.retain(|element, node| match other.nodes.get(element) {
            Some(theirs) if theirs.member => false,
            Some(theirs) => {
                node.children = std::mem::take(&mut node.children).without(&theirs.children);
                !node.is_empty()
            }
            None => true,
        });
        self
    }

    /// All paths, in the order in which the API server lists conflicts: a level's own before those below.
    #[must_use]
    pub fn paths(&self) -> Vec<Vec<PathElement>> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, prefix: &mut Vec<PathElement>, paths: &mut Vec<Vec<PathElement>>) {
        for (element, node) in &self.nodes {
            if node.member {
                paths.push(prefix.iter().chain([element]).cloned().collect());
            }
        }
        for (element, node) in &self.nodes {
            prefix.push(element.clone());
            node.children.collect(prefix, paths);
            prefix.pop();
        }
    }

    /// The set as `FieldsV1`: a member that has nothing below it is `{}`, one that has is a `.` in there.
    ///
    /// A `serde_json` map is sorted by its keys as text. That is the order in which the API server answers
    /// for custom resources; for built-in kinds it sorts by [`PathElement`], which differs only in lists
    /// whose keys are numbers.
    #[must_use]
    pub fn to_fields_v1(&self) -> Value {
        let mut fields = Map::new();
        for (element, node) in &self.nodes {
            let mut below = node.children.to_fields_v1();
            if let (true, false, Value::Object(below)) = (node.member, node.children.is_empty(), &mut below) {
                below.insert(".".to_owned(), json!({}));
            }
            fields.insert(element.encode(), below);
        }
        Value::Object(fields)
    }

    /// Reads `FieldsV1`.
    pub(super) fn from_fields_v1(fields: &Value) -> Result<Self, BadSet> {
        Ok(read(fields)?.children)
    }
}

/// A node from the map below its key. One that holds nothing, or nothing that is known, is a member.
fn read(fields: &Value) -> Result<Node, BadSet> {
    let mut node = Node::default();
    match fields {
        Value::Null => {}
        Value::Object(fields) => {
            for (key, below) in fields {
                if key == "." {
                    node.member = true;
                } else if let Some(element) = PathElement::decode(key)? {
                    node.children.put(element, read(below)?);
                }
            }
        }
        _ => return Err(BadSet::NotAMap),
    }
    node.member |= node.children.is_empty();
    Ok(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(fields: &Value) -> FieldSet {
        FieldSet::from_fields_v1(fields).unwrap()
    }

    #[test]
    fn a_set_survives_the_way_to_fields_v1_and_back() {
        let fields = json!({
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
            "f:spec": {"f:ports": {"k:{\"port\":80}": {".": {}, "f:port": {}}}, "f:set": {"v:\"a\"": {}}},
        });
        assert_eq!(set(&fields).to_fields_v1(), fields);
    }

    #[test]
    fn members_and_what_is_below_them_are_apart() {
        let a = set(&json!({"f:a": {".": {}, "f:b": {}}, "f:c": {}}));
        let b = set(&json!({"f:a": {"f:b": {}, "f:d": {}}}));
        let fields = FieldSet::to_fields_v1;

        assert_eq!(fields(&a.intersection(&b)), json!({"f:a": {"f:b": {}}}));
        assert_eq!(fields(&a.clone().difference(&b)), json!({"f:a": {}, "f:c": {}}));
        assert_eq!(fields(&b.clone().difference(&a)), json!({"f:a": {"f:d": {}}}));
        assert_eq!(fields(&b.clone().without(&a)), json!({}));
        assert_eq!(fields(&a.union(b)), json!({"f:a": {".": {}, "f:b": {}, "f:d": {}}, "f:c": {}}),);
    }

    #[test]
    fn a_level_is_listed_before_what_is_below_it() {
        let set = set(&json!({"f:a": {"f:b": {}}, "f:c": {".": {}, "f:d": {}}}));
        let paths: Vec<String> =
            set.paths().iter().map(|path| path.iter().map(ToString::to_string).collect()).collect();
        assert_eq!(paths, [".c", ".a.b", ".c.d"]);
    }
}
