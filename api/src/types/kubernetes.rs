//! What the other kinds take from Kubernetes: metadata, selectors, conditions.
//!
//! Shape: Kubernetes `meta/v1` and `core/v1`.

use super::{Dict, FieldsV1, Go, List, Shape, Time, always, null_is_default, omitempty, omitzero};

go_struct! {
    /// `NodeSwapStatus` of Kubernetes.
    #[schemars(rename = "k8s.io.api.core.v1.NodeSwapStatus")]
    pub struct NodeSwapStatus {
        pub capacity: Option<i64> = "capacity", "omitempty";
    }
}

go_struct! {
    /// `NodeSystemInfo` of Kubernetes.
    #[schemars(rename = "k8s.io.api.core.v1.NodeSystemInfo", extend("required" = ["machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture"]))]
    pub struct NodeSystemInfo {
        pub machine_id: String = "machineID", "always";
        pub system_uuid: String = "systemUUID", "always";
        pub boot_id: String = "bootID", "always";
        pub kernel_version: String = "kernelVersion", "always";
        pub os_image: String = "osImage", "always";
        pub container_runtime_version: String = "containerRuntimeVersion", "always";
        pub kubelet_version: String = "kubeletVersion", "always";
        pub kube_proxy_version: String = "kubeProxyVersion", "always";
        pub operating_system: String = "operatingSystem", "always";
        pub architecture: String = "architecture", "always";
        pub swap: Option<NodeSwapStatus> = "swap", "omitempty";
    }
}

go_struct! {
    /// `ObjectReference` of Kubernetes.
    #[schemars(rename = "k8s.io.api.core.v1.ObjectReference")]
    pub struct ObjectReference {
        pub kind: String = "kind", "omitempty";
        pub namespace: String = "namespace", "omitempty";
        pub name: String = "name", "omitempty";
        pub uid: String = "uid", "omitempty";
        pub api_version: String = "apiVersion", "omitempty";
        pub resource_version: String = "resourceVersion", "omitempty";
        pub field_path: String = "fieldPath", "omitempty";
    }
}

go_struct! {
    /// `Condition` of Kubernetes.
    #[schemars(rename = "k8s.io.apimachinery.pkg.apis.meta.v1.Condition", extend("required" = ["lastTransitionTime", "message", "reason", "status", "type"]))]
    pub struct Condition {
        #[schemars(extend("maxLength" = 316, "pattern" = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"))]
        pub type_: String = "type", "always";
        #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
        pub status: String = "status", "always";
        #[schemars(extend("minimum" = 0))]
        pub observed_generation: i64 = "observedGeneration", "omitempty";
        pub last_transition_time: Time = "lastTransitionTime", "always";
        #[schemars(extend("maxLength" = 1024, "minLength" = 1, "pattern" = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"))]
        pub reason: String = "reason", "always";
        #[schemars(extend("maxLength" = 32768))]
        pub message: String = "message", "always";
    }
}

go_struct! {
    /// `LabelSelector` of Kubernetes.
    #[schemars(rename = "k8s.io.apimachinery.pkg.apis.meta.v1.LabelSelector", extend("x-kubernetes-map-type" = "atomic"))]
    pub struct LabelSelector {
        pub match_labels: Dict<String> = "matchLabels", "omitempty";
        #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
        pub match_expressions: List<LabelSelectorRequirement> = "matchExpressions", "omitempty";
    }
}

go_struct! {
    /// `LabelSelectorRequirement` of Kubernetes.
    #[schemars(rename = "k8s.io.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement", extend("required" = ["key", "operator"]))]
    pub struct LabelSelectorRequirement {
        pub key: String = "key", "always";
        pub operator: String = "operator", "always";
        #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
        pub values: List<String> = "values", "omitempty";
    }
}

go_struct! {
    /// `ManagedFieldsEntry` of Kubernetes.
    #[schemars(rename = "k8s.io.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry")]
    pub struct ManagedFieldsEntry {
        pub manager: String = "manager", "omitempty";
        pub operation: String = "operation", "omitempty";
        pub api_version: String = "apiVersion", "omitempty";
        pub time: Option<Time> = "time", "omitempty";
        pub fields_type: String = "fieldsType", "omitempty";
        pub fields_v1: Option<FieldsV1> = "fieldsV1", "omitempty";
        pub subresource: String = "subresource", "omitempty";
    }
}

go_struct! {
    /// `ObjectMeta` of Kubernetes.
    #[schemars(rename = "k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta")]
    pub struct ObjectMeta {
        pub name: String = "name", "omitempty";
        pub generate_name: String = "generateName", "omitempty";
        pub namespace: String = "namespace", "omitempty";
        pub self_link: String = "selfLink", "omitempty";
        pub uid: String = "uid", "omitempty";
        pub resource_version: String = "resourceVersion", "omitempty";
        pub generation: i64 = "generation", "omitempty";
        pub creation_timestamp: Time = "creationTimestamp", "omitzero";
        pub deletion_timestamp: Option<Time> = "deletionTimestamp", "omitempty";
        pub deletion_grace_period_seconds: Option<i64> = "deletionGracePeriodSeconds", "omitempty";
        pub labels: Dict<String> = "labels", "omitempty";
        pub annotations: Dict<String> = "annotations", "omitempty";
        #[schemars(extend("x-kubernetes-patch-strategy" = "merge", "x-kubernetes-patch-merge-key" = "uid"))]
        pub owner_references: List<OwnerReference> = "ownerReferences", "omitempty";
        #[schemars(extend("x-kubernetes-patch-strategy" = "merge"))]
        pub finalizers: List<String> = "finalizers", "omitempty";
        pub managed_fields: List<ManagedFieldsEntry> = "managedFields", "omitempty";
    }
}

go_struct! {
    /// `OwnerReference` of Kubernetes.
    #[schemars(rename = "k8s.io.apimachinery.pkg.apis.meta.v1.OwnerReference", extend("required" = ["apiVersion", "kind", "name", "uid"], "x-kubernetes-map-type" = "atomic"))]
    pub struct OwnerReference {
        pub api_version: String = "apiVersion", "always";
        pub kind: String = "kind", "always";
        pub name: String = "name", "always";
        pub uid: String = "uid", "always";
        pub controller: Option<bool> = "controller", "omitempty";
        pub block_owner_deletion: Option<bool> = "blockOwnerDeletion", "omitempty";
    }
}
