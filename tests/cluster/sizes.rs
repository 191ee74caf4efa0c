//! What it costs to stay settled, to change one thing and to restart, at the sizes of docs/performance.md: counted by the
//! extension and by the API server's audit log. What it costs to settle is in tests/simulate.rs. The embedded server's
//! clock is a virtual one, so that the same counts come out of both clocks too.

#![expect(clippy::print_stdout, reason = "the figures of docs/performance.md")]

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use anyhow::Result;
use kapstan::manager::Options;
use kapstan_test_extension::{Target, TestExtension, Variables};
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use rstest::rstest;
use serde_json::json;

use crate::{
    audit::{AuditEvent, AuditMark},
    fixtures::{Templates, class_at, config, is_discovered, is_ready},
    server::Server::{self, Embedded, Real},
    world::{Running, World},
};

/// So many objects. Every ten classes share a set of four templates; all classes send the same settings.
#[derive(Clone, Copy)]
struct Size {
    name: &'static str,
    configs: usize,
    classes: usize,
    patches: usize,
}

const A: Size = Size { name: "A", configs: 20, classes: 10, patches: 2 };
const B: Size = Size { name: "B", configs: 100, classes: 500, patches: 4 };

impl Size {
    /// The classes that ask the extension of one config.
    fn classes_per_config(self) -> usize {
        self.classes * self.patches / self.configs
    }
}

#[rstest]
fn size_a_once_settled_costs_only_its_questions_and_what_changed(
    #[values(Embedded, Real)] server: Server,
) -> Result<()> {
    let rest = if server == Embedded { Duration::from_hours(2) } else { Duration::from_mins(1) };
    server.run(async {
        let bench = Bench::start(server, A).await?;
        bench.settle().await?;
        bench.rest(rest).await?;
        bench.change_settings().await?;
        bench.restart().await
    })
}

#[rstest]
#[case::Embedded(Embedded)]
#[ignore = "takes minutes; its figures are in docs/performance.md"]
#[case::Real(Real)]
#[allow(non_snake_case, reason = "cases have the names of the others")]
fn size_b_once_settled_costs_only_its_questions_and_what_changed(#[case] server: Server) -> Result<()> {
    server.run(async {
        let bench = Bench::start(server, B).await?;
        bench.settle().await?;
        bench.change_settings().await?;
        bench.restart().await
    })
}

struct Bench {
    size: Size,
    world: World,
    extension: Arc<TestExtension>,
    manager: Running,
    namespace: String,
}

impl Bench {
    async fn start(server: Server, size: Size) -> Result<Self> {
        let world = World::start(server).await?;
        // The same answers whatever the settings, so that a change of settings can leave everything as it is.
        let variables = Variables::Fixed(Variables::count(10).for_settings(&BTreeMap::new()));
        let builder = TestExtension::builder().variables(variables).latency(Duration::from_millis(50));
        let extension = world.extension(builder).await?;
        let namespace = world.namespace("sizes").await?;
        let manager = world.manager(Options::default())?;
        Ok(Self { size, world, extension, manager, namespace })
    }

    /// Creates everything while the manager runs, and waits until all is ready. What that costs is shown in
    /// tests/simulate.rs.
    async fn settle(&self) -> Result<()> {
        self.create().await?;
        self.until_ready().await?;
        let requests = self.world.asked(AuditMark::Beginning)?;
        assert_one_list_for_each_watch(&requests);
        assert_no_null(&requests, &self.extension);
        Ok(())
    }

    /// A settled system writes, lists and evaluates nothing; its questions are repeated evenly.
    async fn rest(&self, time: Duration) -> Result<()> {
        let Self { size, world, extension, manager, .. } = self;
        manager.until_idle().await?;
        let mark = world.audit_mark()?;
        let evaluations = manager.metric("kapstan_evaluations_total", &[]);
        let calls = extension.calls_total();
        // That nothing happens for some time can only be seen by letting it pass.
        tokio::time::sleep(time).await;
        assert_eq!(world.writes(mark)?, []);
        let lists = world.asked(mark)?.into_iter().filter(|event| event.verb == "list").count();
        assert_eq!(lists, 0);
        assert_eq!(manager.metric("kapstan_evaluations_total", &[]).to_bits(), evaluations.to_bits());
        // 40 questions in ten minutes, and one more at the edge; fewer while the answers are young, for a period at most.
        let repeated = extension.calls_total() - calls;
        let (time, period) = (time.as_secs(), Options::default().sync_period.as_secs());
        let questions = 2 * size.configs as u64;
        let (least, most) = (questions * time.saturating_sub(period) / period, questions * time / period + 1);
        assert!((least..=most).contains(&repeated), "{repeated} calls, not {least} to {most}");
        Ok(())
    }

    /// Other settings of one config, the same answers: it is asked, and nobody else is concerned.
    async fn change_settings(&self) -> Result<()> {
        let Self { size, world, extension, manager, .. } = self;
        manager.until_idle().await?;
        let mark = world.audit_mark()?;
        let evaluations = manager.class_evaluations();
        let asked = extension.calls(Target::Under("/ext-0".to_owned()));
        let configs: Api<kapstan_api::extension_config::ExtensionConfig> = Api::all(world.client.clone());
        let patch = Patch::Merge(json!({ "spec": { "settings": { "region": "north" } } }));
        configs.patch("ext-0", &PatchParams::default(), &patch).await?;
        world.until_config("ext-0", is_discovered).await?;
        extension.until(|counts| counts.calls_of(&Target::Under("/ext-0".to_owned())) >= asked + 2).await;
        manager.until_idle().await?;
        let writes = count(world.writes(mark)?.iter(), kind_of);
        println!(
            "size {}: settings of one config that {} classes ask: writes {writes:?}",
            size.name,
            size.classes_per_config()
        );
        assert_eq!(extension.calls(Target::Under("/ext-0".to_owned())), asked + 2);
        assert_eq!(writes, BTreeMap::from([("extensionconfigs".to_owned(), 1)]));
        assert_eq!(manager.class_evaluations(), evaluations);
        Ok(())
    }

    /// A manager that finds everything settled asks each question once and writes nothing.
    async fn restart(self) -> Result<()> {
        let Self { size, world, extension, manager, .. } = self;
        manager.stop().await?;
        extension.reset_counts();
        let mark = world.audit_mark()?;
        let manager = world.manager(Options::default())?;
        let questions = 2 * size.configs as u64;
        extension.until(|counts| counts.total() >= questions).await;
        manager.until_idle().await?;
        println!("size {}: restarted with {} calls", size.name, extension.calls_total());
        let evaluations = manager.class_evaluations();
        assert!(evaluations <= size.classes as u64, "{evaluations} evaluations of classes");
        assert_eq!(world.writes(mark)?, []);
        assert_eq!(asked_paths(&extension).len(), 2 * size.configs);
        manager.stop().await
    }

    async fn create(&self) -> Result<()> {
        let Self { size, world, extension, namespace, .. } = self;
        for number in 0..size.configs {
            world.create(&config(&format!("ext-{number}"), extension)).await?;
        }
        for number in 0..size.classes {
            let set = Templates::set(&format!("set-{}", number / 10));
            if number % 10 == 0 {
                for (path, template) in set.objects(namespace) {
                    world.create_at(&path, &template).await?;
                }
            }
            let asked: Vec<String> = (0..size.patches)
                .map(|patch| format!("ext-{}", (number * size.patches + patch) % size.configs))
                .collect();
            let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
            world.create(&class_at(namespace, &format!("class-{number}"), &set, &asked)).await?;
        }
        Ok(())
    }

    async fn until_ready(&self) -> Result<()> {
        for number in 0..self.size.configs {
            self.world.until_config(&format!("ext-{number}"), is_discovered).await?;
        }
        for number in 0..self.size.classes {
            let class = self.world.until_class(&self.namespace, &format!("class-{number}"), is_ready).await?;
            assert_eq!(class.status.unwrap_or_default().variables.len(), 10, "variables of class-{number}");
        }
        Ok(())
    }
}

fn asked_paths(extension: &TestExtension) -> HashSet<String> {
    extension.calls_by_path().keys().map(ToString::to_string).collect()
}

/// The kind that a write was for, all templates taken as one.
fn kind_of(event: &AuditEvent) -> String {
    if event.resource.ends_with("templates") { "templates".to_owned() } else { event.resource.clone() }
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
