//! Walking values with their types: checking, merging, comparing, and what is in one.
//!
//! Behaviour: structured-merge-diff `typed`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::path::PathElement;
use super::set::{FieldSet, Node};
use super::types::{Allowed, ListType, MapType, ScalarType, Shape, Type};
use super::value;

/// The fields of a value, if it is a map; none if it is anything else.
fn fields_of(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

/// The items of a value, if it is a list; none if it is anything else.
fn items_of(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is_empty(fields: Option<&Map<String, Value>>) -> bool {
    fields.is_none_or(Map::is_empty)
}

fn is_scalar(of: ScalarType, value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Number(_)) => matches!(of, ScalarType::Number | ScalarType::Any),
        Some(Value::String(_)) => matches!(of, ScalarType::Text | ScalarType::Any),
        Some(Value::Bool(_)) => matches!(of, ScalarType::Bool | ScalarType::Any),
        Some(Value::Array(_) | Value::Object(_)) => false,
    }
}

/// What is wrong with a value, as the API server words it; empty when nothing is.
///
/// Items of a list that cannot be told apart from each other are wrong unless `duplicates` are allowed.
pub(super) fn problems(value: &Value, of: Type<'_>, duplicates: bool) -> Vec<String> {
    let mut checker = Checker { duplicates, path: Vec::new(), problems: Vec::new() };
    checker.check(value, of);
    checker.problems
}

struct Checker {
    duplicates: bool,
    path: Vec<String>,
    problems: Vec<String>,
}

impl Checker {
    fn problem(&mut self, text: &str) {
        let path = self.path.concat();
        self.problems.push(if path.is_empty() { text.to_owned() } else { format!("{path}: {text}") });
    }

    fn below(&mut self, step: String, value: &Value, of: Type<'_>) {
        self.path.push(step);
        self.check(value, of);
        self.path.pop();
    }

    fn check(&mut self, value: &Value, of: Type<'_>) {
        match of.shape_of(Some(value)) {
            Shape::Map(map) => self.check_map(value, map),
            Shape::Scalar(scalar) => self.check_scalar(value, scalar),
            Shape::List(list) => self.check_list(value, list),
            Shape::Nothing => self.problem("schema error: invalid atom: inlined"),
        }
    }

    fn check_scalar(&mut self, value: &Value, of: ScalarType) {
        if is_scalar(of, Some(value)) {
            return;
        }
        let text = match of {
            ScalarType::Number => {
                format!("expected numeric (int or float), got {}", value::type_name(value))
            }
            ScalarType::Text => {
                format!("expected string, got &value.valueUnstructured{{Value:{}}}", value::syntax(value))
            }
            ScalarType::Bool => format!("expected boolean, got &{{{}}}", value::plain(value)),
            ScalarType::Any => format!("expected any scalar, got &{{{}}}", value::plain(value)),
        };
        self.problem(&text);
    }

    fn check_map(&mut self, value: &Value, of: MapType<'_>) {
        match value {
            Value::Null => {}
            Value::Object(fields) => {
                for (name, field) in fields {
                    let step = format!(".{name}");
                    if let Some(of) = of.field(name) {
                        self.below(step, field, of);
                    } else {
                        self.path.push(step);
                        self.problem("field not declared in schema");
                        self.path.pop();
                    }
                }
            }
            _ => self.problem(&format!("expected map, got &{{{}}}", value::plain(value))),
        }
    }

    fn check_list(&mut self, value: &Value, of: ListType<'_>) {
        let items = match value {
            Value::Null => return,
            Value::Array(items) => items,
            _ => return self.problem(&format!("expected list, got &{{{}}}", value::plain(value))),
        };
        let mut seen = BTreeSet::new();
        for (i, item) in items.iter().enumerate() {
            if of.is_atomic() {
                self.below(format!("[{i}]"), item, of.items());
                continue;
            }
            match of.element(item) {
                Ok(element) => {
                    let step = element.to_string();
                    if seen.contains(&element) && !self.duplicates {
                        self.problem(&format!("duplicate entries for key {step}"));
                    }
                    seen.insert(element);
                    self.below(step, item, of.items());
                }
                Err(why) => return self.problem(&format!("element {i}: {why}")),
            }
        }
    }
}

/// A value with what is applied on top. Both must have been [checked](problems).
pub(super) fn merge(live: &Value, applied: &Value, of: Type<'_>) -> Value {
    // What is applied decides what the value is from now on.
    match of.shape_of(Some(applied)) {
        Shape::Map(map) if !map.atomic => match (live, applied) {
            (Value::Object(live), Value::Object(applied)) => merge_maps(live, applied, map),
            (Value::Object(live), Value::Null) if !live.is_empty() => Value::Object(live.clone()),
            _ => applied.clone(),
        },
        Shape::List(list) if !list.is_atomic() => match (live, applied) {
            (Value::Array(live), Value::Array(applied)) if !(live.is_empty() && applied.is_empty()) => {
                merge_lists(live, applied, list)
            }
            (Value::Array(live), Value::Null) if !live.is_empty() => Value::Array(live.clone()),
            _ => applied.clone(),
        },
        _ => applied.clone(),
    }
}

fn merge_maps(live: &Map<String, Value>, applied: &Map<String, Value>, of: MapType<'_>) -> Value {
    let mut merged = live.clone();
    for (name, field) in applied {
        let field = match (live.get(name), of.field(name)) {
            (Some(live), Some(of)) => merge(live, field, of),
            _ => field.clone(),
        };
        merged.insert(name.clone(), field);
    }
    Value::Object(merged)
}

/// Applied items come in the order in which they are applied; those that only live has stay where they
/// are between them.
fn merge_lists(live: &[Value], applied: &[Value], of: ListType<'_>) -> Value {
    let told = |items: &[Value]| -> Vec<PathElement> {
        items.iter().filter_map(|item| of.element(item).ok()).collect()
    };
    let (live_are, applied_are) = (told(live), told(applied));
    if live_are.len() != live.len() || applied_are.len() != applied.len() {
        return Value::Array(applied.to_vec());
    }
    ListMerge::new(live, &live_are, applied, &applied_are, of).run()
}

struct ListMerge<'a> {
    live: &'a [Value],
    live_are: &'a [PathElement],
    applied: &'a [Value],
    applied_are: &'a [PathElement],
    of: ListType<'a>,
    /// The live item of each element, unless there is more than one.
    live_by: BTreeMap<&'a PathElement, Option<&'a Value>>,
    applied_by: BTreeSet<&'a PathElement>,
    /// What both have and is not yet taken, in applied order.
    shared: std::iter::Peekable<std::vec::IntoIter<&'a PathElement>>,
    taken: BTreeSet<&'a PathElement>,
    merged: Vec<Value>,
}

impl<'a> ListMerge<'a> {
    fn new(
        live: &'a [Value],
        live_are: &'a [PathElement],
        applied: &'a [Value],
        applied_are: &'a [PathElement],
        of: ListType<'a>,
    ) -> Self {
        let mut live_by = BTreeMap::new();
        for (element, item) in live_are.iter().zip(live) {
            live_by.entry(element).and_modify(|one| *one = None).or_insert(Some(item));
        }
        let shared: Vec<_> = applied_are.iter().filter(|element| live_by.contains_key(element)).collect();
        Self {
            live,
            live_are,
            applied,
            applied_are,
            of,
            live_by,
            applied_by: applied_are.iter().collect(),
            shared: shared.into_iter().peekable(),
            taken: BTreeSet::new(),
            merged: Vec::new(),
        }
    }

    fn run(mut self) -> Value {
        let (mut l, mut r) = (0, 0);
        while l < self.live.len() || r < self.applied.len() {
            let both = self.live_are.get(l).zip(self.applied_are.get(r));
            if both.is_some_and(|(live, applied)| live == applied) {
                self.take(r);
                (l, r) = (l + 1, r + 1);
                continue;
            }
            // Live has it and it is applied, but another comes before it.
            if let Some((live, _)) = both
                && self.applied_by.contains(live)
                && self.shared.peek().is_some_and(|next| *next != live)
            {
                l += 1;
                continue;
            }
            if let Some(live) = self.live_are.get(l) {
                if !self.applied_by.contains(live) {
                    self.merged.push(self.live[l].clone());
                    l += 1;
                    continue;
                }
                if self.taken.contains(live) {
                    l += 1;
                }
            }
            if r < self.applied.len() {
                self.take(r);
                r += 1;
            }
        }
        Value::Array(self.merged)
    }

    /// Takes an applied item, merged into the live one if there is exactly one.
    fn take(&mut self, r: usize) {
        let element = &self.applied_are[r];
        let item = match self.live_by.get(element).copied().flatten() {
            Some(live) => merge(live, &self.applied[r], self.of.items()),
            None => self.applied[r].clone(),
        };
        self.merged.push(item);
        self.taken.insert(element);
        if self.shared.peek() == Some(&element) {
            self.shared.next();
        }
    }
}

/// What is different between two values.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) added: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) removed: FieldSet,
}

impl Comparison {
    /// Compares two objects. Both must have been [checked](problems).
    pub(super) fn of(old: &Value, new: &Value, of: Type<'_>) -> Self {
        let mut comparer = Comparer { path: Vec::new(), found: Self::default() };
        comparer.compare(Some(old), Some(new), of);
        comparer.found
    }

    /// Leaves out what is in the set and all that is below.
    pub(super) fn without(self, hidden: &FieldSet) -> Self {
        Self {
            added: self.added.without(hidden),
            modified: self.modified.without(hidden),
            removed: self.removed.without(hidden),
        }
    }

    /// What is new or has another value.
    pub(super) fn set(&self) -> FieldSet {
        self.modified.clone().union(self.added.clone())
    }
}

struct Comparer {
    path: Vec<PathElement>,
    found: Comparison,
}

impl Comparer {
    fn below(&mut self, element: PathElement, old: Option<&Value>, new: Option<&Value>, of: Type<'_>) {
        self.path.push(element);
        self.compare(old, new, of);
        self.path.pop();
    }

    fn compare(&mut self, old: Option<&Value>, new: Option<&Value>, of: Type<'_>) {
        let (was, is) = (of.allowed(old), of.allowed(new));
        let is_leaf = match (old, new) {
            (_, None) => self.visit(old, new, of, was),
            (None, _) => self.visit(old, new, of, is),
            _ if was == is => self.visit(old, new, of, is),
            // A value of another kind: what was goes, what is comes.
            _ => {
                self.visit(old, new, of, was);
                self.visit(old, new, of, is)
            }
        };
        match (old, new) {
            _ if is_leaf => {}
            (None, _) => self.found.added.insert(&self.path),
            (_, None) => self.found.removed.insert(&self.path),
            _ => {}
        }
    }

    /// Compares as one kind of value, and says whether the value is one leaf.
    fn visit(&mut self, old: Option<&Value>, new: Option<&Value>, of: Type<'_>, allowed: Allowed) -> bool {
        match of.shape(allowed) {
            Shape::Map(map) => {
                let (a, b) = (fields_of(old), fields_of(new));
                if map.atomic || (is_empty(a) && is_empty(b)) {
                    return self.leaf(old, new);
                }
                for name in names(a, b) {
                    if let Some(of) = map.field(name) {
                        self.below(PathElement::field(name), get(a, name), get(b, name), of);
                    }
                }
                false
            }
            Shape::List(list) => {
                let (a, b) = (items_of(old), items_of(new));
                if list.is_atomic() || (a.is_empty() && b.is_empty()) {
                    return self.leaf(old, new);
                }
                self.lists(a, b, list);
                false
            }
            Shape::Scalar(_) | Shape::Nothing => self.leaf(old, new),
        }
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) -> bool {
        match (old, new) {
            (None, _) => self.found.added.insert(&self.path),
            (_, None) => self.found.removed.insert(&self.path),
            (Some(old), Some(new)) if !value::equal(old, new) => self.found.modified.insert(&self.path),
            _ => {}
        }
        true
    }

    fn lists(&mut self, old: &[Value], new: &[Value], of: ListType<'_>) {
        let mut by: BTreeMap<PathElement, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for item in old {
            if let Ok(element) = of.element(item) {
                by.entry(element).or_default().0.push(item);
            }
        }
        for item in new {
            if let Ok(element) = of.element(item) {
                by.entry(element).or_default().1.push(item);
            }
        }
        for (element, (old, new)) in by {
            self.same_element(element, &old, &new, of.items());
        }
    }

    /// Items that cannot be told apart are one leaf together.
    fn same_element(&mut self, element: PathElement, old: &[&Value], new: &[&Value], of: Type<'_>) {
        let path: Vec<_> = self.path.iter().cloned().chain([element.clone()]).collect();
        match (old, new) {
            ([_, _, ..], [_, _, ..]) => {
                let same = old.len() == new.len() && old.iter().zip(new).all(|(a, b)| value::equal(a, b));
                if !same {
                    self.found.modified.insert(&path);
                }
            }
            ([_, _, ..], _) => {
                if let [one] = new {
                    self.below(element, None, Some(one), of);
                }
                self.found.removed.insert(&path);
            }
            (_, [_, _, ..]) => {
                if let [one] = old {
                    self.below(element, Some(one), None, of);
                }
                self.found.added.insert(&path);
            }
            _ => self.below(element, old.first().copied(), new.first().copied(), of),
        }
    }
}

fn names<'a>(a: Option<&'a Map<String, Value>>, b: Option<&'a Map<String, Value>>) -> BTreeSet<&'a str> {
    a.into_iter().chain(b).flat_map(Map::keys).map(String::as_str).collect()
}

fn get<'a>(fields: Option<&'a Map<String, Value>>, name: &str) -> Option<&'a Value> {
    fields.and_then(|fields| fields.get(name))
}

/// All paths that a value has something at: what a manager owns by applying it.
///
/// A container is in the set of its own only where it is empty, `null`, not declared, or the item of a
/// list.
pub(super) fn field_set(value: &Value, of: Type<'_>) -> FieldSet {
    node_of(value, of).children
}

fn node_of(value: &Value, of: Type<'_>) -> Node {
    let leaf = || Node { member: true, children: FieldSet::default() };
    match of.shape_of(Some(value)) {
        Shape::Map(map) if !map.atomic => map_node(value, map),
        Shape::List(list) if !list.is_atomic() => list_node(value, list),
        _ => leaf(),
    }
}

fn map_node(value: &Value, of: MapType<'_>) -> Node {
    let mut node = Node::default();
    for (name, field) in fields_of(Some(value)).into_iter().flatten() {
        let Some(field_type) = of.field(name) else { continue };
        let mut below = node_of(field, field_type);
        let is_bare = field.is_null() || field.as_object().is_some_and(Map::is_empty);
        below.member |= is_bare || !of.declares(name);
        node.children.put(PathElement::field(name), below);
    }
    node
}

fn list_node(value: &Value, of: ListType<'_>) -> Node {
    let items = items_of(Some(value));
    let mut seen = BTreeMap::new();
    for element in items.iter().filter_map(|item| of.element(item).ok()) {
        *seen.entry(element).or_insert(0) += 1;
    }
    let mut node = Node::default();
    for item in items {
        let Ok(element) = of.element(item) else { continue };
        // Of items that cannot be told apart only the place is in the set.
        let mut below =
            if seen.get(&element) == Some(&1) { node_of(item, of.items()) } else { Node::default() };
        below.member = true;
        node.children.put(element, below);
    }
    node
}

/// A value without what is in the set. What is left of a container from which all is gone is `null`.
pub(super) fn remove(value: &Value, gone: &FieldSet, of: Type<'_>) -> Value {
    match of.shape_of(Some(value)) {
        Shape::Scalar(_) => value.clone(),
        Shape::Map(map) if !map.atomic => remove_fields(value, gone, map),
        Shape::List(list) if !list.is_atomic() => remove_items(value, gone, list),
        _ => Value::Null,
    }
}

fn remove_fields(value: &Value, gone: &FieldSet, of: MapType<'_>) -> Value {
    let mut left = Map::new();
    for (name, field) in fields_of(Some(value)).into_iter().flatten() {
        let field = match (gone.node(&PathElement::field(name)), of.field(name)) {
            (Some(node), _) if node.member => continue,
            (Some(node), Some(of)) => remove(field, &node.children, of),
            _ => field.clone(),
        };
        left.insert(name.clone(), field);
    }
    if left.is_empty() { Value::Null } else { Value::Object(left) }
}

fn remove_items(value: &Value, gone: &FieldSet, of: ListType<'_>) -> Value {
    let mut left = Vec::new();
    for item in items_of(Some(value)) {
        let node = of.element(item).ok().and_then(|element| gone.node(&element));
        match node {
            Some(node) if node.member => {}
            Some(node) => left.push(remove(item, &node.children, of.items())),
            None => left.push(item.clone()),
        }
    }
    if left.is_empty() { Value::Null } else { Value::Array(left) }
}

/// The set, and every declared field on the way to something that is in it.
pub(super) fn with_named(set: &FieldSet, of: Option<Type<'_>>) -> FieldSet {
    let (map, list) = (of.and_then(Type::map), of.and_then(Type::list));
    let mut all = FieldSet::default();
    for (element, node) in set.nodes() {
        let (named, below) = match element {
            PathElement::Field(name) => {
                (map.is_some_and(|map| map.declares(name)), map.and_then(|map| map.field(name)))
            }
            PathElement::Key(_) => (false, list.map(ListType::items)),
            PathElement::Value(_) | PathElement::Index(_) => (false, None),
        };
        let member = node.member || (named && !node.children.is_empty());
        all.put(element.clone(), Node { member, children: with_named(&node.children, below) });
    }
    all
}

/// A set that was written under another schema: what became a leaf since is owned as a whole.
pub(super) fn reconciled(set: FieldSet, of: Type<'_>) -> FieldSet {
    let mut atomic = FieldSet::default();
    find_atomic(Some(&set), of, false, &mut Vec::new(), &mut atomic);
    if atomic.is_empty() { set } else { set.without(&atomic).union(atomic) }
}

/// Finds the leaves that a set knows things inside of.
fn find_atomic(
    set: Option<&FieldSet>,
    of: Type<'_>,
    owned_whole: bool,
    path: &mut Vec<PathElement>,
    atomic: &mut FieldSet,
) {
    let is_leaf = match of.shape_of(None) {
        Shape::Map(map) if map.is_free() => return,
        Shape::Map(map) => map.atomic && set.is_some_and(|set| !set.is_empty()),
        Shape::List(list) => list.is_atomic(),
        Shape::Scalar(_) | Shape::Nothing => return,
    };
    if is_leaf && !owned_whole {
        return atomic.insert(path);
    }
    for (element, node) in set.into_iter().flat_map(FieldSet::nodes) {
        let below = match (of.shape_of(None), element) {
            (Shape::Map(map), PathElement::Field(name)) => map.field(name),
            (Shape::List(list), _) => Some(list.items()),
            _ => None,
        };
        if let Some(below) = below {
            path.push(element.clone());
            let bare = node.children.is_empty();
            find_atomic((!bare).then_some(&node.children), below, node.member && bare, path, atomic);
            path.pop();
        }
    }
}
