//! Services.

use serde_json::{Value, json};

use super::{Strategy, Surroundings, default_to, items, items_mut, keep, one_of, text};
use crate::names::{self, Judge};
use crate::status::{Cause, quoted};
use crate::store::object_mut;

pub(crate) struct Service;

impl Strategy for Service {
    fn judge(&self) -> Judge {
        names::label
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn returns_deleted(&self) -> bool {
        true
    }

    fn default(&self, object: &mut Value) {
        let spec = object_mut(object).entry("spec").or_insert_with(|| json!({}));
        default_to(spec, "type", "ClusterIP");
        default_to(spec, "sessionAffinity", "None");
        if text(spec, "type") != "ExternalName" {
            default_to(spec, "internalTrafficPolicy", "Cluster");
        }
        for port in items_mut(spec, "ports") {
            default_to(port, "protocol", "TCP");
            let number = port["port"].clone();
            default_to(port, "targetPort", number);
        }
    }

    fn prepare_create(&self, object: &mut Value, surroundings: &dyn Surroundings) {
        object_mut(object).insert("status".to_owned(), json!({ "loadBalancer": {} }));
        let spec = &mut object["spec"];
        if text(spec, "type") == "ExternalName" {
            return;
        }
        let address = match text(spec, "clusterIP") {
            "" => surroundings.free_address().to_string(),
            given => given.to_owned(),
        };
        default_to(spec, "clusterIPs", json!([address]));
        object_mut(spec).insert("clusterIP".to_owned(), address.into());
        default_to(spec, "ipFamilies", json!(["IPv4"]));
        default_to(spec, "ipFamilyPolicy", "SingleStack");
    }

    fn prepare_update(&self, object: &mut Value, old: &Value, subresource: &str) {
        if subresource == "status" {
            keep(object, old, "spec");
            return;
        }
        keep(object, old, "status");
        let (spec, old) = (&mut object["spec"], &old["spec"]);
        for name in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if spec.get(name).is_none() {
                keep(spec, old, name);
            }
        }
    }

    fn validate(&self, object: &Value, old: Option<&Value>, _api_version: &str) -> Vec<Cause> {
        let spec = &object["spec"];
        let mut causes = Vec::new();
        let ingress = &object["status"]["loadBalancer"]["ingress"];
        if text(spec, "type") != "LoadBalancer" && ingress.as_array().is_some_and(|list| !list.is_empty()) {
            let detail = "may only be used when `spec.type` is 'LoadBalancer'";
            causes.push(Cause::forbidden("status.loadBalancer.ingress", detail));
        }
        if let Some(old) = old.filter(|_| text(spec, "type") != "ExternalName") {
            let (new, old) = (&spec["clusterIP"], &old["spec"]["clusterIP"]);
            if new != old && !old.is_null() {
                let detail = "may not change once set";
                causes.push(Cause::invalid("spec.clusterIPs[0]", &json!([new]).to_string(), detail));
            }
        }
        let is_headless = spec["clusterIP"] == "None";
        if spec["ports"].as_array().is_none_or(Vec::is_empty)
            && !is_headless
            && text(spec, "type") != "ExternalName"
        {
            causes.push(Cause::required("spec.ports", ""));
        }
        let is_named = spec["ports"].as_array().is_some_and(|ports| ports.len() > 1);
        for (index, port) in items(spec, "ports").enumerate() {
            causes.extend(bad_port(port, &format!("spec.ports[{index}]"), is_named));
        }
        let types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
        causes.extend(one_of("spec.type".to_owned(), text(spec, "type"), &types));
        let affinities = ["ClientIP", "None"];
        causes.extend(one_of("spec.sessionAffinity".to_owned(), text(spec, "sessionAffinity"), &affinities));
        causes
    }
}

fn bad_port(port: &Value, field: &str, is_named: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    let name = text(port, "name");
    if is_named && name.is_empty() {
        causes.push(Cause::required(format!("{field}.name"), ""));
    } else if !name.is_empty() {
        let complaints = names::label(name).into_iter();
        causes.extend(complaints.map(|why| Cause::invalid(format!("{field}.name"), &quoted(name), &why)));
    }
    let number = port["port"].as_i64().unwrap_or_default();
    if !(1..=65535).contains(&number) {
        let detail = "must be between 1 and 65535, inclusive";
        causes.push(Cause::invalid(format!("{field}.port"), &number.to_string(), detail));
    }
    causes.extend(one_of(format!("{field}.protocol"), text(port, "protocol"), &["SCTP", "TCP", "UDP"]));
    causes
}
