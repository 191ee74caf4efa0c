//! `call_extension.json` and `aggregation.json`: one call, all calls of a hook, many answers to one. Extensions are
//! served over TLS in this process, on a paused clock.

use std::{collections::BTreeMap, io, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use http::StatusCode;
use kapstan::{
    clock::Clock,
    metrics::Metrics,
    runtime::{
        Client, HookClient, HookError, NamespaceLabels, Options,
        error::Failure,
        registry::RegistryError,
        transport::{BoxedIo, Dial},
    },
};
use kapstan_api::{
    extension_config::ExtensionConfig,
    hooks::{self, Hook, Response, Visitor},
};
use kapstan_test_extension::{Behaviour, Target, TestCa, TestExtension};
use serde_json::{Value, json};

use super::{read, sorted, text};
use crate::{Case, Runner};

const PARTLY: &str =
    "an answer that cannot be read and is ignored counts as an empty one, not as what was read of it";

pub(super) const CALLS: Runner = Runner {
    file: "call_extension.json",
    run: |case| (called(case), recorded(case)),
    covers: |_| true,
    exceptions: &[
        (
            "policy/certificate-of-another-authority-Ignore",
            "nothing is sent to a server that the bundle does not vouch for, whatever the failure policy",
        ),
        ("policy/status-of-wrong-type-Ignore", PARTLY),
        ("policy/patch-not-base64-Ignore", PARTLY),
        ("policy/patch-base64-url-alphabet-Ignore", PARTLY),
        ("policy/patch-base64-no-padding-Ignore", PARTLY),
    ],
};

pub(super) const AGGREGATION: Runner = Runner {
    file: "aggregation.json",
    run: |case| match case.group() {
        "call-all" => (called(case), recorded(case)),
        _ => (
            hooks::visit(text(&case.input, "hook"), Aggregate(&case.input["responses"])).unwrap(),
            case.expect.clone(),
        ),
    },
    covers: |_| true,
    exceptions: &[],
};

/// Many answers to one.
struct Aggregate<'c>(&'c Value);

impl Visitor for Aggregate<'_> {
    type Output = Value;

    fn visit<H: Hook>(self) -> Value {
        let responses: Vec<H::Response> =
            self.0.as_array().into_iter().flatten().map(read_as::<H::Response>).collect();
        summary(&hooks::aggregate(&responses))
    }
}

fn read_as<M: hooks::Message>(body: &Value) -> M {
    hooks::decode(body.to_string().as_bytes()).unwrap()
}

fn summary(response: &impl Response) -> Value {
    let mut summary = json!({"status": response.status(), "message": response.message()});
    if let Some(seconds) = response.retry_after_seconds() {
        summary["retryAfterSeconds"] = seconds.into();
    }
    summary
}

fn called(case: &Case) -> Value {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let world = World::new(&case.input["world"]);
        let hook = text(&case.input["world"], "hook");
        let mut answer = hooks::visit(hook, CallIn(&world)).unwrap().await;
        answer["calls"] = world.calls();
        answer
    })
}

fn recorded(case: &Case) -> Value {
    let mut expect = case.expect.clone();
    expect["calls"] = sorted(expect["calls"].as_array().cloned().unwrap_or_default());
    expect
}

/// The call that a case makes in its world.
struct CallIn<'w>(&'w World<'w>);

impl<'w> Visitor for CallIn<'w> {
    type Output = BoxFuture<'w, Value>;

    fn visit<H: Hook>(self) -> Self::Output {
        Box::pin(async move {
            let world = self.0.input;
            let request = read_as::<H::Request>(&world["request"]);
            let namespace = world["objectNamespace"].as_str().unwrap_or_default();
            let outcome = if text(world, "call") == "all" {
                self.0.client.call_all::<H>(namespace, &request).await
            } else {
                let handler = world["handler"].as_str().unwrap_or_default();
                self.0.client.call::<H>(handler, namespace, &request).await
            };
            match outcome {
                Ok(response) => {
                    let mut answer = summary(&response);
                    answer["ok"] = true.into();
                    answer["response"] = serde_json::to_value(&response).unwrap();
                    answer
                }
                Err(error) => json!({"ok": false, "reason": reason(&error)}),
            }
        })
    }
}

fn reason(error: &HookError) -> &'static str {
    match error {
        HookError::Registry { reason: RegistryError::NotReady, .. } => "registryNotReady",
        HookError::Registry { .. } => "registry",
        HookError::NotRegistered { .. } => "notRegistered",
        HookError::OtherHook { .. } => "otherHook",
        HookError::UnknownVersion { .. } => "versionNotInCatalog",
        HookError::NamespaceNotFound { .. } => "namespaceNotFound",
        HookError::NamespaceNotSelected { .. } => "namespaceNotSelected",
        HookError::Call(error) => match error.failure {
            Failure::Misconfigured { .. } => "noClient",
            Failure::Unreachable { .. } | Failure::Interrupted { .. } => "connection",
            Failure::Certificate { .. } => "certificate",
            Failure::TimedOut { .. } => "timeout",
            Failure::Status { .. } => "httpStatus",
            Failure::Undecodable { .. } | Failure::TooLarge { .. } => "undecodable",
            Failure::Refused { .. } => "failureResponse",
            Failure::UnknownStatus { .. } => "unknownStatus",
            Failure::Throttled { .. } | Failure::Internal { .. } => "internal",
        },
    }
}

/// The extensions and namespaces of a case.
struct World<'c> {
    input: &'c Value,
    client: HookClient,
    extensions: Arc<Extensions>,
}

impl<'c> World<'c> {
    fn new(input: &'c Value) -> Self {
        let authority = TestCa::new("authority").unwrap();
        let other = TestCa::new("another authority").unwrap();
        let mut extensions = BTreeMap::new();
        let mut configs = Vec::new();
        for config in input["extensionConfigs"].as_array().into_iter().flatten() {
            let host = format!("{}.test", text(config, "name"));
            let endpoint = config["endpoint"].as_str().unwrap_or_default();
            if endpoint != "closed" {
                extensions.insert(host.clone(), extension(config, &host, &authority));
            }
            let bundle = match endpoint {
                "wrongCA" => other.pem(),
                "badCA" => "no certificate".to_owned(),
                _ => authority.pem(),
            };
            configs.push(extension_config(config, &host, &bundle));
        }
        let extensions = Arc::new(Extensions(extensions));
        let clock = Clock::starting_at(jiff::Timestamp::now());
        let client = Client::new(Options::default(), extensions.clone(), clock, Metrics::new());
        let namespaces = Labels(read(input, "namespaces"));
        let client = HookClient::new(client, Arc::new(namespaces));
        if input["registryNotWarmedUp"] != true {
            client.registry().write().warm_up(&configs).unwrap();
        }
        Self { input, client, extensions }
    }

    /// What the extensions saw.
    fn calls(&self) -> Value {
        sorted(self.extensions.0.values().flat_map(TestExtension::requests).map(|request| {
            let body = request.body.unwrap_or_default();
            let mut call = json!({
                "method": "POST",
                "path": request.path,
                "query": request.query,
                "apiVersion": body["apiVersion"],
                "kind": body["kind"],
            });
            if body["settings"].as_object().is_some_and(|settings| !settings.is_empty()) {
                call["settings"] = body["settings"].clone();
            }
            call
        }))
    }
}

fn extension(config: &Value, host: &str, authority: &TestCa) -> TestExtension {
    let certificate = authority.server().names([host]).issue().unwrap();
    let extension = TestExtension::builder().certificate(certificate).in_process().unwrap();
    extension.behave(Target::All, Behaviour::status(StatusCode::NOT_FOUND));
    let prefix = config["pathPrefix"].as_str().unwrap_or_default();
    for handler in config["handlers"].as_array().into_iter().flatten() {
        let Some(reply) = handler.get("reply") else { continue };
        let status = reply["httpStatus"].as_u64().filter(|&status| status != 0).unwrap_or(200);
        let status = StatusCode::from_u16(u16::try_from(status).unwrap()).unwrap();
        let body = reply["body"].as_str().unwrap_or_default().to_owned();
        let mut behaviour = match (reply["hangup"] == true, reply["location"].as_str()) {
            (true, _) => Behaviour::hang_up(),
            (_, Some(location)) => Behaviour::redirect(status, location),
            _ => Behaviour::body(status, body),
        };
        if let Some(delay) = reply["delayMilliseconds"].as_u64() {
            behaviour = behaviour.delay(Duration::from_millis(delay));
        }
        let full = text(handler, "name");
        let own = full.strip_suffix(&format!(".{}", text(config, "name"))).unwrap_or(full);
        extension.behave(Target::handler(prefix, text(handler, "hook"), own), behaviour);
    }
    extension
}

fn extension_config(config: &Value, host: &str, bundle: &str) -> ExtensionConfig {
    let url = format!("https://{host}{}", config["pathPrefix"].as_str().unwrap_or_default());
    let bundle = k8s_openapi::ByteString(bundle.as_bytes().to_vec());
    let client_config = match config["endpoint"].as_str().unwrap_or_default() {
        "none" => json!({}),
        "http" => json!({"url": url.replacen("https", "http", 1)}),
        _ => json!({"url": url, "caBundle": bundle}),
    };
    let handlers = config["handlers"].as_array().into_iter().flatten().map(|handler| {
        json!({
            "name": handler["name"],
            "requestHook": {"apiVersion": handler["apiVersion"], "hook": handler["hook"]},
            "timeoutSeconds": handler["timeoutSeconds"],
            "failurePolicy": handler["failurePolicy"],
        })
    });
    serde_json::from_value(json!({
        "metadata": {"name": config["name"], "uid": config["name"]},
        "spec": {
            "clientConfig": client_config,
            "settings": config["settings"],
            // As admission leaves it.
            "namespaceSelector": config.get("namespaceSelector").cloned().unwrap_or_else(|| json!({})),
        },
        "status": {"handlers": handlers.collect::<Vec<_>>()},
    }))
    .unwrap()
}

/// Extensions by host.
struct Extensions(BTreeMap<String, TestExtension>);

impl Dial for Extensions {
    fn dial<'a>(&'a self, host: &'a str, _: u16) -> BoxFuture<'a, io::Result<BoxedIo>> {
        Box::pin(async move {
            let extension = self.0.get(host).ok_or(io::ErrorKind::ConnectionRefused)?;
            Ok(Box::new(extension.connect()?) as BoxedIo)
        })
    }
}

struct Labels(BTreeMap<String, Option<BTreeMap<String, String>>>);

impl NamespaceLabels for Labels {
    fn labels(&self, namespace: &str) -> Option<BTreeMap<String, String>> {
        self.0.get(namespace).map(|labels| labels.clone().unwrap_or_default())
    }
}
