//! What a write costs, and how much memory an object takes, at 10^2 to 10^4 objects.
//!
//! `cargo run --release -p kapstan-embedded --example cost -- [CRD.yaml OBJECTS.yaml [NUMBER]...]`, with a CRD
//! and custom resources of it, which are written in turn under new names; without, a small CRD of its own.
//! Each object is created and its status written once, as a controller would, while a watch reads everything.
//! Memory that is given back stays with the process, so each number is measured in a process of its own.
#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::process::Command;
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
const SIZES: [u32; 3] = [100, 1_000, 10_000];
/// Set for a process that measures one number.
const CHILD: &str = "COST_OF";

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (files, sizes) = args.split_at(args.len().min(2));
    let (crd, objects) = match files {
        [] => (CRD.to_owned(), OBJECT.to_owned()),
        [crd, objects] => (read(crd)?, read(objects)?),
        _ => anyhow::bail!("usage: cost [CRD.yaml OBJECTS.yaml [NUMBER]...]"),
    };
    if let Ok(size) = std::env::var(CHILD) {
        let objects: Vec<Value> = serde_saphyr::from_multiple(&objects)?;
        return measure(&crd, &objects, size.parse()?).await;
    }
    let sizes: Vec<u32> = sizes.iter().map(|size| size.parse()).collect::<Result<_, _>>()?;
    println!(
        "| objects | create | status write | list of all | bytes of an object | resident memory of an object |"
    );
    println!("|---|---|---|---|---|---|");
    for size in if sizes.is_empty() { &SIZES[..] } else { &sizes } {
        let mut child = Command::new(std::env::current_exe()?);
        let status = child.args(files).env(CHILD, size.to_string()).status()?;
        anyhow::ensure!(status.success(), "{size} objects could not be measured");
    }
    Ok(())
}

fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("failed to read {path}"))
}

async fn measure(crd: &str, templates: &[Value], size: u32) -> Result<()> {
    let server = Server::builder().audit(AuditLevel::Off, 1).start();
    server.load(crd)?;
    let first = templates.first().context("there is an object")?;
    let text = |name: &str| first[name].as_str().unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').context("a custom resource has a group")?;
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, text("kind")));
    let objects = Api::<DynamicObject>::namespaced_with(server.client(), "default", &kind);
    let watch = objects.watch(&WatchParams::default(), &server.revision().to_string()).await?.boxed();
    let watching = tokio::spawn(watch.take(2 * size as usize).count());

    let (bytes, memory) = (server.size(), resident()?);
    let started = Instant::now();
    for (number, template) in (0..size).zip(templates.iter().cycle()) {
        let mut object: DynamicObject = serde_json::from_value(template.clone())?;
        object.metadata.name = Some(format!("object-{number}"));
        object.metadata.namespace = None;
        objects.create(&PostParams::default(), &object).await?;
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
