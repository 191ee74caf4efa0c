//! What an object says that has waited for long (`--pending-after`): that its result is not known yet, what it waits
//! for and since when. Once in each generation, and never in place of a condition that is true for the generation.

use std::{hash::Hash, time::Duration};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kapstan_api::conditions::{self, Status, reasons, v1beta1};

use super::Context;
use crate::{
    index::waiting::{Moment, Waiting},
    queue::{Priority, Queue},
};

/// How many things are named that an object waits for; the rest is counted.
const MAX_NAMED: usize = 20;

/// Whether a condition has still to say that its result is awaited: it is neither true for this generation nor says so.
#[must_use]
pub fn is_to_be_said(conditions: &[Condition], type_: &str, generation: i64) -> bool {
    conditions::get(conditions, type_).is_none_or(|condition| {
        let says_so = condition.status == "True" || condition.reason == reasons::DISCOVERY_PENDING;
        condition.observed_generation != Some(generation) || !says_so
    })
}

/// Since when an object waits, once that is to be said; before, it is queued for the moment at which it is.
pub fn due<K: Clone + Eq + Hash + Ord>(
    ctx: &Context,
    queue: &Queue<K>,
    key: &K,
    since: Option<Moment>,
) -> Option<Timestamp> {
    let since = since.filter(|_| !ctx.pending_after.is_zero())?;
    let left = ctx.pending_after.saturating_sub(ctx.clock.now().saturating_duration_since(since.instant));
    if left > Duration::ZERO {
        queue.add_after(key.clone(), left, Priority::Change);
        return None;
    }
    Some(since.timestamp)
}

/// Notes whether an object of this generation waits. Since when it has, if that was not told yet.
#[must_use]
pub fn note(waiting: Option<&mut Waiting>, generation: i64, waits: bool, now: Moment) -> Option<Moment> {
    let waiting = waiting?;
    if waits {
        return waiting.goes_on(generation, now);
    }
    waiting.ends();
    None
}

/// Both conditions of an object that waits for these things.
#[must_use]
pub fn conditions(
    (type_, v1beta1_type): (&'static str, &'static str),
    generation: i64,
    since: Timestamp,
    awaited: &[String],
) -> (conditions::Wanted, v1beta1::Wanted) {
    let message = message(since, awaited);
    let wanted = conditions::Wanted::new(type_, Status::Unknown, reasons::DISCOVERY_PENDING);
    let deprecated = v1beta1::Wanted::unknown(v1beta1_type, v1beta1::reasons::DISCOVERY_PENDING, &message);
    (wanted.observed_generation(Some(generation)).message(&message), deprecated)
}

fn message(since: Timestamp, awaited: &[String]) -> String {
    // Whole seconds, as every time in a condition.
    let since = Timestamp::from_second(since.as_second()).unwrap_or(since);
    let named = &awaited[..awaited.len().min(MAX_NAMED)];
    let rest = awaited.len() - named.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("waiting since {since} for {}{more}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        controllers::tests::fixtures::{Bench, offering, pass},
        index::tests::fixtures::{asked, class, config, key},
        runtime::{Options, tests::in_process::Behaviour},
    };

    const CONFIG: &str = "/apis/runtime.cluster.x-k8s.io/v1beta2/extensionconfigs/ext-a";
    const CLASS: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/ns/clusterclasses/one";
    const SECOND: Duration = Duration::from_secs(1);

    /// Answers as it should, but only after `after`.
    fn slow(after: Duration) -> Behaviour {
        let Behaviour::Answer { status, body, .. } = offering(&["dv"], "region") else { panic!("no answer") };
        Behaviour::Answer { status, body, after }
    }

    fn bench(behaviour: Behaviour) -> Bench {
        let bench = Bench::new(Options::default());
        bench.run();
        bench.extension.behave(behaviour);
        bench
    }

    /// What was written to the object there, and how often its kind was evaluated.
    fn counts(bench: &Bench, path: &str, kind: &str) -> (usize, u64) {
        let writes = bench.server.patches.lock().iter().filter(|(at, _)| at.starts_with(path)).count();
        (writes, bench.metric(&format!("kapstan_evaluations_total{{kind=\"{kind}\"}}")))
    }

    fn condition(bench: &Bench, path: &str, type_: &str) -> Value {
        let object = bench.server.object(path);
        let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        conditions.clone().find(|condition| condition["type"] == type_).cloned().unwrap_or_default()
    }

    #[tokio::test(start_paused = true)]
    async fn a_config_that_waits_says_so_with_one_write_and_one_evaluation_more() {
        let quick = bench(slow(4 * SECOND));
        quick.create_config(config("ext-a"));
        pass(60 * SECOND).await;
        assert_eq!(counts(&quick, CONFIG, "ExtensionConfig"), (1, 2));
        let bench = bench(slow(9 * SECOND));
        bench.create_config(config("ext-a"));
        pass(6 * SECOND).await;
        let discovered = condition(&bench, CONFIG, "Discovered");
        assert_eq!(
            (&discovered["status"], &discovered["reason"], &discovered["observedGeneration"]),
            (&json!("Unknown"), &json!("DiscoveryPending"), &json!(1))
        );
        assert_eq!(discovered["message"], "waiting since 2026-01-01T00:00:00Z for the answer to Discovery");
        let deprecated = &bench.server.object(CONFIG)["status"]["deprecated"]["v1beta1"]["conditions"][0];
        assert_eq!(
            (&deprecated["type"], &deprecated["status"], &deprecated["reason"]),
            (&json!("Discovered"), &json!("Unknown"), &json!("DiscoveryPending"))
        );
        pass(60 * SECOND).await;
        assert_eq!(condition(&bench, CONFIG, "Discovered")["status"], "True");
        assert_eq!(counts(&bench, CONFIG, "ExtensionConfig"), (2, 3));
        assert_eq!(bench.metric("kapstan_pending_total{kind=\"ExtensionConfig\"}"), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_class_that_waits_says_so_with_one_write_and_one_evaluation_more() {
        let bench = bench(slow(Duration::ZERO));
        bench.create_config(config("ext-a"));
        pass(SECOND).await;
        bench.extension.behave(slow(9 * SECOND));
        bench.create_class(class("ns/one").asking("dv.ext-a"));
        pass(6 * SECOND).await;
        let ready = condition(&bench, CLASS, "VariablesReady");
        assert_eq!((&ready["status"], &ready["reason"]), (&json!("Unknown"), &json!("DiscoveryPending")));
        assert_eq!(ready["message"], "waiting since 2026-01-01T00:00:01Z for the answer of handler dv.ext-a");
        assert_eq!(condition(&bench, CLASS, "RefVersionsUpToDate"), Value::Null, "it waits for no template");
        assert_eq!(bench.server.object(CLASS)["status"].get("observedGeneration"), None);
        pass(60 * SECOND).await;
        assert_eq!(condition(&bench, CLASS, "VariablesReady")["status"], "True");
        assert_eq!(bench.server.object(CLASS)["status"]["observedGeneration"], 1);
        assert_eq!(counts(&bench, CLASS, "ClusterClass"), (2, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_class_names_all_that_it_waits_for_by_condition() {
        let bench = bench(Behaviour::HangBeforeHeaders);
        bench.create_config(config("ext-a"));
        let class = class("ns/one").asking("dv.ext-a").asking("other.ext-a").using("MachineTemplate", "t");
        bench.create_class(class);
        pass(6 * SECOND).await;
        let since = "waiting since 2026-01-01T00:00:00Z for";
        assert_eq!(
            condition(&bench, CLASS, "VariablesReady")["message"],
            format!("{since} the Discovery of ExtensionConfig ext-a")
        );
        let templates = condition(&bench, CLASS, "RefVersionsUpToDate");
        assert_eq!(
            templates["message"],
            format!("{since} the list of MachineTemplate.infrastructure.cluster.x-k8s.io")
        );
        assert_eq!(templates["reason"], "DiscoveryPending");
        assert_eq!(counts(&bench, CLASS, "ClusterClass"), (1, 1), "one write for both");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_true_for_the_generation_stays_true_while_the_object_waits() {
        let bench = bench(Behaviour::HangBeforeHeaders);
        let discovered = json!({ "type": "Discovered", "status": "True", "reason": "Discovered", "message": "",
            "observedGeneration": 1, "lastTransitionTime": "2025-01-01T00:00:00Z" });
        let ready = json!({ "type": "VariablesReady", "status": "True", "reason": "VariablesReady",
            "message": "", "observedGeneration": 1, "lastTransitionTime": "2025-01-01T00:00:00Z" });
        let status = json!({ "conditions": [discovered], "handlers": asked(&["dv.ext-a"]) });
        bench.create_config(config("ext-a").with_status(status));
        bench.create_class(class("ns/one").asking("dv.ext-a").with_status(json!({ "conditions": [ready] })));
        pass(9 * SECOND).await;
        assert!(bench.server.patches.lock().is_empty());
        let evaluated = bench.metric("kapstan_evaluations_total{kind=\"ExtensionConfig\"}");
        assert_eq!((evaluated, counts(&bench, CLASS, "ClusterClass").1), (1, 0), "and none looks again");
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_is_told_once_in_a_generation() {
        let bench = bench(slow(Duration::ZERO));
        bench.create_config(config("ext-a"));
        pass(SECOND).await;
        bench.extension.behave(Behaviour::HangBeforeHeaders);
        bench.create_class(class("ns/one").asking("dv.ext-a"));
        pass(11 * SECOND).await;
        assert_eq!(condition(&bench, CLASS, "VariablesReady")["status"], "False", "the call was given up");
        let before = bench.server.patches.lock().len();
        // Other settings are another question, for the same generation of the class.
        let bundle = String::from_utf8(bench.extension.bundle.clone()).unwrap();
        let changed = config("ext-a").at_url("https://ext.test:9443").with_bundle(&bundle);
        let changed = changed.with_setting("size", "l").at_generation(2).at_version(50);
        bench.context.shared.change(|index| index.apply_config(changed.config()));
        let waits = |bench: &Bench| bench.with(|index| index.gather(&key("ns/one"))).unwrap().open.len();
        pass(9 * SECOND).await;
        assert_eq!(waits(&bench), 1);
        let patches = bench.server.patches.lock().split_off(before);
        assert!(patches.iter().all(|(path, _)| !path.starts_with(CLASS)), "{patches:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn zero_never_says_that_anything_waits() {
        let mut bench = Bench::new(Options::default());
        bench.context.pending_after = Duration::ZERO;
        bench.run();
        bench.extension.behave(slow(9 * SECOND));
        bench.create_config(config("ext-a"));
        pass(60 * SECOND).await;
        assert_eq!(counts(&bench, CONFIG, "ExtensionConfig"), (1, 2));
    }

    #[rstest]
    #[case::true_for_this_generation("True", "Discovered", 2, false)]
    #[case::true_for_an_earlier_one("True", "Discovered", 1, true)]
    #[case::false_for_this_generation("False", "NotDiscovered", 2, true)]
    #[case::said_for_this_generation("Unknown", "DiscoveryPending", 2, false)]
    #[case::said_for_an_earlier_one("Unknown", "DiscoveryPending", 1, true)]
    fn only_what_is_true_or_said_for_the_generation_is_left_alone(
        #[case] status: &str,
        #[case] reason: &str,
        #[case] generation: i64,
        #[case] expected: bool,
    ) {
        let condition = Condition {
            type_: "Discovered".to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: String::new(),
            observed_generation: Some(generation),
            last_transition_time: Time(Timestamp::UNIX_EPOCH),
        };
        assert_eq!(is_to_be_said(&[condition], "Discovered", 2), expected);
        assert!(is_to_be_said(&[], "Discovered", 2));
    }

    #[test]
    fn the_first_twenty_things_are_named_and_the_rest_counted() {
        let awaited: Vec<String> = (0..22).map(|number| format!("thing-{number}")).collect();
        let text = message("2026-01-01T00:00:00.5Z".parse().unwrap(), &awaited);
        assert!(text.starts_with("waiting since 2026-01-01T00:00:00Z for thing-0, thing-1, "), "{text}");
        assert!(text.ends_with("thing-18, thing-19 and 2 more"), "{text}");
        assert!(message(Timestamp::UNIX_EPOCH, &awaited[..1]).ends_with("for thing-0"));
    }
}
