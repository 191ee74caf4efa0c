//! Who an object is: not its name, and not what the manager remembers of it.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Result;
use http::Method;
use kapstan::{index::keys::ClassKey, manager::Options};
use kapstan_api::{annotations::INJECT_CA_FROM_SECRET, cluster_class::ClusterClass};
use kapstan_sdk::Handler;
use kapstan_test_extension::{HandlerSpec, Target, TestExtension, Variables};
use kube::{ResourceExt as _, api::PropagationPolicy::Background};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    audit::AuditMark,
    fixtures::{Templates, class, class_with, config, config_at, is_discovered, is_ready, parsed},
    gate::Gate,
    hands::{class_path, condition, config_path, status_of},
    server::{
        Server::{self, Embedded, Real},
        until,
    },
    world::{Running, World},
};

struct Scene {
    world: World,
    extension: Arc<TestExtension>,
    gate: Gate,
    namespace: String,
}

impl Scene {
    async fn start(server: Server) -> Result<Self> {
        let world = World::start(server).await?;
        let namespace = world.home("identity").await?;
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

    async fn ready(&self, class: &ClusterClass) -> Result<()> {
        self.world.create(class).await?;
        self.until_ready(&class.name_any()).await
    }

    async fn until_ready(&self, name: &str) -> Result<()> {
        self.world.until_class(&self.namespace, name, is_ready).await.map(drop)
    }

    fn path(&self, class: &str) -> String {
        class_path(&self.namespace, class)
    }

    /// A class without patches and with this one variable.
    fn plain(&self, name: &str, variable: &str) -> ClusterClass {
        let variable = json!({ "name": variable, "required": false, "schema": { "openAPIV3Schema": { "type": "string" } } });
        class_with(&self.namespace, name, &Templates::none(), json!({ "variables": [variable] }))
    }
}

fn names(class: &Value) -> Vec<&str> {
    let variables = class["status"]["variables"].as_array().into_iter().flatten();
    variables.filter_map(|variable| variable["name"].as_str()).collect()
}

#[rstest]
fn an_object_made_again_is_another_one_and_names_match_whole(
    #[values(Embedded, Real)] server: Server,
) -> Result<()> {
    server.run(async {
        let scene = Scene::start(server).await?;
        let manager = scene.manager()?;
        a_config_made_again_is_asked_where_it_is_now(&scene, &manager).await?;
        nothing_is_left_of_a_config_that_is_gone(&scene, &manager).await?;
        a_class_made_again_has_a_status_of_its_own(&scene, &manager).await?;
        a_config_wakes_its_classes_and_nobody_of_a_like_name(&scene, &manager).await
    })
}

#[rstest]
fn a_restart_of_either_side_loses_nothing_and_writes_nothing_again(
    #[values(Embedded, Real)] server: Server,
) -> Result<()> {
    server.run(async {
        let scene = Scene::start(server).await?;
        let shore = Shore::settle(&scene).await?;
        let manager = scene.manager()?;
        shore.until_settled(&scene, &manager).await?;
        manager.stop().await?;
        let manager = a_new_manager_writes_nothing_again(&scene).await?;
        the_api_server_may_go_and_come_back(&scene, &shore, &manager).await
    })
}

// ---- made again ----

async fn a_config_made_again_is_asked_where_it_is_now(scene: &Scene, manager: &Running) -> Result<()> {
    let Scene { world, extension, namespace, .. } = scene;
    let other = world.extension(TestExtension::builder().variables(Variables::count(4))).await?;
    scene.discovered("ext-a").await?;
    scene.ready(&class(namespace, "uses-a", &["ext-a"])).await?;
    assert_eq!(names(&world.at(&scene.path("uses-a")).await?).len(), 10);
    let first = world.config("ext-a").await?;

    world.delete_at(&config_path("ext-a"), Background).await?;
    let second = world.create(&config("ext-a", &other)).await?;
    assert_eq!(second.metadata.generation, first.metadata.generation);
    world.until_at(&scene.path("uses-a"), |class| names(class).len() == 4).await?;
    world.until_config("ext-a", is_discovered).await?;
    scene.until_ready("uses-a").await?;
    manager.until_idle().await?;
    assert_eq!(extension.calls("/ext-a"), 2, "nobody asks where it was");
    assert_eq!(other.calls(Target::discovery("/ext-a")), 1);
    assert_eq!(other.calls("/ext-a"), 2);
    let known = manager.shared.with(|index| index.config("ext-a").map(|entry| entry.config.uid.to_string()));
    assert_eq!(known, second.metadata.uid);
    assert_eq!(manager.count("kapstan_extension_calls_total", &[("extension", "ext-a")]), 2);
    let host = extension.address().map(|address| address.to_string()).unwrap_or_default();
    assert!(!manager.metrics.render().contains(&host), "series of {host}");
    Ok(())
}

async fn nothing_is_left_of_a_config_that_is_gone(scene: &Scene, manager: &Running) -> Result<()> {
    let world = &scene.world;
    let before = world.at(&scene.path("uses-a")).await?;
    world.delete_at(&config_path("ext-a"), Background).await?;
    let is_refused = |class: &Value| condition(class, "VariablesReady")["status"] == "False";
    let refused = world.until_at(&scene.path("uses-a"), is_refused).await?;
    assert_eq!(
        condition(&refused, "VariablesReady")["message"],
        "patch patch-ext-a: handler discovervariables.ext-a is not registered: there is no ExtensionConfig ext-a"
    );
    assert_eq!(refused["status"]["variables"], before["status"]["variables"], "the last good ones stay");
    assert!(manager.shared.with(|index| index.config("ext-a").is_none()));
    assert!(!manager.metrics.render().contains("extension=\"ext-a\""), "{}", manager.metrics.render());
    assert_eq!(manager.count("kapstan_index_entries", &[("index", "questions")]), 0);

    scene.discovered("ext-a").await?;
    scene.until_ready("uses-a").await?;
    assert_eq!(names(&world.at(&scene.path("uses-a")).await?).len(), 10);
    Ok(())
}

async fn a_class_made_again_has_a_status_of_its_own(scene: &Scene, manager: &Running) -> Result<()> {
    let world = &scene.world;
    let path = scene.path("again");
    let key = ClassKey::new(&scene.namespace, "again");
    scene.ready(&scene.plain("again", "first")).await?;
    world.delete_at(&path, Background).await?;
    let second = world.create(&scene.plain("again", "second")).await?;
    scene.until_ready("again").await?;
    assert_eq!(names(&world.at(&path).await?), ["second"]);
    let known = manager.shared.with(|index| index.class(&key).map(|entry| entry.class.uid.to_string()));
    assert_eq!(known, second.metadata.uid);
    world.delete_at(&path, Background).await?;
    let is_forgotten = async || Ok(manager.shared.with(|index| index.class(&key).is_none()).then_some(()));
    until("the class to be forgotten", is_forgotten).await?;
    assert_eq!(world.writes_at(AuditMark::Beginning, &path)?.len(), 2);
    Ok(())
}

// ---- names ----

/// A config whose one handler of variables has this name.
async fn discovered_with(scene: &Scene, name: &str, handler: &str) -> Result<()> {
    let handlers = vec![HandlerSpec::new(Handler::from(handler), "DiscoverVariables")];
    scene.extension.set_handlers(format!("/{name}").as_str(), handlers)?;
    scene.discovered(name).await
}

fn asks(namespace: &str, name: &str, handler: &str) -> ClusterClass {
    let patch = json!({ "name": "p", "external": {
        "generatePatchesExtension": "generatepatches.elsewhere", "discoverVariablesExtension": handler } });
    class_with(namespace, name, &Templates::none(), json!({ "patches": [patch] }))
}

async fn a_config_wakes_its_classes_and_nobody_of_a_like_name(
    scene: &Scene,
    manager: &Running,
) -> Result<()> {
    let Scene { world, namespace, .. } = scene;
    for (name, handler) in [("foo", "x"), ("foo-bar", "x"), ("bar", "foo")] {
        discovered_with(scene, name, handler).await?;
    }
    for (name, handler) in [("cc-1", "x.foo"), ("cc-2", "x.foo-bar"), ("cc-3", "foo.bar")] {
        scene.ready(&asks(namespace, name, handler)).await?;
    }
    scene.ready(&scene.plain("foo", "decoy")).await?;
    manager.until_idle().await?;
    let mark = world.audit_mark()?;
    let evaluations = manager.class_evaluations();
    let class_reconciles = || manager.count("kapstan_reconciles_total", &[("kind", "ClusterClass")]);
    let reconciles = class_reconciles();

    world.patch_at(&config_path("foo"), &json!({ "spec": { "settings": { "tide": "low" } } })).await?;
    let told = |class: &Value| {
        class["status"]["variables"][0]["definitions"][0]["schema"]["openAPIV3Schema"]["description"]
            == "revision 0, settings: tide=low"
    };
    world.until_at(&scene.path("cc-1"), told).await?;
    world.until_config("foo", is_discovered).await?;
    manager.until_idle().await?;
    assert_eq!(manager.class_evaluations(), evaluations + 1);
    // It is woken by the settings and by the answer, and by its own write if the watch shows that before the answer to
    // it is read.
    let reconciles = class_reconciles() - reconciles;
    assert!((2..=3).contains(&reconciles), "{reconciles} reconciles");
    let written: Vec<String> = world.writes(mark)?.into_iter().map(|event| event.path).collect();
    assert_eq!(written.len(), 2, "{written:?}");
    assert!(written.contains(&status_of(&scene.path("cc-1"))), "{written:?}");
    assert!(written.contains(&status_of(&config_path("foo"))), "{written:?}");
    assert_eq!(manager.reconcile_errors(), 0);
    Ok(())
}

// ---- restarts ----

/// One object of every kind that is watched, and what uses it.
struct Shore {
    secret: String,
    template: String,
    owned: ClusterClass,
}

impl Shore {
    async fn settle(scene: &Scene) -> Result<Self> {
        let Scene { world, extension, namespace, .. } = scene;
        let secret = format!("/api/v1/namespaces/{namespace}/secrets");
        world.create_at(&secret, &bundle(&extension.ca_bundle())).await?;
        let mut injected = config_at("injected", &extension.url_of("/injected"), &[]);
        let annotation = (INJECT_CA_FROM_SECRET.to_owned(), format!("{namespace}/ca"));
        injected.metadata.annotations = Some(BTreeMap::from([annotation]));
        world.create(&injected).await?;
        let mut tidal = config("tidal", extension);
        tidal.spec.namespace_selector = Some(parsed(json!({ "matchLabels": { "tide": "high" } })));
        world.create(&tidal).await?;
        world.create(&config("plain", extension)).await?;
        for name in ["injected", "tidal", "plain"] {
            world.create(&class(namespace, name, &[name])).await?;
        }
        let owned = world.create(&scene.plain("owned", "keel")).await?;
        let template = format!("{}/default", Templates::none().objects(namespace).remove(0).0);
        Ok(Self { secret: format!("{secret}/ca"), template, owned })
    }

    async fn until_settled(&self, scene: &Scene, manager: &Running) -> Result<()> {
        for name in ["injected", "plain", "owned"] {
            scene.until_ready(name).await?;
        }
        let left_out = |class: &Value| condition(class, "VariablesReady")["status"] == "False";
        scene.world.until_at(&scene.path("tidal"), left_out).await?;
        manager.until_idle().await
    }

    /// Changes one object of each kind that is watched.
    async fn change_everything(&self, scene: &Scene, bundle: &Value) -> Result<()> {
        let world = &scene.world;
        let labels = json!({ "metadata": { "labels": { "tide": "high" } } });
        world.patch_at(&format!("/api/v1/namespaces/{}", scene.namespace), &labels).await?;
        world.patch_at(&self.secret, bundle).await?;
        world.patch_at(&self.template, &json!({ "metadata": { "ownerReferences": [] } })).await?;
        world.patch_at(&config_path("plain"), &json!({ "spec": { "settings": { "tide": "low" } } })).await?;
        let variables = serde_json::to_value(scene.plain("owned", "rudder").spec.variables)?;
        world.patch_at(&scene.path("owned"), &json!({ "spec": { "variables": variables } })).await?;
        world.create(&scene.plain("new", "mast")).await.map(drop)
    }

    async fn until_changed(&self, scene: &Scene, bundle: &Value) -> Result<()> {
        let world = &scene.world;
        scene.until_ready("tidal").await?;
        let is_injected =
            |config: &Value| config["spec"]["clientConfig"]["caBundle"] == bundle["data"]["ca.crt"];
        world.until_at(&config_path("injected"), is_injected).await?;
        world.until_config("injected", is_discovered).await?;
        let uid = self.owned.uid();
        let is_owned = |template: &Value| {
            let owners = template["metadata"]["ownerReferences"].as_array().into_iter().flatten();
            owners.clone().any(|owner| owner["uid"] == json!(uid))
        };
        world.until_at(&self.template, is_owned).await?;
        let told = |class: &Value| {
            class["status"]["variables"][0]["definitions"][0]["schema"]["openAPIV3Schema"]["description"]
                == "revision 0, settings: team=a, tide=low"
        };
        world.until_at(&scene.path("plain"), told).await?;
        world.until_at(&scene.path("owned"), |class| names(class) == ["rudder"]).await?;
        scene.until_ready("new").await
    }
}

fn bundle(pem: &[u8]) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "ca" },
        "data": { "ca.crt": k8s_openapi::ByteString(pem.to_vec()) } })
}

async fn a_new_manager_writes_nothing_again(scene: &Scene) -> Result<Running> {
    let mark = scene.world.audit_mark()?;
    let manager = scene.manager()?;
    let is_ready = async || Ok(manager.health.missing().is_empty().then_some(()));
    until("the manager to be ready", is_ready).await?;
    // It has judged every class once it has asked what it does not know any more.
    let is_judged = async || Ok((manager.class_evaluations() >= 4).then_some(()));
    until("every class to be judged", is_judged).await?;
    manager.until_idle().await?;
    assert_eq!(scene.world.writes(mark)?, []);
    assert_eq!(manager.class_evaluations(), 4);
    Ok(manager)
}

async fn the_api_server_may_go_and_come_back(scene: &Scene, shore: &Shore, manager: &Running) -> Result<()> {
    let Scene { world, extension, gate, .. } = scene;
    let caught = scene.path("caught");
    let held = gate.hold(Method::PATCH, &status_of(&caught));
    world.create(&scene.plain("caught", "mid-write")).await?;
    held.arrived().await?;
    let mark = world.audit_mark()?;
    world.plane.kill();
    held.release();
    let has_failed = async || Ok((manager.reconcile_errors() >= 1).then_some(()));
    until("the write to fail", has_failed).await?;
    world.plane.restart().await?;
    // The bundle with something behind it that is of no use, so that it is another one and still good.
    let other = [extension.ca_bundle(), TestExtension::builder().start().await?.ca_bundle()].concat();
    let other = bundle(&other);
    shore.change_everything(scene, &other).await?;
    shore.until_changed(scene, &other).await?;
    scene.until_ready("caught").await?;
    a_crd_is_watched_again(scene).await?;
    manager.until_idle().await?;
    assert_lists_at_most_once_for_each_watch(world, mark)
}

/// A label of a CRD changes what the classes say.
async fn a_crd_is_watched_again(scene: &Scene) -> Result<()> {
    let world = &scene.world;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/\
                devclustertemplates.infrastructure.cluster.x-k8s.io";
    for (versions, status) in [("v1beta2_v1", "False"), ("v1beta2", "True")] {
        let labels = json!({ "metadata": { "labels": { "cluster.x-k8s.io/v1beta2": versions } } });
        world.patch_at(path, &labels).await?;
        let says = |class: &Value| condition(class, "RefVersionsUpToDate")["status"] == status;
        world.until_at(&scene.path("new"), says).await?;
    }
    Ok(())
}

fn assert_lists_at_most_once_for_each_watch(world: &World, mark: AuditMark) -> Result<()> {
    let mut lists = BTreeMap::<_, usize>::new();
    for event in world.asked(mark)?.iter().filter(|event| event.verb == "list" && event.code == Some(200)) {
        *lists.entry((event.resource.clone(), event.parameter("fieldSelector"))).or_default() += 1;
    }
    assert!(lists.values().all(|count| *count <= 1), "{lists:?}");
    Ok(())
}
