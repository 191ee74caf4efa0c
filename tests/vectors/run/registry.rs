//! `registry.json`: names of handlers, and what the registry does. Which classes to look at again is the index's.

use kapstan::runtime::{Registration, Registry, registry::Namespaces};
use kapstan_api::{extension_config::ExtensionConfig, handler_name};
use serde_json::{Value, json};

use super::text;
use crate::{Case, Runner};

pub(super) const RUNNER: Runner = Runner {
    file: "registry.json",
    run: |case| (answer(case), case.expect.clone()),
    covers: |case| case.group() != "map-to-clusterclasses",
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
        _ => {
            let mut registry = Registry::default();
            let operations = case.input["operations"].as_array().into_iter().flatten();
            let steps: Vec<_> = operations.map(|operation| step(&mut registry, operation)).collect();
            json!({ "steps": steps })
        }
    }
}

fn step(registry: &mut Registry, operation: &Value) -> Value {
    let field = |name: &str| operation[name].as_str().unwrap_or_default();
    let mut step = json!({});
    let is_ok = match text(operation, "op") {
        "warmUp" => {
            let configs = operation["extensionConfigs"].as_array().into_iter().flatten();
            registry.warm_up(&configs.map(config).collect::<Vec<_>>()).is_ok()
        }
        "add" => registry.add(&config(&operation["extensionConfig"])).is_ok(),
        "remove" => registry.remove(text(&operation["extensionConfig"], "name")).is_ok(),
        "list" => match registry.list(field("group"), field("hook")) {
            Ok(found) => {
                step["names"] = found.iter().map(|found| found.name.as_ref()).collect();
                true
            }
            Err(_) => false,
        },
        "get" => match registry.get(field("name")) {
            Ok(Some(found)) => {
                step["registration"] = registration(found);
                true
            }
            _ => false,
        },
        "ready" => true,
        other => panic!("no operation {other}"),
    };
    step["ok"] = is_ok.into();
    step["ready"] = registry.is_ready().into();
    step
}

fn config(config: &Value) -> ExtensionConfig {
    let handlers = config["handlers"].as_array().into_iter().flatten().map(|handler| {
        json!({
            "name": handler["name"],
            "requestHook": {"apiVersion": handler["apiVersion"], "hook": handler["hook"]},
            "timeoutSeconds": handler["timeoutSeconds"],
            "failurePolicy": handler["failurePolicy"],
        })
    });
    serde_json::from_value(json!({
        "metadata": {"name": config["name"], "resourceVersion": config["resourceVersion"]},
        "spec": {
            "clientConfig": {"url": config["url"]},
            "namespaceSelector": config["namespaceSelector"],
            "settings": config["settings"],
        },
        "status": {"handlers": handlers.collect::<Vec<_>>()},
    }))
    .unwrap()
}

fn registration(found: &Registration) -> Value {
    let (selector, selects_everything) = match &found.namespaces {
        Namespaces::None => (String::new(), false),
        Namespaces::All => (String::new(), true),
        Namespaces::Matching(selector) => (selector.to_string(), false),
    };
    let settings = &found.extension.settings;
    json!({
        "name": found.name,
        "extensionConfigName": found.extension.name,
        "extensionConfigResourceVersion": found.resource_version,
        "group": found.hook.group,
        "version": found.hook.version,
        "hook": found.hook.hook,
        "namespaceSelector": selector,
        "selectsEverything": selects_everything,
        "settings": if settings.is_empty() { Value::Null } else { json!(settings) },
        "timeoutSeconds": found.timeout_seconds.unwrap_or(0),
        "failurePolicy": found.failure_policy.as_ref().map_or("", |policy| policy.as_str()),
        "url": found.extension.client_config.url,
    })
}
