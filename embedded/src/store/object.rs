//! One object at one revision, as it is kept.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};

/// Where an object is in its collection: `namespace/name`, or the name alone in a collection of the
/// cluster. Ordered as the API server lists.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key(Arc<str>);

impl Key {
    pub(crate) fn new(namespace: Option<&str>, name: &str) -> Self {
        match namespace {
            Some(namespace) => Self(format!("{namespace}/{name}").into()),
            None => Self(name.into()),
        }
    }

    /// The key that a page of a list ended with.
    pub(crate) fn from_text(text: &str) -> Self {
        Self(text.into())
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    pub(crate) fn namespace(&self) -> Option<&str> {
        self.0.split_once('/').map(|(namespace, _)| namespace)
    }

    pub(crate) fn name(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, name)| name)
    }
}

impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A reference to an owner, as far as the garbage collector looks at it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Owner {
    pub(crate) uid: Box<str>,
    /// `blockOwnerDeletion`: the owner waits for this object when it is deleted in the foreground.
    pub(crate) blocks: bool,
}

/// What an object can be selected by besides its name and namespace.
pub(crate) type Fields = Box<[(&'static str, Box<str>)]>;

/// An object at one revision. It is never changed; a write puts another in its place.
///
/// It is kept as JSON without `apiVersion` and `kind`, and with `metadata` first: so a list, a watch
/// event or a metadata answer is put together from slices, and a version of a kind is a prefix.
pub(crate) struct Object {
    pub(crate) key: Key,
    pub(crate) uid: Box<str>,
    pub(crate) revision: u64,
    pub(crate) labels: Box<[(Box<str>, Box<str>)]>,
    pub(crate) fields: Fields,
    pub(crate) owners: Box<[Owner]>,
    pub(crate) finalizers: Box<[Box<str>]>,
    pub(crate) is_deleting: bool,
    /// By which schema the JSON was written; see `registry::Kind::encoding`.
    pub(crate) encoding: u32,
    json: Bytes,
    metadata_end: usize,
}

/// What comes before the metadata.
const HEAD: &[u8] = b"{\"metadata\":";

impl Object {
    /// Takes the object apart. Its `apiVersion` and `kind` are left out and its `resourceVersion` is set;
    /// at revision zero, which is that of an object that is not stored, it has none.
    pub(crate) fn encode(key: Key, revision: u64, draft: &mut Draft) -> Self {
        let metadata = metadata_mut(&mut draft.value);
        if revision == 0 {
            metadata.remove("resourceVersion");
        } else {
            metadata.insert("resourceVersion".to_owned(), revision.to_string().into());
        }
        let Value::Object(object) = &draft.value else { unreachable!("metadata_mut has seen to it") };
        let metadata = &object["metadata"];
        let (json, metadata_end) = encode(object, metadata);
        Self {
            key,
            uid: metadata["uid"].as_str().unwrap_or_default().into(),
            revision,
            labels: labels(metadata),
            fields: draft.fields.clone(),
            owners: owners(metadata),
            finalizers: texts(&metadata["finalizers"]),
            is_deleting: !metadata["deletionTimestamp"].is_null(),
            encoding: draft.encoding,
            json,
            metadata_end,
        }
    }

    /// The JSON after the opening brace, to be written behind a prefix with `apiVersion` and `kind`.
    pub(crate) fn tail(&self) -> Bytes {
        self.json.slice(1..)
    }

    /// The JSON of `metadata`.
    pub(crate) fn metadata(&self) -> Bytes {
        self.json.slice(HEAD.len()..self.metadata_end)
    }

    /// The object without `apiVersion` and `kind`.
    pub(crate) fn decode(&self) -> Value {
        serde_json::from_slice(&self.json).unwrap_or_default()
    }

    /// The bytes that the object takes up, indexes not counted.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>() + self.json.len() + self.key.0.len() + self.uid.len()
    }

    pub(crate) fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(key, _)| &**key == name).map(|(_, value)| &**value)
    }

    /// The value that a field selector compares; `None` when the kind cannot be selected by it.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        match name {
            "metadata.name" => Some(self.key.name()),
            "metadata.namespace" => Some(self.key.namespace().unwrap_or_default()),
            _ => self.fields.iter().find(|(key, _)| *key == name).map(|(_, value)| &**value),
        }
    }
}

/// An object that is to be written.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) value: Value,
    pub(crate) fields: Fields,
    pub(crate) encoding: u32,
}

/// The metadata of an object; made if there is none.
pub(crate) fn metadata_mut(value: &mut Value) -> &mut Map<String, Value> {
    let metadata = object_mut(value).entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    object_mut(metadata)
}

/// The fields of a value, which becomes an object if it is none.
pub(crate) fn object_mut(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(fields) => fields,
        _ => unreachable!("it is an object now"),
    }
}

/// Metadata first, so that it can be cut out; its end is returned too.
fn encode(object: &Map<String, Value>, metadata: &Value) -> (Bytes, usize) {
    let mut json = Vec::with_capacity(1024);
    json.extend_from_slice(HEAD);
    write(&mut json, metadata);
    let metadata_end = json.len();
    for (name, value) in object {
        if !matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
            json.push(b',');
            write(&mut json, &Value::from(name.as_str()));
            json.push(b':');
            write(&mut json, value);
        }
    }
    json.push(b'}');
    json.shrink_to_fit();
    (json.into(), metadata_end)
}

/// Writing a value of strings, numbers, lists and maps to memory cannot fail.
pub(crate) fn write(json: &mut Vec<u8>, value: &Value) {
    serde_json::to_writer(json, value).expect("a JSON value can be written to memory");
}

fn labels(metadata: &Value) -> Box<[(Box<str>, Box<str>)]> {
    let labels = metadata["labels"].as_object();
    let pair = |(key, value): (&String, &Value)| (key.as_str().into(), value.as_str().unwrap_or("").into());
    labels.into_iter().flatten().map(pair).collect()
}

fn owners(metadata: &Value) -> Box<[Owner]> {
    let owner = |owner: &Value| Owner {
        uid: owner["uid"].as_str().unwrap_or_default().into(),
        blocks: owner["blockOwnerDeletion"].as_bool().unwrap_or_default(),
    };
    metadata["ownerReferences"].as_array().into_iter().flatten().map(owner).collect()
}

fn texts(list: &Value) -> Box<[Box<str>]> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_cut_where_its_metadata_ends() {
        let value = json!({ "apiVersion": "v1", "kind": "K", "data": { "a": "}" }, "metadata": { "name": "x", "labels": { "l": "\"" } } });
        let mut draft = Draft { value, fields: Fields::default(), encoding: 0 };
        let object = Object::encode(Key::new(Some("ns"), "x"), 7, &mut draft);
        assert_eq!(object.metadata(), r#"{"labels":{"l":"\""},"name":"x","resourceVersion":"7"}"#);
        assert_eq!(
            object.tail(),
            r#""metadata":{"labels":{"l":"\""},"name":"x","resourceVersion":"7"},"data":{"a":"}"}}"#
        );
        assert_eq!(object.decode()["data"], json!({ "a": "}" }));
        assert_eq!((object.label("l"), object.field("metadata.namespace")), (Some("\""), Some("ns")));
    }

    #[test]
    fn keys_are_ordered_as_the_api_server_lists() {
        let key = |namespace, name| Key::new(Some(namespace), name);
        assert!(key("a-b", "x") < key("a", "x"), "a slash comes after a dash");
        assert_eq!((key("a", "x").namespace(), key("a", "x").name()), (Some("a"), "x"));
        assert_eq!((Key::new(None, "x").namespace(), Key::new(None, "x").name()), (None, "x"));
    }
}
