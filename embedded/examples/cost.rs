//! What a write costs, and how much memory an object takes, at 10^2 to 10^4 objects.
//!
//! `cargo run -p kapstan-embedded --example cost -- [NUMBER]... [CRD.yaml OBJECT.yaml]`, with a CRD and an
//! object of it; without, a small CRD of its own. Memory that is given back stays with the process, so for
//! memory measure one number at a time. Each object is created and its status written once, as a controller
//! would, while a watch reads everything.
#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use futures::StreamExt as _;
use kapstan_embedded::{AuditLevel, Server};
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

const CRD: &str = include_str!("widgets.yaml");
const OBJECT: &str = "{apiVersion: shop.example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: 3}}";

#[tokio::main]
async fn main() -> Result<()> {
    let read =
        |path: &String| std::fs::read_to_string(path).with_context(|| format!("failed to read {path}"));
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (sizes, files): (Vec<_>, Vec<_>) = args.into_iter().partition(|arg| arg.parse::<u32>().is_ok());
    let mut sizes: Vec<u32> = sizes.iter().filter_map(|size| size.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![100, 1_000, 10_000];
    }
    let (crd, object) = match &files[..] {
        [] => (CRD.to_owned(), OBJECT.to_owned()),
        [crd, object] => (read(crd)?, read(object)?),
        _ => anyhow::bail!("usage: cost [NUMBER]... [CRD.yaml OBJECT.yaml]"),
    };
    let object: Value = serde_saphyr::from_str(&object)?;
    println!(
        "| objects | create | status write | list of all | bytes of an object | resident memory of an object |"
    );
    println!("|---|---|---|---|---|---|");
    for size in sizes {
        measure(&crd, &object, size).await?;
    }
    Ok(())
}

async fn measure(crd: &str, object: &Value, size: u32) -> Result<()> {
    let server = Server::builder().audit(AuditLevel::Off, 1).start();
    server.load(crd)?;
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').context("a custom resource has a group")?;
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, text("kind")));
    let objects = Api::<DynamicObject>::namespaced_with(server.client(), "default", &kind);
    let watch = objects.watch(&WatchParams::default(), &server.revision().to_string()).await?.boxed();
    let watching = tokio::spawn(watch.take(2 * size as usize).count());

    let (bytes, memory) = (server.size(), resident()?);
    let mut one: DynamicObject = serde_json::from_value(object.clone())?;
    let started = Instant::now();
    for number in 0..size {
        one.metadata.name = Some(format!("object-{number}"));
        objects.create(&PostParams::default(), &one).await?;
    }
    let created = started.elapsed() / size;
    let started = Instant::now();
    let status = Patch::Merge(json!({ "status": { "conditions": [{
        "type": "Ready", "status": "True", "reason": "Done", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    }] } }));
    for number in 0..size {
        objects.patch_status(&format!("object-{number}"), &PatchParams::default(), &status).await?;
    }
    let written = started.elapsed() / size;
    let seen = watching.await?;
    anyhow::ensure!(seen == 2 * size as usize, "the watch saw {seen} events");
    let taken = resident()?; // before the list: what the client makes of it is not the server's
    let started = Instant::now();
    let list = objects.list(&ListParams::default()).await?;
    let listed = started.elapsed();
    anyhow::ensure!(list.items.iter().all(|object| !object.name_any().is_empty()));
    drop(list);
    let per_object = |now: usize, before: usize| now.saturating_sub(before) / size as usize;
    println!(
        "| {size} | {} | {} | {} | {} | {} |",
        shown(created),
        shown(written),
        shown(listed),
        per_object(server.size(), bytes),
        per_object(taken, memory)
    );
    Ok(())
}

fn shown(duration: Duration) -> String {
    if duration < Duration::from_millis(10) {
        format!("{} µs", duration.as_micros())
    } else {
        format!("{} ms", duration.as_millis())
    }
}

/// The resident memory of this process in bytes; zero where that cannot be found out.
fn resident() -> Result<usize> {
    const PAGE: usize = 4096;
    let Ok(pages) = std::fs::read_to_string("/proc/self/statm") else { return Ok(0) };
    let pages: usize = pages.split_whitespace().nth(1).context("it has a second number")?.parse()?;
    Ok(pages * PAGE)
}
