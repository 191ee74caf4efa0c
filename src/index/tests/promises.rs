//! What a change wakes, and what it does not.

use rstest::rstest;

use super::super::{
    keys::{Job, SecretKey},
    place::SecretState,
    question::QuestionOutcome,
};
use super::fixtures::{
    World, answered, asked, class, classes, config, configs, crd, handler, key, kind, labels, owned_by,
    owner, template, unowned,
};
use crate::runtime::Cause;

const NOBODY: [&str; 0] = [];

/// `ext-a` with the handlers `dv` and `other`, discovered.
fn discovered() -> World {
    let mut world = World::default();
    let _ = world.config(config("ext-a"));
    let _ = world.discover("ext-a", &asked(&["dv.ext-a", "other.ext-a"]));
    world
}

// ---- names ----

#[test]
fn names_match_whole() {
    let mut world = World::default();
    let _ = world.config(config("foo"));
    let _ = world.config(config("foo-bar"));
    let _ = world.class(class("ns/mine").asking("dv.foo"));
    let _ = world.class(class("ns/dashed").asking("x.foo-bar"));
    let _ = world.class(class("ns/reversed").asking("foo.bar"));
    let _ = world.class(class("ns/dotted").asking("dv.foo.bar"));
    let _ = world.class(class("foo/foo").asking("dv.foo-bar"));
    world.settle();
    assert_eq!(classes(&world.discover("foo", &asked(&["dv.foo"]))), ["ns/mine"]);
    assert_eq!(classes(&world.config(config("foo").with_setting("a", "b").at_generation(2))), NOBODY);
    assert_eq!(classes(&world.discover("foo", &asked(&["dv.foo"]))), ["ns/mine"]);
    assert_eq!(classes(&world.delete_config("foo")), ["ns/mine"]);
}

#[test]
fn every_role_of_a_handler_is_known() {
    let mut world = World::default();
    let all =
        class("ns/all").asking("h.e").generating_with("h.e").validating_with("h.e").upgrading_with("h.e");
    let _ = world.class(all);
    let _ = world.class(class("ns/one").validating_with("h.e"));
    let _ = world.class(class("ns/none").validating_with("h.e-2"));
    let named = world.index.classes_naming(&"h.e".into());
    let named: Vec<String> = named.iter().map(|(class, role)| format!("{class} {role:?}")).collect();
    assert_eq!(
        named,
        [
            "ns/all GeneratePatches",
            "ns/all ValidateTopology",
            "ns/one ValidateTopology",
            "ns/all DiscoverVariables",
            "ns/all GenerateUpgradePlan"
        ]
    );
}

// ---- identity ----

#[test]
fn a_config_recreated_at_equal_generation_is_another_one() {
    let mut world = discovered();
    let _ = world.class(class("ns/one").asking("dv.ext-a"));
    let mut world = world.at_rest();
    let old = world.question("ns/one");
    let wake = world.config(config("ext-a").recreated());
    assert_eq!(wake.gone.len(), 1);
    assert!(wake.gone[0].is_replaced);
    assert_eq!((configs(&wake), classes(&wake)), (vec!["ext-a".to_owned()], vec![]));
    assert!(world.index.needs_discovery(&"ext-a".into()));
    assert_eq!(classes(&world.discover("ext-a", &asked(&["dv.ext-a"]))), ["ns/one"]);
    world.settle();
    assert_ne!(world.question("ns/one"), old);
    assert_eq!(world.call(old), None, "nobody asks the old question any more");
}

#[test]
fn what_a_recreated_config_found_before_is_not_taken_over() {
    let mut world = discovered();
    let job = world.discovery("ext-a");
    let Job::Discovery(target) = &job else { panic!("{job:?}") };
    assert!(world.index.begin(&job).is_some());
    let wake = world.config(config("ext-a").recreated());
    assert_eq!(wake.over, std::slice::from_ref(&job));
    assert_eq!(world.index.discovered(target, Err("late".into())), super::super::Wake::default());
    assert!(world.index.begin(&job).is_none());
    assert!(world.index.needs_discovery(&"ext-a".into()));
}

#[test]
fn an_edited_config_does_not_wait_for_the_call_to_what_it_was() {
    let mut world = discovered();
    let old = world.discovery("ext-a");
    assert!(world.index.begin(&old).is_some(), "it is under way");
    let wake = world.config(config("ext-a").at_url("https://new.test").at_generation(2));
    assert_eq!(wake.over, std::slice::from_ref(&old));
    assert!(world.index.needs_discovery(&"ext-a".into()));
    let new = world.discovery("ext-a");
    assert_ne!(new, old);
    assert!(world.index.begin(&new).is_some());
    let (Job::Discovery(old), Job::Discovery(new)) = (&old, &new) else { panic!("{old:?} {new:?}") };
    assert_eq!(world.index.discovered(old, Err("late".into())), super::super::Wake::default());
    assert!(!world.index.needs_discovery(&"ext-a".into()), "the late end of the old one ends nothing else");
    assert_eq!(configs(&world.index.discovered(new, Ok([].into()))), ["ext-a"]);
}

#[test]
fn a_discovery_that_was_requested_is_not_requested_again_before_it_ends() {
    let mut world = discovered();
    let _ = world.config(config("ext-a").at_url("https://new.test").at_generation(2));
    let job = world.discovery("ext-a");
    assert_eq!(world.index.request_discovery(&"ext-a".into()), Some(job.clone()));
    assert_eq!(world.index.request_discovery(&"ext-a".into()), None, "it waits for its turn");
    assert!(world.index.begin(&job).is_some());
    assert_eq!(world.index.request_discovery(&"ext-a".into()), None, "it is under way");
    let Job::Discovery(target) = &job else { panic!("{job:?}") };
    let _ = world.index.discovered(target, Ok([].into()));
    assert_eq!(world.index.request_discovery(&"ext-a".into()), None, "it has ended");
    let _ = world.config(config("ext-a").at_url("https://newer.test").at_generation(3));
    let newer = world.discovery("ext-a");
    assert_eq!(world.index.request_discovery(&"ext-a".into()), Some(newer));
}

#[test]
fn only_what_somebody_changed_counts_as_edited() {
    let mut world = discovered();
    let asking = || class("ns/one").asking("dv.ext-a");
    let wake = world.class(asking());
    assert_eq!(wake.edited_classes, wake.classes);
    assert!(!wake.is_clock);
    let mut world = world.at_rest();
    let status = serde_json::json!({ "observedGeneration": 1 });
    let wake = world.class(asking().at_version(2).with_status(status));
    assert_eq!((wake.classes.len(), wake.edited_classes.len()), (1, 0), "a status is nobody's wish");
    let question = world.question("ns/one");
    let wake = world.answer(question, answered("news"));
    assert_eq!((wake.classes.len(), wake.edited_classes.len(), wake.is_clock), (1, 0, true));
    let wake = world.config(config("ext-a").at_version(2).paused());
    assert_eq!((wake.configs.len(), wake.edited_configs.len()), (1, 1));
    let wake = world.config(config("ext-a").at_version(3).at_generation(2));
    assert_eq!((wake.configs.len(), wake.edited_configs.len()), (1, 1));
    let wake = world.discover("ext-a", &asked(&["dv.ext-a"]));
    assert_eq!((wake.configs.len(), wake.edited_configs.len(), wake.is_clock), (1, 0, false));
    let wake = world.discover("ext-a", &asked(&["new.ext-a"]));
    assert_eq!((wake.configs.len(), wake.classes.len(), wake.is_clock), (1, 1, true));
}

#[test]
fn a_class_recreated_at_equal_generation_is_evaluated_and_owns_its_templates_anew() {
    let mut world = World::default();
    let _ = world.class(class("ns/one").using("MachineTemplate", "t"));
    let _ = world.kind("MachineTemplate", &[("ns/t", unowned())]);
    let mut world = world.at_rest();
    assert_eq!(classes(&world.class(class("ns/one").recreated().using("MachineTemplate", "t"))), ["ns/one"]);
    let gathered = world.gather(&key("ns/one")).unwrap();
    assert_eq!(gathered.unowned, [template("MachineTemplate", "ns/t")]);
    world.woken.insert(key("ns/one"));
    world.settle();
    assert_eq!(world.evaluations[&key("ns/one")], 1);
    let held = world.index.template(&template("MachineTemplate", "ns/t")).unwrap();
    assert_eq!(held.owners, [owner("one", "uid-ns-one-again")], "re-pointed, not added to");
}

#[test]
fn a_template_recreated_at_equal_generation_is_owned_anew() {
    let mut world = World::default();
    let _ = world.class(class("ns/one").using("MachineTemplate", "t"));
    let _ = world.kind("MachineTemplate", &[("ns/t", unowned())]);
    let mut world = world.at_rest();
    let again = super::super::template::Template { uid: "uid-again".into(), ..unowned() };
    let wake = world.template(&template("MachineTemplate", "ns/t"), again);
    assert_eq!(classes(&wake), ["ns/one"]);
    assert_eq!(wake.templates.len(), 1);
    world.settle();
    assert_eq!(world.index.template(&template("MachineTemplate", "ns/t")).unwrap().owners.len(), 1);
    assert!(world.evaluations.is_empty(), "it is as found as it was");
}

#[test]
fn a_recreated_secret_counts_by_its_content() {
    let mut world = World::default();
    let present = |text: &str| SecretState::Present(Some(k8s_openapi::ByteString(text.into())));
    let _ = world.config(config("ext-a").with_ca_from("ns/ca"));
    let _ = world.config(config("ext-b").with_ca_from("ns/ca-2"));
    assert_eq!(configs(&world.secret("ns/ca", present("one"))), ["ext-a"]);
    assert_eq!(configs(&world.secret("ns/ca", present("one"))), NOBODY);
    assert_eq!(configs(&world.secret("ns/ca", SecretState::Absent)), ["ext-a"]);
    assert_eq!(configs(&world.secret("ns/ca", present("two"))), ["ext-a"]);
    assert_eq!(configs(&world.secret("ns/other", present("one"))), NOBODY, "nobody names it");
}

// ---- own writes ----

#[test]
fn a_status_write_wakes_nobody_but_its_own_key() {
    let mut world = discovered();
    let _ = world.class(class("ns/one").asking("dv.ext-a"));
    let _ = world.class(class("ns/two").asking("dv.ext-a"));
    let mut world = world.at_rest();
    let condition = serde_json::json!({ "type": "Ours", "status": "True", "reason": "R", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z" });
    let status = serde_json::json!({ "conditions": [condition] });
    let wake = world.config(config("ext-a").at_version(2).with_status(status.clone()));
    assert_eq!((configs(&wake), classes(&wake)), (vec!["ext-a".to_owned()], vec![]));
    let wake = world.class(class("ns/one").asking("dv.ext-a").at_version(2).with_status(status.clone()));
    assert_eq!((configs(&wake), classes(&wake)), (vec![], vec!["ns/one".to_owned()]));
    let wake = world.class(class("ns/one").asking("dv.ext-a").at_version(2).with_status(status));
    assert_eq!(wake, super::super::Wake::default(), "the watch shows what the write has told");
    world.settle();
    assert!(world.evaluations.is_empty());
    assert!(world.asked.is_empty());
}

#[test]
fn labels_and_foreign_annotations_wake_nobody() {
    let mut world = discovered();
    let _ = world.class(class("ns/one").asking("dv.ext-a"));
    let mut world = world.at_rest();
    let nothing = super::super::Wake::default();
    assert_eq!(world.config(config("ext-a").at_version(2).labelled("a", "b")), nothing);
    assert_eq!(world.class(class("ns/one").asking("dv.ext-a").at_version(2).labelled("a", "b")), nothing);
    let seen = &world.index.class(&key("ns/one")).unwrap().class.resource_version;
    assert_eq!(seen, "2", "the next write goes to what is there now");
}

// ---- selectors ----

#[test]
fn an_edited_selector_wakes_exactly_the_pairs_that_flip() {
    let mut world = discovered();
    for (namespace, env) in [("prod", "prod"), ("test", "test"), ("bare", "")] {
        let _ = world.namespace(namespace, &[("env", env)]);
        let _ = world.class(class(&format!("{namespace}/one")).asking("dv.ext-a"));
    }
    let _ = world.class(class("prod/other").asking("dv.ext-b"));
    let mut world = world.at_rest();
    let to_prod = config("ext-a").selecting("env", "prod").at_generation(2);
    assert_eq!(classes(&world.config(to_prod)), ["bare/one", "test/one"]);
    let _ = world.discover("ext-a", &asked(&["dv.ext-a", "other.ext-a"]));
    world.settle();
    let to_test = config("ext-a").selecting("env", "test").at_generation(3);
    assert_eq!(classes(&world.config(to_test)), ["prod/one", "test/one"]);
    let _ = world.discover("ext-a", &asked(&["dv.ext-a", "other.ext-a"]));
    world.settle();
    assert!(world.result("prod/one")[0].contains("does not serve namespace prod"));
    assert!(world.result("test/one")[0].contains("said"));
    assert_eq!(world.evaluations[&key("prod/one")], 1);
    assert_eq!(world.evaluations[&key("bare/one")], 1);
}

#[test]
fn a_relabelled_namespace_wakes_exactly_the_pairs_that_flip() {
    let mut world = World::default();
    for name in ["ext-a", "ext-b", "ext-c"] {
        let _ = world.config(config(name).selecting("tier", name));
        let _ = world.discover(name, &asked(&[&format!("dv.{name}")]));
        let _ = world.class(class(&format!("ns/{name}")).asking(&format!("dv.{name}")));
        let _ = world.class(class(&format!("other/{name}")).asking(&format!("dv.{name}")));
    }
    let _ = world.namespace("ns", &[("tier", "ext-a")]);
    let _ = world.namespace("other", &[("tier", "ext-a")]);
    let mut world = world.at_rest();
    let wake = world.namespace("ns", &[("tier", "ext-b")]);
    assert_eq!(classes(&wake), ["ns/ext-a", "ns/ext-b"]);
    assert_eq!(classes(&world.namespace("ns", &[("tier", "ext-b"), ("more", "x")])), NOBODY);
    world.settle();
    assert!(world.result("ns/ext-b")[0].contains("said"));
    assert!(world.result("ns/ext-a")[0].contains("does not serve"));
}

#[test]
fn why_a_selector_makes_no_sense_is_news_to_those_it_concerns() {
    let mut world = World::default();
    let _ = world.namespace("ns", &[]);
    let _ = world.config(config("ext-a").selecting_by("Wrong"));
    let _ = world.discover("ext-a", &asked(&["dv.ext-a"]));
    let _ = world.class(class("ns/one").asking("dv.ext-a"));
    let mut world = world.at_rest();
    assert!(world.result("ns/one")[0].contains("serves no namespace"), "{:?}", world.result("ns/one"));
    let wake = world.config(config("ext-a").selecting("env", "prod").at_generation(2));
    assert_eq!(classes(&wake), ["ns/one"], "it is not served either way, but for another reason");
}

#[test]
fn a_class_waits_for_its_namespace_to_be_known_before_a_selector_judges_it() {
    let mut world = World::default();
    let _ = world.config(config("ext-a").selecting("env", "prod"));
    let _ = world.discover("ext-a", &asked(&["dv.ext-a"]));
    let _ = world.class(class("ns/one").asking("dv.ext-a"));
    world.settle();
    assert!(!world.results.contains_key(&key("ns/one")));
    assert_eq!(classes(&world.namespace("ns", &[("env", "prod")])), ["ns/one"]);
    world.settle();
    assert_eq!(world.evaluations[&key("ns/one")], 1);
}

// ---- handlers ----

#[test]
fn only_a_timeout_or_a_failure_policy_wakes_no_class_but_counts_for_the_next_call() {
    let mut world = discovered();
    let _ = world.class(class("ns/one").asking("dv.ext-a"));
    let mut world = world.at_rest();
    let mut patient = asked(&["dv.ext-a", "other.ext-a"]);
    patient[0].timeout_seconds = Some(30);
    patient[0].failure_policy = Some(kapstan_api::extension_config::FailurePolicy::Ignore);
    let wake = world.discover("ext-a", &patient);
    assert_eq!((configs(&wake), classes(&wake)), (vec!["ext-a".to_owned()], vec![]));
    let question = world.question("ns/one");
    let call = world.call(question).unwrap();
    assert_eq!(call.timeout, std::time::Duration::from_secs(30));
    assert_eq!(call.failure_policy, kapstan_api::extension_config::FailurePolicy::Ignore);
}

#[rstest]
#[case::removed(vec![handler("other.ext-a", "DiscoverVariables")], &["ns/one"])]
#[case::moved_to_another_hook(
    vec![handler("dv.ext-a", "GeneratePatches"), handler("other.ext-a", "DiscoverVariables")], &["ns/one"])]
#[case::added(asked(&["dv.ext-a", "other.ext-a", "new.ext-a"]), &["ns/new"])]
#[case::in_another_order(asked(&["other.ext-a", "dv.ext-a"]), &[])]
#[case::all_removed(vec![], &["ns/one", "ns/other"])]
fn a_changed_handler_wakes_those_that_name_it_for_variables(
    #[case] handlers: Vec<kapstan_api::extension_config::ExtensionHandler>,
    #[case] expected: &[&str],
) {
    let mut world = discovered();
    let _ = world.class(class("ns/one").asking("dv.ext-a"));
    let _ = world.class(class("ns/other").asking("other.ext-a"));
    let _ = world.class(class("ns/new").asking("new.ext-a"));
    let _ = world.class(class("ns/generating").generating_with("dv.ext-a").validating_with("new.ext-a"));
    let mut world = world.at_rest();
    assert_eq!(classes(&world.discover("ext-a", &handlers)), expected);
    world.settle();
    assert_eq!(world.evaluations.len(), expected.len());
}

// ---- answers ----

#[test]
fn the_same_answer_wakes_nobody_but_those_that_wait() {
    let mut world = discovered();
    let _ = world.class(class("ns/one").asking("dv.ext-a"));
    let mut world = world.at_rest();
    let question = world.question("ns/one");
    let _ = world.call(question);
    assert_eq!(classes(&world.answer(question, answered("answer"))), NOBODY);
    world.index.reopen(question);
    let _ = world.class(class("ns/late").asking("dv.ext-a"));
    assert!(!world.gather(&key("ns/late")).unwrap().open.is_empty());
    assert_eq!(classes(&world.answer(question, answered("answer"))), ["ns/late"]);
}

#[test]
fn a_new_answer_wakes_those_that_ask_it() {
    let mut world = discovered();
    for (name, value) in [("one", "x"), ("two", "x"), ("three", "y")] {
        let _ = world.class(class(&format!("ns/{name}")).asking_with("dv.ext-a", "size", value));
    }
    let mut world = world.at_rest();
    let question = world.question("ns/one");
    assert_eq!(question, world.question("ns/two"));
    assert_eq!(classes(&world.answer(question, answered("news"))), ["ns/one", "ns/two"]);
    assert_eq!(
        classes(&world.answer(question, QuestionOutcome::Failed("down".into()))),
        ["ns/one", "ns/two"]
    );
    assert_eq!(classes(&world.answer(question, QuestionOutcome::Failed("down".into()))), NOBODY);
}

#[test]
fn a_new_answer_to_a_reopened_question_wakes_also_those_that_did_not_reopen_it() {
    let mut world = discovered();
    let _ = world.class(class("ns/one").asking("dv.ext-a"));
    let _ = world.class(class("ns/two").asking("dv.ext-a"));
    let mut world = world.at_rest();
    let question = world.question("ns/one");
    world.index.reopen(question);
    let _ = world.gather(&key("ns/one"));
    assert_eq!(classes(&world.answer(question, answered("news"))), ["ns/one", "ns/two"]);
}

#[test]
fn settings_with_the_same_answers_evaluate_nothing() {
    let mut world = discovered();
    let _ = world.class(class("ns/one").asking("dv.ext-a"));
    let mut world = world.at_rest();
    let old = world.question("ns/one");
    assert_eq!(classes(&world.config(config("ext-a").with_setting("a", "b").at_generation(2))), NOBODY);
    assert_eq!(classes(&world.discover("ext-a", &asked(&["dv.ext-a", "other.ext-a"]))), ["ns/one"]);
    world.settle();
    assert_ne!(world.question("ns/one"), old);
    assert_eq!(world.asked, [world.question("ns/one")]);
    assert!(world.evaluations.is_empty());
}

#[test]
fn a_question_is_asked_once_however_many_classes_wait_for_it() {
    let mut world = discovered();
    for name in ["one", "two", "three"] {
        let _ = world.class(class(&format!("ns/{name}")).asking("dv.ext-a"));
    }
    for name in ["one", "two", "three"] {
        let _ = world.gather(&key(&format!("ns/{name}")));
    }
    assert_eq!(world.asked.len(), 1);
    let question = world.question("ns/one");
    let _ = world.call(question);
    let _ = world.gather(&key("ns/two"));
    assert_eq!(world.asked.len(), 1, "also while the call is under way");
    let _ = world.answer(question, answered("answer"));
    world.index.reopen(question);
    let _ = world.gather(&key("ns/one"));
    let _ = world.gather(&key("ns/two"));
    assert_eq!(world.asked.len(), 2, "and once more when the answer is no longer at hand");
}

#[test]
fn a_question_that_the_clock_repeats_is_not_asked_a_second_time_meanwhile() {
    let mut world = discovered();
    let _ = world.class(class("ns/one").asking("dv.ext-a"));
    let mut world = world.at_rest();
    let question = world.question("ns/one");
    let _ = world.call(question);
    world.index.reopen(question);
    assert!(!world.gather(&key("ns/one")).unwrap().open.is_empty());
    assert!(world.asked.is_empty());
    assert_eq!(classes(&world.answer(question, answered("answer"))), ["ns/one"]);
}

#[test]
fn a_class_is_woken_only_when_the_last_thing_it_waits_for_arrives() {
    let mut world = discovered();
    let _ = world.config(config("ext-b"));
    let both = class("ns/one").asking("dv.ext-a").asking("other.ext-a").asking("dv.ext-b");
    let _ = world.class(both.using("MachineTemplate", "t"));
    let open = world.gather(&key("ns/one")).unwrap().open;
    assert_eq!(open.len(), 4, "{open:?}");
    let questions: Vec<_> = world.index.asks.rights(&key("ns/one")).copied().collect();
    for question in questions {
        assert_eq!(classes(&world.answer(question, answered("answer"))), NOBODY);
    }
    assert_eq!(classes(&world.kind("MachineTemplate", &[])), NOBODY);
    assert_eq!(classes(&world.discover("ext-b", &[])), ["ns/one"]);
    world.settle();
    assert_eq!(world.evaluations[&key("ns/one")], 1);
}

#[test]
fn why_a_question_is_asked_follows_what_happened() {
    let mut world = discovered();
    let _ = world.class(class("ns/one").asking("dv.ext-a"));
    world.index.started();
    let _ = world.gather(&key("ns/one"));
    let question = world.question("ns/one");
    let cause = |world: &World, key| world.index.questions[&key].cause;
    assert_eq!(cause(&world, question), Cause::Restart);
    world.woken.insert(key("ns/one"));
    world.settle();
    assert_eq!(cause(&world, question), Cause::Refresh);
    let _ = world.answer(question, QuestionOutcome::Failed("down".into()));
    assert_eq!(cause(&world, question), Cause::Probe);
    let _ = world.config(config("ext-a").with_setting("a", "b").at_generation(2));
    let _ = world.discover("ext-a", &asked(&["dv.ext-a"]));
    let _ = world.gather(&key("ns/one"));
    let question = world.question("ns/one");
    assert_eq!(cause(&world, question), Cause::Change, "the restart is long over");
}

// ---- standing ----

#[test]
fn undiscovered_is_not_the_same_as_no_handlers() {
    let mut world = World::default();
    let _ = world.class(class("ns/one").asking("dv.ext-a"));
    world.settle();
    assert_eq!(
        world.result("ns/one"),
        ["patch-0: handler dv.ext-a is not registered: there is no ExtensionConfig ext-a"]
    );
    let _ = world.config(config("ext-a"));
    let _ = world.class(class("ns/two").asking("dv.ext-a"));
    world.settle();
    assert!(!world.results.contains_key(&key("ns/two")), "it waits for the Discovery");
    assert_eq!(classes(&world.fail_discovery("ext-a", "no route")), ["ns/one", "ns/two"]);
    world.settle();
    for name in ["ns/one", "ns/two"] {
        assert!(world.result(name)[0].contains("has not been discovered as it is now"), "{name}");
    }
    assert_eq!(classes(&world.fail_discovery("ext-a", "still no route")), NOBODY);
    assert_eq!(classes(&world.discover("ext-a", &[])), ["ns/one", "ns/two"]);
    world.settle();
    assert!(world.result("ns/one")[0].contains("has no such handler"));
}

#[test]
fn a_failed_discovery_leaves_the_handlers_of_the_last_good_one_in_use() {
    let mut world = discovered();
    let _ = world.class(class("ns/one").asking("dv.ext-a"));
    let mut world = world.at_rest();
    let wake = world.fail_discovery("ext-a", "down");
    assert_eq!((configs(&wake), classes(&wake)), (vec!["ext-a".to_owned()], vec![]));
    assert_eq!(classes(&world.config(config("ext-a").at_url("https://new.test").at_generation(2))), NOBODY);
    assert_eq!(classes(&world.fail_discovery("ext-a", "down")), ["ns/one"]);
    world.settle();
    assert!(world.result("ns/one")[0].contains("has not been discovered as it is now"));
}

#[test]
fn a_paused_config_keeps_its_handlers_from_its_status() {
    let status = |generation: i64| {
        serde_json::json!({
            "conditions": [{ "type": "Discovered", "status": "True", "reason": "Discovered", "message": "",
                "observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z" }],
            "handlers": asked(&["dv.ext-a"]),
        })
    };
    let mut world = World::default();
    let _ = world.config(config("ext-a").paused().with_status(status(1)));
    let _ = world.config(config("ext-b").paused().at_generation(2).with_status(status(1)));
    let _ = world.class(class("ns/one").asking("dv.ext-a"));
    let _ = world.class(class("ns/old").asking("dv.ext-b"));
    world.settle();
    assert!(world.result("ns/one")[0].contains("said"));
    assert!(world.result("ns/old")[0].contains("has not been discovered as it is now"));
    assert!(!world.index.needs_discovery(&"ext-a".into()));
    assert_eq!(world.index.clocked_len(), 1, "the question, but no Discovery");
    assert_eq!(classes(&world.config(config("ext-a").at_version(2).with_status(status(1)))), NOBODY);
    assert!(world.index.needs_discovery(&"ext-a".into()));
    let wake = world.discover("ext-a", &asked(&["dv.ext-a"]));
    assert_eq!(classes(&wake), NOBODY, "what was in the status has proved true");
}

#[test]
fn a_discovery_that_never_got_its_turn_is_asked_for_when_the_config_is_unpaused() {
    let mut world = World::default();
    let _ = world.config(config("ext-a"));
    let job = world.discovery("ext-a");
    assert!(world.index.begin(&job).is_some(), "it waits for its turn");
    let _ = world.config(config("ext-a").paused());
    assert!(world.index.begin(&job).is_none(), "and is not made any more");
    let _ = world.config(config("ext-a"));
    assert!(world.index.needs_discovery(&"ext-a".into()));
}

#[test]
fn a_failed_discovery_is_tried_again_when_the_config_is_unpaused() {
    let mut world = World::default();
    let _ = world.config(config("ext-a"));
    let _ = world.fail_discovery("ext-a", "down");
    assert!(!world.index.needs_discovery(&"ext-a".into()), "the back-off has it");
    let _ = world.config(config("ext-a").paused());
    let job = world.discovery("ext-a");
    assert!(world.index.begin(&job).is_none(), "and loses it, since a paused config is not called");
    let wake = world.config(config("ext-a"));
    assert_eq!(configs(&wake), ["ext-a"]);
    assert!(world.index.needs_discovery(&"ext-a".into()));
}

#[test]
fn a_config_that_waits_for_its_ca_is_neither_called_nor_taken_for_empty() {
    let mut world = World::default();
    let wake = world.config(config("ext-a").with_ca_from("ns/ca"));
    assert!(wake.watches);
    let _ = world.class(class("ns/one").asking("dv.ext-a"));
    world.settle();
    assert!(!world.index.needs_discovery(&"ext-a".into()));
    assert!(world.result("ns/one")[0].contains("has not been discovered as it is now"));
    let _ = world.config(config("ext-a").with_ca_from("ns/ca").with_bundle("pem").at_generation(2));
    assert!(world.index.needs_discovery(&"ext-a".into()));
    assert_eq!(classes(&world.discover("ext-a", &asked(&["dv.ext-a"]))), ["ns/one"]);
}

// ---- Secrets, kinds, CRDs ----

#[test]
fn secrets_are_in_use_while_a_config_names_them() {
    let mut world = World::default();
    let secrets = |world: &mut World| {
        let mut secrets: Vec<String> =
            world.index.watched().secrets.iter().map(ToString::to_string).collect();
        secrets.sort();
        secrets
    };
    assert!(world.config(config("ext-a").with_ca_from("ns/one")).watches);
    assert!(!world.config(config("ext-b").with_ca_from("ns/one")).watches);
    assert_eq!(secrets(&mut world), ["ns/one"]);
    let secret = SecretKey::parse("ns/one").unwrap();
    let named = world.index.configs_of_secret(&secret);
    assert_eq!(named.map(ToString::to_string).collect::<Vec<_>>(), ["ext-a", "ext-b"]);
    assert!(world.config(config("ext-a").with_ca_from("ns/two").at_version(2)).watches);
    assert_eq!(secrets(&mut world), ["ns/one", "ns/two"]);
    assert!(world.delete_config("ext-b").watches);
    assert!(world.config(config("ext-a").with_ca_from("malformed").at_version(3)).watches);
    assert_eq!(secrets(&mut world), NOBODY);
}

#[test]
fn kinds_are_in_use_while_a_class_names_them() {
    let mut world = World::default();
    assert!(world.class(class("ns/one").using("MachineTemplate", "a")).watches);
    assert!(!world.class(class("ns/two").using("MachineTemplate", "b")).watches);
    let older = class("ns/three").using_version("v1beta1", "MachineTemplate", "b");
    assert!(world.class(older).watches, "another version may be the one that is served");
    let versions =
        |world: &mut World| format!("{:?}", world.index.watched().kinds.get(&kind("MachineTemplate")));
    assert_eq!(versions(&mut world), r#"Some({"v1beta1", "v1beta2"})"#);
    let _ = world.delete_class("ns/one");
    assert!(world.delete_class("ns/three").watches);
    assert_eq!(versions(&mut world), r#"Some({"v1beta2"})"#);
    assert!(world.class(class("ns/two").at_generation(2)).watches);
    assert!(world.index.watched().kinds.is_empty());
}

#[test]
fn a_relabelled_crd_wakes_the_classes_that_use_its_kind() {
    let mut world = World::default();
    let _ = world.class(class("ns/one").using("MachineTemplate", "t"));
    let _ = world.class(class("ns/other").using("ClusterTemplate", "t"));
    let _ = world.kind("MachineTemplate", &[("ns/t", unowned())]);
    let _ = world.kind("ClusterTemplate", &[("ns/t", unowned())]);
    let mut world = world.at_rest();
    let contract = "cluster.x-k8s.io/v1beta2";
    assert_eq!(classes(&world.crd("MachineTemplate", &[(contract, "v1beta2")])), ["ns/one"]);
    assert_eq!(classes(&world.crd("MachineTemplate", &[(contract, "v1beta2"), ("any", "x")])), NOBODY);
    assert_eq!(classes(&world.crd("MachineTemplate", &[(contract, "v1beta2_v1beta3")])), ["ns/one"]);
    assert_eq!(classes(&world.index.delete_crd(&crd("MachineTemplate"))), ["ns/one"]);
    assert_eq!(classes(&world.index.reset_crds(vec![(crd("MachineTemplate"), labels(&[]))])), ["ns/one"]);
}

#[test]
fn an_unavailable_kind_is_looked_up_again_when_its_crd_comes() {
    let mut world = World::default();
    let _ = world.class(class("ns/one").using("MachineTemplate", "t"));
    let _ = world.gather(&key("ns/one"));
    let wake = world.index.kind_unavailable(&kind("MachineTemplate"), "not served".into());
    assert_eq!(classes(&world.note(wake)), ["ns/one"]);
    world.settle();
    assert!(world.result("ns/one")[0].contains("not served"));
    assert_eq!(
        world.index.kind_unavailable(&kind("MachineTemplate"), "not served".into()),
        super::super::Wake::default()
    );
    assert!(world.crd("MachineTemplate", &[]).watches);
    assert!(!world.index.apply_crd(&"machines.other.group".into(), labels(&[])).watches);
    assert_eq!(classes(&world.kind("MachineTemplate", &[("ns/t", unowned())])), ["ns/one"]);
    world.settle();
    assert!(world.result("ns/one")[0].contains("Found"));
}

// ---- templates ----

#[test]
fn a_template_that_comes_or_goes_wakes_the_classes_that_refer_to_it() {
    let mut world = World::default();
    let _ = world.class(class("ns/one").using("MachineTemplate", "t"));
    let _ = world.class(class("ns/two").using("MachineTemplate", "t-2"));
    let _ = world.class(class("other/one").using("MachineTemplate", "t"));
    let _ = world.kind("MachineTemplate", &[]);
    let mut world = world.at_rest();
    let wake = world.template(&template("MachineTemplate", "ns/t"), unowned());
    assert_eq!(classes(&wake), ["ns/one"]);
    world.settle();
    assert_eq!(world.evaluations[&key("ns/one")], 1);
    assert_eq!(classes(&world.delete_template(&template("MachineTemplate", "ns/t"))), ["ns/one"]);
    assert_eq!(classes(&world.template(&template("MachineTemplate", "ns/unused"), unowned())), NOBODY);
}

#[test]
fn a_removed_owner_reference_concerns_the_template_alone() {
    let mut world = World::default();
    let _ = world.class(class("ns/one").using("MachineTemplate", "t"));
    let _ = world.kind("MachineTemplate", &[("ns/t", unowned())]);
    let mut world = world.at_rest();
    let key = template("MachineTemplate", "ns/t");
    let stripped = super::super::template::Template { resource_version: "9".to_owned(), ..unowned() };
    let wake = world.template(&key, stripped);
    assert_eq!((classes(&wake), wake.templates.len()), (vec![], 1));
    assert!(world.own(&key).is_some());
    assert_eq!(world.own(&key), None);
}

#[test]
fn five_hundred_classes_of_one_template_are_owned_by_one_write() {
    let mut world = World::default();
    for number in 0..500 {
        let _ = world.class(class(&format!("ns/class-{number}")).using("MachineTemplate", "t"));
    }
    let _ = world.kind("MachineTemplate", &[("ns/t", unowned())]);
    while let Some(class) = world.woken.first().cloned() {
        let _ = world.gather(&class);
    }
    let wake = world.own(&template("MachineTemplate", "ns/t")).unwrap();
    assert_eq!(wake.classes.len(), 500);
    world.settle();
    assert!(world.evaluations.values().all(|count| *count == 1));
    assert_eq!(world.evaluations.len(), 500);
}

#[test]
fn a_class_does_not_wait_for_a_template_that_cannot_be_owned() {
    let mut world = World::default();
    let _ = world.class(class("ns/one").using("MachineTemplate", "t"));
    let deleting = super::super::template::Template { is_deleting: true, ..unowned() };
    let _ = world.kind("MachineTemplate", &[("ns/t", deleting)]);
    world.settle();
    assert!(world.result("ns/one")[0].contains("deleted"), "{:?}", world.result("ns/one"));
    assert_eq!(world.own(&template("MachineTemplate", "ns/t")), None);
}

#[test]
fn a_refused_owner_reference_ends_the_wait_and_belongs_to_that_template() {
    let mut world = World::default();
    let _ = world.class(class("ns/one").using("MachineTemplate", "t"));
    let _ = world.kind("MachineTemplate", &[("ns/t", unowned())]);
    let mut world = world.at_rest();
    let key = template("MachineTemplate", "ns/t");
    let again = |uid: &str| super::super::template::Template { uid: uid.into(), ..unowned() };
    let _ = world.template(&key, again("uid-second"));
    let wake = world.index.template_refused(&key, "uid-second", Some("forbidden".into()));
    assert_eq!(classes(&world.note(wake)), ["ns/one"]);
    world.settle();
    assert!(world.result("ns/one")[0].contains("forbidden"));
    let late = world.index.template_refused(&key, "uid-first", Some("late".into()));
    assert_eq!(late, super::super::Wake::default());
    let _ = world.template(&key, again("uid-third"));
    world.settle();
    assert!(world.result("ns/one")[0].contains("Found"), "{:?}", world.result("ns/one"));
    let _ = world.template(&key, owned_by(&[]));
}
