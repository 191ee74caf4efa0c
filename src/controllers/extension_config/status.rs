//! What the status of an `ExtensionConfig` should say. Pure.

use jiff::Timestamp;
use kapstan_api::{conditions, discovery, extension_config::ExtensionConfigStatus, handler_name};
use serde_json::{Value, json};

use super::{
    KIND,
    plan::{Ca, State},
};

/// The status that `state` deserves, as the body of a merge patch; `None` when it is there already, or when there is
/// nothing to say before the Discovery under way has ended.
#[must_use]
pub fn after(state: &State, now: Timestamp) -> Option<Value> {
    let observed = state.config.object.status.clone().unwrap_or_default();
    let mut desired = observed.clone();
    if !state.config.is_paused && !judge(state, &mut desired, now) {
        return None;
    }
    let paused = conditions::paused(KIND, state.config.is_paused, Some(state.config.generation));
    conditions::set(&mut desired.conditions, paused, now);
    (desired != observed).then(|| body(&observed, &desired))
}

/// Sets handlers and `Discovered`, unless it is too early for that.
fn judge(state: &State, desired: &mut ExtensionConfigStatus, now: Timestamp) -> bool {
    let generation = Some(state.config.generation);
    let (wanted, deprecated) = match (&state.ca, &state.discovered) {
        (Ca::Unknown, _) => return false,
        (Ca::Missing(why), _) if !state.has_bundle() => discovery::not_discovered(generation, why),
        (_, Some(discovered)) if state.is_discovery_current => match &discovered.result {
            Ok(handlers) => {
                desired.handlers = handlers.to_vec();
                let (wanted, deprecated) = discovery::discovered(generation);
                (wanted.message(&remarks(state)), deprecated)
            }
            Err(why) => discovery::not_discovered(generation, why),
        },
        _ => return false,
    };
    conditions::set(&mut desired.conditions, wanted, now);
    conditions::v1beta1::set_deprecated(&mut desired.deprecated, deprecated, now);
    true
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
