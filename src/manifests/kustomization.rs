//! The part of kustomize that needs no kustomize: a list of resources.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{
    Manifest,
    read::{ReadError, at, file},
    text,
};

/// The names that kustomize looks for, in its order.
const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
/// The fields that change nothing.
const IDLE: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The kustomization of a folder, if it has one.
pub(super) fn of_folder(folder: &Path) -> Option<PathBuf> {
    NAMES.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// Whether a file is a kustomization, by its name.
pub(super) fn is_one(path: &Path) -> bool {
    path.file_name().is_some_and(|name| NAMES.iter().any(|own| *own == name))
}

/// The manifests that it lists.
pub(super) fn resources(path: &Path, within: &mut Vec<PathBuf>) -> Result<Vec<Manifest>, ReadError> {
    let refuse = |field: &str, why: String| {
        Err(ReadError::Kustomization { path: path.to_owned(), field: field.to_owned(), why })
    };
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if within.contains(&place) {
        return refuse("resources", "it leads back to itself".to_owned());
    }
    let Some(fields) = fields(path)? else {
        return refuse("kustomization", "must be one mapping".to_owned());
    };
    if let Some(field) = fields.iter().find_map(more_than_a_list) {
        let folder = path.parent().unwrap_or(path).display();
        let why = format!(
            "only a list of resources is understood here; `kubectl kustomize {folder} | kapstan dev -f -` does the rest"
        );
        return refuse(field, why);
    }
    within.push(place);
    let mut manifests = Vec::new();
    for (index, resource) in
        fields.get("resources").and_then(Value::as_array).into_iter().flatten().enumerate()
    {
        let field = format!("resources[{index}]");
        let Some(name) = resource.as_str() else { return refuse(&field, "must be a path".to_owned()) };
        if name.contains("://") {
            return refuse(&field, format!("{name} is not on this machine"));
        }
        let target = path.parent().unwrap_or(path).join(name);
        if target.is_dir() && of_folder(&target).is_none() {
            return refuse(&field, format!("the folder {name} has no kustomization.yaml"));
        }
        manifests.extend(at(&target, within)?);
    }
    within.pop();
    Ok(manifests)
}

fn fields(path: &Path) -> Result<Option<Map<String, Value>>, ReadError> {
    let mut documents = text::documents(&file(path)?);
    match (documents.pop(), documents.is_empty()) {
        (Some(Ok((_, Value::Object(fields)))), true) => Ok(Some(fields)),
        (Some(Err(why)), _) => Err(ReadError::Text(why)),
        _ => Ok(None),
    }
}

/// The field, unless it is one of a plain list.
fn more_than_a_list<'a>((name, value): (&'a String, &Value)) -> Option<&'a str> {
    let is_idle = IDLE.contains(&name.as_str());
    let is_list = name == "resources" && (value.is_array() || value.is_null());
    let is_order = name == "sortOptions" && value.get("order").is_some_and(|order| order == "fifo");
    (!is_idle && !is_list && !is_order).then_some(name)
}
