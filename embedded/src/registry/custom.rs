//! Kinds that CRDs define.

use kapstan_schema::Schema;
use serde_json::Value;

use super::kind::{Behaviour, Column, Kind, Names, Version};
use crate::apply::Types;
use crate::rest::JsonPath;
use crate::store::CollectionId;

/// A CRD that should not have been stored: its schema cannot be read.
#[derive(Debug)]
pub(crate) struct Refusal(pub(crate) String);

/// The kind that a CRD defines.
pub(crate) fn custom(crd: &Value, collection: CollectionId, encoding: u32) -> Result<Kind, Refusal> {
    let spec = &crd["spec"];
    let names = names(spec);
    let listed = spec["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let storage = listed.iter().position(|version| version["storage"] == true);
    let storage = storage.ok_or_else(|| Refusal("no version is stored".to_owned()))?;
    let stored_schema = &listed[storage]["schema"]["openAPIV3Schema"];
    let mut versions = Vec::new();
    for listed in listed {
        versions.push(version(listed, &names.group, stored_schema)?);
    }
    Ok(Kind {
        names,
        is_namespaced: spec["scope"] == "Namespaced",
        collection,
        versions,
        storage,
        encoding,
        behaviour: Behaviour::Custom,
        needs_webhook: spec["conversion"]["strategy"] == "Webhook",
    })
}

fn names(spec: &Value) -> Names {
    let names = &spec["names"];
    let text = |name: &str| names[name].as_str().unwrap_or_default().into();
    let texts = |name: &str| {
        names[name].as_array().into_iter().flatten().filter_map(Value::as_str).map(Into::into).collect()
    };
    Names {
        group: spec["group"].as_str().unwrap_or_default().into(),
        plural: text("plural"),
        singular: text("singular"),
        kind: text("kind"),
        list_kind: text("listKind"),
        short_names: texts("shortNames"),
        categories: texts("categories"),
    }
}

fn version(listed: &Value, group: &str, stored_schema: &Value) -> Result<Version, Refusal> {
    let name = listed["name"].as_str().unwrap_or_default();
    let raw_schema = &listed["schema"]["openAPIV3Schema"];
    let schema = Schema::parse(raw_schema).map_err(|errors| Refusal(errors.to_string()))?;
    let has_status = listed["subresources"]["status"].is_object();
    Ok(Version {
        name: name.into(),
        api_version: format!("{group}/{name}").into(),
        is_served: listed["served"] == true,
        has_status,
        unsupported: listed["subresources"]["scale"]
            .is_object()
            .then(|| "scale".into())
            .into_iter()
            .collect(),
        schema: Some(schema),
        raw_schema: raw_schema.clone(),
        definition: "",
        types: Types::custom(raw_schema, has_status),
        columns: columns(listed),
        is_as_stored: raw_schema == stored_schema,
        deprecation: deprecation(listed, group, name),
    })
}

fn deprecation(listed: &Value, group: &str, name: &str) -> Option<Box<str>> {
    if listed["deprecated"] != true {
        return None;
    }
    let text = listed["deprecationWarning"].as_str().map(str::to_owned);
    Some(text.unwrap_or_else(|| format!("{group}/{name} is deprecated")).into())
}

/// The columns of a version; the age if it names none.
fn columns(listed: &Value) -> Vec<Column> {
    let named = listed["additionalPrinterColumns"].as_array().map(Vec::as_slice).unwrap_or_default();
    if named.is_empty() {
        let path = ".metadata.creationTimestamp";
        return JsonPath::parse(path).map(|path| column("Age", "date", path)).into_iter().collect();
    }
    named.iter().filter_map(named_column).collect()
}

fn named_column(listed: &Value) -> Option<Column> {
    let text = |name: &str| listed[name].as_str().unwrap_or_default();
    let path = JsonPath::parse(text("jsonPath")).ok()?;
    let described = format!("Custom resource definition column (in JSONPath format): {}", text("jsonPath"));
    let description = if text("description").is_empty() { described } else { text("description").to_owned() };
    Some(Column {
        format: text("format").to_owned(),
        description,
        priority: listed["priority"].as_i64().unwrap_or_default(),
        ..column(text("name"), text("type"), path)
    })
}

fn column(name: &str, value_type: &str, path: JsonPath) -> Column {
    let description = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
    Column {
        name: name.to_owned(),
        value_type: value_type.to_owned(),
        format: String::new(),
        description: description.to_owned(),
        priority: 0,
        path,
    }
}
