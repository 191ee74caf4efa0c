//! `registry.json`: names of handlers. What its other groups are about is the manager's.

use kapstan_api::handler_name;
use serde_json::json;

use crate::{Case, cases, compare};

fn text<'a>(case: &'a Case, field: &str) -> &'a str {
    case.input[field].as_str().unwrap()
}

#[test]
fn full_names_come_apart_as_recorded() {
    let mut cases = cases("registry.json");
    cases.retain(|case| case.group() == "parse");
    let agreed = compare(&cases, &[], |case| {
        let ours = match handler_name::parse(text(case, "handlerName")) {
            Ok(name) => json!({"valid": true, "extension": name.config}),
            Err(_) => json!({"valid": false}),
        };
        (ours, case.expect.clone())
    });
    assert_eq!(agreed, 13);
}

#[test]
fn full_names_are_built_as_recorded() {
    let mut cases = cases("registry.json");
    cases.retain(|case| case.group() == "name");
    let agreed = compare(&cases, &[], |case| {
        let name = handler_name::full(text(case, "handler"), text(case, "extension"));
        (json!({ "name": name }), case.expect.clone())
    });
    assert_eq!(agreed, 4);
}
