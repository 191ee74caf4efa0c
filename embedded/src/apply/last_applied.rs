//! Moving from `kubectl apply` to `kubectl apply --server-side`.
//!
//! Behaviour: apimachinery `managedfields/internal`, `lastappliedmanager.go` and `lastappliedupdater.go`.

use serde_json::{Value, json};

use super::set::FieldSet;
use super::walk::{self, Comparison};
use super::{Conflict, Context, value};

/// The manager for which this is done.
pub(super) const MANAGER: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The most that the names and values of all annotations may have, in bytes.
const MOST_ANNOTATIONS: usize = 256 * 1024;

/// The conflicts that are not about fields that still are as they were applied on the client's side.
pub(super) fn unexpected(live: &Value, conflicts: Vec<Conflict>, ctx: &Context<'_>) -> Vec<Conflict> {
    let Some(mine) = still_as_applied(live, ctx) else { return conflicts };
    conflicts.into_iter().filter(|conflict| !mine.contains(&conflict.path)).collect()
}

/// What the annotation says was applied, as far as it is still so.
fn still_as_applied(live: &Value, ctx: &Context<'_>) -> Option<FieldSet> {
    let applied: Value = serde_json::from_str(annotation(live)?).ok()?;
    let types = ctx.types.root();
    let is_usable = applied["apiVersion"] == ctx.api_version
        && applied["kind"] == ctx.kind
        && walk::problems(&applied, types, false).is_empty()
        && walk::problems(live, types, false).is_empty();
    if !is_usable {
        return None;
    }
    let Comparison { added, modified, removed } = Comparison::of(&applied, live, types);
    let set = walk::field_set(&applied, types);
    Some(set.difference(&modified).difference(&added).difference(&removed))
}

/// Writes what is applied into the annotation, if an object has it.
pub(super) fn refresh(object: &mut Value, applied: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut applied = applied.clone();
    if let Some(annotations) = applied.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(ANNOTATION);
    }
    let text = format!("{}\n", value::go_json(&applied));
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.insert(ANNOTATION.to_owned(), json!(text));
        let size: usize =
            annotations.iter().map(|(name, text)| name.len() + text.as_str().map_or(0, str::len)).sum();
        if size > MOST_ANNOTATIONS {
            annotations.remove(ANNOTATION);
        }
    }
}

fn annotation(object: &Value) -> Option<&str> {
    object.get("metadata")?.get("annotations")?.get(ANNOTATION)?.as_str().filter(|text| !text.is_empty())
}
