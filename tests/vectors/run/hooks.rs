//! `hooks.json`: the catalog, the paths of calls, and the bodies of Discovery and `DiscoverVariables`. Whole URLs
//! are the client's, other bodies come with their hooks.

use kapstan_api::hooks::{
    DiscoverVariablesRequest, DiscoverVariablesResponse, DiscoveryRequest, DiscoveryResponse, Message,
    catalog, decode,
};
use serde_json::{Value, json};

use super::text;
use crate::{Case, Runner};

/// Answered differently on purpose.
const EXCEPTIONS: [(&str, &str); 3] = [
    ("body-response/hand-variables-with-old-metadata-name", KEPT),
    ("body-response/hand-variables-empty-lists", KEPT),
    ("body-response/hand-variables-default-null", KEPT),
];
const KEPT: &str = "variables are kept as they were answered; merging drops what schemas do not have";

pub(super) const RUNNER: Runner = Runner {
    file: "hooks.json",
    run: |case| match case.group() {
        "catalog" => (catalog_entry(case), case.expect.clone()),
        _ => (body(case), case.expect["encoded"].clone()),
    },
    covers: |case| {
        case.group() == "catalog"
            || (case.group() != "url"
                && ["Discovery", "DiscoverVariables"].contains(&text(&case.input, "hook")))
    },
    exceptions: &EXCEPTIONS,
};

fn catalog_entry(case: &Case) -> Value {
    let Some(descriptor) = catalog::find(text(&case.input, "hook")) else { return Value::Null };
    let hook = descriptor.group_version_hook();
    let handler = text(&case.expect, "handlerNameUsedInPath");
    json!({
        "apiVersion": hook.api_version(),
        "deprecated": false,
        "group": hook.group,
        "groupHook": hook.group_hook(),
        "groupVersionHookAsText": hook.to_string(),
        "handlerNameUsedInPath": handler,
        "hook": hook.hook,
        "path": hook.path(None),
        "pathWithHandlerName": hook.path(Some(handler)),
        "requestHasSettings": descriptor.request_has_settings,
        "requestHookInADiscovery": kapstan_api::extension_config::GroupVersionHookRef::from(&hook),
        "requestKind": descriptor.request_kind(),
        "responseHasRetryAfter": descriptor.response_has_retry_after,
        "responseKind": descriptor.response_kind(),
        "singleton": descriptor.is_singleton,
        "tags": [descriptor.tag],
        "version": hook.version,
    })
}

fn body(case: &Case) -> Value {
    match (text(&case.input, "hook"), text(&case.input, "role")) {
        ("Discovery", "request") => rewritten::<DiscoveryRequest>(case),
        ("Discovery", _) => rewritten::<DiscoveryResponse>(case),
        (_, "request") => rewritten::<DiscoverVariablesRequest>(case),
        (_, _) => rewritten::<DiscoverVariablesResponse>(case),
    }
}

fn rewritten<M: Message>(case: &Case) -> Value {
    let body = serde_json::to_vec(&case.input["object"]).unwrap();
    serde_json::to_value(decode::<M>(&body).unwrap()).unwrap()
}
