//! What the manager writes: whole, valid, once for each change, and nothing where it is told to keep off.

use std::{
    collections::BTreeSet,
    sync::Arc,
    sync::atomic::{AtomicUsize, Ordering},
};

use anyhow::Result;
use futures::StreamExt as _;
use http::Method;
use kapstan::{index::keys::ClassKey, manager::Options};
use kapstan_api::cluster_class::ClusterClass;
use kapstan_embedded::Fault;
use kapstan_test_extension::{Behaviour, Target, TestExtension};
use kube::{
    Api,
    api::PropagationPolicy::Background,
    runtime::watcher::{self, Event, watcher},
};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    audit::{AuditEvent, AuditMark},
    fixtures::{Templates, class, class_with, config, is_discovered, is_ready},
    gate::Gate,
    hands::{class_path, condition, config_path, deprecated_condition, status_of},
    plane::Plane,
    server::{
        DEADLINE,
        Server::{self, Embedded, Real},
        until,
    },
    world::{Running, World},
};

const PAUSED: &str = "cluster.x-k8s.io/paused";
const LONG_AGO: &str = "2020-02-02T00:00:00Z";

/// What all scenarios share.
struct Scene {
    world: World,
    extension: Arc<TestExtension>,
    gate: Gate,
    namespace: String,
}

impl Scene {
    async fn start(server: Server) -> Result<Self> {
        let world = World::start(server).await?;
        let namespace = world.home("writes").await?;
        let extension = world.extension(TestExtension::builder()).await?;
        Ok(Self { world, extension, gate: Gate::default(), namespace })
    }

    fn manager(&self) -> Result<Running> {
        self.world.manager_behind(&self.gate, Options::default())
    }

    async fn discovered(&self, name: &str) -> Result<()> {
        self.world.create(&config(name, &self.extension)).await?;
        self.world.until_config(name, is_discovered).await.map(drop)
    }

    async fn ready(&self, class: &ClusterClass) -> Result<String> {
        let name = class.metadata.name.as_deref().unwrap_or_default();
        self.world.create(class).await?;
        self.world.until_class(&self.namespace, name, is_ready).await?;
        Ok(class_path(&self.namespace, name))
    }

    /// A class with one variable of its own.
    fn plain(&self, name: &str, variable: &str) -> ClusterClass {
        class_with(&self.namespace, name, &Templates::none(), variables(variable))
    }
}

/// The part of a class's spec that defines this one string.
fn variables(name: &str) -> Value {
    json!({ "variables": [{ "name": name, "required": false, "schema": { "openAPIV3Schema": { "type": "string" } } }] })
}

fn names(object: &Value) -> Vec<&str> {
    let variables = object["status"]["variables"].as_array().into_iter().flatten();
    variables.filter_map(|variable| variable["name"].as_str()).collect()
}

#[rstest]
fn a_status_is_written_whole_once_and_only_where_it_is_wanted(
    #[values(Embedded, Real)] server: Server,
) -> Result<()> {
    server.run(async {
        let scene = Scene::start(server).await?;
        let stale = leave_stale_statuses(&scene).await?;
        let manager = scene.manager()?;
        stale_statuses_are_replaced_whole_in_one_write(&scene, &stale).await?;
        what_someone_else_changes_is_put_back_once(&scene, &manager).await?;
        a_config_that_is_born_paused_has_one_condition_and_no_call(&scene).await?;
        a_paused_class_keeps_its_status(&scene).await?;
        let manager = the_handlers_of_a_paused_config_stay_usable(&scene, manager).await?;
        every_condition_is_written_both_ways(&scene).await?;
        manager.until_idle().await?;
        assert_every_status_is_valid(&scene.world)?;
        assert_every_condition_was_written(&scene.world)
    })
}

#[rstest]
fn a_write_that_loses_a_race_is_made_again_and_nobody_sees_it(
    #[values(Embedded, Real)] server: Server,
) -> Result<()> {
    server.run(async {
        let scene = Scene::start(server).await?;
        let manager = scene.manager()?;
        a_conflict_is_retried_once_from_fresh_data(&scene, &manager).await?;
        owners_that_come_in_between_stay(&scene, &manager).await?;
        nothing_meant_for_a_deleted_class_reaches_its_successor(&scene, &manager).await?;
        no_version_of_a_class_claims_more_than_its_variables_show(&scene).await?;
        assert_eq!(manager.reconcile_errors(), 0);
        a_write_whose_answer_is_lost_is_not_made_again(&scene, &manager).await?;
        a_refused_write_is_counted_and_tried_again_ever_more_slowly(&scene, &manager).await?;
        assert_generations_travel_together(&scene.world)?;
        assert_no_body_has_a_null(&scene.world.writes(AuditMark::Beginning)?);
        Ok(())
    })
}

// ---- replaced whole ----

/// A config and a class as another manager would have left them.
async fn leave_stale_statuses(scene: &Scene) -> Result<[String; 2]> {
    let Scene { world, extension, namespace, .. } = scene;
    let of_config = config_path("stale");
    let of_class = class_path(namespace, "stale");
    world.create(&config("stale", extension)).await?;
    world.create(&class(namespace, "stale", &["stale"])).await?;
    let mut object = world.at(&of_config).await?;
    object["status"] = stale_config_status();
    world.replace_status_at(&status_of(&of_config), &object).await?;
    let mut object = world.at(&of_class).await?;
    object["status"] = stale_class_status();
    world.replace_status_at(&status_of(&of_class), &object).await?;
    Ok([of_config, of_class])
}

fn foreign_condition() -> Value {
    json!({ "type": "TideIsHigh", "status": "True", "reason": "MoonIsFull", "message": "", "lastTransitionTime": LONG_AGO })
}

fn foreign_deprecated_condition() -> Value {
    json!({ "type": "TideIsHigh", "status": "True", "lastTransitionTime": LONG_AGO })
}

fn stale_config_status() -> Value {
    let handler = |name: &str| {
        json!({ "name": format!("{name}.stale"), "timeoutSeconds": 7, "failurePolicy": "Ignore", "requestHook": {
            "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": "GeneratePatches" } })
    };
    json!({
        "handlers": (["old-1", "generatepatches", "old-2"].map(handler)),
        "conditions": [foreign_condition(), {
            "type": "Discovered", "status": "True", "reason": "OldReason", "message": "old", "lastTransitionTime": LONG_AGO }],
        "deprecated": { "v1beta1": { "conditions": [foreign_deprecated_condition(), {
            "type": "Discovered", "status": "False", "severity": "Error", "reason": "Old", "message": "old",
            "lastTransitionTime": LONG_AGO }] } },
    })
}

fn stale_class_status() -> Value {
    let variable = |name: &str| {
        json!({ "name": name, "definitionsConflict": false, "definitions": [{
            "from": "inline", "required": true, "schema": { "openAPIV3Schema": { "type": "integer" } } }] })
    };
    let condition = |type_: &str, status: &str| json!({ "type": type_, "status": status, "reason": "OldReason", "message": "old", "lastTransitionTime": LONG_AGO });
    json!({
        "variables": (["old-1", "variable-3", "old-2"].map(variable)),
        "conditions": [
            foreign_condition(), condition("VariablesReady", "False"), condition("RefVersionsUpToDate", "True"),
        ],
        "deprecated": { "v1beta1": { "conditions": [foreign_deprecated_condition()] } },
    })
}

async fn stale_statuses_are_replaced_whole_in_one_write(scene: &Scene, stale: &[String; 2]) -> Result<()> {
    let [of_config, of_class] = stale;
    let is_paused_known = |object: &Value| condition(object, "Paused")["status"] == "False";
    let config = scene.world.until_at(of_config, is_paused_known).await?;
    let handlers = config["status"]["handlers"].as_array().cloned().unwrap_or_default();
    let hooks = ["DiscoverVariables", "GeneratePatches", "ValidateTopology"].map(|hook| {
        json!({ "name": format!("{}.stale", hook.to_lowercase()), "timeoutSeconds": 10, "failurePolicy": "Fail",
            "requestHook": { "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": hook } })
    });
    assert_eq!(handlers, hooks);
    assert_eq!(
        condition(&config, "Discovered"),
        json!({ "type": "Discovered", "status": "True", "reason": "Discovered", "message": "",
            "observedGeneration": 1, "lastTransitionTime": LONG_AGO })
    );
    let turned = deprecated_condition(&config, "Discovered");
    assert_eq!(
        turned.as_object().map(|fields| fields.keys().collect::<Vec<_>>()),
        Some(vec![&"lastTransitionTime".to_owned(), &"status".to_owned(), &"type".to_owned()])
    );
    assert_ne!(turned["lastTransitionTime"], LONG_AGO);

    let class = scene.world.until_at(of_class, is_paused_known).await?;
    assert_eq!(names(&class), (0..10).map(|number| format!("variable-{number}")).collect::<Vec<_>>());
    assert_eq!(class["status"]["variables"][3]["definitions"][0]["from"], "patch-stale");
    assert_eq!(class["status"]["observedGeneration"], 1);
    assert_eq!(condition(&class, "VariablesReady")["status"], "True");
    assert_ne!(condition(&class, "VariablesReady")["lastTransitionTime"], LONG_AGO);
    assert_eq!(condition(&class, "RefVersionsUpToDate")["lastTransitionTime"], LONG_AGO);
    assert_eq!(condition(&class, "RefVersionsUpToDate")["reason"], "RefVersionsUpToDate");
    for (path, object) in [(of_config, &config), (of_class, &class)] {
        assert_eq!(condition(object, "TideIsHigh"), foreign_condition());
        assert_eq!(deprecated_condition(object, "TideIsHigh"), foreign_deprecated_condition());
        assert_eq!(scene.world.writes_at(AuditMark::Beginning, path)?.len(), 1, "writes to {path}");
    }
    Ok(())
}

// ---- put back once ----

async fn what_someone_else_changes_is_put_back_once(scene: &Scene, manager: &Running) -> Result<()> {
    let world = &scene.world;
    scene.discovered("shore").await?;
    let of_class = scene.ready(&class(&scene.namespace, "shore", &["shore"])).await?;
    let of_config = config_path("shore");
    manager.until_idle().await?;
    let mark = world.audit_mark()?;
    let stale = (stale_config_status(), stale_class_status());
    let meddling = [
        (&of_config, json!({ "handlers": stale.0["handlers"] })),
        (&of_config, json!({ "handlers": null })),
        (&of_config, json!({ "deprecated": null })),
        (&of_class, json!({ "variables": stale.1["variables"] })),
        (&of_class, json!({ "variables": null })),
        (&of_class, json!({ "observedGeneration": 77 })),
        (&of_class, json!({ "deprecated": null })),
    ];
    for (path, status) in &meddling {
        let before = world.at(path).await?;
        world.patch_at(&status_of(path), &json!({ "status": status })).await?;
        world.until_at(path, |object| without_times(object) == without_times(&before)).await?;
    }
    manager.until_idle().await?;
    assert_eq!(world.writes(mark)?.len(), meddling.len(), "{:?}", world.writes(mark)?);
    labels_and_another_order_are_no_reason_to_write(scene, manager, [&of_config, &of_class]).await
}

/// The status of an object without the times in it, which tell when it was put back.
fn without_times(object: &Value) -> Value {
    let mut status = object["status"].clone();
    for list in ["/conditions", "/deprecated/v1beta1/conditions"] {
        for condition in status.pointer_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            condition["lastTransitionTime"] = Value::Null;
        }
    }
    status
}

async fn labels_and_another_order_are_no_reason_to_write(
    scene: &Scene,
    manager: &Running,
    [of_config, of_class]: [&String; 2],
) -> Result<()> {
    let world = &scene.world;
    let (mark, evaluations) = (world.audit_mark()?, manager.class_evaluations());
    let labels = json!({ "metadata": { "labels": { "tide": "low" }, "annotations": { "tide": "low" } } });
    let (template, _) = Templates::none().objects(&scene.namespace).remove(0);
    world.patch_at(&format!("{template}/default"), &labels).await?;
    for path in [of_config, of_class] {
        let object = world.patch_at(path, &labels).await?;
        let mut conditions = object["status"]["conditions"].clone();
        conditions.as_array_mut().into_iter().for_each(|conditions| conditions.reverse());
        world.patch_at(&status_of(path), &json!({ "status": { "conditions": conditions } })).await?;
    }
    let seen = world.at(of_config).await?["metadata"]["resourceVersion"].clone();
    until("the manager to see the labels", async || {
        let held = manager
            .shared
            .with(|index| index.config("shore")?.config.object.metadata.resource_version.clone());
        Ok((held.as_deref() == seen.as_str()).then_some(()))
    })
    .await?;
    manager.until_idle().await?;
    assert_eq!(world.writes(mark)?, []);
    assert_eq!(manager.class_evaluations(), evaluations);
    Ok(())
}

// ---- paused ----

fn paused(is_paused: bool) -> Value {
    let value = if is_paused { json!("") } else { Value::Null };
    json!({ "metadata": { "annotations": { PAUSED: value } } })
}

fn is_paused(status: &str) -> impl Fn(&Value) -> bool {
    move |object| {
        let paused = condition(object, "Paused");
        paused["status"] == status && paused["observedGeneration"] == object["metadata"]["generation"]
    }
}

async fn a_config_that_is_born_paused_has_one_condition_and_no_call(scene: &Scene) -> Result<()> {
    let Scene { world, extension, namespace, .. } = scene;
    let path = config_path("asleep");
    let mut asleep = config("asleep", extension);
    asleep.metadata.annotations = Some([(PAUSED.to_owned(), "true".to_owned())].into());
    let mark = world.audit_mark()?;
    world.create(&asleep).await?;
    world.create(&class(namespace, "waits", &["asleep"])).await?;
    let object = world.until_at(&path, is_paused("True")).await?;
    assert_eq!(object["status"]["conditions"].as_array().map(Vec::len), Some(1));
    assert_eq!(object["status"].as_object().map(serde_json::Map::len), Some(1));
    let of_class = class_path(namespace, "waits");
    let refused =
        world.until_at(&of_class, |object| condition(object, "VariablesReady")["status"] == "False").await?;
    assert_eq!(
        condition(&refused, "VariablesReady")["message"],
        "patch patch-asleep: handler discovervariables.asleep is not known yet: ExtensionConfig asleep has not been \
         discovered as it is now, its conditions say why"
    );
    assert_eq!(refused["status"]["observedGeneration"], Value::Null);
    assert_eq!(extension.calls("/asleep"), 0);
    assert_eq!(world.writes_at(mark, &path)?.len(), 1);
    world.patch_at(&path, &paused(false)).await?;
    world.until_config("asleep", is_discovered).await?;
    world.until_class(namespace, "waits", is_ready).await?;
    assert_eq!(extension.calls("/asleep"), 2);
    assert_eq!(condition(&world.at(&path).await?, "Paused")["status"], "False");
    Ok(())
}

async fn a_paused_class_keeps_its_status(scene: &Scene) -> Result<()> {
    let world = &scene.world;
    let path = scene.ready(&scene.plain("rests", "ebb")).await?;
    let before = world.at(&path).await?;
    let (mark, calls) = (world.audit_mark()?, scene.extension.calls_total());
    world.patch_at(&path, &paused(true)).await?;
    world.until_at(&path, is_paused("True")).await?;
    assert_eq!(world.writes_at(mark, &path)?.len(), 1);
    let edit = json!({ "spec": { "variables": variables("flood")["variables"], "patches": [{ "name": "p", "external": {
        "generatePatchesExtension": "generatepatches.stale",
        "discoverVariablesExtension": "discovervariables.stale",
        "settings": { "asked": "by-a-paused-class" } } }] } });
    world.patch_at(&path, &edit).await?;
    let mut after = world.until_at(&path, is_paused("True")).await?;
    assert_eq!(world.writes_at(mark, &path)?.len(), 2);
    assert_eq!(scene.extension.calls_total(), calls);
    assert_eq!(condition(&after, "Paused")["message"], format!("ClusterClass has the {PAUSED} annotation"));
    let last = after["status"]["conditions"].as_array().map_or(0, Vec::len) - 1;
    after["status"]["conditions"][last] = before["status"]["conditions"][last].clone();
    assert_eq!(after["status"], before["status"], "everything but Paused, which comes last");

    world.patch_at(&path, &paused(false)).await?;
    world.until_class(&scene.namespace, "rests", is_ready).await?;
    let healed = world.at(&path).await?;
    assert_eq!(names(&healed)[0], "flood");
    assert_eq!(names(&healed).len(), 11);
    assert_eq!(scene.extension.calls_total(), calls + 1);
    assert_eq!(world.writes_at(mark, &path)?.len(), 3);
    Ok(())
}

async fn the_handlers_of_a_paused_config_stay_usable(scene: &Scene, manager: Running) -> Result<Running> {
    let Scene { world, extension, namespace, .. } = scene;
    let path = config_path("calm");
    scene.discovered("calm").await?;
    let before = world.at(&path).await?;
    let mark = world.audit_mark()?;
    world.patch_at(&path, &paused(true)).await?;
    let after = world.until_at(&path, is_paused("True")).await?;
    assert_eq!(world.writes_at(mark, &path)?.len(), 1);
    assert_eq!(after["status"]["handlers"], before["status"]["handlers"]);
    assert_eq!(condition(&after, "Discovered"), condition(&before, "Discovered"));
    scene.ready(&class(namespace, "late", &["calm"])).await?;

    manager.stop().await?;
    let mark = world.audit_mark()?;
    let manager = scene.manager()?;
    let mut later = class(namespace, "later", &["calm"]);
    later.spec.patches[0].external.as_mut().expect("a fixture").settings.insert("team".into(), "b".into());
    scene.ready(&later).await?;
    assert_eq!(world.writes_at(mark, &path)?, []);
    world.patch_at(&path, &json!({ "spec": { "settings": { "tide": "spring" } } })).await?;
    let edited = world.until_at(&path, is_paused("True")).await?;
    assert_eq!(condition(&edited, "Discovered"), condition(&before, "Discovered"));
    scene.ready(&class(namespace, "latest", &["calm"])).await?;
    manager.until_idle().await?;
    assert_eq!(extension.calls(Target::discovery("/calm")), 1, "none while it was paused");
    assert_eq!(world.writes_at(mark, &path)?.len(), 1);

    world.patch_at(&path, &paused(false)).await?;
    let healed = world.until_config("calm", is_discovered).await?;
    assert_eq!(healed.metadata.generation, Some(2));
    assert_eq!(extension.calls(Target::discovery("/calm")), 2);
    assert_eq!(condition(&world.at(&path).await?, "Paused")["status"], "False");
    Ok(manager)
}

// ---- valid ----

/// What the scenarios before have not shown: failures of every kind, and each way back.
async fn every_condition_is_written_both_ways(scene: &Scene) -> Result<()> {
    let Scene { world, extension, namespace, .. } = scene;
    extension.behave("/dead", Behaviour::failure("no wind today"));
    world.create(&config("dead", extension)).await?;
    world.create(&config("dotted.name", extension)).await?;
    let has = |type_: &'static str, status: &'static str| {
        move |object: &Value| condition(object, type_)["status"] == status
    };
    world.until_at(&config_path("dead"), has("Discovered", "False")).await?;
    let dotted = world.until_at(&config_path("dotted.name"), has("Discovered", "True")).await?;
    assert_ne!(condition(&dotted, "Discovered")["message"], "");

    world.create(&class_with(namespace, "lacks", &Templates::set("nowhere"), variables("ebb"))).await?;
    world.until_at(&class_path(namespace, "lacks"), has("RefVersionsUpToDate", "Unknown")).await?;
    let older = serde_json::to_string(&scene.plain("older", "ebb"))?;
    let mut older: Value =
        serde_json::from_str(&older.replace(".cluster.x-k8s.io/v1beta2", ".cluster.x-k8s.io/v1beta1"))?;
    older["apiVersion"] = json!("cluster.x-k8s.io/v1beta2");
    let of_older = class_path(namespace, "older");
    world.create_at(of_older.rsplit_once('/').map_or("", |(path, _)| path), &older).await?;
    world.until_at(&of_older, has("RefVersionsUpToDate", "False")).await?;
    Ok(())
}

fn status_writes(world: &World) -> Result<Vec<AuditEvent>> {
    let mut writes = world.writes(AuditMark::Beginning)?;
    writes.retain(|event| event.subresource == "status");
    Ok(writes)
}

/// The API server took every one, and none has a null or an empty optional string in it.
fn assert_every_status_is_valid(world: &World) -> Result<()> {
    let writes = status_writes(world)?;
    for event in &writes {
        assert_eq!(event.code, Some(200), "{event:?}");
        assert_eq!(event.parameter("fieldManager").as_deref(), Some("kapstan"));
        let body = event.body.clone().unwrap_or_default();
        let deprecated = &body["status"]["deprecated"]["v1beta1"]["conditions"];
        for condition in deprecated.as_array().into_iter().flatten() {
            let fields = condition.as_object().into_iter().flatten();
            assert!(fields.clone().all(|(_, value)| value != ""), "{condition}");
        }
        for condition in body["status"]["conditions"].as_array().into_iter().flatten() {
            // The schema wants a message, if an empty one.
            assert!(condition["message"].is_string() && condition["reason"] != "", "{condition}");
            assert_ne!(condition["observedGeneration"], 0);
        }
    }
    assert_no_body_has_a_null(&writes);
    Ok(())
}

fn assert_no_body_has_a_null(writes: &[AuditEvent]) {
    fn has_null(value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Array(items) => items.iter().any(has_null),
            Value::Object(fields) => fields.values().any(has_null),
            _ => false,
        }
    }
    let with_null: Vec<_> = writes.iter().filter(|event| event.body.as_ref().is_some_and(has_null)).collect();
    assert!(with_null.is_empty(), "{with_null:?}");
}

/// The scenarios have been through every state of every condition, so that the check above means something.
fn assert_every_condition_was_written(world: &World) -> Result<()> {
    let mut written = BTreeSet::new();
    for event in status_writes(world)? {
        let status = event.body.clone().unwrap_or_default()["status"].clone();
        for (style, list) in [("", "/conditions"), ("v1beta1 ", "/deprecated/v1beta1/conditions")] {
            for condition in status.pointer(list).and_then(Value::as_array).into_iter().flatten() {
                let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
                let said = if text("message").is_empty() { "" } else { ": ..." };
                written.insert(format!(
                    "{} {style}{}={}{said}",
                    event.resource,
                    text("type"),
                    text("status")
                ));
            }
        }
    }
    written.retain(|line| !line.contains("TideIsHigh"));
    let expected = [
        "clusterclasses Paused=False",
        "clusterclasses Paused=True: ...",
        "clusterclasses RefVersionsUpToDate=False: ...",
        "clusterclasses RefVersionsUpToDate=True",
        "clusterclasses RefVersionsUpToDate=Unknown: ...",
        "clusterclasses VariablesReady=False: ...",
        "clusterclasses VariablesReady=True",
        "clusterclasses v1beta1 RefVersionsUpToDate=False: ...",
        "clusterclasses v1beta1 RefVersionsUpToDate=True",
        "clusterclasses v1beta1 RefVersionsUpToDate=Unknown: ...",
        "clusterclasses v1beta1 VariablesReconciled=False: ...",
        "clusterclasses v1beta1 VariablesReconciled=True",
        "extensionconfigs Discovered=False: ...",
        "extensionconfigs Discovered=True",
        "extensionconfigs Discovered=True: ...",
        "extensionconfigs Paused=False",
        "extensionconfigs Paused=True: ...",
        "extensionconfigs v1beta1 Discovered=False: ...",
        "extensionconfigs v1beta1 Discovered=True",
    ];
    assert_eq!(written.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    Ok(())
}

// ---- races ----

fn conflicts(manager: &Running, kind: &str) -> u64 {
    manager.count("kapstan_writes_total", &[("kind", kind), ("result", "conflict")])
}

fn codes(writes: &[AuditEvent]) -> Vec<u16> {
    writes.iter().filter_map(|event| event.code).collect()
}

async fn a_conflict_is_retried_once_from_fresh_data(scene: &Scene, manager: &Running) -> Result<()> {
    let Scene { world, extension, gate, namespace } = scene;
    let label = json!({ "metadata": { "labels": { "came": "in-between" } } });
    let of_config = config_path("raced");
    let held = gate.hold(Method::PATCH, &status_of(&of_config));
    world.create(&config("raced", extension)).await?;
    held.arrived().await?;
    world.patch_at(&of_config, &label).await?;
    held.release();
    world.until_config("raced", is_discovered).await?;

    let of_class = class_path(namespace, "raced");
    let held = gate.hold(Method::PATCH, &status_of(&of_class));
    world.create(&scene.plain("raced", "ebb")).await?;
    held.arrived().await?;
    world.patch_at(&of_class, &json!({ "spec": variables("flood") })).await?;
    held.release();
    world.until_class(namespace, "raced", is_ready).await?;
    assert_eq!(names(&world.at(&of_class).await?), ["flood"]);

    manager.until_idle().await?;
    for (kind, path) in [("ExtensionConfig", of_config), ("ClusterClass", of_class)] {
        assert_eq!(codes(&world.writes_at(AuditMark::Beginning, &path)?), [409, 200], "{path}");
        assert_eq!(conflicts(manager, kind), 1, "{kind}");
    }
    assert_eq!(extension.calls(Target::discovery("/raced")), 1);
    Ok(())
}

async fn owners_that_come_in_between_stay(scene: &Scene, manager: &Running) -> Result<()> {
    let Scene { world, gate, namespace, .. } = scene;
    let set = Templates::set("raced");
    world.create_templates(namespace, &set).await?;
    let template = format!("{}/raced", set.objects(namespace).remove(0).0);
    let foreign = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "keeper", "uid": "11111111-2222-3333-4444-555555555555" });
    let held = gate.hold(Method::PATCH, &template);
    world.create(&class_with(namespace, "owns", &set, variables("ebb"))).await?;
    held.arrived().await?;
    world.patch_at(&template, &json!({ "metadata": { "ownerReferences": [foreign] } })).await?;
    held.release();
    let class = world.until_class(namespace, "owns", is_ready).await?;
    let owners = world.at(&template).await?["metadata"]["ownerReferences"].clone();
    let ours = json!({ "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass", "name": "owns", "uid": class.metadata.uid });
    assert_eq!(owners, json!([foreign, ours]));
    assert_eq!(codes(&world.writes_at(AuditMark::Beginning, &template)?), [409, 200]);
    assert_eq!(conflicts(manager, "Template"), 1);
    Ok(())
}

async fn nothing_meant_for_a_deleted_class_reaches_its_successor(
    scene: &Scene,
    manager: &Running,
) -> Result<()> {
    let Scene { world, gate, namespace, .. } = scene;
    let path = class_path(namespace, "twice");
    let held = gate.hold(Method::PATCH, &status_of(&path));
    world.create(&scene.plain("twice", "first")).await?;
    held.arrived().await?;
    world.delete_at(&path, Background).await?;
    let second = world.create(&scene.plain("twice", "second")).await?;
    let key = ClassKey::new(namespace, "twice");
    let is_known = async || {
        let known = manager.shared.with(|index| index.class(&key).map(|entry| entry.class.uid.to_string()));
        Ok((known == second.metadata.uid).then_some(()))
    };
    until("the successor to be known", is_known).await?;
    held.release();
    world.until_class(namespace, "twice", is_ready).await?;
    assert_eq!(names(&world.at(&path).await?), ["second"]);
    let writes = world.writes_at(AuditMark::Beginning, &path)?;
    assert_eq!(codes(&writes), [409, 200]);
    let bodies: Vec<_> = writes.iter().filter_map(|event| event.body.as_ref()).collect();
    assert_ne!(bodies[0]["metadata"]["uid"], json!(second.metadata.uid));
    assert_eq!(bodies[1]["metadata"]["uid"], json!(second.metadata.uid));
    Ok(())
}

async fn a_write_whose_answer_is_lost_is_not_made_again(scene: &Scene, manager: &Running) -> Result<()> {
    let Scene { world, gate, namespace, .. } = scene;
    let set = Templates::set("lost");
    world.create_templates(namespace, &set).await?;
    let template = format!("{}/lost", set.objects(namespace).remove(0).0);
    let of_class = class_path(namespace, "lost");
    let of_config = config_path("lost");
    let written = [&template, &status_of(&of_class), &status_of(&of_config)];
    let lost = written.map(|path| gate.lose_answer(Method::PATCH, path));
    scene.discovered("lost").await?;
    scene.ready(&class_with(namespace, "lost", &set, variables("ebb"))).await?;
    until_known(scene, manager, "lost").await?;
    drop(lost);
    until("the answers to be lost", async || Ok((manager.reconcile_errors() == 3).then_some(()))).await?;
    manager.until_idle().await?;
    for path in [template, of_class, of_config] {
        assert_eq!(codes(&world.writes_at(AuditMark::Beginning, &path)?), [200], "{path}");
    }
    assert_eq!(manager.reconcile_errors(), 3);
    scene.ready(&class_with(namespace, "found", &set, variables("ebb"))).await.map(drop)
}

/// Waits until the manager has seen the config and the class of this name as they are now.
async fn until_known(scene: &Scene, manager: &Running, name: &str) -> Result<()> {
    let config = scene.world.config(name).await?.metadata.resource_version;
    let class = scene.world.class(&scene.namespace, name).await?.metadata.resource_version;
    let key = ClassKey::new(&scene.namespace, name);
    let known = || {
        manager.shared.with(|index| {
            let config = index.config(name)?.config.object.metadata.resource_version.clone();
            Some((config, index.class(&key)?.class.resource_version.clone()))
        })
    };
    until("the manager to see what it has written", async || {
        Ok((known() == class.clone().map(|class| (config.clone(), class))).then_some(()))
    })
    .await
}

/// One edit after the other, and every version of the class that there ever was is looked at.
async fn no_version_of_a_class_claims_more_than_its_variables_show(scene: &Scene) -> Result<()> {
    const EDITS: usize = 100;
    let Scene { world, namespace, .. } = scene;
    scene.discovered("steady").await?;
    let path = scene.ready(&class(namespace, "edited", &["steady"])).await?;
    let api: Api<ClusterClass> = Api::namespaced(world.client.clone(), namespace);
    let versions = watcher(api, watcher::Config::default().fields("metadata.name=edited"));
    let seen = tokio::spawn(async move {
        let mut versions = std::pin::pin!(versions);
        let mut claims = 0;
        while let Some(event) = versions.next().await {
            let (Event::InitApply(class) | Event::Apply(class)) = event? else { continue };
            claims += usize::from(assert_claims_nothing_wrong(&class));
            if class.metadata.generation == Some(i64::try_from(EDITS)? + 1) && is_ready(&class) {
                break;
            }
        }
        anyhow::Ok(claims)
    });
    for number in 0..EDITS {
        let variables = variables(&format!("edit-{number}"));
        world.patch_at(&path, &json!({ "spec": variables })).await?;
    }
    let claims = tokio::time::timeout(DEADLINE, seen).await???;
    assert!(claims >= 2, "the first and the last version at least are settled");
    assert_eq!(scene.extension.calls("/steady"), 2, "an edit of the class's own variables asks nothing");
    Ok(())
}

/// Says whether a version claims to be settled, and if so, checks that it is.
fn assert_claims_nothing_wrong(class: &ClusterClass) -> bool {
    let Some(status) = &class.status else { return false };
    if status.observed_generation != class.metadata.generation {
        return false;
    }
    for type_ in ["VariablesReady", "RefVersionsUpToDate", "Paused"] {
        let condition = kapstan_api::conditions::get(&status.conditions, type_);
        let generation = condition.and_then(|condition| condition.observed_generation);
        assert_eq!(generation, class.metadata.generation, "{type_}");
    }
    let inline = status.variables.iter().filter(|variable| variable.definitions[0].from == "inline");
    let shown: Vec<_> = inline.map(|variable| &variable.name).collect();
    assert_eq!(shown, class.spec.variables.iter().map(|variable| &variable.name).collect::<Vec<_>>());
    assert_eq!(status.variables.len(), shown.len() + 10);
    true
}

/// What says "this generation" goes out in one write.
fn assert_generations_travel_together(world: &World) -> Result<()> {
    let writes = status_writes(world)?;
    let bodies = writes.iter().filter(|event| event.resource == "clusterclasses");
    for body in bodies.filter_map(|event| event.body.as_ref()) {
        let generation = &body["status"]["observedGeneration"];
        if !generation.is_null() {
            for type_ in ["VariablesReady", "RefVersionsUpToDate", "Paused"] {
                assert_eq!(condition(body, type_)["observedGeneration"], *generation, "{body}");
            }
        }
    }
    Ok(())
}

// ---- refused ----

async fn a_refused_write_is_counted_and_tried_again_ever_more_slowly(
    scene: &Scene,
    manager: &Running,
) -> Result<()> {
    let Scene { world, extension, namespace, .. } = scene;
    refuse_statuses_of_objects_named(world, "refused", extension).await?;
    let errors = || manager.count("kapstan_writes_total", &[("kind", "ClusterClass"), ("result", "error")]);
    let (before, mark) = (errors(), world.audit_mark()?);
    world.create(&scene.plain("refused", "ebb")).await?;
    until("a second refusal", async || Ok((errors() >= before + 2).then_some(()))).await?;
    take_statuses_again(world, "refused").await?;
    world.until_class(namespace, "refused", is_ready).await?;
    let writes = codes(&world.writes_at(mark, &class_path(namespace, "refused"))?);
    let (last, refused) = writes.split_last().expect("there must be a write");
    assert_eq!(*last, 200);
    assert!(refused.iter().all(|code| *code == 422), "{refused:?}");
    assert_eq!(refused.len() as u64, errors() - before);
    assert!(refused.len() <= 7, "the wait doubles: {refused:?}");
    Ok(())
}

const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";

/// Has the API server refuse every status of the objects of this name: the embedded one, which has no admission
/// policies, by a fault.
async fn refuse_statuses_of_objects_named(
    world: &World,
    name: &str,
    extension: &TestExtension,
) -> Result<()> {
    match &world.plane {
        Plane::Embedded { server, .. } => {
            server.faults().add(Fault::status(422).subresource("status").name(name));
            Ok(())
        }
        Plane::Real(_) => refuse_by_policy(world, name, extension).await,
    }
}

async fn take_statuses_again(world: &World, name: &str) -> Result<()> {
    match &world.plane {
        Plane::Embedded { server, .. } => {
            server.faults().clear();
            Ok(())
        }
        Plane::Real(_) => {
            let binding = format!("{ADMISSION}/validatingadmissionpolicybindings/{name}");
            world.delete_at(&binding, Background).await
        }
    }
}

async fn refuse_by_policy(world: &World, name: &str, extension: &TestExtension) -> Result<()> {
    let rule = |group: &str, resource: &str| json!({ "apiGroups": [group], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": [resource] });
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": { "name": name },
        "spec": {
            "matchConstraints": { "resourceRules": [
                rule("runtime.cluster.x-k8s.io", "extensionconfigs/status"), rule("cluster.x-k8s.io", "clusterclasses/status") ] },
            "validations": [{ "expression": format!("object.metadata.name != '{name}'"), "message": "the harbour is closed" }],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": { "name": name },
        "spec": { "policyName": name, "validationActions": ["Deny"] },
    });
    world.create_at(&format!("{ADMISSION}/validatingadmissionpolicies"), &policy).await?;
    world.create_at(&format!("{ADMISSION}/validatingadmissionpolicybindings"), &binding).await?;
    // It takes effect a moment later; a config of the name shows when.
    world.create(&config(name, extension)).await?;
    let round = AtomicUsize::new(0);
    let is_refused = async || {
        let round = round.fetch_add(1, Ordering::Relaxed);
        let hook = json!({ "apiVersion": "a/v1", "hook": "A" });
        let handlers = json!([{ "name": format!("round-{round}.{name}"), "requestHook": hook }]);
        let patch = json!({ "status": { "handlers": handlers } });
        Ok(world.patch_at(&status_of(&config_path(name)), &patch).await.is_err().then_some(()))
    };
    until("the policy to take effect", is_refused).await
}
