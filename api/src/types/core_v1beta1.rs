//! `cluster.x-k8s.io/v1beta1`: `ClusterClass`.
//!
//! Shape: Cluster API `api/core/v1beta1`.

use super::{
    Dict, Duration, Go, IntOrString, Json, List, Shape, Time, always, kubernetes, null_is_default, omitempty,
    omitzero,
};

go_struct! {
    /// `ClusterAvailabilityGate` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.ClusterAvailabilityGate", extend("required" = ["conditionType"]))]
    pub struct ClusterAvailabilityGate {
        #[schemars(extend("maxLength" = 316, "minLength" = 1, "pattern" = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"))]
        pub condition_type: String = "conditionType", "always";
        #[schemars(extend("enum" = ["Positive", "Negative"]))]
        pub polarity: String = "polarity", "omitempty";
    }
}

go_struct! {
    /// `ClusterClass` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.ClusterClass")]
    pub struct ClusterClass {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        #[schemars(extend("x-crd" = {"type": "object"}))]
        pub metadata: kubernetes::ObjectMeta = "metadata", "omitempty";
        pub spec: ClusterClassSpec = "spec", "omitempty";
        pub status: ClusterClassStatus = "status", "omitempty";
    }
}

go_struct! {
    /// `ClusterClassPatch` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.ClusterClassPatch", extend("required" = ["name"]))]
    pub struct ClusterClassPatch {
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub name: String = "name", "always";
        #[schemars(extend("maxLength" = 1024, "minLength" = 1))]
        pub description: String = "description", "omitempty";
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub enabled_if: Option<String> = "enabledIf", "omitempty";
        #[schemars(extend("maxItems" = 100))]
        pub definitions: List<PatchDefinition> = "definitions", "omitempty";
        pub external: Option<ExternalPatchDefinition> = "external", "omitempty";
    }
}

go_struct! {
    /// `ClusterClassSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.ClusterClassSpec")]
    pub struct ClusterClassSpec {
        #[schemars(extend("maxItems" = 32, "x-kubernetes-list-map-keys" = ["conditionType"], "x-kubernetes-list-type" = "map"))]
        pub availability_gates: List<ClusterAvailabilityGate> = "availabilityGates", "omitempty";
        pub infrastructure: LocalObjectTemplate = "infrastructure", "omitempty";
        pub infrastructure_naming_strategy: Option<InfrastructureNamingStrategy> = "infrastructureNamingStrategy", "omitempty";
        pub control_plane: ControlPlaneClass = "controlPlane", "omitempty";
        pub workers: WorkersClass = "workers", "omitempty";
        #[schemars(extend("maxItems" = 1000))]
        pub variables: List<ClusterClassVariable> = "variables", "omitempty";
        #[schemars(extend("maxItems" = 1000))]
        pub patches: List<ClusterClassPatch> = "patches", "omitempty";
        #[schemars(extend("minProperties" = 1))]
        pub upgrade: ClusterClassUpgrade = "upgrade", "omitzero";
        #[schemars(extend("maxItems" = 100, "minItems" = 1, "x-kubernetes-list-type" = "atomic", "x-crd-items" = {"maxLength": 256, "minLength": 1}))]
        pub kubernetes_versions: List<String> = "kubernetesVersions", "omitempty";
    }
}

go_struct! {
    /// `ClusterClassStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.ClusterClassStatus")]
    pub struct ClusterClassStatus {
        #[schemars(extend("maxItems" = 1000))]
        pub variables: List<ClusterClassStatusVariable> = "variables", "omitempty";
        pub conditions: List<Condition> = "conditions", "omitempty";
        pub observed_generation: i64 = "observedGeneration", "omitempty";
        pub v1beta2: Option<ClusterClassV1Beta2Status> = "v1beta2", "omitempty";
    }
}

go_struct! {
    /// `ClusterClassStatusVariable` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.ClusterClassStatusVariable", extend("required" = ["definitions", "name"]))]
    pub struct ClusterClassStatusVariable {
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub name: String = "name", "always";
        pub definitions_conflict: bool = "definitionsConflict", "always";
        #[schemars(extend("maxItems" = 100))]
        pub definitions: List<ClusterClassStatusVariableDefinition> = "definitions", "always";
    }
}

go_struct! {
    /// `ClusterClassStatusVariableDefinition` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.ClusterClassStatusVariableDefinition", extend("required" = ["from", "required", "schema"]))]
    pub struct ClusterClassStatusVariableDefinition {
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub from: String = "from", "always";
        pub required: bool = "required", "always";
        pub metadata: ClusterClassVariableMetadata = "metadata", "omitempty";
        pub schema: VariableSchema = "schema", "always";
    }
}

go_struct! {
    /// `ClusterClassUpgrade` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.ClusterClassUpgrade")]
    pub struct ClusterClassUpgrade {
        #[schemars(extend("minProperties" = 1))]
        pub external: ClusterClassUpgradeExternal = "external", "omitzero";
    }
}

go_struct! {
    /// `ClusterClassUpgradeExternal` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.ClusterClassUpgradeExternal")]
    pub struct ClusterClassUpgradeExternal {
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub generate_upgrade_plan_extension: String = "generateUpgradePlanExtension", "omitempty";
    }
}

go_struct! {
    /// `ClusterClassV1Beta2Status` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.ClusterClassV1Beta2Status")]
    pub struct ClusterClassV1Beta2Status {
        #[schemars(extend("maxItems" = 32, "x-kubernetes-list-map-keys" = ["type"], "x-kubernetes-list-type" = "map"))]
        pub conditions: List<kubernetes::Condition> = "conditions", "omitempty";
    }
}

go_struct! {
    /// `ClusterClassVariable` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.ClusterClassVariable", extend("required" = ["name", "required", "schema"]))]
    pub struct ClusterClassVariable {
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub name: String = "name", "always";
        pub required: bool = "required", "always";
        pub metadata: ClusterClassVariableMetadata = "metadata", "omitempty";
        pub schema: VariableSchema = "schema", "always";
    }
}

go_struct! {
    /// `ClusterClassVariableMetadata` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.ClusterClassVariableMetadata")]
    pub struct ClusterClassVariableMetadata {
        pub labels: Dict<String> = "labels", "omitempty";
        pub annotations: Dict<String> = "annotations", "omitempty";
    }
}

go_struct! {
    /// `Condition` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.Condition", extend("required" = ["lastTransitionTime", "status", "type"]))]
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
    /// `ControlPlaneClass` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.ControlPlaneClass", extend("required" = ["ref"]))]
    pub struct ControlPlaneClass {
        pub metadata: ObjectMeta = "metadata", "omitempty";
        #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
        pub ref_: Option<kubernetes::ObjectReference> = "ref", "always";
        pub machine_infrastructure: Option<LocalObjectTemplate> = "machineInfrastructure", "omitempty";
        pub machine_health_check: Option<MachineHealthCheckClass> = "machineHealthCheck", "omitempty";
        pub naming_strategy: Option<ControlPlaneClassNamingStrategy> = "namingStrategy", "omitempty";
        pub node_drain_timeout: Option<Duration> = "nodeDrainTimeout", "omitempty";
        pub node_volume_detach_timeout: Option<Duration> = "nodeVolumeDetachTimeout", "omitempty";
        pub node_deletion_timeout: Option<Duration> = "nodeDeletionTimeout", "omitempty";
        #[schemars(extend("maxItems" = 64, "minItems" = 1, "x-kubernetes-list-map-keys" = ["key", "effect"], "x-kubernetes-list-type" = "map"))]
        pub taints: List<MachineTaint> = "taints", "omitempty";
        #[schemars(extend("maxItems" = 32, "x-kubernetes-list-map-keys" = ["conditionType"], "x-kubernetes-list-type" = "map"))]
        pub readiness_gates: List<MachineReadinessGate> = "readinessGates", "omitempty";
    }
}

go_struct! {
    /// `ControlPlaneClassNamingStrategy` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.ControlPlaneClassNamingStrategy")]
    pub struct ControlPlaneClassNamingStrategy {
        #[schemars(extend("maxLength" = 1024, "minLength" = 1))]
        pub template: Option<String> = "template", "omitempty";
    }
}

go_struct! {
    /// `ExternalPatchDefinition` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.ExternalPatchDefinition")]
    pub struct ExternalPatchDefinition {
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub generate_extension: Option<String> = "generateExtension", "omitempty";
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub validate_extension: Option<String> = "validateExtension", "omitempty";
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub discover_variables_extension: Option<String> = "discoverVariablesExtension", "omitempty";
        pub settings: Dict<String> = "settings", "omitempty";
    }
}

go_struct! {
    /// `InfrastructureNamingStrategy` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.InfrastructureNamingStrategy")]
    pub struct InfrastructureNamingStrategy {
        #[schemars(extend("maxLength" = 1024, "minLength" = 1))]
        pub template: Option<String> = "template", "omitempty";
    }
}

go_struct! {
    /// `JSONPatch` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.JSONPatch", extend("required" = ["op", "path"]))]
    pub struct JSONPatch {
        #[schemars(extend("enum" = ["add", "replace", "remove"]))]
        pub op: String = "op", "always";
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub path: String = "path", "always";
        pub value: Option<Json> = "value", "omitempty";
        pub value_from: Option<JSONPatchValue> = "valueFrom", "omitempty";
    }
}

go_struct! {
    /// `JSONPatchValue` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.JSONPatchValue")]
    pub struct JSONPatchValue {
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub variable: Option<String> = "variable", "omitempty";
        #[schemars(extend("maxLength" = 10240, "minLength" = 1))]
        pub template: Option<String> = "template", "omitempty";
    }
}

go_struct! {
    /// `JSONSchemaProps` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.JSONSchemaProps")]
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
        #[schemars(extend("maxItems" = 1000, "x-crd-items" = {"maxLength": 256, "minLength": 1}))]
        pub required: List<String> = "required", "omitempty";
        #[schemars(extend("x-crd" = {"x-kubernetes-preserve-unknown-fields": true}))]
        pub items: Option<Box<JsonSchemaProps>> = "items", "omitempty";
        pub max_items: Option<i64> = "maxItems", "omitempty";
        pub min_items: Option<i64> = "minItems", "omitempty";
        pub unique_items: bool = "uniqueItems", "omitempty";
        #[schemars(extend("maxLength" = 32, "minLength" = 1))]
        pub format: String = "format", "omitempty";
        pub max_length: Option<i64> = "maxLength", "omitempty";
        pub min_length: Option<i64> = "minLength", "omitempty";
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub pattern: String = "pattern", "omitempty";
        pub maximum: Option<i64> = "maximum", "omitempty";
        pub exclusive_maximum: bool = "exclusiveMaximum", "omitempty";
        pub minimum: Option<i64> = "minimum", "omitempty";
        pub exclusive_minimum: bool = "exclusiveMinimum", "omitempty";
        pub x_preserve_unknown_fields: bool = "x-kubernetes-preserve-unknown-fields", "omitempty";
        #[schemars(extend("maxItems" = 100))]
        pub enum_: List<Json> = "enum", "omitempty";
        pub default: Option<Json> = "default", "omitempty";
        #[schemars(extend("maxItems" = 100, "x-kubernetes-list-map-keys" = ["rule"], "x-kubernetes-list-type" = "map"))]
        pub x_validations: List<ValidationRule> = "x-kubernetes-validations", "omitempty";
        pub x_metadata: Option<VariableSchemaMetadata> = "x-metadata", "omitempty";
        pub x_int_or_string: bool = "x-kubernetes-int-or-string", "omitempty";
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
    /// `LocalObjectTemplate` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.LocalObjectTemplate", extend("required" = ["ref"]))]
    pub struct LocalObjectTemplate {
        #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
        pub ref_: Option<kubernetes::ObjectReference> = "ref", "always";
    }
}

go_struct! {
    /// `MachineDeploymentClass` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.MachineDeploymentClass", extend("required" = ["class", "template"]))]
    pub struct MachineDeploymentClass {
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub class: String = "class", "always";
        pub template: MachineDeploymentClassTemplate = "template", "always";
        pub machine_health_check: Option<MachineHealthCheckClass> = "machineHealthCheck", "omitempty";
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub failure_domain: Option<String> = "failureDomain", "omitempty";
        pub naming_strategy: Option<MachineDeploymentClassNamingStrategy> = "namingStrategy", "omitempty";
        pub node_drain_timeout: Option<Duration> = "nodeDrainTimeout", "omitempty";
        pub node_volume_detach_timeout: Option<Duration> = "nodeVolumeDetachTimeout", "omitempty";
        pub node_deletion_timeout: Option<Duration> = "nodeDeletionTimeout", "omitempty";
        #[schemars(extend("maxItems" = 64, "minItems" = 1, "x-kubernetes-list-map-keys" = ["key", "effect"], "x-kubernetes-list-type" = "map"))]
        pub taints: List<MachineTaint> = "taints", "omitempty";
        pub min_ready_seconds: Option<i32> = "minReadySeconds", "omitempty";
        #[schemars(extend("maxItems" = 32, "x-kubernetes-list-map-keys" = ["conditionType"], "x-kubernetes-list-type" = "map"))]
        pub readiness_gates: List<MachineReadinessGate> = "readinessGates", "omitempty";
        pub strategy: Option<MachineDeploymentStrategy> = "strategy", "omitempty";
    }
}

go_struct! {
    /// `MachineDeploymentClassNamingStrategy` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.MachineDeploymentClassNamingStrategy")]
    pub struct MachineDeploymentClassNamingStrategy {
        #[schemars(extend("maxLength" = 1024, "minLength" = 1))]
        pub template: Option<String> = "template", "omitempty";
    }
}

go_struct! {
    /// `MachineDeploymentClassTemplate` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.MachineDeploymentClassTemplate", extend("required" = ["bootstrap", "infrastructure"]))]
    pub struct MachineDeploymentClassTemplate {
        pub metadata: ObjectMeta = "metadata", "omitempty";
        pub bootstrap: LocalObjectTemplate = "bootstrap", "always";
        pub infrastructure: LocalObjectTemplate = "infrastructure", "always";
    }
}

go_struct! {
    /// `MachineDeploymentStrategy` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.MachineDeploymentStrategy")]
    pub struct MachineDeploymentStrategy {
        #[schemars(extend("enum" = ["RollingUpdate", "OnDelete"]))]
        pub type_: String = "type", "omitempty";
        pub rolling_update: Option<MachineRollingUpdateDeployment> = "rollingUpdate", "omitempty";
        pub remediation: Option<RemediationStrategy> = "remediation", "omitempty";
    }
}

go_struct! {
    /// `MachineHealthCheckClass` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.MachineHealthCheckClass")]
    pub struct MachineHealthCheckClass {
        #[schemars(extend("maxItems" = 100))]
        pub unhealthy_conditions: List<UnhealthyCondition> = "unhealthyConditions", "omitempty";
        #[schemars(extend("maxItems" = 100, "minItems" = 1, "x-kubernetes-list-type" = "atomic"))]
        pub unhealthy_machine_conditions: List<UnhealthyMachineCondition> = "unhealthyMachineConditions", "omitempty";
        pub max_unhealthy: Option<IntOrString> = "maxUnhealthy", "omitempty";
        #[schemars(extend("maxLength" = 32, "minLength" = 1, "pattern" = "^\\[[0-9]+-[0-9]+\\]$"))]
        pub unhealthy_range: Option<String> = "unhealthyRange", "omitempty";
        pub node_startup_timeout: Option<Duration> = "nodeStartupTimeout", "omitempty";
        #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
        pub remediation_template: Option<kubernetes::ObjectReference> = "remediationTemplate", "omitempty";
    }
}

go_struct! {
    /// `MachinePoolClass` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.MachinePoolClass", extend("required" = ["class", "template"]))]
    pub struct MachinePoolClass {
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub class: String = "class", "always";
        pub template: MachinePoolClassTemplate = "template", "always";
        #[schemars(extend("maxItems" = 100, "x-crd-items" = {"maxLength": 256, "minLength": 1}))]
        pub failure_domains: List<String> = "failureDomains", "omitempty";
        pub naming_strategy: Option<MachinePoolClassNamingStrategy> = "namingStrategy", "omitempty";
        pub node_drain_timeout: Option<Duration> = "nodeDrainTimeout", "omitempty";
        pub node_volume_detach_timeout: Option<Duration> = "nodeVolumeDetachTimeout", "omitempty";
        pub node_deletion_timeout: Option<Duration> = "nodeDeletionTimeout", "omitempty";
        #[schemars(extend("maxItems" = 64, "minItems" = 1, "x-kubernetes-list-map-keys" = ["key", "effect"], "x-kubernetes-list-type" = "map"))]
        pub taints: List<MachineTaint> = "taints", "omitempty";
        pub min_ready_seconds: Option<i32> = "minReadySeconds", "omitempty";
    }
}

go_struct! {
    /// `MachinePoolClassNamingStrategy` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.MachinePoolClassNamingStrategy")]
    pub struct MachinePoolClassNamingStrategy {
        #[schemars(extend("maxLength" = 1024, "minLength" = 1))]
        pub template: Option<String> = "template", "omitempty";
    }
}

go_struct! {
    /// `MachinePoolClassTemplate` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.MachinePoolClassTemplate", extend("required" = ["bootstrap", "infrastructure"]))]
    pub struct MachinePoolClassTemplate {
        pub metadata: ObjectMeta = "metadata", "omitempty";
        pub bootstrap: LocalObjectTemplate = "bootstrap", "always";
        pub infrastructure: LocalObjectTemplate = "infrastructure", "always";
    }
}

go_struct! {
    /// `MachineReadinessGate` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.MachineReadinessGate", extend("required" = ["conditionType"]))]
    pub struct MachineReadinessGate {
        #[schemars(extend("maxLength" = 316, "minLength" = 1, "pattern" = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"))]
        pub condition_type: String = "conditionType", "always";
        #[schemars(extend("enum" = ["Positive", "Negative"]))]
        pub polarity: String = "polarity", "omitempty";
    }
}

go_struct! {
    /// `MachineRollingUpdateDeployment` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.MachineRollingUpdateDeployment")]
    pub struct MachineRollingUpdateDeployment {
        pub max_unavailable: Option<IntOrString> = "maxUnavailable", "omitempty";
        pub max_surge: Option<IntOrString> = "maxSurge", "omitempty";
        #[schemars(extend("enum" = ["Random", "Newest", "Oldest"]))]
        pub delete_policy: Option<String> = "deletePolicy", "omitempty";
    }
}

go_struct! {
    /// `MachineTaint` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.MachineTaint", extend("required" = ["effect", "key", "propagation"]))]
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
    /// `ObjectMeta` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.ObjectMeta")]
    pub struct ObjectMeta {
        pub labels: Dict<String> = "labels", "omitempty";
        pub annotations: Dict<String> = "annotations", "omitempty";
    }
}

go_struct! {
    /// `PatchDefinition` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.PatchDefinition", extend("required" = ["jsonPatches", "selector"]))]
    pub struct PatchDefinition {
        pub selector: PatchSelector = "selector", "always";
        #[schemars(extend("maxItems" = 100))]
        pub json_patches: List<JSONPatch> = "jsonPatches", "always";
    }
}

go_struct! {
    /// `PatchSelector` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.PatchSelector", extend("required" = ["apiVersion", "kind", "matchResources"]))]
    pub struct PatchSelector {
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub api_version: String = "apiVersion", "always";
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub kind: String = "kind", "always";
        pub match_resources: PatchSelectorMatch = "matchResources", "always";
    }
}

go_struct! {
    /// `PatchSelectorMatch` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.PatchSelectorMatch")]
    pub struct PatchSelectorMatch {
        pub control_plane: bool = "controlPlane", "omitempty";
        pub infrastructure_cluster: bool = "infrastructureCluster", "omitempty";
        pub machine_deployment_class: Option<PatchSelectorMatchMachineDeploymentClass> = "machineDeploymentClass", "omitempty";
        pub machine_pool_class: Option<PatchSelectorMatchMachinePoolClass> = "machinePoolClass", "omitempty";
    }
}

go_struct! {
    /// `PatchSelectorMatchMachineDeploymentClass` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.PatchSelectorMatchMachineDeploymentClass")]
    pub struct PatchSelectorMatchMachineDeploymentClass {
        #[schemars(extend("maxItems" = 100, "x-crd-items" = {"maxLength": 256, "minLength": 1}))]
        pub names: List<String> = "names", "omitempty";
    }
}

go_struct! {
    /// `PatchSelectorMatchMachinePoolClass` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.PatchSelectorMatchMachinePoolClass")]
    pub struct PatchSelectorMatchMachinePoolClass {
        #[schemars(extend("maxItems" = 100, "x-crd-items" = {"maxLength": 256, "minLength": 1}))]
        pub names: List<String> = "names", "omitempty";
    }
}

go_struct! {
    /// `RemediationStrategy` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.RemediationStrategy")]
    pub struct RemediationStrategy {
        pub max_in_flight: Option<IntOrString> = "maxInFlight", "omitempty";
    }
}

go_struct! {
    /// `UnhealthyCondition` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.UnhealthyCondition", extend("required" = ["status", "timeout", "type"]))]
    pub struct UnhealthyCondition {
        #[schemars(extend("minLength" = 1))]
        pub type_: String = "type", "always";
        #[schemars(extend("minLength" = 1))]
        pub status: String = "status", "always";
        pub timeout: Duration = "timeout", "always";
    }
}

go_struct! {
    /// `UnhealthyMachineCondition` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.UnhealthyMachineCondition", extend("required" = ["status", "timeout", "type"]))]
    pub struct UnhealthyMachineCondition {
        #[schemars(extend("maxLength" = 316, "minLength" = 1, "pattern" = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$", "x-kubernetes-validations" = [{"message": "type must not be one of: Ready, Available, HealthCheckSucceeded, OwnerRemediated, ExternallyRemediated", "rule": "!(self in ['Ready','Available','HealthCheckSucceeded','OwnerRemediated','ExternallyRemediated'])"}]))]
        pub type_: String = "type", "omitempty";
        #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
        pub status: String = "status", "omitempty";
        pub timeout: Duration = "timeout", "always";
    }
}

go_struct! {
    /// `ValidationRule` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.ValidationRule", extend("required" = ["rule"]))]
    pub struct ValidationRule {
        #[schemars(extend("maxLength" = 4096, "minLength" = 1))]
        pub rule: String = "rule", "always";
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
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.VariableSchema", extend("required" = ["openAPIV3Schema"]))]
    pub struct VariableSchema {
        pub open_api_v3_schema: JsonSchemaProps = "openAPIV3Schema", "always";
    }
}

go_struct! {
    /// `VariableSchemaMetadata` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.VariableSchemaMetadata")]
    pub struct VariableSchemaMetadata {
        pub labels: Dict<String> = "labels", "omitempty";
        pub annotations: Dict<String> = "annotations", "omitempty";
    }
}

go_struct! {
    /// `WorkersClass` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.core.v1beta1.WorkersClass")]
    pub struct WorkersClass {
        #[schemars(extend("maxItems" = 100, "x-kubernetes-list-map-keys" = ["class"], "x-kubernetes-list-type" = "map"))]
        pub machine_deployments: List<MachineDeploymentClass> = "machineDeployments", "omitempty";
        #[schemars(extend("maxItems" = 100, "x-kubernetes-list-map-keys" = ["class"], "x-kubernetes-list-type" = "map"))]
        pub machine_pools: List<MachinePoolClass> = "machinePools", "omitempty";
    }
}
