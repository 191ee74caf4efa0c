//! `hooks.json`: the catalog, the paths of calls, and the bodies of Discovery and `DiscoverVariables`. Whole URLs
//! are the client's, other bodies come with their hooks.

use kapstan_api::{
    hooks::{
        DiscoverVariablesRequest, DiscoverVariablesResponse, DiscoveryRequest, DiscoveryResponse, Message,
        catalog::{self, GroupVersionHook},
        decode,
    },
    variables,
};
use serde_json::{Value, json};

use crate::{Case, cases, compare};

/// Answered differently on purpose.
const EXCEPTIONS: [(&str, &str); 3] = [
    ("body-response/hand-variables-with-old-metadata-name", KEPT),
    ("body-response/hand-variables-empty-lists", KEPT),
    ("body-response/hand-variables-default-null", KEPT),
];
const KEPT: &str = "variables are kept as they were answered; merging drops what schemas do not have";

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap()
}

#[test]
fn the_catalog_is_as_recorded() {
    let mut cases = cases("hooks.json");
    cases.retain(|case| case.group() == "catalog");
    assert_eq!(cases.len(), catalog::HOOKS.len());
    let agreed = compare(&cases, &[], |case| (catalog_entry(case), case.expect.clone()));
    assert_eq!(agreed, 17);
}

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

#[test]
fn every_recorded_url_ends_in_our_path() {
    let mut cases = cases("hooks.json");
    cases.retain(|case| case.group() == "url" && case.expect["valid"] == true);
    assert_eq!(cases.len(), 46);
    for case in &cases {
        let hook =
            GroupVersionHook::parse(text(&case.input, "apiVersion"), text(&case.input, "hook")).unwrap();
        let path = hook.path(Some(text(&case.input, "handlerName")));
        let recorded = text(&case.expect, "path");
        assert!(recorded.ends_with(&escaped(&path)), "{}: {recorded} does not end in {path}", case.name);
    }
}

/// Escaped as far as the recorded names need it.
fn escaped(path: &str) -> String {
    path.replace('%', "%25")
        .replace(' ', "%20")
        .replace('?', "%3F")
        .replace('#', "%23")
        .replace('é', "%C3%A9")
}

#[test]
fn bodies_are_written_as_recorded() {
    let mut cases = cases("hooks.json");
    let hooks = ["Discovery", "DiscoverVariables"];
    cases.retain(|case| case.group().starts_with("body-") && hooks.contains(&text(&case.input, "hook")));
    let agreed = compare(&cases, &EXCEPTIONS, |case| {
        let ours = match (text(&case.input, "hook"), text(&case.input, "role")) {
            ("Discovery", "request") => rewritten::<DiscoveryRequest>(case),
            ("Discovery", _) => rewritten::<DiscoveryResponse>(case),
            (_, "request") => rewritten::<DiscoverVariablesRequest>(case),
            (_, _) => rewritten::<DiscoverVariablesResponse>(case),
        };
        (ours, case.expect["encoded"].clone())
    });
    assert_eq!(agreed, 17);
}

fn rewritten<M: Message>(case: &Case) -> Value {
    let body = serde_json::to_vec(&case.input["object"]).unwrap();
    serde_json::to_value(decode::<M>(&body).unwrap()).unwrap()
}

#[test]
fn what_reading_keeps_merging_drops() {
    let cases = cases("hooks.json");
    for (name, _) in EXCEPTIONS {
        let case = cases.iter().find(|case| case.name == name).unwrap();
        let body = serde_json::to_vec(&case.input["object"]).unwrap();
        let answer: DiscoverVariablesResponse = decode(&body).unwrap();
        let merged =
            serde_json::to_value(variables::merge(&[], &[("hull", &answer.variables)]).variables).unwrap();
        let (definition, recorded) = (&merged[0]["definitions"][0], &case.expect["encoded"]["variables"][0]);
        assert_eq!(definition["schema"], recorded["schema"], "{name}");
        assert_eq!(definition.get("metadata"), None, "{name}");
    }
}

#[test]
fn a_request_we_make_names_its_type() {
    assert_eq!(
        serde_json::to_value(DiscoveryRequest::default()).unwrap(),
        json!({"apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "kind": "DiscoveryRequest"})
    );
    assert_eq!(
        serde_json::to_value(DiscoverVariablesRequest::default()).unwrap(),
        json!({"apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "kind": "DiscoverVariablesRequest"})
    );
}
