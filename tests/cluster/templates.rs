//! Templates: who owns them, with the garbage collector running, and what classes say of those they refer to.

use std::sync::Arc;

use anyhow::Result;
use http::Method;
use kapstan::manager::Options;
use kapstan_api::cluster_class::ClusterClass;
use kapstan_test_extension::{Target, TestExtension};
use kube::{
    ResourceExt as _,
    api::PropagationPolicy::{Background, Orphan},
};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    audit::{AuditEvent, AuditMark},
    fixtures::{Templates, class, class_with, config, is_discovered, is_ready, parsed},
    gate::Gate,
    hands::{class_path, condition, deprecated_condition},
    server::{
        Server::{self, Embedded, Real},
        until,
    },
    world::{Running, USER, World},
};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CLASS_VERSION: &str = "cluster.x-k8s.io/v1beta2";

struct Scene {
    world: World,
    extension: Arc<TestExtension>,
    gate: Gate,
    manager: Running,
}

impl Scene {
    async fn start(server: Server) -> Result<Self> {
        let world = World::with_garbage_collection(server).await?;
        let extension = world.extension(TestExtension::builder()).await?;
        let gate = Gate::default();
        let manager = world.manager_behind(&gate, Options::default())?;
        Ok(Self { world, extension, gate, manager })
    }

    async fn ready(&self, class: &ClusterClass) -> Result<ClusterClass> {
        self.world.create(class).await?;
        self.until_ready(class).await
    }

    async fn until_ready(&self, class: &ClusterClass) -> Result<ClusterClass> {
        self.world.until_class(&class.namespace().unwrap_or_default(), &class.name_any(), is_ready).await
    }
}

#[rstest]
fn templates_in_use_are_owned_and_never_collected(#[values(Embedded, Real)] server: Server) -> Result<()> {
    server.run(async {
        let scene = Scene::start(server).await?;
        owner_references_removed_by_hand_come_back(&scene).await?;
        a_class_that_was_orphaned_and_made_again_owns_its_templates(&scene).await?;
        a_class_made_again_is_re_pointed_to_beside_foreign_owners(&scene).await?;
        templates_copied_with_the_owners_of_another_namespace_are_re_pointed(&scene).await?;
        a_template_deleted_while_owners_are_written_stays_deleted(&scene).await?;
        assert_nothing_was_collected(&scene.world)?;
        assert_owners_are_classes_of_the_same_namespace(&scene.world)
    })
}

#[rstest]
fn a_class_says_what_its_templates_lack_and_heals_when_it_comes(
    #[values(Embedded, Real)] server: Server,
) -> Result<()> {
    server.run(async {
        let scene = Scene::start(server).await?;
        a_missing_template_is_named_and_waited_for(&scene).await?;
        a_kind_that_is_not_served_is_named_and_waited_for(&scene).await?;
        outdated_versions_are_listed_and_judged_anew_when_labels_change(&scene).await?;
        a_kind_without_namespaces_is_never_owned(&scene).await?;
        a_selector_looks_at_the_labels_that_namespaces_have_now(&scene).await?;
        assert_owners_are_classes_of_the_same_namespace(&scene.world)
    })
}

// ---- owners ----

/// Paths of the templates of the set `default`.
fn template_paths(namespace: &str) -> Vec<String> {
    Templates::none().objects(namespace).into_iter().map(|(path, _)| format!("{path}/default")).collect()
}

fn owned_by(name: &str, uid: &str) -> Value {
    json!({ "apiVersion": CLASS_VERSION, "kind": "ClusterClass", "name": name, "uid": uid })
}

fn owners(template: &Value) -> Vec<Value> {
    template["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default()
}

fn set_owners(owners: &[Value]) -> Value {
    json!({ "metadata": { "ownerReferences": owners } })
}

fn plain(namespace: &str, name: &str) -> ClusterClass {
    class_with(namespace, name, &Templates::none(), json!({}))
}

async fn uids(world: &World, templates: &[String]) -> Result<Vec<Value>> {
    let mut uids = Vec::new();
    for path in templates {
        uids.push(world.at(path).await?["metadata"]["uid"].clone());
    }
    Ok(uids)
}

/// Waits until each template has exactly these owners, in whatever order.
async fn until_owned(world: &World, templates: &[String], expected: &[Value]) -> Result<()> {
    for path in templates {
        let is_owned = |template: &Value| {
            let owners = owners(template);
            owners.len() == expected.len() && expected.iter().all(|owner| owners.contains(owner))
        };
        world.until_at(path, is_owned).await?;
    }
    Ok(())
}

/// An object that owns things too, as a reference to it.
async fn foreign_owner(world: &World, namespace: &str) -> Result<Value> {
    let keeper = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "keeper" } });
    let keeper = world.create_at(&format!("/api/v1/namespaces/{namespace}/configmaps"), &keeper).await?;
    let uid = &keeper["metadata"]["uid"];
    Ok(
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "keeper", "uid": uid, "blockOwnerDeletion": true }),
    )
}

async fn owner_references_removed_by_hand_come_back(scene: &Scene) -> Result<()> {
    let world = &scene.world;
    let namespace = world.home("by-hand").await?;
    let templates = template_paths(&namespace);
    let class = scene.ready(&plain(&namespace, "tide")).await?;
    let ours = owned_by("tide", &class.uid().unwrap_or_default());
    until_owned(world, &templates, std::slice::from_ref(&ours)).await?;
    scene.manager.until_idle().await?;
    let mark = world.audit_mark()?;
    for path in &templates {
        world.patch_at(path, &set_owners(&[])).await?;
    }
    until_owned(world, &templates, &[ours]).await?;
    scene.manager.until_idle().await?;
    let written: Vec<String> = world.writes(mark)?.into_iter().map(|event| event.path).collect();
    assert_eq!(written.len(), templates.len(), "{written:?}");
    assert!(templates.iter().all(|path| written.contains(path)), "{written:?}");
    Ok(())
}

async fn a_class_that_was_orphaned_and_made_again_owns_its_templates(scene: &Scene) -> Result<()> {
    let world = &scene.world;
    let namespace = world.home("orphans").await?;
    let templates = template_paths(&namespace);
    let before = uids(world, &templates).await?;
    scene.ready(&plain(&namespace, "tide")).await?;
    world.delete_at(&class_path(&namespace, "tide"), Orphan).await?;
    let again = scene.ready(&plain(&namespace, "tide")).await?;
    until_owned(world, &templates, &[owned_by("tide", &again.uid().unwrap_or_default())]).await?;
    assert_eq!(uids(world, &templates).await?, before);
    Ok(())
}

async fn a_class_made_again_is_re_pointed_to_beside_foreign_owners(scene: &Scene) -> Result<()> {
    let world = &scene.world;
    let namespace = world.home("foreign").await?;
    let templates = template_paths(&namespace);
    let before = uids(world, &templates).await?;
    let keeper = foreign_owner(world, &namespace).await?;
    let first = scene.ready(&plain(&namespace, "tide")).await?;
    let first = owned_by("tide", &first.uid().unwrap_or_default());
    for path in &templates {
        world.patch_at(path, &set_owners(&[keeper.clone(), first.clone()])).await?;
    }
    world.delete_at(&class_path(&namespace, "tide"), Background).await?;
    let second = scene.ready(&plain(&namespace, "tide")).await?;
    let expected = [keeper, owned_by("tide", &second.uid().unwrap_or_default())];
    until_owned(world, &templates, &expected).await?;
    // Now the old reference comes back, as a restored backup brings it.
    for path in &templates {
        world.patch_at(path, &set_owners(&[first.clone(), expected[0].clone()])).await?;
    }
    until_owned(world, &templates, &expected).await?;
    assert_eq!(uids(world, &templates).await?, before);
    Ok(())
}

async fn templates_copied_with_the_owners_of_another_namespace_are_re_pointed(scene: &Scene) -> Result<()> {
    let world = &scene.world;
    let origin = world.home("origin").await?;
    let first = scene.ready(&plain(&origin, "tide")).await?;
    let old = owned_by("tide", &first.uid().unwrap_or_default());
    let copies = world.namespace("copies").await?;
    let class = world.create(&plain(&copies, "tide")).await?;
    let is_missed = |object: &Value| condition(object, "RefVersionsUpToDate")["status"] == "Unknown";
    world.until_at(&class_path(&copies, "tide"), is_missed).await?;
    // Who comes first, we or the collector, would be luck.
    let collector = world.plane.halt_collector()?;
    for (path, mut template) in Templates::none().objects(&copies) {
        template["metadata"]["ownerReferences"] = json!([old]);
        world.create_at(&path, &template).await?;
    }
    let templates = template_paths(&copies);
    let before = uids(world, &templates).await?;
    scene.until_ready(&class).await?;
    drop(collector);
    until_collected(world, &copies).await?;
    until_owned(world, &templates, &[owned_by("tide", &class.uid().unwrap_or_default())]).await?;
    assert_eq!(uids(world, &templates).await?, before);
    until_owned(world, &template_paths(&origin), &[old]).await
}

/// Waits until the collector has taken something that it has to take, and so has looked at all that was there before.
async fn until_collected(world: &World, namespace: &str) -> Result<()> {
    let litter = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "litter", "ownerReferences": [owned_by("gone", "11111111-2222-3333-4444-555555555555")] } });
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    world.create_at(&path, &litter).await?;
    let is_gone = async || Ok(world.get_at(&format!("{path}/litter")).await?.is_none().then_some(()));
    until("litter to be collected", is_gone).await
}

async fn a_template_deleted_while_owners_are_written_stays_deleted(scene: &Scene) -> Result<()> {
    let world = &scene.world;
    let namespace = world.home("deleted").await?;
    let template = template_paths(&namespace).remove(0);
    let mark = world.audit_mark()?;
    let held = scene.gate.hold(Method::PATCH, &template);
    let class = world.create(&plain(&namespace, "tide")).await?;
    held.arrived().await?;
    world.delete_at(&template, Background).await?;
    held.release();
    let of_class = class_path(&namespace, "tide");
    let missed =
        world.until_at(&of_class, |object| !condition(object, "RefVersionsUpToDate").is_null()).await?;
    assert_eq!(
        condition(&missed, "RefVersionsUpToDate")["message"],
        "These template references cannot be judged:\n* DevClusterTemplate default: not found"
    );
    scene.manager.until_idle().await?;
    assert_eq!(world.get_at(&template).await?, None);
    let codes: Vec<_> = world.writes_at(mark, &template)?.into_iter().map(|event| event.code).collect();
    assert_eq!(codes, [Some(404)]);
    let (path, object) = Templates::none().objects(&namespace).remove(0);
    world.create_at(&path, &object).await?;
    scene.until_ready(&class).await.map(drop)
}

/// Nobody but the test has deleted a template. (What the embedded server collects is no request; there, that the UIDs
/// stay says it.)
fn assert_nothing_was_collected(world: &World) -> Result<()> {
    let mut deleted = world.plane.audit_events(AuditMark::Beginning)?;
    deleted.retain(|event| event.verb.starts_with("delete") && event.resource.ends_with("templates"));
    deleted.retain(|event| event.user != world.plane.admin() && event.code == Some(200));
    assert_eq!(deleted, []);
    Ok(())
}

/// Every owner reference that was ever sent by us is on a template, and those to classes name none of another
/// namespace.
fn assert_owners_are_classes_of_the_same_namespace(world: &World) -> Result<()> {
    let mut events = world.plane.audit_events(AuditMark::Beginning)?;
    events.retain(|event| event.body.is_some());
    let owns = |event: &AuditEvent| {
        event.body.as_ref().is_some_and(|body| !body["metadata"]["ownerReferences"].is_null())
    };
    let ours: Vec<_> = events.iter().filter(|event| event.user == USER && owns(event)).collect();
    assert!(!ours.is_empty());
    for event in ours {
        assert!(event.resource.ends_with("templates") && !event.namespace.is_empty(), "{event:?}");
        let body = event.body.clone().unwrap_or_default();
        for owner in owners(&body).iter().filter(|owner| owner["kind"] == "ClusterClass") {
            // The class that our own status writes name with this UID is in the namespace of the template.
            let is_it = |other: &&AuditEvent| {
                other.user == USER
                    && other.resource == "clusterclasses"
                    && other.body.as_ref().is_some_and(|body| body["metadata"]["uid"] == owner["uid"])
            };
            let namespaces = events.iter().filter(is_it).map(|other| &other.namespace);
            assert!(namespaces.clone().all(|namespace| *namespace == event.namespace), "{event:?}");
            assert!(namespaces.count() > 0, "{event:?}");
        }
    }
    Ok(())
}

// ---- what is missing ----

async fn a_missing_template_is_named_and_waited_for(scene: &Scene) -> Result<()> {
    let world = &scene.world;
    let namespace = world.home("missing").await?;
    let set = Templates::set("later");
    let class = world.create(&class_with(&namespace, "tide", &set, json!({}))).await?;
    let path = class_path(&namespace, "tide");
    let missed = world.until_at(&path, |object| !condition(object, "RefVersionsUpToDate").is_null()).await?;
    let message = "These template references cannot be judged:\n* KubeadmConfigTemplate later: not found\n\
                   * KubeadmControlPlaneTemplate later: not found\n* DevClusterTemplate later: not found\n\
                   * DevMachineTemplate later: not found";
    let said = condition(&missed, "RefVersionsUpToDate");
    assert_eq!((&said["status"], &said["message"]), (&json!("Unknown"), &json!(message)));
    assert_eq!(deprecated_condition(&missed, "RefVersionsUpToDate")["message"], message);
    assert_eq!(condition(&missed, "VariablesReady")["status"], "True");
    assert_eq!(missed["status"]["observedGeneration"], Value::Null);
    world.create_templates(&namespace, &set).await?;
    scene.until_ready(&class).await.map(drop)
}

/// A CRD of templates with the versions `v1beta1` and `v1beta2`.
fn definition(kind: &str, scope: &str, contract: &str) -> Value {
    let (plural, singular) = (format!("{}s", kind.to_lowercase()), kind.to_lowercase());
    let version = |name: &str, is_stored: bool| {
        let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        json!({ "name": name, "served": true, "storage": is_stored, "schema": { "openAPIV3Schema": schema } })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.infrastructure.cluster.x-k8s.io"),
            "labels": { "cluster.x-k8s.io/v1beta2": contract },
        },
        "spec": {
            "group": "infrastructure.cluster.x-k8s.io", "scope": scope,
            "names": { "kind": kind, "plural": plural, "singular": singular, "listKind": format!("{kind}List") },
            "versions": [version("v1beta1", false), version("v1beta2", true)],
        },
    })
}

/// Makes the CRD and waits until an object of its kind can be made; makes that too.
async fn establish(world: &World, definition: &Value, namespace: Option<&str>, names: &[&str]) -> Result<()> {
    world.create_at(CRDS, definition).await?;
    let names_of = &definition["spec"]["names"];
    let plural = names_of["plural"].as_str().unwrap_or_default();
    let namespace = namespace.map_or_else(String::new, |namespace| format!("/namespaces/{namespace}"));
    let path = format!("/apis/infrastructure.cluster.x-k8s.io/v1beta2{namespace}/{plural}");
    for name in names {
        let object = json!({ "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": names_of["kind"],
            "metadata": { "name": name } });
        until(plural, async || Ok(world.create_at(&path, &object).await.ok())).await?;
    }
    Ok(())
}

/// A class whose machines are of these templates, all of one kind: those of the control plane of the first.
fn class_of(namespace: &str, name: &str, kind: &str, version: &str, templates: &[&str]) -> ClusterClass {
    let infrastructure = |template: &str| {
        json!({ "templateRef": {
            "apiVersion": format!("infrastructure.cluster.x-k8s.io/{version}"), "kind": kind, "name": template } })
    };
    let mut object = serde_json::to_value(plain(namespace, name)).expect("a class has a JSON form");
    object["spec"]["controlPlane"]["machineInfrastructure"] = infrastructure(templates[0]);
    let worker = object["spec"]["workers"]["machineDeployments"][0].clone();
    let workers = templates.iter().enumerate().map(|(number, template)| {
        let mut worker = worker.clone();
        worker["class"] = json!(format!("worker-{number}"));
        worker["infrastructure"] = infrastructure(template);
        worker
    });
    object["spec"]["workers"]["machineDeployments"] = workers.collect();
    parsed(object)
}

async fn a_kind_that_is_not_served_is_named_and_waited_for(scene: &Scene) -> Result<()> {
    let world = &scene.world;
    let namespace = world.home("unserved").await?;
    let class = world.create(&class_of(&namespace, "tide", "FloodTemplate", "v1beta2", &["shore"])).await?;
    let path = class_path(&namespace, "tide");
    let missed = world.until_at(&path, |object| !condition(object, "RefVersionsUpToDate").is_null()).await?;
    assert_eq!(
        condition(&missed, "RefVersionsUpToDate")["message"],
        "These template references cannot be judged:\n* FloodTemplate shore: \
         FloodTemplate.infrastructure.cluster.x-k8s.io is not served"
    );
    assert_eq!(missed["status"]["observedGeneration"], Value::Null);
    establish(world, &definition("FloodTemplate", "Namespaced", "v1beta2"), Some(&namespace), &["shore"])
        .await?;
    scene.until_ready(&class).await.map(drop)
}

// ---- versions ----

async fn outdated_versions_are_listed_and_judged_anew_when_labels_change(scene: &Scene) -> Result<()> {
    let world = &scene.world;
    let namespace = world.home("versions").await?;
    let names = ["shared", "another"];
    establish(world, &definition("EbbTemplate", "Namespaced", "v1beta1_v1beta2"), Some(&namespace), &names)
        .await?;
    let class = class_of(&namespace, "tide", "EbbTemplate", "v1beta1", &["shared", "another", "shared"]);
    world.create(&class).await?;
    let path = class_path(&namespace, "tide");
    let until_said = async |status: &'static str| {
        world.until_at(&path, |object| condition(object, "RefVersionsUpToDate")["status"] == status).await
    };
    let outdated = until_said("False").await?;
    let message = "Newer versions of referenced templates are available:\n\
                   * EbbTemplate another: uses v1beta1, v1beta2 is available\n\
                   * EbbTemplate shared: uses v1beta1, v1beta2 is available";
    assert_eq!(condition(&outdated, "RefVersionsUpToDate")["message"], message);
    let old = deprecated_condition(&outdated, "RefVersionsUpToDate");
    assert_eq!(
        (&old["severity"], &old["reason"], &old["message"]),
        (&json!("Warning"), &json!("OutdatedRefVersions"), &json!(message))
    );
    assert_eq!(outdated["status"]["observedGeneration"], 1);

    label_contract(world, Some("v1beta1")).await?;
    let current = until_said("True").await?;
    assert_eq!(current["spec"], outdated["spec"], "references stay as they are written");
    label_contract(world, None).await?;
    let unknown = until_said("Unknown").await?;
    assert_eq!(condition(&unknown, "RefVersionsUpToDate")["message"], without_label(&["another", "shared"]));
    variables_are_found_all_the_same(scene, &path).await?;
    label_contract(world, Some("v1beta1")).await?;
    scene.until_ready(&class).await.map(drop)
}

fn without_label(templates: &[&str]) -> String {
    let lines = templates.iter().map(|template| {
        format!(
            "\n* EbbTemplate {template}: CustomResourceDefinition ebbtemplates.infrastructure.cluster.x-k8s.io has no \
             label cluster.x-k8s.io/v1beta2 or cluster.x-k8s.io/v1beta1"
        )
    });
    format!("Versions of referenced templates cannot be compared:{}", lines.collect::<String>())
}

async fn label_contract(world: &World, versions: Option<&str>) -> Result<()> {
    let path = format!("{CRDS}/ebbtemplates.infrastructure.cluster.x-k8s.io");
    let labels = json!({ "metadata": { "labels": { "cluster.x-k8s.io/v1beta2": versions } } });
    world.patch_at(&path, &labels).await.map(drop)
}

/// A class whose references cannot be judged gets the variables of an edit, its own and discovered ones.
async fn variables_are_found_all_the_same(scene: &Scene, path: &str) -> Result<()> {
    let world = &scene.world;
    world.create(&config("known", &scene.extension)).await?;
    let edit = json!({ "spec": {
        "variables": [{ "name": "depth", "required": true, "schema": { "openAPIV3Schema": { "type": "integer" } } }],
        "patches": [{ "name": "p", "external": {
            "generatePatchesExtension": "generatepatches.known",
            "discoverVariablesExtension": "discovervariables.known" } }],
    } });
    world.patch_at(path, &edit).await?;
    let found = |object: &Value| condition(object, "VariablesReady")["observedGeneration"] == 2;
    let object = world.until_at(path, found).await?;
    assert_eq!(condition(&object, "VariablesReady")["status"], "True");
    assert_eq!(object["status"]["variables"].as_array().map(Vec::len), Some(11));
    assert_eq!(object["status"]["observedGeneration"], 1, "not before its templates are judged");
    Ok(())
}

async fn a_kind_without_namespaces_is_never_owned(scene: &Scene) -> Result<()> {
    let world = &scene.world;
    let namespace = world.home("scopes").await?;
    establish(world, &definition("ReefTemplate", "Cluster", "v1beta2"), None, &["reef"]).await?;
    world.create(&class_of(&namespace, "tide", "ReefTemplate", "v1beta2", &["reef"])).await?;
    let path = class_path(&namespace, "tide");
    let missed = world.until_at(&path, |object| !condition(object, "RefVersionsUpToDate").is_null()).await?;
    assert_eq!(condition(&missed, "RefVersionsUpToDate")["status"], "Unknown");
    scene.manager.until_idle().await?;
    let reef = "/apis/infrastructure.cluster.x-k8s.io/v1beta2/reeftemplates/reef";
    assert_eq!(owners(&world.at(reef).await?), [] as [Value; 0]);
    assert_eq!(world.writes_at(AuditMark::Beginning, reef)?, []);
    Ok(())
}

// ---- namespaces ----

async fn label_namespace(world: &World, namespace: &str, tide: Option<&str>) -> Result<()> {
    let labels = json!({ "metadata": { "labels": { "tide": tide } } });
    world.patch_at(&format!("/api/v1/namespaces/{namespace}"), &labels).await.map(drop)
}

async fn a_selector_looks_at_the_labels_that_namespaces_have_now(scene: &Scene) -> Result<()> {
    let world = &scene.world;
    let (low, high) = (world.home("low").await?, world.home("high").await?);
    label_namespace(world, &high, Some("high")).await?;
    for (name, selector) in
        [("tidal", json!({ "matchLabels": { "tide": "high" } })), ("everywhere", json!({}))]
    {
        let mut config = config(name, &scene.extension);
        config.spec.namespace_selector = Some(parsed(selector));
        world.create(&config).await?;
        world.until_config(name, is_discovered).await?;
    }
    for namespace in [&low, &high] {
        scene.ready(&class(namespace, "all", &["everywhere"])).await?;
        world.create(&class(namespace, "tide", &["tidal"])).await?;
    }
    until_unserved(world, &low).await?;
    until_served(world, &high).await?;
    later_labels_count_both_ways(scene, &low, &high).await?;
    for prefix in ["/tidal", "/everywhere"] {
        assert_eq!(scene.extension.calls(Target::hook_at(prefix, "DiscoverVariables")), 1, "{prefix}");
    }
    Ok(())
}

async fn later_labels_count_both_ways(scene: &Scene, low: &str, high: &str) -> Result<()> {
    let Scene { world, manager, .. } = scene;
    manager.until_idle().await?;
    let evaluations = manager.class_evaluations();
    label_namespace(world, low, Some("high")).await?;
    until_served(world, low).await?;
    label_namespace(world, high, Some("neap")).await?;
    let left_out = until_unserved(world, high).await?;
    assert_eq!(left_out["status"]["variables"].as_array().map(Vec::len), Some(10), "the last good ones stay");
    label_namespace(world, high, Some("high")).await?;
    until_served(world, high).await?;
    manager.until_idle().await?;
    assert_eq!(manager.class_evaluations(), evaluations + 3, "of the classes that flipped only");
    Ok(())
}

async fn until_served(world: &World, namespace: &str) -> Result<Value> {
    let is_ready = |class: &Value| condition(class, "VariablesReady")["status"] == "True";
    world.until_at(&class_path(namespace, "tide"), is_ready).await
}

async fn until_unserved(world: &World, namespace: &str) -> Result<Value> {
    let why = format!(
        "patch patch-tidal: handler discovervariables.tidal does not serve namespace {namespace}: the namespaceSelector of \
         ExtensionConfig tidal does not match it"
    );
    let says_why = |class: &Value| condition(class, "VariablesReady")["message"] == why;
    world.until_at(&class_path(namespace, "tide"), says_why).await
}
