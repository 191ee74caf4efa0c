//! The [`catalog`] of all hooks, and the messages of the hooks Discovery and `DiscoverVariables` that the manager
//! itself asks; those of the others are in [`types::hooks`](crate::types::hooks).
//!
//! Reading is as lenient as upstream's JSON decoder (Go): see [`decode`]. Mirrors Cluster API
//! `api/runtime/hooks/v1alpha1`.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    cluster_class::ClusterClassVariable,
    extension_config::FailurePolicy,
    wire::{is_default, null_is_default},
};

pub mod catalog;

mod all;
mod decode;

pub use all::*;
pub(crate) use decode::prune;
pub use decode::{DecodeError, Named, Shape, Zero, decode, read};

use catalog::GroupVersionHook;

/// A hook: what is asked, what is answered.
pub trait Hook {
    /// The request.
    type Request: Request;
    /// The response.
    type Response: Response;
    /// The hook's name in the catalog.
    const NAME: &'static str;

    /// The hook in the catalog's group and version.
    #[must_use]
    fn group_version_hook() -> GroupVersionHook {
        GroupVersionHook::named(Self::NAME)
    }
}

/// A request or a response of a hook.
pub trait Message: Serialize + DeserializeOwned + Clone + fmt::Debug + Send + Sync + 'static {
    /// The message's `kind`.
    const KIND: &'static str;

    /// Its fields as they are named on the wire.
    #[must_use]
    fn shape() -> Shape;
}

/// What all requests have.
pub trait Request: Message {
    /// What is sent along for the handler; nothing where the hook has no settings.
    fn settings(&self) -> BTreeMap<String, String>;
    /// Replaces it; nothing happens where the hook has no settings.
    fn set_settings(&mut self, settings: BTreeMap<String, String>);
}

/// What all responses have.
pub trait Response: Message {
    /// An answer of success with nothing in it; also what an ignored failure counts as.
    #[must_use]
    fn success() -> Self;
    /// An answer that says no, and why.
    #[must_use]
    fn failure(message: &str) -> Self;
    /// Whether the extension says that it succeeded.
    fn status(&self) -> &ResponseStatus;
    /// What the extension says besides; empty when it says nothing.
    fn message(&self) -> &str;
    /// Says something else besides.
    fn set_message(&mut self, message: String);
    /// After how many seconds to ask again before going on; zero to go on. `None` where the hook has no such field.
    fn retry_after_seconds(&self) -> Option<i32> {
        None
    }
    /// Sets it, where the hook has it.
    fn set_retry_after_seconds(&mut self, _seconds: i32) {}
}

/// Whether an extension says that it succeeded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum ResponseStatus {
    /// It did.
    Success,
    /// It did not.
    Failure,
    /// It says something else, or nothing at all (empty); upstream takes that for a failure.
    Unknown(String),
}

impl ResponseStatus {
    /// The value on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Success => "Success",
            Self::Failure => "Failure",
            Self::Unknown(value) => value,
        }
    }
}

impl Default for ResponseStatus {
    fn default() -> Self {
        Self::Unknown(String::new())
    }
}

impl From<String> for ResponseStatus {
    fn from(value: String) -> Self {
        match value.as_str() {
            "Success" => Self::Success,
            "Failure" => Self::Failure,
            _ => Self::Unknown(value),
        }
    }
}

impl From<ResponseStatus> for String {
    fn from(status: ResponseStatus) -> Self {
        status.as_str().to_owned()
    }
}

impl fmt::Display for ResponseStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Implements [`Default`] (with the type fields filled in) and [`Message`] for a message.
macro_rules! message {
    ($message:ident, $shape:expr, { $($field:ident),* }) => {
        impl Default for $message {
            fn default() -> Self {
                Self {
                    api_version: catalog::API_VERSION.to_owned(),
                    kind: Self::KIND.to_owned(),
                    $($field: Default::default()),*
                }
            }
        }

        impl Message for $message {
            const KIND: &'static str = stringify!($message);

            fn shape() -> Shape {
                $shape
            }
        }
    };
}

/// Implements [`Response`] for a message with `status` and `message`.
macro_rules! response {
    ($response:ident) => {
        impl Response for $response {
            fn success() -> Self {
                Self { status: ResponseStatus::Success, ..Self::default() }
            }

            fn failure(message: &str) -> Self {
                Self { status: ResponseStatus::Failure, message: message.to_owned(), ..Self::default() }
            }

            fn status(&self) -> &ResponseStatus {
                &self.status
            }

            fn message(&self) -> &str {
                &self.message
            }

            fn set_message(&mut self, message: String) {
                self.message = message;
            }
        }
    };
}

/// Asks an extension what it can do.
#[derive(Clone, Copy, Debug)]
pub struct Discovery;

impl Hook for Discovery {
    type Request = DiscoveryRequest;
    type Response = DiscoveryResponse;
    const NAME: &'static str = "Discovery";
}

/// The request of Discovery; it carries nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoveryRequest {
    /// Always [`catalog::API_VERSION`] in what we send.
    #[serde(default, skip_serializing_if = "is_default")]
    pub api_version: String,
    /// The message's kind.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: String,
}

message!(DiscoveryRequest, Shape::object(&[("apiVersion", Shape::Leaf), ("kind", Shape::Leaf)]), {});

/// The response of Discovery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoveryResponse {
    /// Not looked at when it is read.
    #[serde(default, skip_serializing_if = "is_default")]
    pub api_version: String,
    /// Not looked at when it is read.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: String,
    /// Whether the extension says that it succeeded. Written even when empty.
    #[serde(default)]
    pub status: ResponseStatus,
    /// What it says besides.
    #[serde(default, skip_serializing_if = "is_default")]
    pub message: String,
    /// Its handlers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handlers: Vec<DiscoveredHandler>,
}

message!(
    DiscoveryResponse,
    Shape::object(&[
        ("apiVersion", Shape::Leaf),
        ("kind", Shape::Leaf),
        ("status", Shape::Leaf),
        ("message", Shape::Leaf),
        ("handlers", Shape::List(&HANDLER)),
    ]),
    { status, message, handlers }
);
response!(DiscoveryResponse);

const HANDLER: Shape = Shape::object(&[
    ("name", Shape::Leaf),
    ("requestHook", Shape::object(&[("apiVersion", Shape::Leaf), ("hook", Shape::Leaf)])),
    ("timeoutSeconds", Shape::Leaf),
    ("failurePolicy", Shape::Leaf),
]);

/// One handler, as the extension describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoveredHandler {
    /// The handler's name inside the extension.
    #[serde(default)]
    pub name: String,
    /// The hook it serves.
    #[serde(default)]
    pub request_hook: DiscoveredHook,
    /// How many seconds a call may take, 0 to 30. Unset and zero mean the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<i32>,
    /// What a failed call means. Unset means [`FailurePolicy::Fail`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_policy: Option<FailurePolicy>,
}

/// The hook that a handler serves, as the extension names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoveredHook {
    /// `<group>/<version>`.
    #[serde(default)]
    pub api_version: String,
    /// The hook's name, case-sensitive.
    #[serde(default)]
    pub hook: String,
}

impl From<GroupVersionHook> for DiscoveredHook {
    fn from(hook: GroupVersionHook) -> Self {
        Self { api_version: hook.api_version(), hook: hook.hook }
    }
}

/// Asks which variables a patch understands.
#[derive(Clone, Copy, Debug)]
pub struct DiscoverVariables;

impl Hook for DiscoverVariables {
    type Request = DiscoverVariablesRequest;
    type Response = DiscoverVariablesResponse;
    const NAME: &'static str = "DiscoverVariables";
}

/// The request of `DiscoverVariables`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoverVariablesRequest {
    /// Always [`catalog::API_VERSION`] in what we send.
    #[serde(default, skip_serializing_if = "is_default")]
    pub api_version: String,
    /// The message's kind.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: String,
    /// Settings of the `ExtensionConfig`, overlaid with those of the patch.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

message!(
    DiscoverVariablesRequest,
    Shape::object(&[("apiVersion", Shape::Leaf), ("kind", Shape::Leaf), ("settings", Shape::Leaf)]),
    { settings }
);

/// The response of `DiscoverVariables`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoverVariablesResponse {
    /// Not looked at when it is read.
    #[serde(default, skip_serializing_if = "is_default")]
    pub api_version: String,
    /// Not looked at when it is read.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: String,
    /// Whether the extension says that it succeeded. Written even when empty.
    #[serde(default)]
    pub status: ResponseStatus,
    /// What it says besides.
    #[serde(default, skip_serializing_if = "is_default")]
    pub message: String,
    /// The variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<ClusterClassVariable>,
}

message!(
    DiscoverVariablesResponse,
    Shape::object(&[
        ("apiVersion", Shape::Leaf),
        ("kind", Shape::Leaf),
        ("status", Shape::Leaf),
        ("message", Shape::Leaf),
        ("variables", Shape::List(&VARIABLE)),
    ]),
    { status, message, variables }
);
response!(DiscoverVariablesResponse);

const VARIABLE: Shape = Shape::object(&[
    ("name", Shape::Leaf),
    ("required", Shape::Leaf),
    ("deprecatedV1Beta1Metadata", Shape::object(&[("labels", Shape::Leaf), ("annotations", Shape::Leaf)])),
    ("schema", Shape::object(&[("openAPIV3Schema", Shape::object(&[]))])),
]);
