//! `ExtensionConfig` of `runtime.cluster.x-k8s.io/v1beta2`: where an extension is, and what it can do.
//!
//! Shape: Cluster API `api/runtime/v1beta2/extensionconfig_types.go` and the CRD made from it.

use std::{collections::BTreeMap, fmt};

use k8s_openapi::{
    ByteString,
    apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, ObjectMeta},
};
use kube_core::ClusterResourceScope;
use serde::{Deserialize, Serialize};

use crate::{
    conditions::v1beta1::Deprecated,
    kind::custom_kind,
    wire::{Unknown, empty_is_none, is_absent, is_default, null_is_default, unknown_of_object},
};

/// The API group of `ExtensionConfig`.
pub const GROUP: &str = "runtime.cluster.x-k8s.io";
/// The version that is read and written.
pub const VERSION: &str = "v1beta2";

/// A Runtime Extension: an HTTPS server with handlers for hooks. Cluster-scoped.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct ExtensionConfig {
    /// Standard metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// What the user asks for. A missing spec reads as an empty one.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: ExtensionConfigSpec,
    /// What was found out. `None` until a controller has written it.
    #[serde(default, deserialize_with = "empty_is_none")]
    pub status: Option<ExtensionConfigStatus>,
    /// Fields of the object that this type does not know.
    #[serde(flatten, deserialize_with = "unknown_of_object")]
    pub unknown: Unknown,
}

custom_kind!(
    ExtensionConfig, ExtensionConfigSpec,
    scope: ClusterResourceScope, group: GROUP, version: VERSION, plural: "extensionconfigs"
);

/// What the user asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionConfigSpec {
    /// How the extension is reached.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub client_config: ClientConfig,
    /// The namespaces whose objects the extension is called for. `None` and an empty selector match every
    /// namespace (admission writes the empty one).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// Sent with every call except Discovery; a patch's own settings win key by key.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// How an extension is reached: by URL or by Service. Admission lets exactly one of them through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientConfig {
    /// Base URL, `https` only.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub url: Option<String>,
    /// The Service in front of the extension.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub service: Option<ServiceReference>,
    /// PEM encoded certificates that may have signed the extension's certificate. Unset means the system's
    /// roots. An empty bundle is the same as none.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub ca_bundle: Option<ByteString>,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// A Service, its port and the path under which it serves hooks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceReference {
    /// The Service's namespace.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub namespace: String,
    /// The Service's name.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub name: String,
    /// What comes before the hook's own path. Unset means nothing.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub path: Option<String>,
    /// Unset means 443.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// What was found out about an extension.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExtensionConfigStatus {
    /// At least `Discovered` and `Paused` once a controller has been here.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The handlers of the last good discovery, under their full names.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub handlers: Vec<ExtensionHandler>,
    /// Conditions in the style of `v1beta1`.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub deprecated: Option<Deprecated>,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// One handler of an extension.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionHandler {
    /// Full name, `<handler>.<extensionconfig>`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub name: String,
    /// The hook it serves.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub request_hook: GroupVersionHookRef,
    /// How many seconds a call may take. Unset means [`DEFAULT_TIMEOUT_SECONDS`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<i32>,
    /// What a failed call means. Unset means [`FailurePolicy::Fail`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_policy: Option<FailurePolicy>,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// How many seconds a call may take when its handler does not say.
///
/// Behaviour: Cluster API `DefaultHandlersTimeoutSeconds`.
pub const DEFAULT_TIMEOUT_SECONDS: i32 = 10;

/// The hook that a handler serves, as written in a status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupVersionHookRef {
    /// `<group>/<version>` of the hook.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub api_version: String,
    /// The hook's name, case-sensitive.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub hook: String,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// What a failed call (no connection, a status other than 200, an unreadable body) means. An answer that says
/// "Failure" is no failed call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum FailurePolicy {
    /// The call counts as answered with success and nothing in it.
    Ignore,
    /// The call's failure is the caller's failure.
    Fail,
    /// A value of another version, kept as it is; behaves as [`FailurePolicy::Fail`].
    Other(String),
}

impl FailurePolicy {
    /// The value on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Ignore => "Ignore",
            Self::Fail => "Fail",
            Self::Other(value) => value,
        }
    }
}

impl From<String> for FailurePolicy {
    fn from(value: String) -> Self {
        match value.as_str() {
            "Ignore" => Self::Ignore,
            "Fail" => Self::Fail,
            _ => Self::Other(value),
        }
    }
}

impl From<FailurePolicy> for String {
    fn from(policy: FailurePolicy) -> Self {
        policy.as_str().to_owned()
    }
}

impl fmt::Display for FailurePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
