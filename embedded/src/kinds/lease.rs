//! Leases.

use serde_json::Value;

use super::Strategy;
use crate::status::{Cause, quoted};

pub(crate) struct Lease;

impl Strategy for Lease {
    fn creates_on_update(&self) -> bool {
        true
    }

    fn updates_unconditionally(&self) -> bool {
        false
    }

    fn validate(&self, object: &Value, _old: Option<&Value>, _api_version: &str) -> Vec<Cause> {
        let spec = &object["spec"];
        let mut causes = Vec::new();
        if let Some(seconds) = spec["leaseDurationSeconds"].as_i64().filter(|seconds| *seconds <= 0) {
            let field = "spec.leaseDurationSeconds";
            causes.push(Cause::invalid(field, &seconds.to_string(), "must be greater than 0"));
        }
        if let Some(count) = spec["leaseTransitions"].as_i64().filter(|count| *count < 0) {
            let detail = "must be greater than or equal to 0";
            causes.push(Cause::invalid("spec.leaseTransitions", &count.to_string(), detail));
        }
        if spec["holderIdentity"] == "" {
            causes.push(Cause::invalid("spec.holderIdentity", &quoted(""), "must not be empty"));
        }
        causes
    }
}
