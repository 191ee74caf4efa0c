//! Annotations and labels that Cluster API gives a meaning.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// On any Cluster API object: controllers leave the object alone while it is there, whatever its value.
pub const PAUSED: &str = "cluster.x-k8s.io/paused";

/// On an `ExtensionConfig`: the Secret, as `<namespace>/<name>`, whose entry [`CA_ENTRY`] becomes
/// `spec.clientConfig.caBundle`.
pub const INJECT_CA_FROM_SECRET: &str = "runtime.cluster.x-k8s.io/inject-ca-from-secret";

/// The entry of a Secret that holds CA certificates, PEM encoded.
pub const CA_ENTRY: &str = "ca.crt";

/// What the contract labels of a `CustomResourceDefinition` start with. The rest of the key is a contract
/// version; the value lists the API versions that serve it, joined by `_`.
pub const CONTRACT_LABEL_PREFIX: &str = "cluster.x-k8s.io/";

/// Whether the object is paused: the annotation [`PAUSED`] is there, with any value.
#[must_use]
pub fn is_paused(metadata: &ObjectMeta) -> bool {
    get(metadata, PAUSED).is_some()
}

/// The value of one annotation; `None` when it is absent, `Some("")` when it is empty.
#[must_use]
pub fn get<'a>(metadata: &'a ObjectMeta, name: &str) -> Option<&'a str> {
    value(metadata.annotations.as_ref(), name)
}

fn value<'a>(annotations: Option<&'a BTreeMap<String, String>>, name: &str) -> Option<&'a str> {
    annotations?.get(name).map(String::as_str)
}
