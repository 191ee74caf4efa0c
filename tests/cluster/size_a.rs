//! Size A: 20 `ExtensionConfig`s, 10 `ClusterClass`es with two external patches each, one set of four templates.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Result;
use kapstan::manager::Options;
use kapstan_envtest::{AuditEvent, AuditMark, ControlPlane};
use kapstan_test_extension::{Target, TestExtension};

use crate::{
    fixtures::{Templates, class, config, is_discovered, is_ready},
    world::{Running, World},
};

const CONFIGS: usize = 20;
const CLASSES: usize = 10;

#[tokio::test(flavor = "multi_thread")]
async fn size_a_costs_one_call_for_each_question_and_one_write_for_each_object() -> Result<()> {
    let world = World::start(ControlPlane::builder()).await?;
    let extension = TestExtension::builder().latency(Duration::from_millis(50)).start().await?;
    let namespace = world.plane.namespace("size-a").await?;
    let manager = world.manager(Options::default())?;
    for (path, template) in Templates::none().objects(&namespace) {
        world.create_at(&path, &template).await?;
    }
    let start = std::time::Instant::now();
    for number in 0..CONFIGS {
        world.create(&config(&format!("ext-{number}"), &extension)).await?;
    }
    for number in 0..CLASSES {
        let (one, other) = (format!("ext-{}", 2 * number), format!("ext-{}", 2 * number + 1));
        world.create(&class(&namespace, &format!("class-{number}"), &[&one, &other])).await?;
    }
    let created = start.elapsed();
    for number in 0..CONFIGS {
        world.until_config(&format!("ext-{number}"), is_discovered).await?;
    }
    for number in 0..CLASSES {
        let class = world.until_class(&namespace, &format!("class-{number}"), is_ready).await?;
        let status = class.status.unwrap_or_default();
        assert_eq!(status.variables.len(), 10, "variables of class-{number}");
    }
    eprintln!("size A: created in {created:?}, ready {:?} after the last create", start.elapsed() - created);

    assert_eq!(extension.calls(Target::Hook("Discovery".to_owned())), 20);
    assert_eq!(extension.calls(Target::Hook("DiscoverVariables".to_owned())), 20);
    assert_eq!(owner_references(&world, &namespace).await?, CLASSES * 4);
    let evaluations = manager.metric("kapstan_evaluations_total", &[("kind", "ClusterClass")]);
    assert!(evaluations <= 2.0 * 10.0, "{evaluations} evaluations of classes");
    let requests = world.asked(AuditMark::default())?;
    let writes = count(requests.iter().filter(|event| event.is_write()), |event| event.resource.clone());
    eprintln!("size A: writes {writes:?}, class evaluations {evaluations}");
    assert_eq!(writes.get("extensionconfigs"), Some(&CONFIGS));
    assert_eq!(writes.get("clusterclasses"), Some(&CLASSES));
    let templates: usize =
        writes.iter().filter(|(resource, _)| resource.ends_with("templates")).map(|(_, count)| count).sum();
    assert!(templates <= 12, "{templates} writes to templates");
    assert_eq!(writes.values().sum::<usize>(), CONFIGS + CLASSES + templates);
    assert!(requests.iter().all(|event| event.code != Some(409)), "conflicts");
    assert_one_list_for_each_watch(&requests);
    assert_no_null(&requests, &extension);
    settled(&world, &extension, &manager).await
}

/// A settled system writes, lists and evaluates nothing; its questions are repeated evenly.
async fn settled(world: &World, extension: &TestExtension, manager: &Running) -> Result<()> {
    manager.until_idle().await?;
    let mark = world.plane.audit_mark()?;
    let evaluations = manager.metric("kapstan_evaluations_total", &[]);
    let calls = extension.calls_total();
    // That nothing happens in a minute can only be seen by letting it pass.
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.writes(mark)?, []);
    let lists = world.asked(mark)?.into_iter().filter(|event| event.verb == "list").count();
    assert_eq!(lists, 0);
    assert_eq!(manager.metric("kapstan_evaluations_total", &[]).to_bits(), evaluations.to_bits());
    // 40 questions in ten minutes: four in a minute, and one more at the edge.
    let repeated = extension.calls_total() - calls;
    assert!((3..=5).contains(&repeated), "{repeated} calls in a settled minute");
    Ok(())
}

async fn owner_references(world: &World, namespace: &str) -> Result<usize> {
    let mut count = 0;
    for (path, _) in Templates::none().objects(namespace) {
        let request = kube::core::Request::new(path).list(&kube::api::ListParams::default())?;
        let list: serde_json::Value = world.client.request(request).await?;
        for item in list["items"].as_array().into_iter().flatten() {
            count += item["metadata"]["ownerReferences"].as_array().map_or(0, Vec::len);
        }
    }
    Ok(count)
}

fn count<'a, K: Ord>(
    events: impl Iterator<Item = &'a AuditEvent>,
    key: impl Fn(&AuditEvent) -> K,
) -> BTreeMap<K, usize> {
    let mut counts = BTreeMap::new();
    events.for_each(|event| *counts.entry(key(event)).or_default() += 1);
    counts
}

/// Every list is the one with which a watch of the same resource (and field) began.
fn assert_one_list_for_each_watch(requests: &[AuditEvent]) {
    let what = |event: &AuditEvent| {
        (
            event.group.clone(),
            event.resource.clone(),
            event.namespace.clone(),
            event.parameter("fieldSelector"),
        )
    };
    let lists = count(
        requests.iter().filter(|event| event.verb == "list" && event.parameter("continue").is_none()),
        what,
    );
    let watches = count(requests.iter().filter(|event| event.verb == "watch"), what);
    assert_eq!(lists.keys().collect::<Vec<_>>(), watches.keys().collect::<Vec<_>>());
    assert!(lists.values().all(|count| *count == 1), "{lists:?}");
}

/// No body that was sent has a `null` in it.
fn assert_no_null(requests: &[AuditEvent], extension: &TestExtension) {
    fn has_null(value: &serde_json::Value) -> bool {
        match value {
            serde_json::Value::Null => true,
            serde_json::Value::Array(items) => items.iter().any(has_null),
            serde_json::Value::Object(fields) => fields.values().any(has_null),
            _ => false,
        }
    }
    let with_null: Vec<_> =
        requests.iter().filter(|event| event.body.as_ref().is_some_and(has_null)).collect();
    assert!(with_null.is_empty(), "{with_null:?}");
    assert!(extension.bodies_with_null().is_empty());
}
