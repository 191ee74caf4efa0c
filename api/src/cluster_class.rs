//! `ClusterClass` of `cluster.x-k8s.io/v1beta2`, as far as it concerns runtime extensions: template references,
//! variables, external patches, the upgrade plan. Everything else stays in the `unknown` fields.
//!
//! Schemas of variables are kept as JSON, untouched.
//!
//! Shape: Cluster API `api/core/v1beta2/clusterclass_types.go` and the CRD made from it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube_core::NamespaceResourceScope;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    conditions::v1beta1::Deprecated,
    kind::custom_kind,
    wire::{Unknown, empty_is_none, is_absent, is_default, null_is_default, unknown_of_object},
};

/// The API group of `ClusterClass`.
pub const GROUP: &str = "cluster.x-k8s.io";
/// The version that is read and written; also the name of the newest contract that templates can follow.
pub const VERSION: &str = "v1beta2";

/// A blueprint of clusters. Namespaced.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct ClusterClass {
    /// Standard metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// What the user asks for. A missing spec reads as an empty one.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spec: ClusterClassSpec,
    /// What was found out. `None` until a controller has written it.
    #[serde(default, deserialize_with = "empty_is_none")]
    pub status: Option<ClusterClassStatus>,
    /// Fields of the object that this type does not know.
    #[serde(flatten, deserialize_with = "unknown_of_object")]
    pub unknown: Unknown,
}

custom_kind!(
    ClusterClass, ClusterClassSpec,
    scope: NamespaceResourceScope, group: GROUP, version: VERSION, plural: "clusterclasses"
);

impl ClusterClass {
    /// Each distinct template that the class refers to, sorted; places that are not filled in are left out.
    #[must_use]
    pub fn template_refs(&self) -> Vec<TemplateRef> {
        let spec = &self.spec;
        let control_plane = spec.control_plane.as_ref();
        let fixed = [
            spec.infrastructure.as_ref().and_then(|slot| slot.template_ref.as_ref()),
            control_plane.and_then(|class| class.template_ref.as_ref()),
            control_plane
                .and_then(|class| class.machine_infrastructure.as_ref())
                .and_then(|slot| slot.template_ref.as_ref()),
        ];
        let workers = spec.workers.iter().flat_map(WorkersClass::template_references);
        let distinct: BTreeSet<_> = fixed
            .into_iter()
            .flatten()
            .chain(workers)
            .filter(|reference| reference.is_defined())
            .map(TemplateRef::from)
            .collect();
        distinct.into_iter().collect()
    }

    /// The patches that an extension computes, in the order of the spec.
    pub fn external_patches(&self) -> impl Iterator<Item = ExternalPatch<'_>> {
        self.spec
            .patches
            .iter()
            .filter_map(|patch| Some(ExternalPatch { name: &patch.name, external: patch.external.as_ref()? }))
    }

    /// Every handler that the class names and in which role, in the order of the spec. A handler that is named
    /// twice comes twice. Names are as the user wrote them.
    #[must_use]
    pub fn named_handlers(&self) -> Vec<(HandlerRole, &str)> {
        let upgrade = self
            .spec
            .upgrade
            .as_ref()
            .and_then(|upgrade| upgrade.external.as_ref())
            .and_then(|external| external.generate_upgrade_plan_extension.as_deref())
            .filter(|name| !name.is_empty())
            .map(|name| (HandlerRole::GenerateUpgradePlan, name));
        self.external_patches().flat_map(|patch| patch.external.named_handlers()).chain(upgrade).collect()
    }
}

/// One external patch: its name and what the spec says of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExternalPatch<'a> {
    /// The patch's name; what `from` says in `status.variables`.
    pub name: &'a str,
    /// Its handlers and settings.
    pub external: &'a ExternalPatchDefinition,
}

/// What a class uses a handler for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HandlerRole {
    /// `spec.patches[].external.generatePatchesExtension`.
    GeneratePatches,
    /// `spec.patches[].external.validateTopologyExtension`.
    ValidateTopology,
    /// `spec.patches[].external.discoverVariablesExtension`.
    DiscoverVariables,
    /// `spec.upgrade.external.generateUpgradePlanExtension`.
    GenerateUpgradePlan,
}

impl HandlerRole {
    /// The name of the hook that a handler in this role must serve.
    #[must_use]
    pub fn hook(self) -> &'static str {
        match self {
            Self::GeneratePatches => "GeneratePatches",
            Self::ValidateTopology => "ValidateTopology",
            Self::DiscoverVariables => "DiscoverVariables",
            Self::GenerateUpgradePlan => "GenerateUpgradePlan",
        }
    }
}

/// A template that a class refers to, by value. It lives in the class's namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TemplateRef {
    /// `<group>/<version>` as the class says it.
    pub api_version: String,
    /// The template's kind.
    pub kind: String,
    /// The template's name.
    pub name: String,
}

impl TemplateRef {
    /// The API group; empty when the reference names none.
    #[must_use]
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// The API version that the class uses.
    #[must_use]
    pub fn version(&self) -> &str {
        self.api_version.split_once('/').map_or(&self.api_version, |(_, version)| version)
    }
}

impl From<&TemplateReference> for TemplateRef {
    fn from(reference: &TemplateReference) -> Self {
        Self {
            api_version: reference.api_version.clone(),
            kind: reference.kind.clone(),
            name: reference.name.clone(),
        }
    }
}

impl fmt::Display for TemplateRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.kind, self.name, self.api_version)
    }
}

/// What the user asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterClassSpec {
    /// The infrastructure cluster's template.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub infrastructure: Option<TemplateSlot>,
    /// The control plane's templates.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub control_plane: Option<ControlPlaneClass>,
    /// The classes of workers.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub workers: Option<WorkersClass>,
    /// Variables that the class defines itself.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<ClusterClassVariable>,
    /// Patches, inline and external, in the order in which they are applied.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<ClusterClassPatch>,
    /// How upgrades are planned.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub upgrade: Option<ClusterClassUpgrade>,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// A place that names a template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TemplateSlot {
    /// The template.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub template_ref: Option<TemplateReference>,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// A reference to a template in the class's namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TemplateReference {
    /// `<group>/<version>`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub api_version: String,
    /// The template's kind.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub kind: String,
    /// The template's name.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub name: String,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl TemplateReference {
    /// Whether anything is filled in.
    #[must_use]
    pub fn is_defined(&self) -> bool {
        !(self.api_version.is_empty() && self.kind.is_empty() && self.name.is_empty())
    }
}

/// The control plane's templates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneClass {
    /// The control plane's own template.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub template_ref: Option<TemplateReference>,
    /// The template of its machines' infrastructure.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub machine_infrastructure: Option<TemplateSlot>,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// The classes of workers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkersClass {
    /// Classes of `MachineDeployments`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub machine_deployments: Vec<WorkerClass>,
    /// Classes of `MachinePools`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub machine_pools: Vec<WorkerClass>,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl WorkersClass {
    fn template_references(&self) -> impl Iterator<Item = &TemplateReference> {
        self.machine_deployments
            .iter()
            .chain(&self.machine_pools)
            .flat_map(|class| [&class.bootstrap, &class.infrastructure])
            .filter_map(|slot| slot.as_ref()?.template_ref.as_ref())
    }
}

/// A class of `MachineDeployments` or `MachinePools`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerClass {
    /// Name of the class.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub class: String,
    /// The bootstrap template.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub bootstrap: Option<TemplateSlot>,
    /// The template of the machines' infrastructure.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub infrastructure: Option<TemplateSlot>,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// A variable: of a class's spec, or as an extension answers it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterClassVariable {
    /// The variable's name.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub name: String,
    /// Whether a cluster must set it. The CRD wants it in a spec; an extension may leave it out, which means
    /// `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// Metadata from the time of `v1beta1`.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub deprecated_v1_beta1_metadata: Option<VariableMetadata>,
    /// What values are allowed.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub schema: VariableSchema,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// Labels and annotations of a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariableMetadata {
    /// Labels.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// The schema of a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariableSchema {
    /// The `OpenAPI` schema, as it was written. `null` stands for absent and is not written.
    #[serde(rename = "openAPIV3Schema", default, skip_serializing_if = "Value::is_null")]
    pub open_api_v3_schema: Value,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// A patch, inline or external. Inline definitions stay in `unknown`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClusterClassPatch {
    /// The patch's name.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub name: String,
    /// Set when an extension computes the patch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalPatchDefinition>,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// The handlers of an external patch, by their full names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExternalPatchDefinition {
    /// Computes the patch.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub generate_patches_extension: Option<String>,
    /// Judges the patched result.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub validate_topology_extension: Option<String>,
    /// Defines the variables that the patch understands.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub discover_variables_extension: Option<String>,
    /// Sent with every call for this patch; wins over the settings of the `ExtensionConfig` key by key.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl ExternalPatchDefinition {
    fn named_handlers(&self) -> impl Iterator<Item = (HandlerRole, &str)> {
        [
            (HandlerRole::GeneratePatches, &self.generate_patches_extension),
            (HandlerRole::ValidateTopology, &self.validate_topology_extension),
            (HandlerRole::DiscoverVariables, &self.discover_variables_extension),
        ]
        .into_iter()
        .filter_map(|(role, name)| Some((role, name.as_deref().filter(|name| !name.is_empty())?)))
    }
}

/// How upgrades are planned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterClassUpgrade {
    /// Set when an extension plans them.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub external: Option<ClusterClassUpgradeExternal>,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// The handler that plans upgrades.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterClassUpgradeExternal {
    /// Full name of the handler.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub generate_upgrade_plan_extension: Option<String>,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// What was found out about a class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterClassStatus {
    /// At least `VariablesReady`, `RefVersionsUpToDate` and `Paused` once a controller has been here.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// All variables, inline and discovered, sorted by name.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<ClusterClassStatusVariable>,
    /// The generation that the status is about; zero is never written.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub observed_generation: Option<i64>,
    /// Conditions in the style of `v1beta1`.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub deprecated: Option<Deprecated>,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// A variable and all its definitions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterClassStatusVariable {
    /// The variable's name.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub name: String,
    /// Whether the definitions differ; then nobody can use the variable. A merge always sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definitions_conflict: Option<bool>,
    /// The inline definition first, then one for each patch in the order of the spec.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<ClusterClassStatusVariableDefinition>,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// One definition of a variable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterClassStatusVariableDefinition {
    /// `inline`, or the name of the patch whose extension answered it.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub from: String,
    /// Whether a cluster must set it. The CRD wants it written, so a merge always sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// Metadata from the time of `v1beta1`.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "is_absent")]
    pub deprecated_v1_beta1_metadata: Option<VariableMetadata>,
    /// What values are allowed.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_default")]
    pub schema: VariableSchema,
    /// Fields that this type does not know.
    #[serde(flatten)]
    pub unknown: Unknown,
}
