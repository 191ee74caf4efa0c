//! Endpoint slices.

use serde_json::Value;

use super::{
    Strategy, Surroundings, bump_generation, default_to, immutable, items, items_mut, one_of,
    start_generation, text,
};
use crate::registry::content;
use crate::status::Cause;

pub(crate) struct EndpointSlice;

impl Strategy for EndpointSlice {
    fn default(&self, object: &mut Value) {
        for port in items_mut(object, "ports") {
            default_to(port, "name", "");
            default_to(port, "protocol", "TCP");
        }
    }

    fn prepare_create(&self, object: &mut Value, _surroundings: &dyn Surroundings) {
        start_generation(object);
    }

    fn prepare_update(&self, object: &mut Value, old: &Value, _subresource: &str) {
        let labels = |object: &Value| object["metadata"]["labels"].clone();
        if content(object) != content(old) || labels(object) != labels(old) {
            bump_generation(object, old);
        }
    }

    fn validate(&self, object: &Value, old: Option<&Value>, _api_version: &str) -> Vec<Cause> {
        let address_type = text(object, "addressType");
        let types = ["FQDN", "IPv4", "IPv6"];
        let mut causes = Vec::new();
        if address_type.is_empty() {
            causes.push(Cause::required("addressType", ""));
        } else {
            causes.extend(one_of("addressType".to_owned(), address_type, &types));
        }
        for (index, endpoint) in items(object, "endpoints").enumerate() {
            if endpoint["addresses"].as_array().is_none_or(Vec::is_empty) {
                let detail = "must contain at least 1 address";
                causes.push(Cause::required(format!("endpoints[{index}].addresses"), detail));
            }
        }
        for (index, port) in items(object, "ports").enumerate() {
            let field = format!("ports[{index}].protocol");
            causes.extend(one_of(field, text(port, "protocol"), &["SCTP", "TCP", "UDP"]));
        }
        causes.extend(
            old.and_then(|old| immutable("addressType", &object["addressType"], &old["addressType"])),
        );
        causes
    }
}
