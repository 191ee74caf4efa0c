//! `hooks.runtime.cluster.x-k8s.io/v1alpha1`: the messages of all hooks.
//!
//! Shape: Cluster API `api/runtime/hooks/v1alpha1`.

use super::{
    Bytes, Dict, Go, Json, List, RawExtension, ResponseStatus, Shape, always, core_v1beta2, null_is_default,
    omitempty, omitzero,
};

go_struct! {
    /// `AfterClusterUpgradeRequest` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.AfterClusterUpgradeRequest", extend("required" = ["cluster", "kubernetesVersion"]))]
    pub struct AfterClusterUpgradeRequest {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub settings: Dict<String> = "settings", "omitempty";
        pub cluster: core_v1beta2::Cluster = "cluster", "always";
        pub kubernetes_version: String = "kubernetesVersion", "always";
    }
}

go_struct! {
    /// `AfterClusterUpgradeResponse` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.AfterClusterUpgradeResponse", extend("required" = ["status", "retryAfterSeconds"]))]
    pub struct AfterClusterUpgradeResponse {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub status: ResponseStatus = "status", "always";
        pub message: String = "message", "omitempty";
        pub retry_after_seconds: i32 = "retryAfterSeconds", "always";
    }
}

go_struct! {
    /// `AfterControlPlaneInitializedRequest` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.AfterControlPlaneInitializedRequest", extend("required" = ["cluster"]))]
    pub struct AfterControlPlaneInitializedRequest {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub settings: Dict<String> = "settings", "omitempty";
        pub cluster: core_v1beta2::Cluster = "cluster", "always";
    }
}

go_struct! {
    /// `AfterControlPlaneInitializedResponse` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.AfterControlPlaneInitializedResponse", extend("required" = ["status"]))]
    pub struct AfterControlPlaneInitializedResponse {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub status: ResponseStatus = "status", "always";
        pub message: String = "message", "omitempty";
    }
}

go_struct! {
    /// `AfterControlPlaneUpgradeRequest` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.AfterControlPlaneUpgradeRequest", extend("required" = ["cluster", "kubernetesVersion"]))]
    pub struct AfterControlPlaneUpgradeRequest {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub settings: Dict<String> = "settings", "omitempty";
        pub cluster: core_v1beta2::Cluster = "cluster", "always";
        pub kubernetes_version: String = "kubernetesVersion", "always";
        pub control_plane_upgrades: List<UpgradeStepInfo> = "controlPlaneUpgrades", "omitempty";
        pub workers_upgrades: List<UpgradeStepInfo> = "workersUpgrades", "omitempty";
    }
}

go_struct! {
    /// `AfterControlPlaneUpgradeResponse` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.AfterControlPlaneUpgradeResponse", extend("required" = ["status", "retryAfterSeconds"]))]
    pub struct AfterControlPlaneUpgradeResponse {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub status: ResponseStatus = "status", "always";
        pub message: String = "message", "omitempty";
        pub retry_after_seconds: i32 = "retryAfterSeconds", "always";
    }
}

go_struct! {
    /// `AfterWorkersUpgradeRequest` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.AfterWorkersUpgradeRequest", extend("required" = ["cluster", "kubernetesVersion"]))]
    pub struct AfterWorkersUpgradeRequest {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub settings: Dict<String> = "settings", "omitempty";
        pub cluster: core_v1beta2::Cluster = "cluster", "always";
        pub kubernetes_version: String = "kubernetesVersion", "always";
        pub control_plane_upgrades: List<UpgradeStepInfo> = "controlPlaneUpgrades", "omitempty";
        pub workers_upgrades: List<UpgradeStepInfo> = "workersUpgrades", "omitempty";
    }
}

go_struct! {
    /// `AfterWorkersUpgradeResponse` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.AfterWorkersUpgradeResponse", extend("required" = ["status", "retryAfterSeconds"]))]
    pub struct AfterWorkersUpgradeResponse {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub status: ResponseStatus = "status", "always";
        pub message: String = "message", "omitempty";
        pub retry_after_seconds: i32 = "retryAfterSeconds", "always";
    }
}

go_struct! {
    /// `BeforeClusterCreateRequest` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.BeforeClusterCreateRequest", extend("required" = ["cluster"]))]
    pub struct BeforeClusterCreateRequest {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub settings: Dict<String> = "settings", "omitempty";
        pub cluster: core_v1beta2::Cluster = "cluster", "always";
    }
}

go_struct! {
    /// `BeforeClusterCreateResponse` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.BeforeClusterCreateResponse", extend("required" = ["status", "retryAfterSeconds"]))]
    pub struct BeforeClusterCreateResponse {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub status: ResponseStatus = "status", "always";
        pub message: String = "message", "omitempty";
        pub retry_after_seconds: i32 = "retryAfterSeconds", "always";
    }
}

go_struct! {
    /// `BeforeClusterDeleteRequest` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.BeforeClusterDeleteRequest", extend("required" = ["cluster"]))]
    pub struct BeforeClusterDeleteRequest {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub settings: Dict<String> = "settings", "omitempty";
        pub cluster: core_v1beta2::Cluster = "cluster", "always";
    }
}

go_struct! {
    /// `BeforeClusterDeleteResponse` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.BeforeClusterDeleteResponse", extend("required" = ["status", "retryAfterSeconds"]))]
    pub struct BeforeClusterDeleteResponse {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub status: ResponseStatus = "status", "always";
        pub message: String = "message", "omitempty";
        pub retry_after_seconds: i32 = "retryAfterSeconds", "always";
    }
}

go_struct! {
    /// `BeforeClusterUpgradeRequest` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.BeforeClusterUpgradeRequest", extend("required" = ["cluster", "fromKubernetesVersion", "toKubernetesVersion"]))]
    pub struct BeforeClusterUpgradeRequest {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub settings: Dict<String> = "settings", "omitempty";
        pub cluster: core_v1beta2::Cluster = "cluster", "always";
        pub from_kubernetes_version: String = "fromKubernetesVersion", "always";
        pub to_kubernetes_version: String = "toKubernetesVersion", "always";
        pub control_plane_upgrades: List<UpgradeStepInfo> = "controlPlaneUpgrades", "omitempty";
        pub workers_upgrades: List<UpgradeStepInfo> = "workersUpgrades", "omitempty";
    }
}

go_struct! {
    /// `BeforeClusterUpgradeResponse` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.BeforeClusterUpgradeResponse", extend("required" = ["status", "retryAfterSeconds"]))]
    pub struct BeforeClusterUpgradeResponse {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub status: ResponseStatus = "status", "always";
        pub message: String = "message", "omitempty";
        pub retry_after_seconds: i32 = "retryAfterSeconds", "always";
    }
}

go_struct! {
    /// `BeforeControlPlaneUpgradeRequest` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.BeforeControlPlaneUpgradeRequest", extend("required" = ["cluster", "fromKubernetesVersion", "toKubernetesVersion"]))]
    pub struct BeforeControlPlaneUpgradeRequest {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub settings: Dict<String> = "settings", "omitempty";
        pub cluster: core_v1beta2::Cluster = "cluster", "always";
        pub from_kubernetes_version: String = "fromKubernetesVersion", "always";
        pub to_kubernetes_version: String = "toKubernetesVersion", "always";
        pub control_plane_upgrades: List<UpgradeStepInfo> = "controlPlaneUpgrades", "omitempty";
        pub workers_upgrades: List<UpgradeStepInfo> = "workersUpgrades", "omitempty";
    }
}

go_struct! {
    /// `BeforeControlPlaneUpgradeResponse` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.BeforeControlPlaneUpgradeResponse", extend("required" = ["status", "retryAfterSeconds"]))]
    pub struct BeforeControlPlaneUpgradeResponse {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub status: ResponseStatus = "status", "always";
        pub message: String = "message", "omitempty";
        pub retry_after_seconds: i32 = "retryAfterSeconds", "always";
    }
}

go_struct! {
    /// `BeforeWorkersUpgradeRequest` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.BeforeWorkersUpgradeRequest", extend("required" = ["cluster", "fromKubernetesVersion", "toKubernetesVersion"]))]
    pub struct BeforeWorkersUpgradeRequest {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub settings: Dict<String> = "settings", "omitempty";
        pub cluster: core_v1beta2::Cluster = "cluster", "always";
        pub from_kubernetes_version: String = "fromKubernetesVersion", "always";
        pub to_kubernetes_version: String = "toKubernetesVersion", "always";
        pub control_plane_upgrades: List<UpgradeStepInfo> = "controlPlaneUpgrades", "omitempty";
        pub workers_upgrades: List<UpgradeStepInfo> = "workersUpgrades", "omitempty";
    }
}

go_struct! {
    /// `BeforeWorkersUpgradeResponse` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.BeforeWorkersUpgradeResponse", extend("required" = ["status", "retryAfterSeconds"]))]
    pub struct BeforeWorkersUpgradeResponse {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub status: ResponseStatus = "status", "always";
        pub message: String = "message", "omitempty";
        pub retry_after_seconds: i32 = "retryAfterSeconds", "always";
    }
}

go_struct! {
    /// `CanUpdateMachineRequest` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.CanUpdateMachineRequest", extend("required" = ["current", "desired"]))]
    pub struct CanUpdateMachineRequest {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub settings: Dict<String> = "settings", "omitempty";
        pub current: CanUpdateMachineRequestObjects = "current", "omitzero";
        pub desired: CanUpdateMachineRequestObjects = "desired", "omitzero";
    }
}

go_struct! {
    /// `CanUpdateMachineRequestObjects` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.CanUpdateMachineRequestObjects", extend("required" = ["machine", "infrastructureMachine"]))]
    pub struct CanUpdateMachineRequestObjects {
        pub machine: core_v1beta2::Machine = "machine", "omitzero";
        pub infrastructure_machine: RawExtension = "infrastructureMachine", "omitzero";
        pub bootstrap_config: RawExtension = "bootstrapConfig", "omitzero";
    }
}

go_struct! {
    /// `CanUpdateMachineResponse` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.CanUpdateMachineResponse", extend("required" = ["status"]))]
    pub struct CanUpdateMachineResponse {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub status: ResponseStatus = "status", "always";
        pub message: String = "message", "omitempty";
        pub machine_patch: Patch = "machinePatch", "omitzero";
        pub infrastructure_machine_patch: Patch = "infrastructureMachinePatch", "omitzero";
        pub bootstrap_config_patch: Patch = "bootstrapConfigPatch", "omitzero";
    }
}

go_struct! {
    /// `CanUpdateMachineSetRequest` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.CanUpdateMachineSetRequest", extend("required" = ["current", "desired"]))]
    pub struct CanUpdateMachineSetRequest {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub settings: Dict<String> = "settings", "omitempty";
        pub current: CanUpdateMachineSetRequestObjects = "current", "omitzero";
        pub desired: CanUpdateMachineSetRequestObjects = "desired", "omitzero";
    }
}

go_struct! {
    /// `CanUpdateMachineSetRequestObjects` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.CanUpdateMachineSetRequestObjects", extend("required" = ["machineSet", "infrastructureMachineTemplate"]))]
    pub struct CanUpdateMachineSetRequestObjects {
        pub machine_set: core_v1beta2::MachineSet = "machineSet", "omitzero";
        pub infrastructure_machine_template: RawExtension = "infrastructureMachineTemplate", "omitzero";
        pub bootstrap_config_template: RawExtension = "bootstrapConfigTemplate", "omitzero";
    }
}

go_struct! {
    /// `CanUpdateMachineSetResponse` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.CanUpdateMachineSetResponse", extend("required" = ["status"]))]
    pub struct CanUpdateMachineSetResponse {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub status: ResponseStatus = "status", "always";
        pub message: String = "message", "omitempty";
        pub machine_set_patch: Patch = "machineSetPatch", "omitzero";
        pub infrastructure_machine_template_patch: Patch = "infrastructureMachineTemplatePatch", "omitzero";
        pub bootstrap_config_template_patch: Patch = "bootstrapConfigTemplatePatch", "omitzero";
    }
}

go_struct! {
    /// `DiscoverVariablesRequest` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.DiscoverVariablesRequest")]
    pub struct DiscoverVariablesRequest {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub settings: Dict<String> = "settings", "omitempty";
    }
}

go_struct! {
    /// `DiscoverVariablesResponse` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.DiscoverVariablesResponse", extend("required" = ["status"]))]
    pub struct DiscoverVariablesResponse {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub status: ResponseStatus = "status", "always";
        pub message: String = "message", "omitempty";
        pub variables: List<core_v1beta2::ClusterClassVariable> = "variables", "omitempty";
    }
}

go_struct! {
    /// `DiscoveryRequest` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.DiscoveryRequest")]
    pub struct DiscoveryRequest {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
    }
}

go_struct! {
    /// `DiscoveryResponse` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.DiscoveryResponse", extend("required" = ["status"]))]
    pub struct DiscoveryResponse {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub status: ResponseStatus = "status", "always";
        pub message: String = "message", "omitempty";
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
        pub handlers: List<ExtensionHandler> = "handlers", "omitempty";
    }
}

go_struct! {
    /// `ExtensionHandler` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.ExtensionHandler", extend("required" = ["name", "requestHook"]))]
    pub struct ExtensionHandler {
        pub name: String = "name", "always";
        pub request_hook: GroupVersionHook = "requestHook", "always";
        pub timeout_seconds: Option<i32> = "timeoutSeconds", "omitempty";
        pub failure_policy: Option<String> = "failurePolicy", "omitempty";
    }
}

go_struct! {
    /// `GeneratePatchesRequest` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.GeneratePatchesRequest", extend("required" = ["items"]))]
    pub struct GeneratePatchesRequest {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub settings: Dict<String> = "settings", "omitempty";
        pub variables: List<Variable> = "variables", "omitempty";
        pub items: List<GeneratePatchesRequestItem> = "items", "always";
    }
}

go_struct! {
    /// `GeneratePatchesRequestItem` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.GeneratePatchesRequestItem", extend("required" = ["uid", "holderReference", "object"]))]
    pub struct GeneratePatchesRequestItem {
        pub uid: String = "uid", "always";
        pub holder_reference: HolderReference = "holderReference", "always";
        pub object: RawExtension = "object", "always";
        pub variables: List<Variable> = "variables", "omitempty";
    }
}

go_struct! {
    /// `GeneratePatchesResponse` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.GeneratePatchesResponse", extend("required" = ["status"]))]
    pub struct GeneratePatchesResponse {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub status: ResponseStatus = "status", "always";
        pub message: String = "message", "omitempty";
        pub items: List<GeneratePatchesResponseItem> = "items", "omitempty";
    }
}

go_struct! {
    /// `GeneratePatchesResponseItem` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.GeneratePatchesResponseItem", extend("required" = ["uid", "patchType", "patch"]))]
    pub struct GeneratePatchesResponseItem {
        pub uid: String = "uid", "always";
        pub patch_type: String = "patchType", "always";
        pub patch: Bytes = "patch", "always";
    }
}

go_struct! {
    /// `GenerateUpgradePlanRequest` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.GenerateUpgradePlanRequest", extend("required" = ["cluster", "fromControlPlaneKubernetesVersion", "toKubernetesVersion"]))]
    pub struct GenerateUpgradePlanRequest {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub settings: Dict<String> = "settings", "omitempty";
        pub cluster: core_v1beta2::Cluster = "cluster", "omitzero";
        pub from_control_plane_kubernetes_version: String = "fromControlPlaneKubernetesVersion", "omitempty";
        pub from_workers_kubernetes_version: String = "fromWorkersKubernetesVersion", "omitempty";
        pub to_kubernetes_version: String = "toKubernetesVersion", "omitempty";
    }
}

go_struct! {
    /// `GenerateUpgradePlanResponse` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.GenerateUpgradePlanResponse", extend("required" = ["status"]))]
    pub struct GenerateUpgradePlanResponse {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub status: ResponseStatus = "status", "always";
        pub message: String = "message", "omitempty";
        pub control_plane_upgrades: List<UpgradeStep> = "controlPlaneUpgrades", "omitempty";
        pub workers_upgrades: List<UpgradeStep> = "workersUpgrades", "omitempty";
    }
}

go_struct! {
    /// `GroupVersionHook` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.GroupVersionHook", extend("required" = ["apiVersion", "hook"]))]
    pub struct GroupVersionHook {
        pub api_version: String = "apiVersion", "always";
        pub hook: String = "hook", "always";
    }
}

go_struct! {
    /// `HolderReference` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.HolderReference", extend("required" = ["apiVersion", "kind", "namespace", "name", "fieldPath"]))]
    pub struct HolderReference {
        pub api_version: String = "apiVersion", "always";
        pub kind: String = "kind", "always";
        pub namespace: String = "namespace", "always";
        pub name: String = "name", "always";
        pub field_path: String = "fieldPath", "always";
    }
}

go_struct! {
    /// `Patch` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.Patch", extend("required" = ["patchType", "patch"]))]
    pub struct Patch {
        pub patch_type: String = "patchType", "omitempty";
        pub patch: Bytes = "patch", "omitempty";
    }
}

go_struct! {
    /// `UpdateMachineRequest` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.UpdateMachineRequest", extend("required" = ["desired"]))]
    pub struct UpdateMachineRequest {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub settings: Dict<String> = "settings", "omitempty";
        pub desired: UpdateMachineRequestObjects = "desired", "omitzero";
    }
}

go_struct! {
    /// `UpdateMachineRequestObjects` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.UpdateMachineRequestObjects", extend("required" = ["machine", "infrastructureMachine"]))]
    pub struct UpdateMachineRequestObjects {
        pub machine: core_v1beta2::Machine = "machine", "omitzero";
        pub infrastructure_machine: RawExtension = "infrastructureMachine", "omitzero";
        pub bootstrap_config: RawExtension = "bootstrapConfig", "omitzero";
    }
}

go_struct! {
    /// `UpdateMachineResponse` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.UpdateMachineResponse", extend("required" = ["status", "retryAfterSeconds"]))]
    pub struct UpdateMachineResponse {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub status: ResponseStatus = "status", "always";
        pub message: String = "message", "omitempty";
        pub retry_after_seconds: i32 = "retryAfterSeconds", "always";
    }
}

go_struct! {
    /// `UpgradeStep` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.UpgradeStep", extend("required" = ["version"]))]
    pub struct UpgradeStep {
        pub version: String = "version", "omitempty";
    }
}

go_struct! {
    /// `UpgradeStepInfo` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.UpgradeStepInfo", extend("required" = ["version"]))]
    pub struct UpgradeStepInfo {
        pub version: String = "version", "omitempty";
    }
}

go_struct! {
    /// `ValidateTopologyRequest` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.ValidateTopologyRequest", extend("required" = ["items"]))]
    pub struct ValidateTopologyRequest {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub settings: Dict<String> = "settings", "omitempty";
        pub variables: List<Variable> = "variables", "omitempty";
        pub items: List<Option<ValidateTopologyRequestItem>> = "items", "always";
    }
}

go_struct! {
    /// `ValidateTopologyRequestItem` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.ValidateTopologyRequestItem", extend("required" = ["holderReference", "object"]))]
    pub struct ValidateTopologyRequestItem {
        pub holder_reference: HolderReference = "holderReference", "always";
        pub object: RawExtension = "object", "always";
        pub variables: List<Variable> = "variables", "omitempty";
    }
}

go_struct! {
    /// `ValidateTopologyResponse` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.ValidateTopologyResponse", extend("required" = ["status"]))]
    pub struct ValidateTopologyResponse {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub status: ResponseStatus = "status", "always";
        pub message: String = "message", "omitempty";
    }
}

go_struct! {
    /// `Variable` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha1.Variable", extend("required" = ["name", "value"]))]
    pub struct Variable {
        pub name: String = "name", "always";
        pub value: Json = "value", "always";
    }
}
