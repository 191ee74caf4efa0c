//! Watches and pages, by hand and by kube-runtime.

use std::pin::pin;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use futures::{StreamExt as _, TryStreamExt as _};
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{
    DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::{Value, json};

use crate::world::{MERGE, Step, World, compare, normalize, worlds};

fn config_map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..Default::default() },
        ..Default::default()
    }
}

impl World {
    fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// The lines of a watch, until there are this many.
    async fn lines(&self, query: &str, count: usize) -> Result<Vec<Value>> {
        let path = format!("/api/v1/namespaces/{}/configmaps?watch=true&{query}", self.namespace);
        let request = Request::get(path).body(kube::client::Body::empty())?;
        let response = self.client.send(request).await?;
        let mut body = response.into_body().into_stream();
        let (mut text, mut lines) = (Vec::new(), Vec::new());
        while lines.len() < count {
            let Some(chunk) = body.try_next().await.map_err(|error| anyhow::anyhow!(error))? else { break };
            text.extend_from_slice(&chunk);
            while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = text.drain(..=end).collect();
                let mut line: Value = serde_json::from_slice(&line)?;
                normalize(&mut line, &self.namespace);
                lines.push(line);
            }
        }
        lines.truncate(count); // a chunk may hold more
        Ok(lines)
    }

    async fn revision(&self) -> Result<String> {
        let list = self.maps().list(&ListParams::default()).await?;
        list.metadata.resource_version.context("a list has a revision")
    }
}

trait IntoChunks {
    fn into_stream(self) -> futures::stream::BoxStream<'static, Result<Vec<u8>, String>>;
}

impl IntoChunks for kube::client::Body {
    fn into_stream(self) -> futures::stream::BoxStream<'static, Result<Vec<u8>, String>> {
        use http_body_util::BodyExt as _;
        let chunks = self.into_data_stream();
        chunks.map(|chunk| chunk.map(|chunk| chunk.to_vec()).map_err(|error| error.to_string())).boxed()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_shows_what_happens_after_its_revision() -> Result<()> {
    let worlds = worlds("watch").await?;
    let mut seen = Vec::new();
    for world in &worlds {
        world.maps().create(&PostParams::default(), &config_map("before")).await?;
        let revision = world.revision().await?;
        write_some(world).await?;
        seen.push([
            world.lines(&format!("resourceVersion={revision}"), 5).await?,
            world.lines(&format!("resourceVersion={revision}&labelSelector=app%3Dweb"), 3).await?,
            world.lines(&format!("resourceVersion={revision}&fieldSelector=metadata.name%3Db"), 1).await?,
        ]);
    }
    similar_asserts::assert_eq!(seen[0], seen[1]);
    let types: Vec<_> = seen[0][0].iter().map(|line| line["type"].as_str().unwrap_or_default()).collect();
    assert_eq!(types, ["ADDED", "MODIFIED", "MODIFIED", "ADDED", "DELETED"]);
    Ok(())
}

/// Five writes: one is in a selection, leaves it, comes back and goes; another comes.
async fn write_some(world: &World) -> Result<()> {
    let all = "/api/v1/namespaces/{ns}/configmaps";
    for step in [
        Step::post(all, json!({ "metadata": { "name": "a", "labels": { "app": "web" } } })),
        Step::patch(MERGE, format!("{all}/a"), json!({ "metadata": { "labels": { "app": "db" } } })),
        Step::patch(MERGE, format!("{all}/a"), json!({ "metadata": { "labels": { "app": "web" } } })),
        Step::post(all, json!({ "metadata": { "name": "b" } })),
        Step::delete(format!("{all}/a")),
    ] {
        let answer = world.ask(&step).await?;
        anyhow::ensure!(answer.code < 300, "{answer:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_begins_with_what_is_there_when_it_names_no_revision() -> Result<()> {
    let worlds = worlds("begin").await?;
    let mut seen = Vec::new();
    for world in &worlds {
        for name in ["a", "b"] {
            world.maps().create(&PostParams::default(), &config_map(name)).await?;
        }
        let by_name = |mut lines: Vec<Value>| {
            lines.sort_by_key(|line| line["object"]["metadata"]["name"].to_string());
            lines
        };
        let metadata = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
        seen.push([
            by_name(world.lines("", 2).await?),
            by_name(world.lines("resourceVersion=0", 2).await?),
            by_name(world.lines(metadata, 3).await?),
        ]);
    }
    similar_asserts::assert_eq!(seen[0], seen[1]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn options_of_watches_are_checked_as_on_the_real_server() -> Result<()> {
    let worlds = worlds("options").await?;
    let watch = |query: &str| Step::get(format!("/api/v1/namespaces/{{ns}}/configmaps?watch=true&{query}"));
    let steps = [
        ("bad revision", watch("resourceVersion=abc")),
        ("bad selector", watch("labelSelector=a%3Db%3Dc").loosely()),
        ("match alone", watch("resourceVersionMatch=Exact")),
        ("initial events alone", watch("sendInitialEvents=true")),
        (
            "page without revision",
            Step::get("/api/v1/namespaces/{ns}/configmaps?continue=nonsense").loosely(),
        ),
    ];
    compare(&worlds, &steps).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_comes_in_pages_of_one_revision() -> Result<()> {
    for world in &worlds("pages").await? {
        for name in ["a", "b", "c", "d", "e"] {
            world.maps().create(&PostParams::default(), &config_map(name)).await?;
        }
        let first = world.maps().list(&ListParams::default().limit(2)).await?;
        assert_eq!(
            (names(&first.items), first.metadata.remaining_item_count),
            (vec!["a", "b"], Some(3)),
            "{}",
            world.name
        );
        world.maps().delete("d", &DeleteParams::default()).await?;
        world.maps().create(&PostParams::default(), &config_map("bb")).await?;
        let token = first.metadata.continue_.context("there is more")?;
        let second = world.maps().list(&ListParams::default().limit(2).continue_token(&token)).await?;
        assert_eq!(names(&second.items), ["c", "d"], "{}", world.name);
        assert_eq!(second.metadata.resource_version, first.metadata.resource_version);
        let token = second.metadata.continue_.context("there is more")?;
        let third = world.maps().list(&ListParams::default().limit(2).continue_token(&token)).await?;
        assert_eq!(names(&third.items), ["e"], "{}", world.name);
        assert_eq!(third.metadata.continue_.as_deref().unwrap_or_default(), "");
        let selected = world.maps().list(&ListParams::default().limit(1).labels("!nope")).await?;
        assert_eq!(
            (names(&selected.items), selected.metadata.remaining_item_count),
            (vec!["a"], None),
            "{}",
            world.name
        );
    }
    Ok(())
}

fn names(maps: &[ConfigMap]) -> Vec<&str> {
    maps.iter().filter_map(|map| map.metadata.name.as_deref()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_and_a_watch_of_a_forgotten_revision_are_gone() -> Result<()> {
    let [embedded, _] = worlds("gone").await?;
    let server = embedded.server.as_ref().context("the embedded one")?;
    for name in ["a", "b", "c"] {
        embedded.maps().create(&PostParams::default(), &config_map(name)).await?;
    }
    let page = embedded.maps().list(&ListParams::default().limit(1)).await?;
    embedded.maps().create(&PostParams::default(), &config_map("d")).await?;
    server.compact();
    let token = page.metadata.continue_.context("there is more")?;
    let Err(kube::Error::Api(status)) =
        embedded.maps().list(&ListParams::default().limit(1).continue_token(&token)).await
    else {
        bail!("a page of a forgotten revision was answered");
    };
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
    let revision = page.metadata.resource_version.context("a list has a revision")?;
    let maps = embedded.maps();
    let mut watch = pin!(maps.watch(&WatchParams::default(), &revision).await?);
    let Some(Ok(WatchEvent::Error(status))) = watch.next().await else { bail!("a watch went on") };
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
    assert!(watch.next().await.is_none(), "the watch is over");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_watcher_of_kube_follows_pages_changes_and_lost_watches() -> Result<()> {
    for world in &worlds("watcher").await? {
        for number in 0..7 {
            world.maps().create(&PostParams::default(), &config_map(&format!("m{number}"))).await?;
        }
        let config = watcher::Config::default().page_size(3);
        let mut events = pin!(watcher(world.maps(), config).default_backoff());
        let mut listed = Vec::new();
        loop {
            match next(&mut events).await? {
                Event::Init => {}
                Event::InitApply(map) => listed.extend(map.metadata.name),
                Event::InitDone => break,
                other => bail!("unexpected {other:?}"),
            }
        }
        assert_eq!(listed.len(), 7, "{}", world.name);
        let patch = Patch::Merge(json!({ "data": { "a": "b" } }));
        world.maps().patch("m3", &PatchParams::default(), &patch).await?;
        assert!(matches!(next(&mut events).await?, Event::Apply(map) if map.data.is_some()));
        if let Some(server) = &world.server {
            server.faults().drop_watches("configmaps");
        }
        world.maps().delete("m4", &DeleteParams::default()).await?;
        assert!(
            matches!(next(&mut events).await?, Event::Delete(map) if map.metadata.name.as_deref() == Some("m4"))
        );
    }
    Ok(())
}

async fn next(
    events: &mut (impl futures::Stream<Item = watcher::Result<Event<ConfigMap>>> + Unpin),
) -> Result<Event<ConfigMap>> {
    let event = tokio::time::timeout(Duration::from_secs(30), events.next()).await?;
    Ok(event.context("a watcher never ends")??)
}

#[tokio::test(start_paused = true)]
async fn under_a_paused_clock_bookmarks_come_every_minute_and_a_watch_ends_in_time() -> Result<()> {
    let server = kapstan_embedded::Server::builder().starting_at("2026-01-01T00:00:00Z".parse()?).start();
    let maps = Api::<ConfigMap>::namespaced(server.client(), "default");
    let made = maps.create(&PostParams::default(), &config_map("a")).await?;
    let time = made.metadata.creation_timestamp.context("it was made at a time")?;
    assert_eq!(time.0, "2026-01-01T00:00:00Z".parse()?);
    let revision = made.metadata.resource_version.context("it has a revision")?;
    let started = tokio::time::Instant::now();
    let params = WatchParams { timeout: Some(200), ..WatchParams::default() };
    let mut watch = pin!(maps.watch(&params, &revision).await?);
    let mut at = Vec::new();
    while let Some(event) = watch.try_next().await? {
        let WatchEvent::Bookmark(bookmark) = event else { bail!("nothing happens") };
        assert_eq!(bookmark.metadata.resource_version, server.revision().to_string());
        at.push(started.elapsed().as_secs());
    }
    assert_eq!(at, [60, 120, 180, 198]);
    assert_eq!(started.elapsed().as_secs(), 200);
    assert_eq!(server.now(), "2026-01-01T00:03:20Z".parse()?);
    Ok(())
}
