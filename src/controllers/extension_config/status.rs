//! What the status of an `ExtensionConfig` should say. Pure.

use jiff::Timestamp;
use kapstan_api::{
    conditions, discovery,
    extension_config::{ExtensionConfigStatus, ExtensionHandler},
    handler_name,
};
use serde_json::{Value, json};

use super::{
    KIND,
    plan::{Ca, State},
};
use crate::controllers::pending;

/// The status that `state` deserves, as the body of a merge patch; `None` when it is there already, or when there is
/// nothing to say before the Discovery under way has ended. `pending` says since when that has been awaited, when it is
/// to be told.
#[must_use]
pub fn after(state: &State, pending: Option<Timestamp>, now: Timestamp) -> Option<Value> {
    let observed = state.config.object.status.clone().unwrap_or_default();
    let mut desired = observed.clone();
    if !state.config.is_paused && !judge(state, pending, &mut desired, now) {
        return None;
    }
    let paused = conditions::paused(KIND, state.config.is_paused, Some(state.config.generation));
    conditions::set(&mut desired.conditions, paused, now);
    (desired != observed).then(|| body(&observed, &desired))
}

/// Sets handlers and `Discovered`, unless it is too early for that.
fn judge(
    state: &State,
    pending: Option<Timestamp>,
    desired: &mut ExtensionConfigStatus,
    now: Timestamp,
) -> bool {
    let Some((wanted, deprecated)) = verdict(state, pending, desired) else { return false };
    conditions::set(&mut desired.conditions, wanted, now);
    conditions::v1beta1::set_deprecated(&mut desired.deprecated, deprecated, now);
    true
}

/// Sets handlers and says what is to be said of them, unless it is too early for that.
fn verdict(
    state: &State,
    pending: Option<Timestamp>,
    desired: &mut ExtensionConfigStatus,
) -> Option<(conditions::Wanted, conditions::v1beta1::Wanted)> {
    let generation = Some(state.config.generation);
    if let Some(awaited) = state.awaited() {
        let types = (conditions::types::DISCOVERED, conditions::v1beta1::types::DISCOVERED);
        let waits = |since| pending::conditions(types, state.config.generation, since, &[awaited]);
        return pending.map(waits);
    }
    Some(match (&state.ca, &state.discovered) {
        (Ca::Missing(why), _) if !state.has_bundle() => discovery::not_discovered(generation, why),
        (_, Some(discovered)) => match &discovered.result {
            Ok(handlers) => {
                // The order means nothing, so what another manager wrote in its own order is left alone.
                if by_name(&desired.handlers) != by_name(handlers) {
                    desired.handlers = handlers.to_vec();
                }
                let (wanted, deprecated) = discovery::discovered(generation);
                (wanted.message(&remarks(state)), deprecated)
            }
            Err(why) => discovery::not_discovered(generation, why),
        },
        _ => return None,
    })
}

fn by_name(handlers: &[ExtensionHandler]) -> Vec<&ExtensionHandler> {
    let mut handlers: Vec<_> = handlers.iter().collect();
    handlers.sort_by(|a, b| a.name.cmp(&b.name));
    handlers
}

/// What a reader should know of a config whose Discovery went well.
fn remarks(state: &State) -> String {
    let mut remarks = Vec::new();
    if let Ca::Missing(why) = &state.ca {
        remarks.push(format!("{why}; the CA bundle that is in place stays in use"));
    }
    if !handler_name::is_nameable(&state.config.name) {
        remarks.push("no ClusterClass can name these handlers, because the name of the ExtensionConfig has a dot in it".to_owned());
    }
    remarks.join("; ")
}

/// What differs, field by field; a list goes out whole, also an empty one, so that stale entries vanish.
fn body(observed: &ExtensionConfigStatus, desired: &ExtensionConfigStatus) -> Value {
    let mut status = json!({});
    if desired.conditions != observed.conditions {
        status["conditions"] = json!(desired.conditions);
    }
    if desired.handlers != observed.handlers {
        status["handlers"] = json!(desired.handlers);
    }
    if desired.deprecated != observed.deprecated {
        status["deprecated"] = json!(desired.deprecated);
    }
    json!({ "status": status })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::ByteString;

    use super::*;
    use crate::{
        controllers::tests::fixtures::{assert_no_null, patched},
        index::{
            place::SecretState,
            tests::fixtures::{Object, World, asked, config},
        },
    };

    const MISSING: &str =
        "Secret ns/ca not found, annotation runtime.cluster.x-k8s.io/inject-ca-from-secret names it";

    fn now(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    /// A condition that is none of ours.
    fn foreign(type_: &str) -> Value {
        json!({ "type": type_, "status": "True", "reason": "R", "message": "m",
            "lastTransitionTime": "2020-01-01T00:00:00Z" })
    }

    /// What another manager of the same contract left: three handlers, two of them stale.
    fn stale() -> Value {
        json!({
            "conditions": [foreign("Foreign")],
            "handlers": asked(&["old-1.ext-a", "dv.ext-a", "old-2.ext-a"]),
            "deprecated": { "v1beta1": { "conditions": [
                { "type": "Old", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z" }
            ] } },
        })
    }

    /// The config as it is, discovered with these handlers.
    fn discovered(object: &Object, handlers: &[&str]) -> World {
        let mut world = World::default();
        let _ = world.config(object.clone());
        let _ = world.discover("ext-a", &asked(handlers));
        world
    }

    fn after_in(world: &World, second: i64) -> Option<Value> {
        let body = after(&State::read(&world.index, &"ext-a".into()).unwrap(), None, now(second));
        body.inspect(assert_no_null)
    }

    fn condition<'a>(body: &'a Value, type_: &str) -> &'a Value {
        let conditions = body["status"]["conditions"].as_array().unwrap();
        conditions.iter().find(|condition| condition["type"] == type_).unwrap()
    }

    #[test]
    fn a_second_look_at_what_was_written_changes_nothing() {
        let object = config("ext-a").with_status(stale());
        let body = after_in(&discovered(&object, &["dv.ext-a"]), 0).unwrap();
        let written = patched(&object, &body).at_version(2);
        assert_eq!(after_in(&discovered(&written, &["dv.ext-a"]), 60), None);
    }

    #[test]
    fn handlers_are_replaced_whole_and_what_is_foreign_stays() {
        let body = after_in(&discovered(&config("ext-a").with_status(stale()), &["dv.ext-a"]), 0).unwrap();
        assert_eq!(body["status"]["handlers"], json!(asked(&["dv.ext-a"])));
        assert_eq!(condition(&body, "Foreign"), &foreign("Foreign"));
        let deprecated = &body["status"]["deprecated"]["v1beta1"]["conditions"];
        let types: Vec<&str> = deprecated
            .as_array()
            .unwrap()
            .iter()
            .map(|condition| condition["type"].as_str().unwrap())
            .collect();
        assert_eq!(types, ["Discovered", "Old"]);
    }

    #[test]
    fn stale_handlers_vanish_also_when_there_are_none_now() {
        let body = after_in(&discovered(&config("ext-a").with_status(stale()), &[]), 0).unwrap();
        assert_eq!(body["status"]["handlers"], json!([]));
    }

    #[test]
    fn handlers_in_another_order_are_the_same() {
        let object = config("ext-a").with_status(json!({ "handlers": asked(&["b.ext-a", "a.ext-a"]) }));
        let body = after_in(&discovered(&object, &["a.ext-a", "b.ext-a"]), 0).unwrap();
        assert_eq!(body["status"].get("handlers"), None);
    }

    #[test]
    fn the_transition_time_moves_only_with_the_status() {
        let object = config("ext-a").with_status(stale());
        let good = discovered(&object, &["dv.ext-a"]);
        let object = patched(&object, &after_in(&good, 0).unwrap()).at_version(2).at_generation(2);
        let mut world = discovered(&object, &["dv.ext-a"]);
        let next = after_in(&world, 60).unwrap();
        assert_eq!(condition(&next, "Discovered")["observedGeneration"], 2);
        assert_eq!(condition(&next, "Discovered")["lastTransitionTime"], json!(now(0).to_string()));
        let _ = world.fail_discovery("ext-a", "no route");
        let failed = after_in(&world, 120).unwrap();
        assert_eq!(condition(&failed, "Discovered")["lastTransitionTime"], json!(now(120).to_string()));
        assert_eq!(condition(&failed, "Paused")["lastTransitionTime"], json!(now(0).to_string()));
    }

    #[test]
    fn a_failed_discovery_says_why_and_keeps_the_handlers() {
        let mut world = World::default();
        let _ = world.config(config("ext-a").with_status(stale()));
        let _ = world.fail_discovery("ext-a", "no route");
        let body = after_in(&world, 0).unwrap();
        assert_eq!(body["status"].get("handlers"), None);
        let discovered = condition(&body, "Discovered");
        assert_eq!((&discovered["status"], &discovered["message"]), (&json!("False"), &json!("no route")));
        assert_eq!(body["status"]["deprecated"]["v1beta1"]["conditions"][0]["reason"], "DiscoveryFailed");
    }

    #[test]
    fn nothing_is_said_before_the_discovery_has_ended() {
        let mut world = World::default();
        let _ = world.config(config("ext-a"));
        assert_eq!(after_in(&world, 0), None);
        let _ = world.discover("ext-a", &[]);
        let _ = world.config(config("ext-a").at_generation(2));
        assert_eq!(after_in(&world, 0), None, "what was found is about another generation");
    }

    #[test]
    fn a_paused_config_says_so_and_nothing_else() {
        let mut world = World::default();
        let _ = world.config(config("ext-a").paused().with_status(stale()));
        let body = after_in(&world, 0).unwrap();
        assert_eq!(body["status"].as_object().unwrap().keys().collect::<Vec<_>>(), ["conditions"]);
        assert_eq!(condition(&body, "Paused")["status"], "True");
        assert_eq!(body["status"]["conditions"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn a_missing_ca_is_named_and_a_bundle_in_place_stays_in_use() {
        let mut world = World::default();
        let _ = world.config(config("ext-a").with_ca_from("ns/ca"));
        assert_eq!(after_in(&world, 0), None, "the Secret is not known yet");
        let _ = world.secret("ns/ca", SecretState::Absent);
        let body = after_in(&world, 0).unwrap();
        assert_eq!(condition(&body, "Discovered")["message"], MISSING);
        let _ = world.secret("ns/ca", SecretState::Present(None));
        let message = condition(&after_in(&world, 0).unwrap(), "Discovered")["message"].clone();
        assert_eq!(message, "Secret ns/ca has no entry ca.crt, or an empty one");
        let _ = world.secret("ns/ca", SecretState::Unavailable("forbidden".into()));
        let message = condition(&after_in(&world, 0).unwrap(), "Discovered")["message"].clone();
        assert_eq!(message, "Secret ns/ca cannot be read: forbidden");
        let _ = world.secret("ns/ca", SecretState::Absent);
        let _ = world.config(config("ext-a").with_ca_from("ns/ca").with_bundle("pem").at_generation(2));
        let _ = world.discover("ext-a", &[]);
        let discovered = condition(&after_in(&world, 0).unwrap(), "Discovered").clone();
        let message = format!("{MISSING}; the CA bundle that is in place stays in use");
        assert_eq!((&discovered["status"], &discovered["message"]), (&json!("True"), &json!(message)));
    }

    #[test]
    fn the_bundle_of_the_secret_is_taken_unless_it_is_in_place() {
        let present = || SecretState::Present(Some(ByteString("new".into())));
        let ca = |object: Object, secret: SecretState| {
            let mut world = World::default();
            let _ = world.config(object);
            let _ = world.secret("ns/ca", secret);
            State::read(&world.index, &"ext-a".into()).unwrap().ca
        };
        let object = || config("ext-a").with_ca_from("ns/ca");
        assert_eq!(ca(object(), present()), Ca::Inject(ByteString("new".into())));
        assert_eq!(ca(object().with_bundle("old"), present()), Ca::Inject(ByteString("new".into())));
        assert_eq!(ca(object().with_bundle("new"), present()), Ca::Settled);
        assert_eq!(ca(config("ext-a"), present()), Ca::Settled);
        let malformed = ca(config("ext-a").with_ca_from("ca"), present());
        let Ca::Missing(why) = malformed else { panic!("{malformed:?}") };
        assert!(why.contains(r#""ca", it must name a Secret"#), "{why}");
    }

    #[test]
    fn handlers_that_nobody_can_name_are_remarked_upon() {
        let mut world = World::default();
        let _ = world.config(config("ext.a"));
        let _ = world.discover("ext.a", &asked(&["dv.ext.a"]));
        let body = after(&State::read(&world.index, &"ext.a".into()).unwrap(), None, now(0)).unwrap();
        let message = condition(&body, "Discovered")["message"].as_str().unwrap();
        assert!(message.starts_with("no ClusterClass can name these handlers"), "{message}");
    }

    #[test]
    fn two_hundred_looks_say_the_same_to_the_byte() {
        let bodies: std::collections::BTreeSet<String> = (0..200)
            .map(|_| {
                let object = config("ext-a").with_status(stale());
                let names: Vec<String> = (0..20).map(|number| format!("h-{number}.ext-a")).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                after_in(&discovered(&object, &names), 0).unwrap().to_string()
            })
            .collect();
        assert_eq!(bodies.len(), 1);
    }

    #[test]
    fn a_config_on_its_way_out_is_left_alone() {
        let mut world = World::default();
        let _ = world.config(config("ext-a").deleting());
        assert!(State::read(&world.index, &Arc::from("ext-a")).is_none());
        assert!(!world.index.needs_discovery(&"ext-a".into()));
    }
}
