//! Stale news, lists that come anew, things that are gone.

use super::super::{Wake, keys::SecretKey, place::SecretState};
use super::fixtures::{
    Object, World, answered, asked, class, classes, config, configs, key, kind, labels, owned_by, owner,
    template, unowned,
};

const NOBODY: [&str; 0] = [];

fn at_rest() -> World {
    let mut world = World::default();
    for name in ["ext-a", "ext-b"] {
        let _ = world.config(config(name).at_version(10).selecting("env", "prod"));
        let _ = world.discover(name, &asked(&[&format!("dv.{name}")]));
    }
    let _ = world.namespace("ns", &[("env", "prod")]);
    let _ = world.class(asking("ns/one", "ext-a"));
    let _ = world.class(asking("ns/two", "ext-b"));
    let _ = world.kind("MachineTemplate", &[("ns/t", unowned())]);
    world.at_rest()
}

fn asking(class_key: &str, config: &str) -> Object {
    class(class_key).at_version(10).asking(&format!("dv.{config}")).using("MachineTemplate", "t")
}

// ---- stale news ----

#[test]
fn a_stale_event_does_not_undo_newer_state() {
    let mut world = at_rest();
    let _ = world.config(config("ext-a").at_version(12).at_generation(2).with_setting("a", "b"));
    assert_eq!(world.config(config("ext-a").at_version(11)), Wake::default());
    assert_eq!(world.index.config("ext-a").unwrap().config.generation, 2);
    let _ = world.class(asking("ns/one", "ext-a").at_version(12).at_generation(2));
    assert_eq!(world.class(asking("ns/one", "ext-a").at_version(11)), Wake::default());
    assert_eq!(world.index.class(&key("ns/one")).unwrap().class.generation, 2);
    let template = template("MachineTemplate", "ns/t");
    let owned = world.index.template(&template).unwrap().clone();
    assert_eq!(world.template(&template, unowned()), Wake::default());
    assert_eq!(world.index.template(&template), Some(&owned));
}

#[test]
fn the_answer_to_a_write_does_not_bring_back_what_is_gone() {
    let mut world = at_rest();
    let _ = world.delete_config("ext-a");
    assert_eq!(world.index.update_config(config("ext-a").at_version(11).config()), Wake::default());
    let _ = world.delete_class("ns/one");
    assert_eq!(world.index.update_class(asking("ns/one", "ext-a").at_version(11).class()), Wake::default());
    let template = template("MachineTemplate", "ns/t");
    let held = world.index.template(&template).unwrap().clone();
    let _ = world.delete_template(&template);
    assert_eq!(world.index.update_template(&template, held), Wake::default());
    assert!(world.index.config("ext-a").is_none());
    assert!(world.index.class(&key("ns/one")).is_none());
    assert!(world.index.template(&template).is_none());
}

#[test]
fn the_answer_to_a_write_counts_for_the_object_that_was_written() {
    let mut world = at_rest();
    let newer = config("ext-a").at_version(11).at_generation(2).with_bundle("pem").selecting("env", "prod");
    assert_eq!(configs(&world.index.update_config(newer.config())), ["ext-a"]);
    let other = config("ext-a").at_version(12).recreated();
    assert_eq!(world.index.update_config(other.config()), Wake::default(), "the watch will tell");
    assert_eq!(&*world.index.config("ext-a").unwrap().config.uid, "uid-ext-a");
}

// ---- lists that come anew ----

#[test]
fn a_list_of_what_is_known_changes_nothing() {
    let mut world = at_rest();
    let listed = vec![
        config("ext-a").at_version(10).selecting("env", "prod").config(),
        config("ext-b").at_version(10).selecting("env", "prod").config(),
    ];
    assert_eq!(world.index.reset_configs(listed), Wake::default());
    let listed = vec![asking("ns/one", "ext-a").class(), asking("ns/two", "ext-b").class()];
    assert_eq!(world.index.reset_classes(listed), Wake::default());
    let listed = vec![("ns".into(), labels(&[("env", "prod")]))];
    assert_eq!(world.index.reset_namespaces(listed), Wake::default());
    let template = template("MachineTemplate", "ns/t");
    let held = world.index.template(&template).unwrap().clone();
    assert_eq!(
        world.index.reset_templates(&kind("MachineTemplate"), vec![(template, held)]),
        Wake::default()
    );
}

#[test]
fn a_list_wakes_what_came_what_went_and_what_changed() {
    let mut world = at_rest();
    let listed = vec![
        config("ext-a").at_version(11).at_generation(2).selecting("env", "prod").config(),
        config("ext-c").config(),
    ];
    let wake = world.index.reset_configs(listed);
    assert_eq!(configs(&wake), ["ext-a", "ext-b", "ext-c"]);
    assert_eq!(classes(&wake), ["ns/two"]);
    assert_eq!(wake.gone.len(), 1);
    let listed = vec![asking("ns/one", "ext-a").class(), asking("ns/three", "ext-b").class()];
    assert_eq!(classes(&world.index.reset_classes(listed)), ["ns/three", "ns/two"]);
    let listed = vec![("other".into(), labels(&[]))];
    assert_eq!(classes(&world.index.reset_namespaces(listed)), ["ns/one"]);
    assert_eq!(
        classes(&world.index.reset_templates(&kind("MachineTemplate"), vec![])),
        ["ns/one", "ns/three"]
    );
}

#[test]
fn a_list_is_taken_as_it_is_also_when_the_server_was_set_back() {
    let mut world = at_rest();
    let listed = vec![config("ext-a").at_version(3).at_url("https://old.test").at_generation(2).config()];
    assert_eq!(configs(&world.index.reset_configs(listed)), ["ext-a", "ext-b"]);
    assert_eq!(world.index.config("ext-a").unwrap().config.generation, 2);
    let listed = vec![asking("ns/one", "ext-b").at_version(3).at_generation(2).class()];
    assert_eq!(classes(&world.index.reset_classes(listed)), ["ns/one", "ns/two"]);
    let template = template("MachineTemplate", "ns/t");
    let _ = world.template(
        &template,
        super::super::template::Template {
            resource_version: "9".to_owned(),
            ..owned_by(&[owner("one", "uid-ns-one")])
        },
    );
    let _ = world.index.reset_templates(&kind("MachineTemplate"), vec![(template.clone(), unowned())]);
    assert_eq!(world.index.template(&template), Some(&unowned()));
}

// ---- things that are gone ----

#[test]
fn a_deleted_config_takes_its_registration_and_its_questions_along() {
    let mut world = at_rest();
    let (question, discovery) = (world.question("ns/one"), world.discovery("ext-a"));
    assert_eq!(classes(&world.delete_config("ext-a")), ["ns/one"]);
    world.settle();
    assert!(world.result("ns/one")[0].contains("there is no ExtensionConfig ext-a"));
    assert_eq!(world.call(question), None);
    assert!(world.index.begin(&discovery).is_none());
    assert_eq!(world.answer(question, answered("late")), Wake::default());
    assert_eq!(world.index.clocked_len(), 2, "what is left is of ext-b");
    let _ = world.config(config("ext-a").recreated().selecting("env", "prod"));
    assert_eq!(classes(&world.discover("ext-a", &asked(&["dv.ext-a"]))), ["ns/one"]);
    world.settle();
    assert!(world.result("ns/one")[0].contains("said"));
}

#[test]
fn classes_that_wait_for_a_discovery_are_woken_when_its_config_goes() {
    let mut world = World::default();
    let _ = world.config(config("ext-a"));
    let _ = world.class(class("ns/one").asking("dv.ext-a"));
    world.settle();
    assert_eq!(classes(&world.delete_config("ext-a")), ["ns/one"]);
    assert_eq!(classes(&world.delete_config("ext-a")), NOBODY);
}

#[test]
fn a_class_on_its_way_out_asks_and_awaits_nothing() {
    let mut world = at_rest();
    let _ = world.class(asking("ns/one", "ext-a").at_version(11).deleting());
    assert!(world.gather(&key("ns/one")).is_none());
    assert_eq!(
        world.index.sizes().into_iter().find(|(what, _)| *what == "questions"),
        Some(("questions", 1))
    );
}

#[test]
fn a_kind_that_is_dropped_and_taken_up_before_its_watch_has_ended_stays_known() {
    let mut world = World::default();
    let _ = world.class(asking("ns/one", "ext-a"));
    let _ = world.index.watched();
    let _ = world.kind("MachineTemplate", &[("ns/t", unowned())]);
    let mut world = world.at_rest();
    let _ = world.delete_class("ns/one");
    assert!(world.class(asking("ns/one", "ext-a").recreated()).watches);
    assert!(world.index.is_kind_synced(&kind("MachineTemplate")), "its watch will not list again");
    world.settle();
    assert!(world.result("ns/one")[1].contains("Found"));
}

#[test]
fn a_secret_that_is_dropped_and_taken_up_before_its_watch_has_ended_stays_known() {
    let mut world = World::default();
    let secret = SecretKey::parse("ns/ca").unwrap();
    let _ = world.config(config("ext-a").with_ca_from("ns/ca"));
    let _ = world.index.watched();
    let _ = world.secret("ns/ca", SecretState::Absent);
    let _ = world.delete_config("ext-a");
    assert!(world.config(config("ext-a").recreated().with_ca_from("ns/ca")).watches);
    assert_eq!(world.index.secret(&secret), SecretState::Absent, "its watch will not list again");
    let _ = world.delete_config("ext-a");
    let _ = world.index.watched();
    let _ = world.config(config("ext-a").with_ca_from("ns/ca"));
    assert_eq!(world.index.secret(&secret), SecretState::Starting, "this watch is a new one");
}

#[test]
fn nothing_is_left_when_all_is_gone() {
    let mut world = at_rest();
    let _ = world.config(config("ext-a").at_version(11).with_ca_from("ns/ca"));
    let _ = world.secret("ns/ca", SecretState::Absent);
    let _ = world.config(config("ext-c"));
    let _ = world.class(class("ns/waiting").asking("dv.ext-c").using("ClusterTemplate", "t"));
    world.settle();
    let _ = world.delete_config("ext-a");
    let _ = world.delete_class("ns/one");
    let _ = world.index.reset_configs(vec![]);
    let _ = world.index.reset_classes(vec![]);
    let _ = world.index.reset_namespaces(vec![]);
    let _ = world.index.reset_crds(vec![]);
    let _ = world.index.watched();
    world.assert_empty();
}
