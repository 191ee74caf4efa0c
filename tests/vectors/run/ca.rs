//! `extensionconfig_reconcile.json`: the CA bundle from a Secret. What read-only mode asks for is the manager's.

use std::collections::BTreeMap;

use k8s_openapi::{ByteString, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kapstan_api::{
    annotations::{self, INJECT_CA_FROM_SECRET},
    ca::{Missing, SecretRef, bundle},
};
use serde_json::{Value, json};

use crate::{Case, Runner};

/// Answered differently on purpose.
const EXCEPTIONS: [(&str, &str); 1] = [(
    "ca-bundle/empty-entry",
    "an empty ca.crt counts as missing: upstream blanks a bundle that works, and the CRD refuses an empty one",
)];

pub(super) const RUNNER: Runner = Runner {
    file: "extensionconfig_reconcile.json",
    run: |case| (answer(case), case.expect.clone()),
    covers: |case| case.group() == "ca-bundle",
    exceptions: &EXCEPTIONS,
};

fn answer(case: &Case) -> Value {
    let metadata = ObjectMeta {
        annotations: serde_json::from_value(case.input["annotations"].clone()).unwrap(),
        ..ObjectMeta::default()
    };
    let before = case.input["caBundle"].clone();
    let keys: Vec<_> = annotations::get(&metadata, INJECT_CA_FROM_SECRET).into_iter().collect();
    let outcome = SecretRef::of(&metadata)
        .map(|secret| secret.and_then(|secret| bundle(&secret, data(case, &secret).as_ref())));
    match outcome {
        None => json!({"ok": true, "caBundle": before, "indexKeys": keys}),
        Some(Ok(bundle)) => json!({"ok": true, "caBundle": bundle, "indexKeys": keys}),
        Some(Err(missing)) => {
            json!({"ok": false, "reason": reason(&missing), "caBundle": before, "indexKeys": keys})
        }
    }
}

fn data(case: &Case, secret: &SecretRef) -> Option<BTreeMap<String, ByteString>> {
    let mut secrets = case.input["secrets"].as_array().unwrap().iter();
    let found =
        secrets.find(|found| found["namespace"] == *secret.namespace && found["name"] == *secret.name)?;
    Some(serde_json::from_value(found["data"].clone()).unwrap())
}

fn reason(missing: &Missing) -> &'static str {
    match missing {
        Missing::MalformedName { .. } => "malformedName",
        Missing::SecretNotFound { .. } => "secretNotFound",
        Missing::EntryMissing { .. } => "entryMissing",
    }
}
