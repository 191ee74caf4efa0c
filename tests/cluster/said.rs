//! What the conditions of an object say.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kapstan_api::{
    cluster_class::ClusterClass,
    conditions::{
        self,
        v1beta1::{self, Deprecated},
    },
    extension_config::ExtensionConfig,
};

/// The longest message that either style of condition may have.
pub(crate) const MAX_MESSAGE: usize = 10240;

/// Why a config as it is now was not discovered; `None` unless its conditions say that.
pub(crate) fn why_undiscovered(config: &ExtensionConfig) -> Option<String> {
    let status = config.status.as_ref()?;
    let old = (v1beta1::types::DISCOVERED, v1beta1::reasons::DISCOVERY_FAILED);
    let new = (conditions::types::DISCOVERED, conditions::reasons::NOT_DISCOVERED);
    why(&status.conditions, status.deprecated.as_ref(), config.metadata.generation, new, old)
}

/// Why the variables of a class as it is now are not ready; `None` unless its conditions say that.
pub(crate) fn why_unready(class: &ClusterClass) -> Option<String> {
    let status = class.status.as_ref()?;
    let old = (v1beta1::types::VARIABLES_RECONCILED, v1beta1::reasons::VARIABLE_DISCOVERY_FAILED);
    let new = (conditions::types::VARIABLES_READY, conditions::reasons::VARIABLE_DISCOVERY_FAILED);
    why(&status.conditions, status.deprecated.as_ref(), class.metadata.generation, new, old)
}

/// What a condition of a discovered config says besides.
pub(crate) fn remark(config: &ExtensionConfig) -> String {
    let status = config.status.as_ref();
    let condition =
        status.and_then(|status| conditions::get(&status.conditions, conditions::types::DISCOVERED));
    condition.map(|condition| condition.message.clone()).unwrap_or_default()
}

/// The names of a class's variables.
pub(crate) fn variables(class: &ClusterClass) -> Vec<&str> {
    let variables = class.status.iter().flat_map(|status| &status.variables);
    variables.map(|variable| variable.name.as_str()).collect()
}

/// The message of a false condition, which both styles must have.
fn why(
    conditions: &[Condition],
    deprecated: Option<&Deprecated>,
    generation: Option<i64>,
    (type_, reason): (&str, &str),
    (old_type, old_reason): (&str, &str),
) -> Option<String> {
    let condition = conditions::get(conditions, type_)?;
    if condition.status != "False" || condition.observed_generation != generation {
        return None;
    }
    assert_eq!(condition.reason, reason);
    assert!(condition.message.len() <= MAX_MESSAGE, "{} bytes", condition.message.len());
    let old = deprecated.and_then(|deprecated| deprecated.v1beta1.as_ref());
    let old = old.and_then(|old| old.conditions.iter().find(|condition| condition.type_ == old_type));
    let old = old.expect("the deprecated condition must be there too");
    assert_eq!(
        (old.status.as_str(), old.reason.as_deref(), old.message.as_deref()),
        ("False", Some(old_reason), Some(condition.message.as_str()))
    );
    assert_eq!(old.severity, Some(v1beta1::Severity::Error));
    Some(condition.message.clone())
}

/// That a text has all of these in it.
#[track_caller]
pub(crate) fn assert_says(name: &str, text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{name} does not say {word:?}: {text}");
    }
}
