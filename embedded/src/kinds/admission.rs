//! Webhook configurations. They are stored, and not called.

use serde_json::{Value, json};

use super::{
    Strategy, Surroundings, bump_generation, default_to, items, items_mut, one_of, start_generation, text,
};
use crate::registry::content;
use crate::status::{Cause, quoted};

/// A mutating or a validating configuration.
pub(crate) struct Webhooks;

impl Strategy for Webhooks {
    fn updates_unconditionally(&self) -> bool {
        false
    }

    fn default(&self, object: &mut Value) {
        let is_mutating = object["kind"] == "MutatingWebhookConfiguration";
        for webhook in items_mut(object, "webhooks") {
            default_to(webhook, "failurePolicy", "Fail");
            default_to(webhook, "matchPolicy", "Equivalent");
            default_to(webhook, "namespaceSelector", json!({}));
            default_to(webhook, "objectSelector", json!({}));
            default_to(webhook, "timeoutSeconds", 10);
            if is_mutating {
                default_to(webhook, "reinvocationPolicy", "Never");
            }
            for rule in items_mut(webhook, "rules") {
                default_to(rule, "scope", "*");
            }
            if let Some(service) = webhook.pointer_mut("/clientConfig/service") {
                default_to(service, "port", 443);
            }
        }
    }

    fn prepare_create(&self, object: &mut Value, _surroundings: &dyn Surroundings) {
        start_generation(object);
    }

    fn prepare_update(&self, object: &mut Value, old: &Value, _subresource: &str) {
        if content(object) != content(old) {
            bump_generation(object, old);
        }
    }

    fn validate(&self, object: &Value, _old: Option<&Value>, _api_version: &str) -> Vec<Cause> {
        let webhooks = items(object, "webhooks").enumerate();
        webhooks.flat_map(|(index, webhook)| bad_webhook(webhook, &format!("webhooks[{index}]"))).collect()
    }
}

fn bad_webhook(webhook: &Value, field: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    let name = text(webhook, "name");
    if name.is_empty() {
        causes.push(Cause::required(format!("{field}.name"), ""));
    } else if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        causes.push(Cause::invalid(format!("{field}.name"), &quoted(name), detail));
    }
    match items(webhook, "admissionReviewVersions").next() {
        None => causes.push(Cause::required(
            format!("{field}.admissionReviewVersions"),
            "must specify one of v1, v1beta1",
        )),
        Some(_)
            if !items(webhook, "admissionReviewVersions")
                .any(|version| version == "v1" || version == "v1beta1") =>
        {
            let detail = "must include at least one of v1, v1beta1";
            let value = webhook["admissionReviewVersions"].to_string();
            causes.push(Cause::invalid(format!("{field}.admissionReviewVersions"), &value, detail));
        }
        Some(_) => {}
    }
    let effects = text(webhook, "sideEffects");
    if effects.is_empty() {
        causes
            .push(Cause::required(format!("{field}.sideEffects"), "must specify one of None, NoneOnDryRun"));
    } else {
        causes.extend(one_of(format!("{field}.sideEffects"), effects, &["None", "NoneOnDryRun"]));
    }
    causes.extend(one_of(
        format!("{field}.failurePolicy"),
        text(webhook, "failurePolicy"),
        &["Fail", "Ignore"],
    ));
    let seconds = webhook["timeoutSeconds"].as_i64().unwrap_or_default();
    if !(1..=30).contains(&seconds) {
        let detail = "the timeout value must be between 1 and 30 seconds";
        causes.push(Cause::invalid(format!("{field}.timeoutSeconds"), &seconds.to_string(), detail));
    }
    let config = &webhook["clientConfig"];
    if config["url"].is_string() == config["service"].is_object() {
        causes.push(Cause::required(
            format!("{field}.clientConfig"),
            "exactly one of url or service is required",
        ));
    }
    causes
}
