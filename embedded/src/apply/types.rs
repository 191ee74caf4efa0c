//! The types of fields: what is a leaf, what is merged, and how the items of a list are told apart.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use super::path::{PathElement, Scalar};

/// The types of one kind: a graph, because schemas may contain themselves.
///
/// Cheap to clone. Behaviour: kube-openapi `schemaconv`, which makes the API server's types out of OpenAPI.
#[derive(Clone, Debug)]
pub struct Types {
    nodes: Arc<[Node]>,
    root: TypeRef,
    origin: Origin,
}

/// Where types come from; it decides which fields an endpoint resets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Builtin,
    Custom { status: bool },
}

/// What a value may be. Where more than one is allowed, the value decides.
#[derive(Clone, Debug, Default)]
struct Node {
    scalar: Option<ScalarType>,
    list: Option<List>,
    map: Option<Fields>,
}

/// What a scalar may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalarType {
    Any,
    Number,
    Text,
    Bool,
}

#[derive(Clone, Debug)]
pub(super) struct List {
    pub(super) items_are: Items,
    items: TypeRef,
}

/// How the items of a list are told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Items {
    /// They are not: the list is one leaf.
    Atomic,
    /// By their values.
    Set,
    /// By these fields of theirs.
    Keyed(Vec<String>),
}

/// A struct, a map, or both.
#[derive(Clone, Debug)]
struct Fields {
    declared: BTreeMap<String, Field>,
    others: Option<TypeRef>,
    atomic: bool,
}

#[derive(Clone, Debug)]
struct Field {
    of: TypeRef,
    default: Option<Value>,
}

/// A node, and whether the place that names it says otherwise about the map it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TypeRef {
    node: usize,
    atomic: Option<bool>,
}

/// Anything at all, as one leaf.
const ANY_LEAF: TypeRef = TypeRef { node: 0, atomic: None };
/// Anything at all: maps are merged field by field, lists are leaves.
const ANY: TypeRef = TypeRef { node: 1, atomic: None };

/// The types of a field somewhere in an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Type<'a> {
    types: &'a Types,
    at: TypeRef,
}

/// A [`Fields`] with the atomicity of its place.
#[derive(Clone, Copy)]
pub(super) struct MapType<'a> {
    types: &'a Types,
    fields: &'a Fields,
    pub(super) atomic: bool,
}

/// A [`List`] in its graph.
#[derive(Clone, Copy)]
pub(super) struct ListType<'a> {
    types: &'a Types,
    pub(super) list: &'a List,
}

/// How a value of a type is walked.
pub(super) enum Shape<'a> {
    Map(MapType<'a>),
    Scalar(ScalarType),
    List(ListType<'a>),
    /// No schema allows anything here.
    Nothing,
}

/// Which shapes a type allows, after a value has decided.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Allowed {
    scalar: bool,
    list: bool,
    map: bool,
}

/// The built-in kinds' schemas as kube-apiserver 1.36.3 serves them, without texts; a test compares them.
static DEFINITIONS: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("builtin.json")).expect("the table of built-in kinds must be JSON")
});

/// By API version and kind, separated by a space.
static BUILTIN: LazyLock<HashMap<&'static str, Types>> = LazyLock::new(|| {
    let mut builder = Builder::default();
    let kinds = DEFINITIONS["kinds"].as_object();
    let roots: Vec<_> = kinds
        .into_iter()
        .flatten()
        .filter_map(|(kind, name)| Some((kind.as_str(), builder.named(name.as_str()?))))
        .collect();
    let nodes: Arc<[Node]> = builder.nodes.into();
    let types = |root| Types { nodes: Arc::clone(&nodes), root, origin: Origin::Builtin };
    roots.into_iter().map(|(kind, root)| (kind, types(root))).collect()
});

/// The definition of a built-in type by its `OpenAPI` name.
pub(crate) fn definition(name: &str) -> Option<&'static Map<String, Value>> {
    DEFINITIONS["definitions"][name].as_object()
}

/// The `OpenAPI` name of a built-in kind.
pub(crate) fn definition_of(api_version: &str, kind: &str) -> Option<&'static str> {
    DEFINITIONS["kinds"][format!("{api_version} {kind}")].as_str()
}

impl Types {
    /// The types of a built-in kind that is served here, such as `v1` and `ConfigMap`.
    #[must_use]
    pub fn builtin(api_version: &str, kind: &str) -> Option<&'static Self> {
        BUILTIN.get(format!("{api_version} {kind}").as_str())
    }

    /// The types of a version of a custom resource: its `openAPIV3Schema`, and whether it has the status
    /// subresource. The schema must be structural; what is not understood counts as anything at all.
    #[must_use]
    pub fn custom(schema: &Value, status: bool) -> Self {
        let mut builder = Builder::default();
        let root = builder.reserve();
        let mut schema = schema.as_object().cloned().unwrap_or_default();
        embed(&mut schema);
        let node = builder.node(&schema, false);
        builder.nodes[root.node] = node;
        Self { nodes: builder.nodes.into(), root, origin: Origin::Custom { status } }
    }

    /// The type of a whole object.
    pub(super) fn root(&self) -> Type<'_> {
        Type { types: self, at: self.root }
    }

    /// The fields at the top that an endpoint gives back to what is stored, so that nobody owns them
    /// through it. `subresource` is empty for the main one.
    pub(super) fn resets(&self, subresource: &str) -> &'static [&'static str] {
        match (self.origin, subresource) {
            (Origin::Builtin, "status") => &["spec"],
            (Origin::Builtin, _) | (Origin::Custom { status: true }, "") => &["status"],
            (Origin::Custom { .. }, "status") => &["metadata", "spec"],
            (Origin::Custom { .. }, _) => &[],
        }
    }
}

impl<'a> Type<'a> {
    fn node(self) -> &'a Node {
        &self.types.nodes[self.at.node]
    }

    pub(super) fn map(self) -> Option<MapType<'a>> {
        let fields = self.node().map.as_ref()?;
        Some(MapType { types: self.types, fields, atomic: self.at.atomic.unwrap_or(fields.atomic) })
    }

    pub(super) fn list(self) -> Option<ListType<'a>> {
        self.node().list.as_ref().map(|list| ListType { types: self.types, list })
    }

    /// What a value may be here. A `null`, an absent value and one of a wrong kind decide nothing.
    pub(super) fn allowed(self, value: Option<&Value>) -> Allowed {
        let node = self.node();
        let all =
            Allowed { scalar: node.scalar.is_some(), list: node.list.is_some(), map: node.map.is_some() };
        let nothing = Allowed { scalar: false, list: false, map: false };
        match value {
            Some(Value::Object(_)) if all.map => Allowed { map: true, ..nothing },
            Some(Value::Array(_)) if all.list => Allowed { list: true, ..nothing },
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) if all.scalar => {
                Allowed { scalar: true, ..nothing }
            }
            _ => all,
        }
    }

    /// How a value is walked of which this is known.
    pub(super) fn shape(self, allowed: Allowed) -> Shape<'a> {
        if let (true, Some(map)) = (allowed.map, self.map()) {
            Shape::Map(map)
        } else if let (true, Some(scalar)) = (allowed.scalar, self.node().scalar) {
            Shape::Scalar(scalar)
        } else if let (true, Some(list)) = (allowed.list, self.list()) {
            Shape::List(list)
        } else {
            Shape::Nothing
        }
    }

    /// [`Self::shape`] of a value.
    pub(super) fn shape_of(self, value: Option<&Value>) -> Shape<'a> {
        self.shape(self.allowed(value))
    }
}

impl<'a> MapType<'a> {
    /// The type of a field: its own, or that of all fields that are not declared. None: not allowed.
    pub(super) fn field(self, name: &str) -> Option<Type<'a>> {
        let at = self.fields.declared.get(name).map(|field| field.of).or(self.fields.others)?;
        Some(Type { types: self.types, at })
    }

    pub(super) fn declares(self, name: &str) -> bool {
        self.fields.declared.contains_key(name)
    }

    /// Whether nothing is declared and anything is allowed.
    pub(super) fn is_free(self) -> bool {
        let anything = |at: TypeRef| {
            at.node == ANY.node
                || Type { types: self.types, at }
                    .node()
                    .scalar
                    .is_some_and(|scalar| scalar == ScalarType::Any)
        };
        self.fields.declared.is_empty() && self.fields.others.is_some_and(anything)
    }
}

impl<'a> ListType<'a> {
    pub(super) fn items(self) -> Type<'a> {
        Type { types: self.types, at: self.list.items }
    }

    pub(super) fn is_atomic(self) -> bool {
        self.list.items_are == Items::Atomic
    }

    /// What tells an item of a list apart from the others, or why it cannot be told.
    pub(super) fn element(self, item: &Value) -> Result<PathElement, String> {
        match &self.list.items_are {
            Items::Atomic => Err("invalid indexing of non-associative list".to_owned()),
            Items::Set => set_element(item),
            Items::Keyed(keys) => self.keyed_element(keys, item),
        }
    }

    fn keyed_element(self, keys: &[String], item: &Value) -> Result<PathElement, String> {
        let fields = match item {
            Value::Object(fields) => fields,
            Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
            _ => return Err("associative list with keys may not have non-map elements".to_owned()),
        };
        let mut found: Vec<_> = keys
            .iter()
            .filter_map(|key| {
                let key_field = fields.get(key).or_else(|| self.default(key))?;
                Some((key.clone(), Scalar(key_field.clone())))
            })
            .collect();
        if found.is_empty() && !keys.is_empty() {
            let keys: Vec<_> = keys.iter().map(|key| super::value::quote(key)).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have \
                 default values for any key fields)",
                keys.join(" ")
            ));
        }
        found.sort();
        Ok(PathElement::Key(found))
    }

    fn default(self, key: &str) -> Option<&'a Value> {
        let fields = self.items().node().map.as_ref()?;
        fields.declared.get(key)?.default.as_ref()
    }
}

fn set_element(item: &Value) -> Result<PathElement, String> {
    match item {
        Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
        Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
        Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
        scalar => Ok(PathElement::Value(Scalar(scalar.clone()))),
    }
}

/// Declares what an object of its own has: its identity and its metadata.
fn embed(schema: &mut Map<String, Value>) {
    let properties = schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(properties) = properties {
        for name in ["apiVersion", "kind"] {
            properties.insert(name.to_owned(), serde_json::json!({"type": "string"}));
        }
        properties.insert("metadata".to_owned(), serde_json::json!({"$ref": OBJECT_META}));
    }
}

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

/// Turns schemas into nodes.
struct Builder {
    nodes: Vec<Node>,
    named: HashMap<String, TypeRef>,
}

impl Default for Builder {
    fn default() -> Self {
        let anything = |of: TypeRef, atomic| Node {
            scalar: Some(ScalarType::Any),
            list: Some(List { items_are: Items::Atomic, items: ANY_LEAF }),
            map: Some(Fields { declared: BTreeMap::new(), others: Some(of), atomic }),
        };
        let named = HashMap::from([(RAW_EXTENSION.to_owned(), ANY_LEAF)]);
        Self { nodes: vec![anything(ANY_LEAF, true), anything(ANY, false)], named }
    }
}

impl Builder {
    fn reserve(&mut self) -> TypeRef {
        self.nodes.push(Node::default());
        TypeRef { node: self.nodes.len() - 1, atomic: None }
    }

    /// A built-in definition; it may contain itself.
    fn named(&mut self, name: &str) -> TypeRef {
        if let Some(&known) = self.named.get(name) {
            return known;
        }
        let at = self.reserve();
        self.named.insert(name.to_owned(), at);
        let node = match definition(name) {
            _ if name == QUANTITY => Node { scalar: Some(ScalarType::Any), ..Node::default() },
            Some(schema) => self.node(schema, false),
            None => self.nodes[ANY.node].clone(),
        };
        self.nodes[at.node] = node;
        at
    }

    /// The type of a schema in its place.
    fn place(&mut self, schema: &Value, keep_unknown: bool) -> TypeRef {
        let Value::Object(schema) = schema else { return ANY };
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            return TypeRef { atomic: map_is_atomic(schema), ..self.named(name) };
        }
        let at = self.reserve();
        let node = if is_true(schema, "x-kubernetes-embedded-resource") {
            let mut schema = schema.clone();
            embed(&mut schema);
            self.node(&schema, keep_unknown)
        } else {
            self.node(schema, keep_unknown)
        };
        self.nodes[at.node] = node;
        at
    }

    fn node(&mut self, schema: &Map<String, Value>, keep_unknown: bool) -> Node {
        let keep_unknown = keep_unknown || is_true(schema, "x-kubernetes-preserve-unknown-fields");
        match schema.get("type").and_then(Value::as_str) {
            Some("object") => Node { map: Some(self.fields(schema, keep_unknown)), ..Node::default() },
            Some("array") => Node { list: Some(self.list(schema, keep_unknown)), ..Node::default() },
            Some(scalar) => Node { scalar: Some(scalar_type(scalar, schema)), ..Node::default() },
            None => Node {
                scalar: Some(ScalarType::Any),
                list: Some(self.list(schema, keep_unknown)),
                map: Some(self.fields(schema, keep_unknown)),
            },
        }
    }

    fn fields(&mut self, schema: &Map<String, Value>, keep_unknown: bool) -> Fields {
        let mut declared = BTreeMap::new();
        for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let default = field.get("default").filter(|default| !default.is_null()).cloned();
            declared.insert(name.clone(), Field { of: self.place(field, keep_unknown), default });
        }
        let others = match schema.get("additionalProperties") {
            // An object that says nothing about its fields is free.
            None if keep_unknown || declared.is_empty() => Some(ANY),
            None | Some(Value::Bool(false)) => None,
            Some(Value::Bool(true)) => Some(ANY),
            Some(others) => Some(self.place(others, keep_unknown)),
        };
        Fields { declared, others, atomic: map_is_atomic(schema) == Some(true) }
    }

    fn list(&mut self, schema: &Map<String, Value>, keep_unknown: bool) -> List {
        let items = schema.get("items").map_or(ANY_LEAF, |items| self.place(items, keep_unknown));
        List { items_are: items_are(schema), items }
    }
}

fn is_true(schema: &Map<String, Value>, extension: &str) -> bool {
    schema.get(extension) == Some(&Value::Bool(true))
}

fn map_is_atomic(schema: &Map<String, Value>) -> Option<bool> {
    match schema.get("x-kubernetes-map-type")?.as_str()? {
        "atomic" => Some(true),
        "granular" => Some(false),
        _ => None,
    }
}

fn scalar_type(name: &str, schema: &Map<String, Value>) -> ScalarType {
    match (name, schema.get("format").and_then(Value::as_str)) {
        ("integer" | "number", _) => ScalarType::Number,
        ("boolean", _) => ScalarType::Bool,
        ("string", None | Some("" | "byte")) => ScalarType::Text,
        _ => ScalarType::Any,
    }
}

/// How items are told apart: by the list type, or else as strategic merge patch does.
fn items_are(schema: &Map<String, Value>) -> Items {
    let text = |name: &str| schema.get(name).and_then(Value::as_str);
    match (text("x-kubernetes-list-type"), text("x-kubernetes-patch-strategy")) {
        (Some("set"), _) => Items::Set,
        (Some("map"), _) => {
            let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
            let keys: Vec<_> =
                keys.into_iter().flatten().filter_map(|key| key.as_str().map(str::to_owned)).collect();
            if keys.is_empty() { Items::Atomic } else { Items::Keyed(keys) }
        }
        (None, Some("merge" | "merge,retainKeys")) => {
            text("x-kubernetes-patch-merge-key").map_or(Items::Set, |key| Items::Keyed(vec![key.to_owned()]))
        }
        _ => Items::Atomic,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_the_table_has_types() {
        let kinds = DEFINITIONS["kinds"].as_object().unwrap();
        assert_eq!(BUILTIN.len(), kinds.len());
        for kind in kinds.keys() {
            let (api_version, kind) = kind.split_once(' ').unwrap();
            let types = Types::builtin(api_version, kind).unwrap();
            assert!(types.root().map().is_some_and(|map| map.declares("metadata")), "{kind}");
        }
        assert!(Types::builtin("v1", "Pod").is_none());
    }

    #[test]
    fn items_of_a_keyed_list_take_missing_keys_from_defaults() {
        let types = Types::builtin("v1", "Service").unwrap();
        let spec = types.root().map().unwrap().field("spec").unwrap();
        let ports = spec.map().unwrap().field("ports").unwrap().list().unwrap();

        let told = ports.element(&json!({"port": 80})).unwrap();
        assert_eq!(told.to_string(), r#"[port=80,protocol="TCP"]"#);
        assert_eq!(
            ports.element(&json!(null)),
            Err("associative list with keys may not have a null element".to_owned())
        );
    }

    #[test]
    fn a_schema_that_contains_itself_ends() {
        let types = Types::builtin("apiextensions.k8s.io/v1", "CustomResourceDefinition").unwrap();
        assert!(types.nodes.len() < 4000);
    }
}
