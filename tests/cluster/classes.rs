//! Where the variables of a class come from, and who is asked for them how often.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use anyhow::Result;
use kapstan::manager::Options;
use kapstan_api::cluster_class::ClusterClass;
use kapstan_test_extension::{Target, TestExtension, Variables};
use kube::ResourceExt as _;
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    audit::AuditMark,
    fixtures::{Templates, class, class_with, config, is_discovered, is_ready},
    hands::{class_path, condition, config_path, deprecated_condition},
    server::Server::{self, Embedded, Real},
    world::{Running, World},
};

struct Scene {
    world: World,
    extension: Arc<TestExtension>,
    namespace: String,
}

impl Scene {
    async fn discovered(&self, names: &[&str]) -> Result<()> {
        for name in names {
            self.world.create(&config(name, &self.extension)).await?;
        }
        for name in names {
            self.world.until_config(name, is_discovered).await?;
        }
        Ok(())
    }

    /// Creates a class and gives it back when it is ready.
    async fn ready(&self, class: &ClusterClass) -> Result<Value> {
        self.world.create(class).await?;
        let name = class.name_any();
        self.world.until_class(&self.namespace, &name, is_ready).await?;
        self.world.at(&class_path(&self.namespace, &name)).await
    }

    /// A class with its own variables and patches by these configs.
    fn class(&self, name: &str, variables: &[Value], configs: &[&str]) -> ClusterClass {
        let patches = serde_json::to_value(class(&self.namespace, name, configs).spec.patches);
        let spec = json!({ "variables": variables, "patches": patches.expect("patches have a JSON form") });
        class_with(&self.namespace, name, &Templates::none(), spec)
    }

    fn questions(&self, prefix: &str) -> u64 {
        self.extension.calls(Target::hook_at(prefix, "DiscoverVariables"))
    }
}

/// A variable as a class or an extension defines it.
fn variable(name: &str, required: bool, schema: &Value) -> Value {
    json!({ "name": name, "required": required, "schema": { "openAPIV3Schema": schema } })
}

fn string() -> Value {
    json!({ "type": "string" })
}

fn integer() -> Value {
    json!({ "type": "integer" })
}

fn names(class: &Value) -> Vec<&str> {
    let variables = class["status"]["variables"].as_array().into_iter().flatten();
    variables.filter_map(|variable| variable["name"].as_str()).collect()
}

fn variables_are(status: &'static str, message: &str) -> impl Fn(&Value) -> bool {
    move |class| {
        let ready = condition(class, "VariablesReady");
        ready["status"] == status && ready["message"] == message
    }
}

#[rstest]
fn variables_are_merged_asked_for_once_and_asked_again_in_time(
    #[values(Embedded, Real)] server: Server,
) -> Result<()> {
    server.run(async {
        let world = World::start(server).await?;
        let namespace = world.home("classes").await?;
        let extension = world.extension(TestExtension::builder()).await?;
        let scene = Scene { world, extension, namespace };
        let manager = scene.world.manager(Options::default())?;
        a_class_may_have_variables_of_its_own_only(&scene).await?;
        a_class_may_have_discovered_variables_only(&scene).await?;
        both_are_merged_and_sorted(&scene).await?;
        other_settings_are_another_question(&scene).await?;
        ten_classes_with_one_question_cost_one_call(&scene).await?;
        a_config_may_come_after_its_classes(&scene).await?;
        a_variable_that_cannot_be_is_named_with_its_patch(&scene).await?;
        a_conflict_is_told_and_heals_when_the_configs_are_edited(&scene).await?;
        manager.until_idle().await?;
        manager.stop().await?;
        a_conflict_comes_and_goes_within_a_period(&scene).await
    })
}

async fn a_class_may_have_variables_of_its_own_only(scene: &Scene) -> Result<()> {
    let own = [variable("zeal", true, &integer()), variable("anchor", false, &string())];
    let class = scene.ready(&scene.class("inline", &own, &[])).await?;
    let shown = |name: &str, required: bool, schema: Value| {
        json!({ "name": name, "definitionsConflict": false, "definitions": [{
            "from": "inline", "required": required, "schema": { "openAPIV3Schema": schema } }] })
    };
    assert_eq!(
        class["status"]["variables"],
        json!([shown("anchor", false, string()), shown("zeal", true, integer())])
    );
    assert_eq!(condition(&class, "VariablesReady")["observedGeneration"], 1);
    assert_eq!(deprecated_condition(&class, "VariablesReconciled")["status"], "True");
    assert_eq!(scene.extension.calls_total(), 0);
    Ok(())
}

async fn a_class_may_have_discovered_variables_only(scene: &Scene) -> Result<()> {
    scene.discovered(&["only"]).await?;
    let class = scene.ready(&scene.class("external", &[], &["only"])).await?;
    assert_eq!(names(&class), (0..10).map(|number| format!("variable-{number}")).collect::<Vec<_>>());
    let variables = class["status"]["variables"].as_array().cloned().unwrap_or_default();
    let sources: BTreeSet<_> =
        variables.iter().filter_map(|variable| variable["definitions"][0]["from"].as_str()).collect();
    assert_eq!(sources, BTreeSet::from(["patch-only"]));
    assert_eq!(variables[0]["definitions"][0]["required"], true);
    assert_eq!(variables[1]["definitions"][0]["required"], false, "written, also where it was not said");
    Ok(())
}

async fn both_are_merged_and_sorted(scene: &Scene) -> Result<()> {
    // The same in another order of keys, and with a `required` that goes without saying.
    let said = json!({ "name": "keel", "schema": { "openAPIV3Schema": {
        "maxLength": 9, "enum": [], "type": "string", "nullable": false } } });
    let own = [
        variable("zeal", false, &string()),
        variable("keel", false, &json!({ "type": "string", "maxLength": 9 })),
    ];
    scene
        .extension
        .set_variables("/both", Variables::Fixed(vec![said, variable("anchor", true, &string())]))?;
    scene.discovered(&["both"]).await?;
    let class = scene.ready(&scene.class("both", &own, &["both"])).await?;
    assert_eq!(names(&class), ["anchor", "keel", "zeal"]);
    let keel = &class["status"]["variables"][1];
    assert_eq!(keel["definitionsConflict"], false);
    let sources = ["inline", "patch-both"].map(|source| json!(source));
    assert_eq!([0, 1].map(|place| keel["definitions"][place]["from"].clone()), sources);
    Ok(())
}

async fn other_settings_are_another_question(scene: &Scene) -> Result<()> {
    let mut shared = config("shared", &scene.extension);
    shared.spec.settings =
        [("team", "none"), ("tide", "low")].map(|(key, value)| (key.into(), value.into())).into();
    scene.world.create(&shared).await?;
    for (name, team) in [("one", "a"), ("other", "b")] {
        let mut class = class(&scene.namespace, name, &["shared"]);
        let external = class.spec.patches[0].external.as_mut().expect("a fixture");
        external.settings = [("team".to_owned(), team.to_owned())].into();
        let class = scene.ready(&class).await?;
        let told =
            &class["status"]["variables"][0]["definitions"][0]["schema"]["openAPIV3Schema"]["description"];
        assert_eq!(
            *told,
            format!("revision 0, settings: team={team}, tide=low"),
            "the patch's own settings win"
        );
    }
    assert_eq!(scene.questions("/shared"), 2);
    Ok(())
}

async fn ten_classes_with_one_question_cost_one_call(scene: &Scene) -> Result<()> {
    let before = scene.world.audit_mark()?;
    let names: Vec<String> = (0..10).map(|number| format!("same-{number}")).collect();
    for name in &names {
        scene.world.create(&scene.class(name, &[variable(name, false, &string())], &["asked"])).await?;
    }
    scene.extension.set_latency(Duration::from_millis(100));
    scene.world.create(&config("asked", &scene.extension)).await?;
    for name in &names {
        scene.world.until_class(&scene.namespace, name, is_ready).await?;
    }
    scene.extension.set_latency(Duration::ZERO);
    assert_eq!(scene.questions("/asked"), 1);
    assert_eq!(scene.extension.calls("/asked"), 2);
    for name in &names {
        let writes = scene.world.writes_at(before, &class_path(&scene.namespace, name))?.len();
        assert!(writes <= 2, "{writes}: one that there is no config, one when there is");
    }
    Ok(())
}

async fn a_config_may_come_after_its_classes(scene: &Scene) -> Result<()> {
    let world = &scene.world;
    let path = class_path(&scene.namespace, "early");
    world.create(&scene.class("early", &[], &["late"])).await?;
    let unregistered = "patch patch-late: handler discovervariables.late is not registered: there is no ExtensionConfig late";
    let class = world.until_at(&path, variables_are("False", unregistered)).await?;
    assert_eq!(deprecated_condition(&class, "VariablesReconciled")["message"], unregistered);
    assert_eq!(class["status"]["variables"], Value::Null);
    assert_eq!(class["status"]["observedGeneration"], Value::Null);
    scene.discovered(&["late"]).await?;
    world.until_class(&scene.namespace, "early", is_ready).await?;
    assert_eq!(scene.extension.calls("/late"), 2);
    assert_eq!(world.writes_at(AuditMark::Beginning, &path)?.len(), 2);
    Ok(())
}

async fn a_variable_that_cannot_be_is_named_with_its_patch(scene: &Scene) -> Result<()> {
    scene.extension.set_variables("/wrong", Variables::Fixed(vec![variable("builtin", false, &string())]))?;
    scene.discovered(&["wrong"]).await?;
    scene.world.create(&scene.class("wrong", &[], &["wrong"])).await?;
    let path = class_path(&scene.namespace, "wrong");
    let is_refused = |class: &Value| condition(class, "VariablesReady")["status"] == "False";
    let class = scene.world.until_at(&path, is_refused).await?;
    let said = condition(&class, "VariablesReady")["message"].clone();
    let said = said.as_str().unwrap_or_default();
    assert!(
        said.starts_with("patch patch-wrong: discovered variables are not valid: ")
            && said.contains("builtin"),
        "{said}"
    );
    Ok(())
}

fn conflict_between(sources: &str) -> String {
    format!("definitions of variables conflict: region (differs between inline, {sources})")
}

fn region(schema: &Value) -> Variables {
    Variables::Fixed(vec![variable("region", false, schema)])
}

async fn a_conflict_is_told_and_heals_when_the_configs_are_edited(scene: &Scene) -> Result<()> {
    let Scene { world, extension, namespace } = scene;
    extension.set_variables("/p1", region(&json!({ "type": "string", "default": "a" })))?;
    extension.set_variables("/p2", region(&integer()))?;
    scene.discovered(&["p1", "p2"]).await?;
    let path = class_path(namespace, "torn");
    world.create(&scene.class("torn", &[variable("region", false, &string())], &["p1", "p2"])).await?;
    let torn = world.until_at(&path, variables_are("False", &conflict_between("patch-p1, patch-p2"))).await?;
    let region_of = |class: &Value| class["status"]["variables"][0].clone();
    assert_eq!(region_of(&torn)["definitionsConflict"], true);
    assert_eq!(region_of(&torn)["definitions"].as_array().map(Vec::len), Some(3));
    assert_eq!(deprecated_condition(&torn, "VariablesReconciled")["severity"], "Error");
    assert_eq!(torn["status"]["observedGeneration"], Value::Null);

    let settings = json!({ "spec": { "settings": { "asked": "again" } } });
    for (name, rest) in [("p1", Some("patch-p2")), ("p2", None)] {
        extension.set_variables(format!("/{name}").as_str(), region(&string()))?;
        world.patch_at(&config_path(name), &settings).await?;
        match rest {
            Some(rest) => world.until_at(&path, variables_are("False", &conflict_between(rest))).await?,
            None => world.until_at(&path, variables_are("True", "")).await?,
        };
    }
    let healed = world.at(&path).await?;
    assert_eq!(region_of(&healed)["definitionsConflict"], false);
    assert_eq!(healed["metadata"]["generation"], 1, "nobody touched the class");
    assert_eq!(healed["status"]["observedGeneration"], 1);
    Ok(())
}

/// What changes inside an extension shows within a period, in those classes only that have it.
async fn a_conflict_comes_and_goes_within_a_period(scene: &Scene) -> Result<()> {
    let Scene { world, extension, namespace } = scene;
    let options = Options { sync_period: Duration::from_secs(2), ..Options::default() };
    let manager: Running = world.manager(options)?;
    extension.until_calls(Target::discovery("/p1"), extension.calls(Target::discovery("/p1")) + 2).await;
    manager.until_idle().await?;
    let mark = world.audit_mark()?;
    let before = manager.class_evaluations();
    let path = class_path(namespace, "torn");
    extension.set_variables("/p2", region(&integer()))?;
    world.until_at(&path, variables_are("False", &conflict_between("patch-p2"))).await?;
    extension.set_variables("/p2", region(&string()))?;
    world.until_at(&path, variables_are("True", "")).await?;
    manager.until_idle().await?;
    assert_eq!(manager.class_evaluations(), before + 2);
    let written: Vec<String> = world.writes(mark)?.into_iter().map(|event| event.name).collect();
    assert_eq!(written, ["torn", "torn"]);
    Ok(())
}
