//! The schemas of kinds.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::registry::{Kind, Registry, Version};
use crate::rest::served;

/// What a reference to a schema begins with.
pub(super) const PREFIX: &str = "#/components/schemas/";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";

const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const METADATA: &str = "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
const LIST_METADATA: &str = "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";

static BUILTIN: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("schemas.json")).expect("the built-in schemas must be JSON")
});

/// The schemas of a version of a group, and all that they refer to.
pub(super) fn of(registry: &Registry, group: &str, version: &str) -> BTreeMap<String, Value> {
    let mut schemas = BTreeMap::new();
    for (kind, version) in served(registry, group, version) {
        let name = name(kind, version);
        if kind.is_builtin() {
            add(&mut schemas, &name);
            add(&mut schemas, &format!("{name}List"));
        } else {
            schemas.insert(format!("{name}List"), list(kind, version));
            schemas.insert(name, custom(kind, version));
        }
    }
    for name in ["DeleteOptions", "ListMeta", "ObjectMeta", "Patch", "Status"] {
        add(&mut schemas, &format!("{META}{name}"));
    }
    schemas
}

/// Adds a built-in schema, and those that it refers to.
fn add(schemas: &mut BTreeMap<String, Value>, name: &str) {
    let mut names = vec![name.to_owned()];
    while let Some(name) = names.pop() {
        if schemas.contains_key(&name) {
            continue;
        }
        if let Some(schema) = BUILTIN.get(&name) {
            references(schema, &mut names);
            schemas.insert(name, schema.clone());
        }
    }
}

fn references(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(name) =
                fields.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix(PREFIX))
            {
                names.push(name.to_owned());
            }
            fields.values().for_each(|value| references(value, names));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, names)),
        _ => {}
    }
}

/// What a kind's schema is called: that of a CRD after its group, backwards.
pub(super) fn name(kind: &Kind, version: &Version) -> String {
    if kind.is_builtin() {
        return version.definition.to_owned();
    }
    let mut group: Vec<_> = kind.names.group.split('.').collect();
    group.reverse();
    format!("{}.{}.{}", group.join("."), version.name, kind.names.kind)
}

/// The group, version and kind, as documents tell them.
pub(super) fn type_of(kind: &Kind, version: &Version) -> Value {
    json!({ "group": kind.names.group, "version": version.name, "kind": kind.names.kind })
}

fn custom(kind: &Kind, version: &Version) -> Value {
    let mut schema = version.raw_schema.as_object().cloned().unwrap_or_default();
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    for (name, field) in type_fields(METADATA, "ObjectMeta") {
        properties[name] = field;
    }
    schema.insert("x-kubernetes-group-version-kind".to_owned(), json!([type_of(kind, version)]));
    schema.into()
}

fn type_fields(description: &str, meta: &str) -> [(&'static str, Value); 3] {
    let reference = format!("{PREFIX}{META}{meta}");
    [
        ("apiVersion", json!({ "type": "string", "description": API_VERSION })),
        ("kind", json!({ "type": "string", "description": KIND })),
        ("metadata", json!({ "description": description, "allOf": [{ "$ref": reference }] })),
    ]
}

fn list(kind: &Kind, version: &Version) -> Value {
    let names = &kind.names;
    let item = format!("{PREFIX}{}", name(kind, version));
    let description = format!(
        "List of {}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md",
        names.plural
    );
    let mut properties =
        json!({ "items": { "type": "array", "description": description, "items": { "$ref": item } } });
    for (name, field) in type_fields(LIST_METADATA, "ListMeta") {
        properties[name] = field;
    }
    json!({
        "type": "object",
        "description": format!("{} is a list of {}", names.list_kind, names.kind),
        "required": ["items"],
        "properties": properties,
        "x-kubernetes-group-version-kind":
            [{ "group": names.group, "version": version.name, "kind": names.list_kind }],
    })
}
