//! `conversion.json`: objects in other versions.

use kapstan_api::conversion::{DATA_ANNOTATION, convert};
use serde_json::{Value, json};

use super::text;
use crate::{Case, Runner};

pub(super) const RUNNER: Runner = Runner {
    file: "conversion.json",
    run: |case| (answer(case), recorded(case)),
    covers: |_| true,
    exceptions: &[],
};

fn answer(case: &Case) -> Value {
    let object = &case.input["object"];
    let group = text(object, "apiVersion").split('/').next().unwrap();
    let to = format!("{group}/{}", text(&case.input, "to"));
    match convert(object, &to) {
        Ok(object) => json!({"ok": true, "object": with_data_parsed(object)}),
        Err(_) => json!({"ok": false}),
    }
}

fn recorded(case: &Case) -> Value {
    match case.expect.get("object") {
        Some(object) => json!({"ok": true, "object": with_data_parsed(object.clone())}),
        None => json!({"ok": case.expect["ok"]}),
    }
}

/// The annotation's text as the JSON that it is.
fn with_data_parsed(mut object: Value) -> Value {
    if let Some(data) =
        object.pointer_mut("/metadata/annotations").and_then(|all| all.get_mut(DATA_ANNOTATION))
    {
        *data = serde_json::from_str(data.as_str().unwrap()).unwrap();
    }
    object
}
