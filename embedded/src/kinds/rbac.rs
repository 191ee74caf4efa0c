//! Roles and their bindings. They are stored; nobody is kept from anything by them.

use serde_json::Value;

use super::{Strategy, default_to, items, items_mut, one_of, text};
use crate::names::{self, Judge};
use crate::status::{Cause, quoted};

const GROUP: &str = "rbac.authorization.k8s.io";

/// A role of a namespace or of the cluster.
pub(crate) struct Role;

impl Strategy for Role {
    fn judge(&self) -> Judge {
        names::path_segment
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn validate(&self, object: &Value, _old: Option<&Value>, _api_version: &str) -> Vec<Cause> {
        let rules = items(object, "rules").enumerate();
        rules.flat_map(|(index, rule)| bad_rule(rule, &format!("rules[{index}]"))).collect()
    }
}

/// A binding in a namespace or in the cluster.
pub(crate) struct RoleBinding;

impl Strategy for RoleBinding {
    fn judge(&self) -> Judge {
        names::path_segment
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn default(&self, object: &mut Value) {
        if text(&object["roleRef"], "apiGroup").is_empty() {
            crate::store::object_mut(&mut object["roleRef"]).insert("apiGroup".to_owned(), GROUP.into());
        }
        for subject in items_mut(object, "subjects") {
            if matches!(text(subject, "kind"), "User" | "Group") {
                default_to(subject, "apiGroup", GROUP);
            }
        }
    }

    fn validate(&self, object: &Value, old: Option<&Value>, _api_version: &str) -> Vec<Cause> {
        let role = &object["roleRef"];
        let mut causes: Vec<_> =
            one_of("roleRef.apiGroup".to_owned(), text(role, "apiGroup"), &[GROUP]).into_iter().collect();
        let kinds: &[&str] = if object["metadata"]["namespace"].is_null() {
            &["ClusterRole"]
        } else {
            &["ClusterRole", "Role"]
        };
        causes.extend(one_of("roleRef.kind".to_owned(), text(role, "kind"), kinds));
        if text(role, "name").is_empty() {
            causes.push(Cause::required("roleRef.name", ""));
        }
        for (index, subject) in items(object, "subjects").enumerate() {
            let is_namespaced = !object["metadata"]["namespace"].is_null();
            causes.extend(bad_subject(subject, &format!("subjects[{index}]"), is_namespaced));
        }
        if old.is_some_and(|old| old["roleRef"] != *role) {
            causes.push(Cause::invalid("roleRef", &role.to_string(), "cannot change roleRef"));
        }
        causes
    }
}

fn bad_rule(rule: &Value, field: &str) -> Vec<Cause> {
    let has = |name: &str| items(rule, name).next().is_some();
    let mut causes = Vec::new();
    if !has("verbs") {
        causes.push(Cause::required(format!("{field}.verbs"), "verbs must contain at least one value"));
    }
    if has("nonResourceURLs") {
        if has("apiGroups") || has("resources") || has("resourceNames") {
            let detail = "rules cannot apply to both regular resources and non-resource URLs";
            causes.push(Cause::invalid(
                format!("{field}.nonResourceURLs"),
                &rule["nonResourceURLs"].to_string(),
                detail,
            ));
        }
        return causes;
    }
    if !has("apiGroups") {
        let detail = "resource rules must supply at least one api group";
        causes.push(Cause::required(format!("{field}.apiGroups"), detail));
    }
    if !has("resources") {
        let detail = "resource rules must supply at least one resource";
        causes.push(Cause::required(format!("{field}.resources"), detail));
    }
    causes
}

/// A service account without a namespace is one of the binding's.
fn bad_subject(subject: &Value, field: &str, is_namespaced: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    if text(subject, "name").is_empty() {
        causes.push(Cause::required(format!("{field}.name"), ""));
    }
    match text(subject, "kind") {
        "ServiceAccount" => {
            let name = text(subject, "name");
            let complaints = names::subdomain(name).into_iter().filter(|_| !name.is_empty());
            causes.extend(complaints.map(|why| Cause::invalid(format!("{field}.name"), &quoted(name), &why)));
            causes.extend(one_of(format!("{field}.apiGroup"), text(subject, "apiGroup"), &[""]));
            if !is_namespaced && text(subject, "namespace").is_empty() {
                causes.push(Cause::required(format!("{field}.namespace"), ""));
            }
        }
        "User" | "Group" => {
            causes.extend(one_of(format!("{field}.apiGroup"), text(subject, "apiGroup"), &[GROUP]));
        }
        other => causes.push(Cause::not_supported(
            format!("{field}.kind"),
            other,
            &["ServiceAccount", "User", "Group"],
        )),
    }
    causes
}
