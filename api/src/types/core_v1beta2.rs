//! `cluster.x-k8s.io/v1beta2`: `ClusterClass`, and the `Cluster`, `Machine` and `MachineSet` that hooks carry.
//!
//! Shape: Cluster API `api/core/v1beta2`.

use super::{
    Dict, Go, IntOrString, Json, List, Shape, Time, always, kubernetes, null_is_default, omitempty, omitzero,
};

go_struct! {
    /// `APIEndpoint` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.APIEndpoint")]
    pub struct ApiEndpoint {
        pub host: String = "host", "omitempty";
        pub port: i32 = "port", "omitempty";
    }
}

go_struct! {
    /// `Bootstrap` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.Bootstrap")]
    pub struct Bootstrap {
        pub config_ref: ContractVersionedObjectReference = "configRef", "omitzero";
        pub data_secret_name: Option<String> = "dataSecretName", "omitempty";
    }
}

go_struct! {
    /// `Cluster` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.Cluster", extend("required" = ["spec"]))]
    pub struct Cluster {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub metadata: kubernetes::ObjectMeta = "metadata", "omitempty";
        pub spec: ClusterSpec = "spec", "omitzero";
        pub status: ClusterStatus = "status", "omitzero";
    }
}

go_struct! {
    /// `ClusterAvailabilityGate` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterAvailabilityGate", extend("required" = ["conditionType"]))]
    pub struct ClusterAvailabilityGate {
        #[schemars(extend("maxLength" = 316, "minLength" = 1, "pattern" = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"))]
        pub condition_type: String = "conditionType", "omitempty";
        #[schemars(extend("enum" = ["Positive", "Negative"]))]
        pub polarity: String = "polarity", "omitempty";
    }
}

go_struct! {
    /// `ClusterClass` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterClass", extend("required" = ["spec"]))]
    pub struct ClusterClass {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        #[schemars(extend("x-crd" = {"type": "object"}))]
        pub metadata: kubernetes::ObjectMeta = "metadata", "omitempty";
        pub spec: ClusterClassSpec = "spec", "omitzero";
        #[schemars(extend("minProperties" = 1))]
        pub status: ClusterClassStatus = "status", "omitzero";
    }
}

go_struct! {
    /// `ClusterClassDeprecatedStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterClassDeprecatedStatus")]
    pub struct ClusterClassDeprecatedStatus {
        pub v1beta1: Option<ClusterClassV1Beta1DeprecatedStatus> = "v1beta1", "omitempty";
    }
}

go_struct! {
    /// `ClusterClassPatch` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterClassPatch", extend("required" = ["name"]))]
    pub struct ClusterClassPatch {
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub name: String = "name", "omitempty";
        #[schemars(extend("maxLength" = 1024, "minLength" = 1))]
        pub description: String = "description", "omitempty";
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub enabled_if: String = "enabledIf", "omitempty";
        #[schemars(extend("maxItems" = 100, "x-kubernetes-list-type" = "atomic"))]
        pub definitions: List<PatchDefinition> = "definitions", "omitempty";
        pub external: Option<ExternalPatchDefinition> = "external", "omitempty";
    }
}

go_struct! {
    /// `ClusterClassRef` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterClassRef", extend("required" = ["name"]))]
    pub struct ClusterClassRef {
        pub name: String = "name", "omitempty";
        pub namespace: String = "namespace", "omitempty";
    }
}

go_struct! {
    /// `ClusterClassSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterClassSpec", extend("required" = ["controlPlane", "infrastructure"]))]
    pub struct ClusterClassSpec {
        #[schemars(extend("maxItems" = 32, "minItems" = 1, "x-kubernetes-list-map-keys" = ["conditionType"], "x-kubernetes-list-type" = "map"))]
        pub availability_gates: List<ClusterAvailabilityGate> = "availabilityGates", "omitempty";
        pub infrastructure: InfrastructureClass = "infrastructure", "omitzero";
        pub control_plane: ControlPlaneClass = "controlPlane", "omitzero";
        #[schemars(extend("minProperties" = 1))]
        pub workers: WorkersClass = "workers", "omitzero";
        #[schemars(extend("maxItems" = 1000, "minItems" = 1, "x-kubernetes-list-type" = "atomic"))]
        pub variables: List<ClusterClassVariable> = "variables", "omitempty";
        #[schemars(extend("maxItems" = 1000, "minItems" = 1, "x-kubernetes-list-type" = "atomic"))]
        pub patches: List<ClusterClassPatch> = "patches", "omitempty";
        #[schemars(extend("minProperties" = 1))]
        pub upgrade: ClusterClassUpgrade = "upgrade", "omitzero";
        #[schemars(extend("maxItems" = 100, "minItems" = 1, "x-kubernetes-list-type" = "atomic", "x-crd-items" = {"maxLength": 256, "minLength": 1}))]
        pub kubernetes_versions: List<String> = "kubernetesVersions", "omitempty";
    }
}

go_struct! {
    /// `ClusterClassStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterClassStatus")]
    pub struct ClusterClassStatus {
        #[schemars(extend("maxItems" = 32, "x-kubernetes-list-map-keys" = ["type"], "x-kubernetes-list-type" = "map"))]
        pub conditions: List<kubernetes::Condition> = "conditions", "omitempty";
        #[schemars(extend("maxItems" = 1000, "x-kubernetes-list-type" = "atomic"))]
        pub variables: List<ClusterClassStatusVariable> = "variables", "omitempty";
        #[schemars(extend("minimum" = 1))]
        pub observed_generation: i64 = "observedGeneration", "omitempty";
        pub deprecated: Option<ClusterClassDeprecatedStatus> = "deprecated", "omitempty";
    }
}

go_struct! {
    /// `ClusterClassStatusVariable` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterClassStatusVariable", extend("required" = ["definitions", "name"]))]
    pub struct ClusterClassStatusVariable {
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub name: String = "name", "omitempty";
        pub definitions_conflict: Option<bool> = "definitionsConflict", "omitempty";
        #[schemars(extend("maxItems" = 100, "minItems" = 1, "x-kubernetes-list-type" = "atomic"))]
        pub definitions: List<ClusterClassStatusVariableDefinition> = "definitions", "omitempty";
    }
}

go_struct! {
    /// `ClusterClassStatusVariableDefinition` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterClassStatusVariableDefinition", extend("required" = ["from", "required", "schema"]))]
    pub struct ClusterClassStatusVariableDefinition {
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub from: String = "from", "omitempty";
        pub required: Option<bool> = "required", "omitempty";
        #[schemars(extend("minProperties" = 1))]
        pub deprecated_v1beta1_metadata: ClusterClassVariableMetadata = "deprecatedV1Beta1Metadata", "omitzero";
        pub schema: VariableSchema = "schema", "omitzero";
    }
}

go_struct! {
    /// `ClusterClassTemplateReference` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterClassTemplateReference", extend("required" = ["apiVersion", "kind", "name"]))]
    pub struct ClusterClassTemplateReference {
        #[schemars(extend("maxLength" = 63, "minLength" = 1, "pattern" = "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$"))]
        pub kind: String = "kind", "omitempty";
        #[schemars(extend("maxLength" = 253, "minLength" = 1, "pattern" = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"))]
        pub name: String = "name", "omitempty";
        #[schemars(extend("maxLength" = 317, "minLength" = 1, "pattern" = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\/[a-z]([-a-z0-9]*[a-z0-9])?$"))]
        pub api_version: String = "apiVersion", "omitempty";
    }
}

go_struct! {
    /// `ClusterClassUpgrade` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterClassUpgrade")]
    pub struct ClusterClassUpgrade {
        #[schemars(extend("minProperties" = 1))]
        pub external: ClusterClassUpgradeExternal = "external", "omitzero";
    }
}

go_struct! {
    /// `ClusterClassUpgradeExternal` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterClassUpgradeExternal")]
    pub struct ClusterClassUpgradeExternal {
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub generate_upgrade_plan_extension: String = "generateUpgradePlanExtension", "omitempty";
    }
}

go_struct! {
    /// `ClusterClassV1Beta1DeprecatedStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterClassV1Beta1DeprecatedStatus")]
    pub struct ClusterClassV1Beta1DeprecatedStatus {
        pub conditions: List<Condition> = "conditions", "omitempty";
    }
}

go_struct! {
    /// `ClusterClassVariable` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterClassVariable", extend("required" = ["name", "required", "schema"]))]
    pub struct ClusterClassVariable {
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub name: String = "name", "omitempty";
        pub required: Option<bool> = "required", "omitempty";
        #[schemars(extend("minProperties" = 1))]
        pub deprecated_v1beta1_metadata: ClusterClassVariableMetadata = "deprecatedV1Beta1Metadata", "omitzero";
        pub schema: VariableSchema = "schema", "omitzero";
    }
}

go_struct! {
    /// `ClusterClassVariableMetadata` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterClassVariableMetadata")]
    pub struct ClusterClassVariableMetadata {
        pub labels: Dict<String> = "labels", "omitempty";
        pub annotations: Dict<String> = "annotations", "omitempty";
    }
}

go_struct! {
    /// `ClusterControlPlaneStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterControlPlaneStatus")]
    pub struct ClusterControlPlaneStatus {
        pub desired_replicas: Option<i32> = "desiredReplicas", "omitempty";
        pub replicas: Option<i32> = "replicas", "omitempty";
        pub up_to_date_replicas: Option<i32> = "upToDateReplicas", "omitempty";
        pub ready_replicas: Option<i32> = "readyReplicas", "omitempty";
        pub available_replicas: Option<i32> = "availableReplicas", "omitempty";
        #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
        pub versions: List<StatusVersion> = "versions", "omitempty";
        #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
        pub upgrade_plan: List<StatusUpgradePlanVersion> = "upgradePlan", "omitempty";
    }
}

go_struct! {
    /// `ClusterDeprecatedStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterDeprecatedStatus")]
    pub struct ClusterDeprecatedStatus {
        pub v1beta1: Option<ClusterV1Beta1DeprecatedStatus> = "v1beta1", "omitempty";
    }
}

go_struct! {
    /// `ClusterInitializationStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterInitializationStatus")]
    pub struct ClusterInitializationStatus {
        pub infrastructure_provisioned: Option<bool> = "infrastructureProvisioned", "omitempty";
        pub control_plane_initialized: Option<bool> = "controlPlaneInitialized", "omitempty";
    }
}

go_struct! {
    /// `ClusterNetwork` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterNetwork")]
    pub struct ClusterNetwork {
        pub api_server_port: i32 = "apiServerPort", "omitempty";
        pub services: NetworkRanges = "services", "omitzero";
        pub pods: NetworkRanges = "pods", "omitzero";
        pub service_domain: String = "serviceDomain", "omitempty";
    }
}

go_struct! {
    /// `ClusterSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterSpec")]
    pub struct ClusterSpec {
        pub paused: Option<bool> = "paused", "omitempty";
        pub cluster_network: ClusterNetwork = "clusterNetwork", "omitzero";
        pub control_plane_endpoint: ApiEndpoint = "controlPlaneEndpoint", "omitzero";
        pub control_plane_ref: ContractVersionedObjectReference = "controlPlaneRef", "omitzero";
        pub infrastructure_ref: ContractVersionedObjectReference = "infrastructureRef", "omitzero";
        pub topology: Topology = "topology", "omitzero";
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["conditionType"]))]
        pub availability_gates: List<ClusterAvailabilityGate> = "availabilityGates", "omitempty";
    }
}

go_struct! {
    /// `ClusterStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterStatus")]
    pub struct ClusterStatus {
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
        pub conditions: List<kubernetes::Condition> = "conditions", "omitempty";
        pub initialization: ClusterInitializationStatus = "initialization", "omitzero";
        pub control_plane: Option<ClusterControlPlaneStatus> = "controlPlane", "omitempty";
        pub workers: Option<WorkersStatus> = "workers", "omitempty";
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
        pub failure_domains: List<FailureDomain> = "failureDomains", "omitempty";
        pub phase: String = "phase", "omitempty";
        pub observed_generation: i64 = "observedGeneration", "omitempty";
        pub deprecated: Option<ClusterDeprecatedStatus> = "deprecated", "omitempty";
    }
}

go_struct! {
    /// `ClusterV1Beta1DeprecatedStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterV1Beta1DeprecatedStatus")]
    pub struct ClusterV1Beta1DeprecatedStatus {
        pub conditions: List<Condition> = "conditions", "omitempty";
        pub failure_reason: Option<String> = "failureReason", "omitempty";
        pub failure_message: Option<String> = "failureMessage", "omitempty";
    }
}

go_struct! {
    /// `ClusterVariable` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ClusterVariable", extend("required" = ["name", "value"]))]
    pub struct ClusterVariable {
        pub name: String = "name", "omitempty";
        pub value: Json = "value", "omitzero";
    }
}

go_struct! {
    /// `Condition` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.Condition", extend("required" = ["lastTransitionTime", "status", "type"]))]
    pub struct Condition {
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub type_: String = "type", "always";
        pub status: String = "status", "always";
        #[schemars(extend("maxLength" = 32))]
        pub severity: String = "severity", "omitempty";
        pub last_transition_time: Time = "lastTransitionTime", "always";
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub reason: String = "reason", "omitempty";
        #[schemars(extend("maxLength" = 10240, "minLength" = 1))]
        pub message: String = "message", "omitempty";
    }
}

go_struct! {
    /// `ContractVersionedObjectReference` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ContractVersionedObjectReference", extend("required" = ["kind", "name", "apiGroup"]))]
    pub struct ContractVersionedObjectReference {
        pub kind: String = "kind", "omitempty";
        pub name: String = "name", "omitempty";
        pub api_group: String = "apiGroup", "omitempty";
    }
}

go_struct! {
    /// `ControlPlaneClass` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ControlPlaneClass", extend("required" = ["templateRef"]))]
    pub struct ControlPlaneClass {
        #[schemars(extend("minProperties" = 1))]
        pub metadata: ObjectMeta = "metadata", "omitzero";
        pub template_ref: ClusterClassTemplateReference = "templateRef", "omitzero";
        pub machine_infrastructure: ControlPlaneClassMachineInfrastructureTemplate = "machineInfrastructure", "omitzero";
        #[schemars(extend("minProperties" = 1))]
        pub health_check: ControlPlaneClassHealthCheck = "healthCheck", "omitzero";
        #[schemars(extend("minProperties" = 1))]
        pub naming: ControlPlaneClassNamingSpec = "naming", "omitzero";
        #[schemars(extend("minProperties" = 1))]
        pub deletion: ControlPlaneClassMachineDeletionSpec = "deletion", "omitzero";
        #[schemars(extend("maxItems" = 64, "minItems" = 1, "x-kubernetes-list-map-keys" = ["key", "effect"], "x-kubernetes-list-type" = "map"))]
        pub taints: List<MachineTaint> = "taints", "omitempty";
        #[schemars(extend("maxItems" = 32, "minItems" = 1, "x-kubernetes-list-map-keys" = ["conditionType"], "x-kubernetes-list-type" = "map"))]
        pub readiness_gates: List<MachineReadinessGate> = "readinessGates", "omitempty";
    }
}

go_struct! {
    /// `ControlPlaneClassHealthCheck` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ControlPlaneClassHealthCheck")]
    pub struct ControlPlaneClassHealthCheck {
        #[schemars(extend("minProperties" = 1))]
        pub checks: ControlPlaneClassHealthCheckChecks = "checks", "omitzero";
        #[schemars(extend("minProperties" = 1))]
        pub remediation: ControlPlaneClassHealthCheckRemediation = "remediation", "omitzero";
    }
}

go_struct! {
    /// `ControlPlaneClassHealthCheckChecks` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ControlPlaneClassHealthCheckChecks")]
    pub struct ControlPlaneClassHealthCheckChecks {
        #[schemars(extend("minimum" = 0))]
        pub node_startup_timeout_seconds: Option<i32> = "nodeStartupTimeoutSeconds", "omitempty";
        #[schemars(extend("maxItems" = 100, "minItems" = 1, "x-kubernetes-list-type" = "atomic"))]
        pub unhealthy_node_conditions: List<UnhealthyNodeCondition> = "unhealthyNodeConditions", "omitempty";
        #[schemars(extend("maxItems" = 100, "minItems" = 1, "x-kubernetes-list-type" = "atomic"))]
        pub unhealthy_machine_conditions: List<UnhealthyMachineCondition> = "unhealthyMachineConditions", "omitempty";
    }
}

go_struct! {
    /// `ControlPlaneClassHealthCheckRemediation` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ControlPlaneClassHealthCheckRemediation")]
    pub struct ControlPlaneClassHealthCheckRemediation {
        #[schemars(extend("minProperties" = 1))]
        pub trigger_if: ControlPlaneClassHealthCheckRemediationTriggerIf = "triggerIf", "omitzero";
        pub template_ref: MachineHealthCheckRemediationTemplateReference = "templateRef", "omitzero";
    }
}

go_struct! {
    /// `ControlPlaneClassHealthCheckRemediationTriggerIf` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ControlPlaneClassHealthCheckRemediationTriggerIf")]
    pub struct ControlPlaneClassHealthCheckRemediationTriggerIf {
        pub unhealthy_less_than_or_equal_to: Option<IntOrString> = "unhealthyLessThanOrEqualTo", "omitempty";
        #[schemars(extend("maxLength" = 32, "minLength" = 1, "pattern" = "^\\[[0-9]+-[0-9]+\\]$"))]
        pub unhealthy_in_range: String = "unhealthyInRange", "omitempty";
    }
}

go_struct! {
    /// `ControlPlaneClassMachineDeletionSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ControlPlaneClassMachineDeletionSpec")]
    pub struct ControlPlaneClassMachineDeletionSpec {
        #[schemars(extend("minimum" = 0))]
        pub node_drain_timeout_seconds: Option<i32> = "nodeDrainTimeoutSeconds", "omitempty";
        #[schemars(extend("minimum" = 0))]
        pub node_volume_detach_timeout_seconds: Option<i32> = "nodeVolumeDetachTimeoutSeconds", "omitempty";
        #[schemars(extend("minimum" = 0))]
        pub node_deletion_timeout_seconds: Option<i32> = "nodeDeletionTimeoutSeconds", "omitempty";
    }
}

go_struct! {
    /// `ControlPlaneClassMachineInfrastructureTemplate` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ControlPlaneClassMachineInfrastructureTemplate", extend("required" = ["templateRef"]))]
    pub struct ControlPlaneClassMachineInfrastructureTemplate {
        pub template_ref: ClusterClassTemplateReference = "templateRef", "omitzero";
    }
}

go_struct! {
    /// `ControlPlaneClassNamingSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ControlPlaneClassNamingSpec")]
    pub struct ControlPlaneClassNamingSpec {
        #[schemars(extend("maxLength" = 1024, "minLength" = 1))]
        pub template: String = "template", "omitempty";
    }
}

go_struct! {
    /// `ControlPlaneTopology` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ControlPlaneTopology")]
    pub struct ControlPlaneTopology {
        pub metadata: ObjectMeta = "metadata", "omitzero";
        pub replicas: Option<i32> = "replicas", "omitempty";
        pub rollout: ControlPlaneTopologyRolloutSpec = "rollout", "omitzero";
        pub health_check: ControlPlaneTopologyHealthCheck = "healthCheck", "omitzero";
        pub deletion: ControlPlaneTopologyMachineDeletionSpec = "deletion", "omitzero";
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key", "effect"]))]
        pub taints: List<MachineTaint> = "taints", "omitempty";
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["conditionType"]))]
        pub readiness_gates: List<MachineReadinessGate> = "readinessGates", "omitempty";
        pub variables: ControlPlaneVariables = "variables", "omitzero";
    }
}

go_struct! {
    /// `ControlPlaneTopologyHealthCheck` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ControlPlaneTopologyHealthCheck")]
    pub struct ControlPlaneTopologyHealthCheck {
        pub enabled: Option<bool> = "enabled", "omitempty";
        pub checks: ControlPlaneTopologyHealthCheckChecks = "checks", "omitzero";
        pub remediation: ControlPlaneTopologyHealthCheckRemediation = "remediation", "omitzero";
    }
}

go_struct! {
    /// `ControlPlaneTopologyHealthCheckChecks` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ControlPlaneTopologyHealthCheckChecks")]
    pub struct ControlPlaneTopologyHealthCheckChecks {
        pub node_startup_timeout_seconds: Option<i32> = "nodeStartupTimeoutSeconds", "omitempty";
        #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
        pub unhealthy_node_conditions: List<UnhealthyNodeCondition> = "unhealthyNodeConditions", "omitempty";
        #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
        pub unhealthy_machine_conditions: List<UnhealthyMachineCondition> = "unhealthyMachineConditions", "omitempty";
    }
}

go_struct! {
    /// `ControlPlaneTopologyHealthCheckRemediation` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ControlPlaneTopologyHealthCheckRemediation")]
    pub struct ControlPlaneTopologyHealthCheckRemediation {
        pub trigger_if: ControlPlaneTopologyHealthCheckRemediationTriggerIf = "triggerIf", "omitzero";
        pub template_ref: MachineHealthCheckRemediationTemplateReference = "templateRef", "omitzero";
    }
}

go_struct! {
    /// `ControlPlaneTopologyHealthCheckRemediationTriggerIf` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ControlPlaneTopologyHealthCheckRemediationTriggerIf")]
    pub struct ControlPlaneTopologyHealthCheckRemediationTriggerIf {
        pub unhealthy_less_than_or_equal_to: Option<IntOrString> = "unhealthyLessThanOrEqualTo", "omitempty";
        pub unhealthy_in_range: String = "unhealthyInRange", "omitempty";
    }
}

go_struct! {
    /// `ControlPlaneTopologyMachineDeletionSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ControlPlaneTopologyMachineDeletionSpec")]
    pub struct ControlPlaneTopologyMachineDeletionSpec {
        pub node_drain_timeout_seconds: Option<i32> = "nodeDrainTimeoutSeconds", "omitempty";
        pub node_volume_detach_timeout_seconds: Option<i32> = "nodeVolumeDetachTimeoutSeconds", "omitempty";
        pub node_deletion_timeout_seconds: Option<i32> = "nodeDeletionTimeoutSeconds", "omitempty";
    }
}

go_struct! {
    /// `ControlPlaneTopologyRolloutSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ControlPlaneTopologyRolloutSpec")]
    pub struct ControlPlaneTopologyRolloutSpec {
        pub after: Time = "after", "omitzero";
    }
}

go_struct! {
    /// `ControlPlaneVariables` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ControlPlaneVariables")]
    pub struct ControlPlaneVariables {
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
        pub overrides: List<ClusterVariable> = "overrides", "omitempty";
    }
}

go_struct! {
    /// `ExternalPatchDefinition` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ExternalPatchDefinition")]
    pub struct ExternalPatchDefinition {
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub generate_patches_extension: String = "generatePatchesExtension", "omitempty";
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub validate_topology_extension: String = "validateTopologyExtension", "omitempty";
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub discover_variables_extension: String = "discoverVariablesExtension", "omitempty";
        pub settings: Dict<String> = "settings", "omitempty";
    }
}

go_struct! {
    /// `FailureDomain` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.FailureDomain", extend("required" = ["name"]))]
    pub struct FailureDomain {
        pub name: String = "name", "omitempty";
        pub control_plane: Option<bool> = "controlPlane", "omitempty";
        pub attributes: Dict<String> = "attributes", "omitempty";
    }
}

go_struct! {
    /// `InfrastructureClass` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.InfrastructureClass", extend("required" = ["templateRef"]))]
    pub struct InfrastructureClass {
        pub template_ref: ClusterClassTemplateReference = "templateRef", "omitzero";
        #[schemars(extend("minProperties" = 1))]
        pub naming: InfrastructureClassNamingSpec = "naming", "omitzero";
    }
}

go_struct! {
    /// `InfrastructureClassNamingSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.InfrastructureClassNamingSpec")]
    pub struct InfrastructureClassNamingSpec {
        #[schemars(extend("maxLength" = 1024, "minLength" = 1))]
        pub template: String = "template", "omitempty";
    }
}

go_struct! {
    /// `JSONPatch` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.JSONPatch", extend("required" = ["op", "path"]))]
    pub struct JSONPatch {
        #[schemars(extend("enum" = ["add", "replace", "remove"]))]
        pub op: String = "op", "omitempty";
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub path: String = "path", "omitempty";
        pub value: Option<Json> = "value", "omitempty";
        pub value_from: Option<JSONPatchValue> = "valueFrom", "omitempty";
    }
}

go_struct! {
    /// `JSONPatchValue` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.JSONPatchValue")]
    pub struct JSONPatchValue {
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub variable: String = "variable", "omitempty";
        #[schemars(extend("maxLength" = 10240, "minLength" = 1))]
        pub template: String = "template", "omitempty";
    }
}

go_struct! {
    /// `JSONSchemaProps` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.JSONSchemaProps")]
    pub struct JsonSchemaProps {
        #[schemars(extend("maxLength" = 4096, "minLength" = 1))]
        pub description: String = "description", "omitempty";
        pub example: Option<Json> = "example", "omitempty";
        #[schemars(extend("enum" = ["object", "array", "string", "integer", "number", "boolean"]))]
        pub type_: String = "type", "omitempty";
        #[schemars(extend("x-crd" = {"x-kubernetes-preserve-unknown-fields": true}))]
        pub properties: Dict<JsonSchemaProps> = "properties", "omitempty";
        #[schemars(extend("x-crd" = {"x-kubernetes-preserve-unknown-fields": true}))]
        pub additional_properties: Option<Box<JsonSchemaProps>> = "additionalProperties", "omitempty";
        pub max_properties: Option<i64> = "maxProperties", "omitempty";
        pub min_properties: Option<i64> = "minProperties", "omitempty";
        #[schemars(extend("maxItems" = 1000, "minItems" = 1, "x-kubernetes-list-type" = "atomic", "x-crd-items" = {"maxLength": 256, "minLength": 1}))]
        pub required: List<String> = "required", "omitempty";
        #[schemars(extend("x-crd" = {"x-kubernetes-preserve-unknown-fields": true}))]
        pub items: Option<Box<JsonSchemaProps>> = "items", "omitempty";
        pub max_items: Option<i64> = "maxItems", "omitempty";
        pub min_items: Option<i64> = "minItems", "omitempty";
        pub unique_items: Option<bool> = "uniqueItems", "omitempty";
        #[schemars(extend("maxLength" = 32, "minLength" = 1))]
        pub format: String = "format", "omitempty";
        pub max_length: Option<i64> = "maxLength", "omitempty";
        pub min_length: Option<i64> = "minLength", "omitempty";
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub pattern: String = "pattern", "omitempty";
        pub maximum: Option<i64> = "maximum", "omitempty";
        pub exclusive_maximum: Option<bool> = "exclusiveMaximum", "omitempty";
        pub minimum: Option<i64> = "minimum", "omitempty";
        pub exclusive_minimum: Option<bool> = "exclusiveMinimum", "omitempty";
        pub x_preserve_unknown_fields: Option<bool> = "x-kubernetes-preserve-unknown-fields", "omitempty";
        #[schemars(extend("maxItems" = 100, "x-kubernetes-list-type" = "atomic"))]
        pub enum_: List<Json> = "enum", "omitempty";
        pub default: Option<Json> = "default", "omitempty";
        #[schemars(extend("maxItems" = 100, "minItems" = 1, "x-kubernetes-list-map-keys" = ["rule"], "x-kubernetes-list-type" = "map"))]
        pub x_validations: List<ValidationRule> = "x-kubernetes-validations", "omitempty";
        #[schemars(extend("minProperties" = 1))]
        pub x_metadata: VariableSchemaMetadata = "x-metadata", "omitzero";
        pub x_int_or_string: Option<bool> = "x-kubernetes-int-or-string", "omitempty";
        #[schemars(extend("x-crd" = {"x-kubernetes-preserve-unknown-fields": true}))]
        pub all_of: List<JsonSchemaProps> = "allOf", "omitempty";
        #[schemars(extend("x-crd" = {"x-kubernetes-preserve-unknown-fields": true}))]
        pub one_of: List<JsonSchemaProps> = "oneOf", "omitempty";
        #[schemars(extend("x-crd" = {"x-kubernetes-preserve-unknown-fields": true}))]
        pub any_of: List<JsonSchemaProps> = "anyOf", "omitempty";
        #[schemars(extend("x-crd" = {"x-kubernetes-preserve-unknown-fields": true}))]
        pub not: Option<Box<JsonSchemaProps>> = "not", "omitempty";
    }
}

go_struct! {
    /// `Machine` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.Machine", extend("required" = ["spec"]))]
    pub struct Machine {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub metadata: kubernetes::ObjectMeta = "metadata", "omitempty";
        pub spec: MachineSpec = "spec", "omitzero";
        pub status: MachineStatus = "status", "omitzero";
    }
}

go_struct! {
    /// `MachineAddress` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineAddress", extend("required" = ["type", "address"]))]
    pub struct MachineAddress {
        pub type_: String = "type", "omitempty";
        pub address: String = "address", "omitempty";
    }
}

go_struct! {
    /// `MachineDeletionSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeletionSpec")]
    pub struct MachineDeletionSpec {
        pub node_drain_timeout_seconds: Option<i32> = "nodeDrainTimeoutSeconds", "omitempty";
        pub node_volume_detach_timeout_seconds: Option<i32> = "nodeVolumeDetachTimeoutSeconds", "omitempty";
        pub node_deletion_timeout_seconds: Option<i32> = "nodeDeletionTimeoutSeconds", "omitempty";
    }
}

go_struct! {
    /// `MachineDeletionStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeletionStatus")]
    pub struct MachineDeletionStatus {
        pub node_drain_start_time: Time = "nodeDrainStartTime", "omitzero";
        pub wait_for_node_volume_detach_start_time: Time = "waitForNodeVolumeDetachStartTime", "omitzero";
        pub wait_for_pre_drain_hook_start_time: Time = "waitForPreDrainHookStartTime", "omitzero";
        pub wait_for_pre_terminate_hook_start_time: Time = "waitForPreTerminateHookStartTime", "omitzero";
    }
}

go_struct! {
    /// `MachineDeploymentClass` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentClass", extend("required" = ["bootstrap", "class", "infrastructure"]))]
    pub struct MachineDeploymentClass {
        #[schemars(extend("minProperties" = 1))]
        pub metadata: ObjectMeta = "metadata", "omitzero";
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub class: String = "class", "omitempty";
        pub bootstrap: MachineDeploymentClassBootstrapTemplate = "bootstrap", "omitzero";
        pub infrastructure: MachineDeploymentClassInfrastructureTemplate = "infrastructure", "omitzero";
        #[schemars(extend("minProperties" = 1))]
        pub health_check: MachineDeploymentClassHealthCheck = "healthCheck", "omitzero";
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub failure_domain: String = "failureDomain", "omitempty";
        #[schemars(extend("minProperties" = 1))]
        pub naming: MachineDeploymentClassNamingSpec = "naming", "omitzero";
        #[schemars(extend("minProperties" = 1))]
        pub deletion: MachineDeploymentClassMachineDeletionSpec = "deletion", "omitzero";
        #[schemars(extend("maxItems" = 64, "minItems" = 1, "x-kubernetes-list-map-keys" = ["key", "effect"], "x-kubernetes-list-type" = "map"))]
        pub taints: List<MachineTaint> = "taints", "omitempty";
        #[schemars(extend("minimum" = 0))]
        pub min_ready_seconds: Option<i32> = "minReadySeconds", "omitempty";
        #[schemars(extend("maxItems" = 32, "minItems" = 1, "x-kubernetes-list-map-keys" = ["conditionType"], "x-kubernetes-list-type" = "map"))]
        pub readiness_gates: List<MachineReadinessGate> = "readinessGates", "omitempty";
        #[schemars(extend("minProperties" = 1))]
        pub rollout: MachineDeploymentClassRolloutSpec = "rollout", "omitzero";
    }
}

go_struct! {
    /// `MachineDeploymentClassBootstrapTemplate` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentClassBootstrapTemplate", extend("required" = ["templateRef"]))]
    pub struct MachineDeploymentClassBootstrapTemplate {
        pub template_ref: ClusterClassTemplateReference = "templateRef", "omitzero";
    }
}

go_struct! {
    /// `MachineDeploymentClassHealthCheck` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentClassHealthCheck")]
    pub struct MachineDeploymentClassHealthCheck {
        #[schemars(extend("minProperties" = 1))]
        pub checks: MachineDeploymentClassHealthCheckChecks = "checks", "omitzero";
        #[schemars(extend("minProperties" = 1))]
        pub remediation: MachineDeploymentClassHealthCheckRemediation = "remediation", "omitzero";
    }
}

go_struct! {
    /// `MachineDeploymentClassHealthCheckChecks` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentClassHealthCheckChecks")]
    pub struct MachineDeploymentClassHealthCheckChecks {
        #[schemars(extend("minimum" = 0))]
        pub node_startup_timeout_seconds: Option<i32> = "nodeStartupTimeoutSeconds", "omitempty";
        #[schemars(extend("maxItems" = 100, "minItems" = 1, "x-kubernetes-list-type" = "atomic"))]
        pub unhealthy_node_conditions: List<UnhealthyNodeCondition> = "unhealthyNodeConditions", "omitempty";
        #[schemars(extend("maxItems" = 100, "minItems" = 1, "x-kubernetes-list-type" = "atomic"))]
        pub unhealthy_machine_conditions: List<UnhealthyMachineCondition> = "unhealthyMachineConditions", "omitempty";
    }
}

go_struct! {
    /// `MachineDeploymentClassHealthCheckRemediation` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentClassHealthCheckRemediation")]
    pub struct MachineDeploymentClassHealthCheckRemediation {
        pub max_in_flight: Option<IntOrString> = "maxInFlight", "omitempty";
        #[schemars(extend("minProperties" = 1))]
        pub trigger_if: MachineDeploymentClassHealthCheckRemediationTriggerIf = "triggerIf", "omitzero";
        pub template_ref: MachineHealthCheckRemediationTemplateReference = "templateRef", "omitzero";
    }
}

go_struct! {
    /// `MachineDeploymentClassHealthCheckRemediationTriggerIf` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentClassHealthCheckRemediationTriggerIf")]
    pub struct MachineDeploymentClassHealthCheckRemediationTriggerIf {
        pub unhealthy_less_than_or_equal_to: Option<IntOrString> = "unhealthyLessThanOrEqualTo", "omitempty";
        #[schemars(extend("maxLength" = 32, "minLength" = 1, "pattern" = "^\\[[0-9]+-[0-9]+\\]$"))]
        pub unhealthy_in_range: String = "unhealthyInRange", "omitempty";
    }
}

go_struct! {
    /// `MachineDeploymentClassInfrastructureTemplate` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentClassInfrastructureTemplate", extend("required" = ["templateRef"]))]
    pub struct MachineDeploymentClassInfrastructureTemplate {
        pub template_ref: ClusterClassTemplateReference = "templateRef", "omitzero";
    }
}

go_struct! {
    /// `MachineDeploymentClassMachineDeletionSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentClassMachineDeletionSpec")]
    pub struct MachineDeploymentClassMachineDeletionSpec {
        #[schemars(extend("enum" = ["Random", "Newest", "Oldest"]))]
        pub order: String = "order", "omitempty";
        #[schemars(extend("minimum" = 0))]
        pub node_drain_timeout_seconds: Option<i32> = "nodeDrainTimeoutSeconds", "omitempty";
        #[schemars(extend("minimum" = 0))]
        pub node_volume_detach_timeout_seconds: Option<i32> = "nodeVolumeDetachTimeoutSeconds", "omitempty";
        #[schemars(extend("minimum" = 0))]
        pub node_deletion_timeout_seconds: Option<i32> = "nodeDeletionTimeoutSeconds", "omitempty";
    }
}

go_struct! {
    /// `MachineDeploymentClassNamingSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentClassNamingSpec")]
    pub struct MachineDeploymentClassNamingSpec {
        #[schemars(extend("maxLength" = 1024, "minLength" = 1))]
        pub template: String = "template", "omitempty";
    }
}

go_struct! {
    /// `MachineDeploymentClassRolloutSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentClassRolloutSpec")]
    pub struct MachineDeploymentClassRolloutSpec {
        #[schemars(extend("minProperties" = 1))]
        pub strategy: MachineDeploymentClassRolloutStrategy = "strategy", "omitzero";
    }
}

go_struct! {
    /// `MachineDeploymentClassRolloutStrategy` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentClassRolloutStrategy", extend("required" = ["type"]))]
    pub struct MachineDeploymentClassRolloutStrategy {
        #[schemars(extend("enum" = ["RollingUpdate", "OnDelete"]))]
        pub type_: String = "type", "omitempty";
        #[schemars(extend("minProperties" = 1))]
        pub rolling_update: MachineDeploymentClassRolloutStrategyRollingUpdate = "rollingUpdate", "omitzero";
    }
}

go_struct! {
    /// `MachineDeploymentClassRolloutStrategyRollingUpdate` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentClassRolloutStrategyRollingUpdate")]
    pub struct MachineDeploymentClassRolloutStrategyRollingUpdate {
        pub max_unavailable: Option<IntOrString> = "maxUnavailable", "omitempty";
        pub max_surge: Option<IntOrString> = "maxSurge", "omitempty";
    }
}

go_struct! {
    /// `MachineDeploymentTopology` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentTopology", extend("required" = ["class", "name"]))]
    pub struct MachineDeploymentTopology {
        pub metadata: ObjectMeta = "metadata", "omitzero";
        pub class: String = "class", "omitempty";
        pub name: String = "name", "omitempty";
        pub failure_domain: String = "failureDomain", "omitempty";
        pub replicas: Option<i32> = "replicas", "omitempty";
        pub health_check: MachineDeploymentTopologyHealthCheck = "healthCheck", "omitzero";
        pub deletion: MachineDeploymentTopologyMachineDeletionSpec = "deletion", "omitzero";
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key", "effect"]))]
        pub taints: List<MachineTaint> = "taints", "omitempty";
        pub min_ready_seconds: Option<i32> = "minReadySeconds", "omitempty";
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["conditionType"]))]
        pub readiness_gates: List<MachineReadinessGate> = "readinessGates", "omitempty";
        pub rollout: MachineDeploymentTopologyRolloutSpec = "rollout", "omitzero";
        pub variables: MachineDeploymentVariables = "variables", "omitzero";
    }
}

go_struct! {
    /// `MachineDeploymentTopologyHealthCheck` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentTopologyHealthCheck")]
    pub struct MachineDeploymentTopologyHealthCheck {
        pub enabled: Option<bool> = "enabled", "omitempty";
        pub checks: MachineDeploymentTopologyHealthCheckChecks = "checks", "omitzero";
        pub remediation: MachineDeploymentTopologyHealthCheckRemediation = "remediation", "omitzero";
    }
}

go_struct! {
    /// `MachineDeploymentTopologyHealthCheckChecks` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentTopologyHealthCheckChecks")]
    pub struct MachineDeploymentTopologyHealthCheckChecks {
        pub node_startup_timeout_seconds: Option<i32> = "nodeStartupTimeoutSeconds", "omitempty";
        #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
        pub unhealthy_node_conditions: List<UnhealthyNodeCondition> = "unhealthyNodeConditions", "omitempty";
        #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
        pub unhealthy_machine_conditions: List<UnhealthyMachineCondition> = "unhealthyMachineConditions", "omitempty";
    }
}

go_struct! {
    /// `MachineDeploymentTopologyHealthCheckRemediation` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentTopologyHealthCheckRemediation")]
    pub struct MachineDeploymentTopologyHealthCheckRemediation {
        pub max_in_flight: Option<IntOrString> = "maxInFlight", "omitempty";
        pub trigger_if: MachineDeploymentTopologyHealthCheckRemediationTriggerIf = "triggerIf", "omitzero";
        pub template_ref: MachineHealthCheckRemediationTemplateReference = "templateRef", "omitzero";
    }
}

go_struct! {
    /// `MachineDeploymentTopologyHealthCheckRemediationTriggerIf` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentTopologyHealthCheckRemediationTriggerIf")]
    pub struct MachineDeploymentTopologyHealthCheckRemediationTriggerIf {
        pub unhealthy_less_than_or_equal_to: Option<IntOrString> = "unhealthyLessThanOrEqualTo", "omitempty";
        pub unhealthy_in_range: String = "unhealthyInRange", "omitempty";
    }
}

go_struct! {
    /// `MachineDeploymentTopologyMachineDeletionSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentTopologyMachineDeletionSpec")]
    pub struct MachineDeploymentTopologyMachineDeletionSpec {
        pub order: String = "order", "omitempty";
        pub node_drain_timeout_seconds: Option<i32> = "nodeDrainTimeoutSeconds", "omitempty";
        pub node_volume_detach_timeout_seconds: Option<i32> = "nodeVolumeDetachTimeoutSeconds", "omitempty";
        pub node_deletion_timeout_seconds: Option<i32> = "nodeDeletionTimeoutSeconds", "omitempty";
    }
}

go_struct! {
    /// `MachineDeploymentTopologyRolloutSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentTopologyRolloutSpec")]
    pub struct MachineDeploymentTopologyRolloutSpec {
        pub after: Time = "after", "omitzero";
        pub strategy: MachineDeploymentTopologyRolloutStrategy = "strategy", "omitzero";
    }
}

go_struct! {
    /// `MachineDeploymentTopologyRolloutStrategy` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentTopologyRolloutStrategy", extend("required" = ["type"]))]
    pub struct MachineDeploymentTopologyRolloutStrategy {
        pub type_: String = "type", "omitempty";
        pub rolling_update: MachineDeploymentTopologyRolloutStrategyRollingUpdate = "rollingUpdate", "omitzero";
    }
}

go_struct! {
    /// `MachineDeploymentTopologyRolloutStrategyRollingUpdate` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentTopologyRolloutStrategyRollingUpdate")]
    pub struct MachineDeploymentTopologyRolloutStrategyRollingUpdate {
        pub max_unavailable: Option<IntOrString> = "maxUnavailable", "omitempty";
        pub max_surge: Option<IntOrString> = "maxSurge", "omitempty";
    }
}

go_struct! {
    /// `MachineDeploymentVariables` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeploymentVariables")]
    pub struct MachineDeploymentVariables {
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
        pub overrides: List<ClusterVariable> = "overrides", "omitempty";
    }
}

go_struct! {
    /// `MachineDeprecatedStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineDeprecatedStatus")]
    pub struct MachineDeprecatedStatus {
        pub v1beta1: Option<MachineV1Beta1DeprecatedStatus> = "v1beta1", "omitempty";
    }
}

go_struct! {
    /// `MachineHealthCheckRemediationTemplateReference` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineHealthCheckRemediationTemplateReference", extend("required" = ["apiVersion", "kind", "name"]))]
    pub struct MachineHealthCheckRemediationTemplateReference {
        #[schemars(extend("maxLength" = 63, "minLength" = 1, "pattern" = "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$"))]
        pub kind: String = "kind", "omitempty";
        #[schemars(extend("maxLength" = 253, "minLength" = 1, "pattern" = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"))]
        pub name: String = "name", "omitempty";
        #[schemars(extend("maxLength" = 317, "minLength" = 1, "pattern" = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\/[a-z]([-a-z0-9]*[a-z0-9])?$"))]
        pub api_version: String = "apiVersion", "omitempty";
    }
}

go_struct! {
    /// `MachineInitializationStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineInitializationStatus")]
    pub struct MachineInitializationStatus {
        pub infrastructure_provisioned: Option<bool> = "infrastructureProvisioned", "omitempty";
        pub bootstrap_data_secret_created: Option<bool> = "bootstrapDataSecretCreated", "omitempty";
    }
}

go_struct! {
    /// `MachineNamingSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineNamingSpec")]
    pub struct MachineNamingSpec {
        pub template: String = "template", "omitempty";
    }
}

go_struct! {
    /// `MachineNodeReference` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineNodeReference", extend("required" = ["name"]))]
    pub struct MachineNodeReference {
        pub name: String = "name", "omitempty";
    }
}

go_struct! {
    /// `MachinePoolClass` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachinePoolClass", extend("required" = ["bootstrap", "class", "infrastructure"]))]
    pub struct MachinePoolClass {
        #[schemars(extend("minProperties" = 1))]
        pub metadata: ObjectMeta = "metadata", "omitzero";
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub class: String = "class", "omitempty";
        pub bootstrap: MachinePoolClassBootstrapTemplate = "bootstrap", "omitzero";
        pub infrastructure: MachinePoolClassInfrastructureTemplate = "infrastructure", "omitzero";
        #[schemars(extend("maxItems" = 100, "x-kubernetes-list-type" = "atomic", "x-crd-items" = {"maxLength": 256, "minLength": 1}))]
        pub failure_domains: List<String> = "failureDomains", "omitempty";
        #[schemars(extend("minProperties" = 1))]
        pub naming: MachinePoolClassNamingSpec = "naming", "omitzero";
        #[schemars(extend("minProperties" = 1))]
        pub deletion: MachinePoolClassMachineDeletionSpec = "deletion", "omitzero";
        #[schemars(extend("maxItems" = 64, "minItems" = 1, "x-kubernetes-list-map-keys" = ["key", "effect"], "x-kubernetes-list-type" = "map"))]
        pub taints: List<MachineTaint> = "taints", "omitempty";
        #[schemars(extend("minimum" = 0))]
        pub min_ready_seconds: Option<i32> = "minReadySeconds", "omitempty";
    }
}

go_struct! {
    /// `MachinePoolClassBootstrapTemplate` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachinePoolClassBootstrapTemplate", extend("required" = ["templateRef"]))]
    pub struct MachinePoolClassBootstrapTemplate {
        pub template_ref: ClusterClassTemplateReference = "templateRef", "omitzero";
    }
}

go_struct! {
    /// `MachinePoolClassInfrastructureTemplate` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachinePoolClassInfrastructureTemplate", extend("required" = ["templateRef"]))]
    pub struct MachinePoolClassInfrastructureTemplate {
        pub template_ref: ClusterClassTemplateReference = "templateRef", "omitzero";
    }
}

go_struct! {
    /// `MachinePoolClassMachineDeletionSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachinePoolClassMachineDeletionSpec")]
    pub struct MachinePoolClassMachineDeletionSpec {
        #[schemars(extend("minimum" = 0))]
        pub node_drain_timeout_seconds: Option<i32> = "nodeDrainTimeoutSeconds", "omitempty";
        #[schemars(extend("minimum" = 0))]
        pub node_volume_detach_timeout_seconds: Option<i32> = "nodeVolumeDetachTimeoutSeconds", "omitempty";
        #[schemars(extend("minimum" = 0))]
        pub node_deletion_timeout_seconds: Option<i32> = "nodeDeletionTimeoutSeconds", "omitempty";
    }
}

go_struct! {
    /// `MachinePoolClassNamingSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachinePoolClassNamingSpec")]
    pub struct MachinePoolClassNamingSpec {
        #[schemars(extend("maxLength" = 1024, "minLength" = 1))]
        pub template: String = "template", "omitempty";
    }
}

go_struct! {
    /// `MachinePoolTopology` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachinePoolTopology", extend("required" = ["class", "name"]))]
    pub struct MachinePoolTopology {
        pub metadata: ObjectMeta = "metadata", "omitzero";
        pub class: String = "class", "omitempty";
        pub name: String = "name", "omitempty";
        #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
        pub failure_domains: List<String> = "failureDomains", "omitempty";
        pub deletion: MachinePoolTopologyMachineDeletionSpec = "deletion", "omitzero";
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key", "effect"]))]
        pub taints: List<MachineTaint> = "taints", "omitempty";
        pub min_ready_seconds: Option<i32> = "minReadySeconds", "omitempty";
        pub replicas: Option<i32> = "replicas", "omitempty";
        pub variables: MachinePoolVariables = "variables", "omitzero";
    }
}

go_struct! {
    /// `MachinePoolTopologyMachineDeletionSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachinePoolTopologyMachineDeletionSpec")]
    pub struct MachinePoolTopologyMachineDeletionSpec {
        pub node_drain_timeout_seconds: Option<i32> = "nodeDrainTimeoutSeconds", "omitempty";
        pub node_volume_detach_timeout_seconds: Option<i32> = "nodeVolumeDetachTimeoutSeconds", "omitempty";
        pub node_deletion_timeout_seconds: Option<i32> = "nodeDeletionTimeoutSeconds", "omitempty";
    }
}

go_struct! {
    /// `MachinePoolVariables` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachinePoolVariables")]
    pub struct MachinePoolVariables {
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
        pub overrides: List<ClusterVariable> = "overrides", "omitempty";
    }
}

go_struct! {
    /// `MachineReadinessGate` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineReadinessGate", extend("required" = ["conditionType"]))]
    pub struct MachineReadinessGate {
        #[schemars(extend("maxLength" = 316, "minLength" = 1, "pattern" = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"))]
        pub condition_type: String = "conditionType", "omitempty";
        #[schemars(extend("enum" = ["Positive", "Negative"]))]
        pub polarity: String = "polarity", "omitempty";
    }
}

go_struct! {
    /// `MachineSet` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineSet", extend("required" = ["spec"]))]
    pub struct MachineSet {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        pub metadata: kubernetes::ObjectMeta = "metadata", "omitempty";
        pub spec: MachineSetSpec = "spec", "omitzero";
        pub status: MachineSetStatus = "status", "omitzero";
    }
}

go_struct! {
    /// `MachineSetDeletionSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineSetDeletionSpec")]
    pub struct MachineSetDeletionSpec {
        pub order: String = "order", "omitempty";
    }
}

go_struct! {
    /// `MachineSetDeprecatedStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineSetDeprecatedStatus")]
    pub struct MachineSetDeprecatedStatus {
        pub v1beta1: Option<MachineSetV1Beta1DeprecatedStatus> = "v1beta1", "omitempty";
    }
}

go_struct! {
    /// `MachineSetSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineSetSpec", extend("required" = ["clusterName", "selector", "template"]))]
    pub struct MachineSetSpec {
        pub cluster_name: String = "clusterName", "omitempty";
        pub replicas: Option<i32> = "replicas", "omitempty";
        pub selector: kubernetes::LabelSelector = "selector", "omitzero";
        pub template: MachineTemplateSpec = "template", "omitzero";
        pub machine_naming: MachineNamingSpec = "machineNaming", "omitzero";
        pub deletion: MachineSetDeletionSpec = "deletion", "omitzero";
    }
}

go_struct! {
    /// `MachineSetStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineSetStatus")]
    pub struct MachineSetStatus {
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
        pub conditions: List<kubernetes::Condition> = "conditions", "omitempty";
        pub selector: String = "selector", "omitempty";
        pub replicas: Option<i32> = "replicas", "omitempty";
        pub ready_replicas: Option<i32> = "readyReplicas", "omitempty";
        pub available_replicas: Option<i32> = "availableReplicas", "omitempty";
        pub up_to_date_replicas: Option<i32> = "upToDateReplicas", "omitempty";
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["version"]))]
        pub versions: List<StatusVersion> = "versions", "omitempty";
        pub observed_generation: i64 = "observedGeneration", "omitempty";
        pub deprecated: Option<MachineSetDeprecatedStatus> = "deprecated", "omitempty";
    }
}

go_struct! {
    /// `MachineSetV1Beta1DeprecatedStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineSetV1Beta1DeprecatedStatus")]
    pub struct MachineSetV1Beta1DeprecatedStatus {
        pub conditions: List<Condition> = "conditions", "omitempty";
        pub failure_reason: Option<String> = "failureReason", "omitempty";
        pub failure_message: Option<String> = "failureMessage", "omitempty";
        pub fully_labeled_replicas: i32 = "fullyLabeledReplicas", "always";
        pub ready_replicas: i32 = "readyReplicas", "always";
        pub available_replicas: i32 = "availableReplicas", "always";
    }
}

go_struct! {
    /// `MachineSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineSpec", extend("required" = ["clusterName", "bootstrap", "infrastructureRef"]))]
    pub struct MachineSpec {
        pub cluster_name: String = "clusterName", "omitempty";
        pub bootstrap: Bootstrap = "bootstrap", "omitzero";
        pub infrastructure_ref: ContractVersionedObjectReference = "infrastructureRef", "omitzero";
        pub version: String = "version", "omitempty";
        pub provider_id: String = "providerID", "omitempty";
        pub failure_domain: String = "failureDomain", "omitempty";
        pub min_ready_seconds: Option<i32> = "minReadySeconds", "omitempty";
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["conditionType"]))]
        pub readiness_gates: List<MachineReadinessGate> = "readinessGates", "omitempty";
        pub deletion: MachineDeletionSpec = "deletion", "omitzero";
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key", "effect"]))]
        pub taints: List<MachineTaint> = "taints", "omitempty";
    }
}

go_struct! {
    /// `MachineStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineStatus")]
    pub struct MachineStatus {
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
        pub conditions: List<kubernetes::Condition> = "conditions", "omitempty";
        pub initialization: MachineInitializationStatus = "initialization", "omitzero";
        pub node_ref: MachineNodeReference = "nodeRef", "omitzero";
        pub node_info: Option<kubernetes::NodeSystemInfo> = "nodeInfo", "omitempty";
        pub last_updated: Time = "lastUpdated", "omitzero";
        pub addresses: List<MachineAddress> = "addresses", "omitempty";
        pub failure_domain: String = "failureDomain", "omitempty";
        pub phase: String = "phase", "omitempty";
        pub certificates_expiry_date: Time = "certificatesExpiryDate", "omitzero";
        pub observed_generation: i64 = "observedGeneration", "omitempty";
        pub deletion: Option<MachineDeletionStatus> = "deletion", "omitempty";
        pub deprecated: Option<MachineDeprecatedStatus> = "deprecated", "omitempty";
    }
}

go_struct! {
    /// `MachineTaint` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineTaint", extend("required" = ["effect", "key", "propagation"]))]
    pub struct MachineTaint {
        #[schemars(extend("maxLength" = 317, "minLength" = 1, "pattern" = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"))]
        pub key: String = "key", "omitempty";
        #[schemars(extend("maxLength" = 63, "minLength" = 1, "pattern" = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"))]
        pub value: String = "value", "omitempty";
        #[schemars(extend("enum" = ["NoSchedule", "PreferNoSchedule", "NoExecute"]))]
        pub effect: String = "effect", "omitempty";
        #[schemars(extend("enum" = ["Always", "OnInitialization"]))]
        pub propagation: String = "propagation", "omitempty";
    }
}

go_struct! {
    /// `MachineTemplateSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineTemplateSpec", extend("required" = ["spec"]))]
    pub struct MachineTemplateSpec {
        pub metadata: ObjectMeta = "metadata", "omitzero";
        pub spec: MachineSpec = "spec", "omitzero";
    }
}

go_struct! {
    /// `MachineV1Beta1DeprecatedStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.MachineV1Beta1DeprecatedStatus")]
    pub struct MachineV1Beta1DeprecatedStatus {
        pub conditions: List<Condition> = "conditions", "omitempty";
        pub failure_reason: Option<String> = "failureReason", "omitempty";
        pub failure_message: Option<String> = "failureMessage", "omitempty";
    }
}

go_struct! {
    /// `NetworkRanges` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.NetworkRanges", extend("required" = ["cidrBlocks"]))]
    pub struct NetworkRanges {
        #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
        pub cidr_blocks: List<String> = "cidrBlocks", "omitempty";
    }
}

go_struct! {
    /// `ObjectMeta` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ObjectMeta")]
    pub struct ObjectMeta {
        pub labels: Dict<String> = "labels", "omitempty";
        pub annotations: Dict<String> = "annotations", "omitempty";
    }
}

go_struct! {
    /// `PatchDefinition` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.PatchDefinition", extend("required" = ["jsonPatches", "selector"]))]
    pub struct PatchDefinition {
        pub selector: PatchSelector = "selector", "omitzero";
        #[schemars(extend("maxItems" = 100, "minItems" = 1, "x-kubernetes-list-type" = "atomic"))]
        pub json_patches: List<JSONPatch> = "jsonPatches", "omitempty";
    }
}

go_struct! {
    /// `PatchSelector` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.PatchSelector", extend("required" = ["apiVersion", "kind", "matchResources"]))]
    pub struct PatchSelector {
        #[schemars(extend("maxLength" = 317, "minLength" = 1, "pattern" = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\/[a-z]([-a-z0-9]*[a-z0-9])?$"))]
        pub api_version: String = "apiVersion", "omitempty";
        #[schemars(extend("maxLength" = 63, "minLength" = 1, "pattern" = "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$"))]
        pub kind: String = "kind", "omitempty";
        #[schemars(extend("minProperties" = 1))]
        pub match_resources: PatchSelectorMatch = "matchResources", "omitzero";
    }
}

go_struct! {
    /// `PatchSelectorMatch` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.PatchSelectorMatch")]
    pub struct PatchSelectorMatch {
        pub control_plane: Option<bool> = "controlPlane", "omitempty";
        pub infrastructure_cluster: Option<bool> = "infrastructureCluster", "omitempty";
        pub machine_deployment_class: Option<PatchSelectorMatchMachineDeploymentClass> = "machineDeploymentClass", "omitempty";
        pub machine_pool_class: Option<PatchSelectorMatchMachinePoolClass> = "machinePoolClass", "omitempty";
    }
}

go_struct! {
    /// `PatchSelectorMatchMachineDeploymentClass` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.PatchSelectorMatchMachineDeploymentClass")]
    pub struct PatchSelectorMatchMachineDeploymentClass {
        #[schemars(extend("maxItems" = 100, "x-kubernetes-list-type" = "atomic", "x-crd-items" = {"maxLength": 256, "minLength": 1}))]
        pub names: List<String> = "names", "omitempty";
    }
}

go_struct! {
    /// `PatchSelectorMatchMachinePoolClass` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.PatchSelectorMatchMachinePoolClass")]
    pub struct PatchSelectorMatchMachinePoolClass {
        #[schemars(extend("maxItems" = 100, "x-kubernetes-list-type" = "atomic", "x-crd-items" = {"maxLength": 256, "minLength": 1}))]
        pub names: List<String> = "names", "omitempty";
    }
}

go_struct! {
    /// `StatusUpgradePlanVersion` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.StatusUpgradePlanVersion", extend("required" = ["version"]))]
    pub struct StatusUpgradePlanVersion {
        pub version: String = "version", "omitempty";
    }
}

go_struct! {
    /// `StatusVersion` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.StatusVersion", extend("required" = ["version"]))]
    pub struct StatusVersion {
        pub version: String = "version", "omitempty";
        pub replicas: i32 = "replicas", "omitempty";
    }
}

go_struct! {
    /// `Topology` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.Topology", extend("required" = ["classRef", "version"]))]
    pub struct Topology {
        pub class_ref: ClusterClassRef = "classRef", "omitzero";
        pub version: String = "version", "omitempty";
        pub control_plane: ControlPlaneTopology = "controlPlane", "omitzero";
        pub workers: WorkersTopology = "workers", "omitzero";
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
        pub variables: List<ClusterVariable> = "variables", "omitempty";
    }
}

go_struct! {
    /// `UnhealthyMachineCondition` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.UnhealthyMachineCondition", extend("required" = ["status", "timeoutSeconds", "type"]))]
    pub struct UnhealthyMachineCondition {
        #[schemars(extend("maxLength" = 316, "minLength" = 1, "pattern" = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$", "x-kubernetes-validations" = [{"message": "type must not be one of: Ready, Available, HealthCheckSucceeded, OwnerRemediated, ExternallyRemediated", "rule": "!(self in ['Ready','Available','HealthCheckSucceeded','OwnerRemediated','ExternallyRemediated'])"}]))]
        pub type_: String = "type", "omitempty";
        #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
        pub status: String = "status", "omitempty";
        #[schemars(extend("minimum" = 0))]
        pub timeout_seconds: Option<i32> = "timeoutSeconds", "omitempty";
    }
}

go_struct! {
    /// `UnhealthyNodeCondition` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.UnhealthyNodeCondition", extend("required" = ["status", "timeoutSeconds", "type"]))]
    pub struct UnhealthyNodeCondition {
        #[schemars(extend("minLength" = 1))]
        pub type_: String = "type", "omitempty";
        #[schemars(extend("minLength" = 1))]
        pub status: String = "status", "omitempty";
        #[schemars(extend("minimum" = 0))]
        pub timeout_seconds: Option<i32> = "timeoutSeconds", "omitempty";
    }
}

go_struct! {
    /// `ValidationRule` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.ValidationRule", extend("required" = ["rule"]))]
    pub struct ValidationRule {
        #[schemars(extend("maxLength" = 4096, "minLength" = 1))]
        pub rule: String = "rule", "omitempty";
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub message: String = "message", "omitempty";
        #[schemars(extend("maxLength" = 1024, "minLength" = 1))]
        pub message_expression: String = "messageExpression", "omitempty";
        #[schemars(extend("x-crd-default" = "FieldValueInvalid", "enum" = ["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"]))]
        pub reason: String = "reason", "omitempty";
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub field_path: String = "fieldPath", "omitempty";
    }
}

go_struct! {
    /// `VariableSchema` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.VariableSchema", extend("required" = ["openAPIV3Schema"]))]
    pub struct VariableSchema {
        #[schemars(extend("minProperties" = 1))]
        pub open_api_v3_schema: JsonSchemaProps = "openAPIV3Schema", "omitzero";
    }
}

go_struct! {
    /// `VariableSchemaMetadata` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.VariableSchemaMetadata")]
    pub struct VariableSchemaMetadata {
        pub labels: Dict<String> = "labels", "omitempty";
        pub annotations: Dict<String> = "annotations", "omitempty";
    }
}

go_struct! {
    /// `WorkersClass` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.WorkersClass")]
    pub struct WorkersClass {
        #[schemars(extend("maxItems" = 100, "minItems" = 1, "x-kubernetes-list-map-keys" = ["class"], "x-kubernetes-list-type" = "map"))]
        pub machine_deployments: List<MachineDeploymentClass> = "machineDeployments", "omitempty";
        #[schemars(extend("maxItems" = 100, "minItems" = 1, "x-kubernetes-list-map-keys" = ["class"], "x-kubernetes-list-type" = "map"))]
        pub machine_pools: List<MachinePoolClass> = "machinePools", "omitempty";
    }
}

go_struct! {
    /// `WorkersStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.WorkersStatus")]
    pub struct WorkersStatus {
        pub desired_replicas: Option<i32> = "desiredReplicas", "omitempty";
        pub replicas: Option<i32> = "replicas", "omitempty";
        pub up_to_date_replicas: Option<i32> = "upToDateReplicas", "omitempty";
        pub ready_replicas: Option<i32> = "readyReplicas", "omitempty";
        pub available_replicas: Option<i32> = "availableReplicas", "omitempty";
        #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
        pub versions: List<StatusVersion> = "versions", "omitempty";
        #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
        pub upgrade_plan: List<StatusUpgradePlanVersion> = "upgradePlan", "omitempty";
    }
}

go_struct! {
    /// `WorkersTopology` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta2.WorkersTopology")]
    pub struct WorkersTopology {
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
        pub machine_deployments: List<MachineDeploymentTopology> = "machineDeployments", "omitempty";
        #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
        pub machine_pools: List<MachinePoolTopology> = "machinePools", "omitempty";
    }
}
