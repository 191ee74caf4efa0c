//! An object, and where it is from.

use std::{fmt, sync::Arc};

use serde_json::Value;

/// Where an object is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The name of the file.
    pub source: Arc<str>,
    /// The number of the document in it, from 1.
    pub document: usize,
    /// The line, from 1, in which the document begins.
    pub line: usize,
    /// The number in the list, from 1, that the document is, if it is one.
    pub item: Option<usize>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, document, line, item } = self;
        write!(f, "{source}: document {document}, line {line}")?;
        item.map_or(Ok(()), |item| write!(f, ", item {item}"))
    }
}

/// An object that could be applied: it has a version, a kind and a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Where it is from.
    pub origin: Origin,
    /// Its `apiVersion`.
    pub api_version: String,
    /// Its `kind`.
    pub kind: String,
    /// Its namespace, if it names one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// All of it.
    pub value: Value,
}

impl Object {
    /// Group and version; the group of core kinds is empty.
    pub(super) fn group_version(&self) -> (&str, &str) {
        self.api_version.split_once('/').unwrap_or(("", &self.api_version))
    }

    /// Kind and name, as messages have them.
    #[must_use]
    pub fn title(&self) -> String {
        let Self { kind, namespace, name, .. } = self;
        namespace
            .as_ref()
            .map_or_else(|| format!("{kind} {name}"), |namespace| format!("{kind} {namespace}/{name}"))
    }
}

/// The object that a document is, or the items of the list that it is.
pub(super) fn flatten(origin: &Origin, mut value: Value) -> Result<Vec<Object>, String> {
    let Some(Value::Array(items)) = value.get_mut("items").map(Value::take) else {
        return object(origin, value).map(|object| vec![object]);
    };
    let text = |name| value.get(name).and_then(Value::as_str).unwrap_or_default();
    // The items of a typed list may leave out what the list says for all.
    let of_list =
        [("apiVersion", text("apiVersion")), ("kind", text("kind").strip_suffix("List").unwrap_or_default())];
    let mut objects = Vec::new();
    for (index, mut item) in items.into_iter().enumerate() {
        let origin = Origin { item: Some(index + 1), ..origin.clone() };
        if let Value::Object(fields) = &mut item {
            for (name, value) in of_list.iter().filter(|(_, value)| !value.is_empty()) {
                fields.entry(*name).or_insert_with(|| (*value).into());
            }
        }
        objects.extend(flatten(&origin, item)?);
    }
    Ok(objects)
}

fn object(origin: &Origin, value: Value) -> Result<Object, String> {
    if !value.is_object() {
        return Err(format!("{origin}: there is no object but {}", what(&value)));
    }
    let text = |pointer: &str| match value.pointer(pointer) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(other) => {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            Err(format!("{origin}: {field}: must be a string, not {}", what(other)))
        }
    };
    let required =
        |pointer: &str, field: &str| text(pointer)?.ok_or_else(|| format!("{origin}: {field}: missing"));
    let api_version = required("/apiVersion", "apiVersion")?;
    let kind = required("/kind", "kind")?;
    if text("/metadata/name")?.is_none() && text("/metadata/generateName")?.is_some() {
        return Err(format!(
            "{origin}: {kind}: metadata.generateName: cannot be applied, because the name is made anew each time; set metadata.name"
        ));
    }
    let name = text("/metadata/name")?.ok_or_else(|| format!("{origin}: {kind}: metadata.name: missing"))?;
    let namespace = text("/metadata/namespace")?;
    Ok(Object { origin: origin.clone(), api_version, kind, namespace, name, value })
}

fn what(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("the text {:?}", text.chars().take(40).collect::<String>()),
    }
}
