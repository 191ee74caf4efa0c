//! The hooks there are, their names and the paths they are called under.
//!
//! Mirrors Cluster API `api/runtime/catalog` and the registrations in `api/runtime/hooks/v1alpha1`.

use std::fmt;

use crate::extension_config::GroupVersionHookRef;

/// The API group of all hooks.
pub const GROUP: &str = "hooks.runtime.cluster.x-k8s.io";
/// The version of all hooks.
pub const VERSION: &str = "v1alpha1";
/// Group and version of all hooks, as `apiVersion` says it.
pub const API_VERSION: &str = "hooks.runtime.cluster.x-k8s.io/v1alpha1";

/// What the catalog says of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// The hook's name.
    pub hook: &'static str,
    /// The heading under which documentation lists it.
    pub tag: &'static str,
    /// Whether an extension serves it once, without a handler name; only Discovery.
    pub is_singleton: bool,
    /// Whether the request carries settings.
    pub request_has_settings: bool,
    /// Whether an answer can ask to be called again after a while.
    pub response_has_retry_after: bool,
}

const LIFECYCLE: &str = "Lifecycle Hooks";
const IN_PLACE: &str = "In-Place Update Hooks";
const TOPOLOGY: &str = "Topology Mutation Hook";

const fn hook(hook: &'static str, tag: &'static str) -> Descriptor {
    Descriptor { hook, tag, is_singleton: false, request_has_settings: true, response_has_retry_after: false }
}

const fn retried(descriptor: Descriptor) -> Descriptor {
    Descriptor { response_has_retry_after: true, ..descriptor }
}

/// Every hook, sorted by name.
pub const HOOKS: [Descriptor; 17] = [
    retried(hook("AfterClusterUpgrade", LIFECYCLE)),
    hook("AfterControlPlaneInitialized", LIFECYCLE),
    retried(hook("AfterControlPlaneUpgrade", LIFECYCLE)),
    retried(hook("AfterWorkersUpgrade", LIFECYCLE)),
    retried(hook("BeforeClusterCreate", LIFECYCLE)),
    retried(hook("BeforeClusterDelete", LIFECYCLE)),
    retried(hook("BeforeClusterUpgrade", LIFECYCLE)),
    retried(hook("BeforeControlPlaneUpgrade", LIFECYCLE)),
    retried(hook("BeforeWorkersUpgrade", LIFECYCLE)),
    hook("CanUpdateMachine", IN_PLACE),
    hook("CanUpdateMachineSet", IN_PLACE),
    hook("DiscoverVariables", TOPOLOGY),
    Descriptor { is_singleton: true, request_has_settings: false, ..hook("Discovery", "Discovery") },
    hook("GeneratePatches", TOPOLOGY),
    hook("GenerateUpgradePlan", "Chained Upgrade Hook"),
    retried(hook("UpdateMachine", IN_PLACE)),
    hook("ValidateTopology", TOPOLOGY),
];

/// The hook of this name; names are case-sensitive.
#[must_use]
pub fn find(name: &str) -> Option<&'static Descriptor> {
    HOOKS.iter().find(|descriptor| descriptor.hook == name)
}

/// A hook in one version of one group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionHook {
    /// API group; may be empty in what an extension says, never in the catalog.
    pub group: String,
    /// API version.
    pub version: String,
    /// The hook's name, case-sensitive.
    pub hook: String,
}

/// An `apiVersion` with more than one slash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("apiVersion {0:?} is not of the form <group>/<version>")]
pub struct InvalidApiVersion(
    /// The value as it was given, bounded.
    pub String,
);

impl GroupVersionHook {
    /// A hook of the catalog's group and version; whether there is one of this name is not asked.
    #[must_use]
    pub fn named(hook: &str) -> Self {
        Self { group: GROUP.to_owned(), version: VERSION.to_owned(), hook: hook.to_owned() }
    }

    /// A hook as a handler names it. A missing group or version reads as an empty one.
    ///
    /// # Errors
    /// [`InvalidApiVersion`] when there is more than one slash.
    pub fn parse(api_version: &str, hook: &str) -> Result<Self, InvalidApiVersion> {
        let (group, version) = match api_version.split_once('/') {
            None => ("", api_version),
            Some((_, rest)) if rest.contains('/') => {
                return Err(InvalidApiVersion(crate::text::foreign_within(api_version, 512)));
            }
            Some(parts) => parts,
        };
        Ok(Self { group: group.to_owned(), version: version.to_owned(), hook: hook.to_owned() })
    }

    /// The hook that a handler in a status serves.
    ///
    /// # Errors
    /// [`InvalidApiVersion`] when its `apiVersion` has more than one slash.
    pub fn of(reference: &GroupVersionHookRef) -> Result<Self, InvalidApiVersion> {
        Self::parse(&reference.api_version, &reference.hook)
    }

    /// `<group>/<version>`; only the version when there is no group.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// What the catalog says of it; `None` when group, version or name are not in the catalog.
    #[must_use]
    pub fn descriptor(&self) -> Option<&'static Descriptor> {
        if self.group == GROUP && self.version == VERSION { find(&self.hook) } else { None }
    }

    /// Whether the catalog has it.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.descriptor().is_some()
    }

    /// Whether both are the same hook, in whatever version. A handler that serves one version can be called for
    /// another as long as both are in the catalog.
    #[must_use]
    pub fn is_same_hook(&self, other: &Self) -> bool {
        self.group == other.group && self.hook == other.hook
    }

    /// `<hook>.<group>`, as logs print a hook in whatever version; only the name when there is no group.
    #[must_use]
    pub fn group_hook(&self) -> String {
        if self.group.is_empty() { self.hook.clone() } else { format!("{}.{}", self.hook, self.group) }
    }

    /// The path that a call is sent to, below the extension's own: in lower case, and with the handler's name
    /// (without the `ExtensionConfig`'s) at the end when there is one.
    #[must_use]
    pub fn path(&self, handler: Option<&str>) -> String {
        let hook = self.hook.to_lowercase();
        match handler.filter(|handler| !handler.is_empty()) {
            None => format!("/{}/{}/{hook}", self.group, self.version),
            Some(handler) => format!("/{}/{}/{hook}/{}", self.group, self.version, handler.to_lowercase()),
        }
    }
}

impl fmt::Display for GroupVersionHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Hook={}", self.group, self.version, self.hook)
    }
}

impl From<&GroupVersionHook> for GroupVersionHookRef {
    fn from(hook: &GroupVersionHook) -> Self {
        Self { api_version: hook.api_version(), hook: hook.hook.clone(), ..Self::default() }
    }
}

impl Descriptor {
    /// The hook in the catalog's group and version.
    #[must_use]
    pub fn group_version_hook(&self) -> GroupVersionHook {
        GroupVersionHook::named(self.hook)
    }

    /// The `kind` of its requests.
    #[must_use]
    pub fn request_kind(&self) -> String {
        format!("{}Request", self.hook)
    }

    /// The `kind` of its responses.
    #[must_use]
    pub fn response_kind(&self) -> String {
        format!("{}Response", self.hook)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalog_is_sorted_and_has_each_name_once() {
        assert!(HOOKS.windows(2).all(|pair| pair[0].hook < pair[1].hook));
    }

    #[test]
    fn a_hook_of_another_group_version_or_case_is_unknown() {
        assert!(GroupVersionHook::named("Discovery").is_known());
        assert!(!GroupVersionHook::named("discovery").is_known());
        for api_version in ["hooks.runtime.cluster.x-k8s.io/v1", "heron.example/v1alpha1", "v1alpha1", ""] {
            assert!(!GroupVersionHook::parse(api_version, "Discovery").unwrap().is_known(), "{api_version}");
        }
    }
}
