//! A controller and its API server in one process, under a clock that does not wait.
//!
//! The controller counts the parts of widgets, and looks again after an hour. The example lets a day pass,
//! which takes no time, and shows how often the controller wrote.
//!
//! `cargo run -p kapstan-embedded --example controller`
#![expect(clippy::print_stdout, reason = "it shows what happened")]

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use futures::StreamExt as _;
use kapstan_embedded::Server;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

const HOUR: Duration = Duration::from_hours(1);
const WIDGETS: &str = "
{apiVersion: shop.example.com/v1, kind: Widget, metadata: {name: chair}, spec: {size: 5}}
---
{apiVersion: shop.example.com/v1, kind: Widget, metadata: {name: table}, spec: {size: 6}}
";

fn widget() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("shop.example.com", "v1", "Widget"))
}

async fn reconcile(widget: Arc<DynamicObject>, client: Arc<Client>) -> Result<Action, kube::Error> {
    let widgets = Api::<DynamicObject>::namespaced_with((*client).clone(), "default", &self::widget());
    let parts = widget.data["spec"]["size"].as_i64().unwrap_or_default() * 2;
    if widget.data["status"]["parts"] != parts {
        let patch = Patch::Merge(json!({ "status": { "parts": parts } }));
        widgets.patch_status(&widget.name_any(), &PatchParams::default(), &patch).await?;
    }
    Ok(Action::requeue(HOUR))
}

fn run(client: &Client) -> impl Future<Output = ()> + use<> {
    let widgets = Api::<DynamicObject>::all_with(client.clone(), &widget());
    let controller = Controller::new_with(widgets, watcher::Config::default(), widget());
    let failed = |_, error: &kube::Error, _| {
        tracing::warn!(%error, "a widget was not counted");
        Action::requeue(HOUR)
    };
    controller.run(reconcile, failed, Arc::new(client.clone())).for_each(|_| std::future::ready(()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    tokio::time::pause();
    let server = Server::builder().seed(1).starting_at("2026-01-01T00:00:00Z".parse()?).start();
    server.load(include_str!("widgets.yaml")).context("the CRD is good")?;
    server.load(WIDGETS).context("the widgets are good")?;
    let controller = tokio::spawn(run(&server.client_named("widget-controller")));

    tokio::time::sleep(24 * HOUR).await;
    controller.abort();
    for widget in
        Api::<DynamicObject>::all_with(server.client(), &widget()).list(&ListParams::default()).await?
    {
        println!("{} has {} parts", widget.name_any(), widget.data["status"]["parts"]);
    }
    let asked = |verb: &str| {
        server.audit().count(|event| event.user_agent == "widget-controller" && event.verb == verb)
    };
    println!(
        "it is {}; the controller sent {} patches and {} lists",
        server.now(),
        asked("patch"),
        asked("list")
    );
    Ok(())
}
