//! CRDs as objects. What they define is in `registry::custom`.

use kapstan_schema::Schema;
use serde_json::{Value, json};

use super::{
    Strategy, Surroundings, bump_generation, default_to, items, keep, one_of, start_generation, text,
};
use crate::names;
use crate::status::{Cause, quoted};
use crate::store::object_mut;

/// The finalizer that stands until the resources of a CRD are gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

pub(crate) struct Crd;

impl Strategy for Crd {
    fn updates_unconditionally(&self) -> bool {
        false
    }

    fn default(&self, object: &mut Value) {
        let spec = &mut object["spec"];
        let names = &mut spec["names"];
        let kind = text(names, "kind").to_owned();
        if !kind.is_empty() {
            default_to(names, "singular", kind.to_lowercase());
            default_to(names, "listKind", format!("{kind}List"));
        }
        default_to(spec, "conversion", json!({ "strategy": "None" }));
        if let Some(service) = spec.pointer_mut("/conversion/webhook/clientConfig/service") {
            default_to(service, "port", 443);
        }
    }

    fn prepare_create(&self, object: &mut Value, _surroundings: &dyn Surroundings) {
        start_generation(object);
        let stored: Vec<_> = storage_version(object).into_iter().collect();
        let status = json!({
            "conditions": null,
            "acceptedNames": { "kind": "", "plural": "" },
            "storedVersions": stored,
        });
        object_mut(object).insert("status".to_owned(), status);
    }

    fn prepare_update(&self, object: &mut Value, old: &Value, subresource: &str) {
        if subresource == "status" {
            keep(object, old, "spec");
            return;
        }
        keep(object, old, "status");
        if object["spec"] != old["spec"] {
            bump_generation(object, old);
        }
        if let Some(storage) = storage_version(object)
            && let Value::Array(stored) = &mut object["status"]["storedVersions"]
            && !stored.contains(&Value::from(storage.as_str()))
        {
            stored.push(storage.into());
        }
    }

    fn validate(&self, object: &Value, old: Option<&Value>, _api_version: &str) -> Vec<Cause> {
        let spec = &object["spec"];
        if old.is_some_and(|old| old["spec"] == *spec) {
            return Vec::new();
        }
        let mut causes = bad_names(object);
        causes.extend(bad_versions(spec));
        causes.extend(old.map(|old| changed(spec, &old["spec"])).unwrap_or_default());
        causes
    }
}

fn storage_version(object: &Value) -> Option<String> {
    let version = items(&object["spec"], "versions").find(|version| version["storage"] == true);
    version.map(|version| text(version, "name").to_owned())
}

fn bad_names(object: &Value) -> Vec<Cause> {
    let spec = &object["spec"];
    let (group, names) = (text(spec, "group"), &spec["names"]);
    let name = text(&object["metadata"], "name");
    let mut causes = Vec::new();
    if name != format!("{}.{group}", text(names, "plural")) {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        causes.push(Cause::invalid("metadata.name", &quoted(name), detail));
    }
    if group.is_empty() {
        causes.push(Cause::required("spec.group", ""));
    } else {
        let complaints = names::subdomain(group).into_iter();
        causes.extend(complaints.map(|why| Cause::invalid("spec.group", &quoted(group), &why)));
        if group.split('.').count() < 2 {
            let detail = "should be a domain with at least one dot";
            causes.push(Cause::invalid("spec.group", &quoted(group), detail));
        }
    }
    match text(spec, "scope") {
        "" => causes.push(Cause::required("spec.scope", "")),
        scope => causes.extend(one_of("spec.scope".to_owned(), scope, &["Cluster", "Namespaced"])),
    }
    for field in ["plural", "singular", "kind", "listKind"] {
        causes.extend(bad_name(text(names, field), field));
    }
    if !group.is_empty()
        && is_protected(group)
        && object["metadata"]["annotations"]["api-approved.kubernetes.io"].is_null()
    {
        let detail = "protected groups must have approval annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111";
        causes.push(Cause::required("metadata.annotations[api-approved.kubernetes.io]", detail));
    }
    causes
}

fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group == *domain || group.ends_with(&format!(".{domain}")))
        && !group.ends_with("x-k8s.io")
}

fn bad_name(name: &str, field: &str) -> Vec<Cause> {
    if name.is_empty() {
        return vec![Cause::required(format!("spec.names.{field}"), "")];
    }
    let judged = if matches!(field, "kind" | "listKind") { name.to_lowercase() } else { name.to_owned() };
    let complaints = names::dns_1035_label(&judged).into_iter();
    complaints
        .map(|why| {
            let why = if judged == name {
                why
            } else {
                format!("may have mixed case, but should otherwise match: {why}")
            };
            Cause::invalid(format!("spec.names.{field}"), &quoted(name), &why)
        })
        .collect()
}

fn bad_versions(spec: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let versions = || items(spec, "versions");
    for (index, version) in versions().enumerate() {
        causes.extend(bad_version(version, &format!("spec.versions[{index}]")));
    }
    let shown = spec["versions"].to_string();
    let names: Vec<_> = versions().map(|version| text(version, "name")).collect();
    if names.iter().enumerate().any(|(index, name)| names[..index].contains(name)) {
        causes.push(Cause::invalid("spec.versions", &shown, "must contain unique version names"));
    }
    if versions().filter(|version| version["storage"] == true).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", &shown, detail));
    }
    match text(&spec["conversion"], "strategy") {
        "" => causes.push(Cause::required("spec.conversion.strategy", "")),
        strategy => {
            causes.extend(one_of("spec.conversion.strategy".to_owned(), strategy, &["None", "Webhook"]));
        }
    }
    causes
}

fn bad_version(version: &Value, field: &str) -> Vec<Cause> {
    let name = text(version, "name");
    let complaints = names::dns_1035_label(name).into_iter();
    let mut causes: Vec<_> =
        complaints.map(|why| Cause::invalid(format!("{field}.name"), &quoted(name), &why)).collect();
    let schema = &version["schema"]["openAPIV3Schema"];
    let at = format!("{field}.schema.openAPIV3Schema");
    if schema.is_null() {
        causes.push(Cause::required(at, ""));
    } else if let Err(errors) = Schema::parse_at(schema, &at) {
        causes.extend(errors.into_errors().into_iter().map(Cause::from));
    }
    for (index, column) in items(version, "additionalPrinterColumns").enumerate() {
        causes.extend(bad_column(column, &format!("{field}.additionalPrinterColumns[{index}]")));
    }
    causes
}

fn bad_column(column: &Value, field: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    if text(column, "name").is_empty() {
        causes.push(Cause::required(format!("{field}.name"), ""));
    }
    match text(column, "type") {
        "" => {
            let detail = "must be one of boolean,date,integer,number,string";
            causes.push(Cause::required(format!("{field}.type"), detail));
        }
        value_type => {
            let types = ["boolean", "date", "integer", "number", "string"];
            if !types.contains(&value_type) {
                let detail = "must be one of boolean,date,integer,number,string";
                causes.push(Cause::invalid(format!("{field}.type"), &quoted(value_type), detail));
            }
        }
    }
    let path = text(column, "jsonPath");
    if path.is_empty() {
        causes.push(Cause::required(format!("{field}.jsonPath"), ""));
    } else if let Err(why) = crate::rest::JsonPath::parse(path) {
        causes.push(Cause::invalid(
            format!("{field}.jsonPath"),
            &quoted(path),
            &format!("is an invalid path: {why}"),
        ));
    }
    causes
}

/// What cannot change once the names are accepted.
fn changed(spec: &Value, old: &Value) -> Vec<Cause> {
    let fields = ["/group", "/scope", "/names/kind", "/names/plural"];
    let change = |pointer: &&str| {
        let (new, old) = (spec.pointer(pointer)?, old.pointer(pointer)?);
        super::immutable(&format!("spec{}", pointer.replace('/', ".")), new, old)
    };
    fields.iter().filter_map(change).collect()
}
