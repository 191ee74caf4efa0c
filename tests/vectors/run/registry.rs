//! `registry.json`: names of handlers.

use kapstan_api::handler_name;
use serde_json::{Value, json};

use super::text;
use crate::{Case, Runner};

pub(super) const RUNNER: Runner = Runner {
    file: "registry.json",
    run: |case| (answer(case), case.expect.clone()),
    covers: |case| ["parse", "name"].contains(&case.group()),
    exceptions: &[],
};

fn answer(case: &Case) -> Value {
    match case.group() {
        "parse" => match handler_name::parse(text(&case.input, "handlerName")) {
            Ok(name) => json!({"valid": true, "extension": name.config}),
            Err(_) => json!({"valid": false}),
        },
        "name" => {
            json!({"name": handler_name::full(text(&case.input, "handler"), text(&case.input, "extension"))})
        }
        _ => Value::Null,
    }
}
