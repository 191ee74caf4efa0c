//! `runtime.cluster.x-k8s.io/v1beta2`: `ExtensionConfig`.
//!
//! Shape: Cluster API `api/runtime/v1beta2`.

use super::{Bytes, Dict, Go, List, Shape, core_v1beta2, kubernetes, null_is_default, omitempty, omitzero};

go_struct! {
    /// `ClientConfig` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.v1beta2.ClientConfig")]
    pub struct ClientConfig {
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub url: String = "url", "omitempty";
        pub service: ServiceReference = "service", "omitzero";
        #[schemars(extend("maxLength" = 51200, "minLength" = 1))]
        pub ca_bundle: Bytes = "caBundle", "omitempty";
    }
}

go_struct! {
    /// `ExtensionConfig` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.v1beta2.ExtensionConfig", extend("required" = ["spec"]))]
    pub struct ExtensionConfig {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        #[schemars(extend("x-crd" = {"type": "object"}))]
        pub metadata: kubernetes::ObjectMeta = "metadata", "omitempty";
        pub spec: ExtensionConfigSpec = "spec", "omitzero";
        #[schemars(extend("minProperties" = 1))]
        pub status: ExtensionConfigStatus = "status", "omitzero";
    }
}

go_struct! {
    /// `ExtensionConfigDeprecatedStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.v1beta2.ExtensionConfigDeprecatedStatus")]
    pub struct ExtensionConfigDeprecatedStatus {
        pub v1beta1: Option<ExtensionConfigV1Beta1DeprecatedStatus> = "v1beta1", "omitempty";
    }
}

go_struct! {
    /// `ExtensionConfigSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.v1beta2.ExtensionConfigSpec", extend("required" = ["clientConfig"]))]
    pub struct ExtensionConfigSpec {
        #[schemars(extend("minProperties" = 1))]
        pub client_config: ClientConfig = "clientConfig", "omitzero";
        #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
        pub namespace_selector: Option<kubernetes::LabelSelector> = "namespaceSelector", "omitempty";
        pub settings: Dict<String> = "settings", "omitempty";
    }
}

go_struct! {
    /// `ExtensionConfigStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.v1beta2.ExtensionConfigStatus")]
    pub struct ExtensionConfigStatus {
        #[schemars(extend("maxItems" = 32, "x-kubernetes-list-map-keys" = ["type"], "x-kubernetes-list-type" = "map"))]
        pub conditions: List<kubernetes::Condition> = "conditions", "omitempty";
        #[schemars(extend("maxItems" = 512, "x-kubernetes-list-map-keys" = ["name"], "x-kubernetes-list-type" = "map"))]
        pub handlers: List<ExtensionHandler> = "handlers", "omitempty";
        pub deprecated: Option<ExtensionConfigDeprecatedStatus> = "deprecated", "omitempty";
    }
}

go_struct! {
    /// `ExtensionConfigV1Beta1DeprecatedStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.v1beta2.ExtensionConfigV1Beta1DeprecatedStatus")]
    pub struct ExtensionConfigV1Beta1DeprecatedStatus {
        pub conditions: List<core_v1beta2::Condition> = "conditions", "omitempty";
    }
}

go_struct! {
    /// `ExtensionHandler` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.v1beta2.ExtensionHandler", extend("required" = ["name", "requestHook"]))]
    pub struct ExtensionHandler {
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub name: String = "name", "omitempty";
        pub request_hook: GroupVersionHook = "requestHook", "omitzero";
        #[schemars(extend("minimum" = 1))]
        pub timeout_seconds: i32 = "timeoutSeconds", "omitempty";
        #[schemars(extend("enum" = ["Ignore", "Fail"]))]
        pub failure_policy: String = "failurePolicy", "omitempty";
    }
}

go_struct! {
    /// `GroupVersionHook` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.v1beta2.GroupVersionHook", extend("required" = ["apiVersion", "hook"]))]
    pub struct GroupVersionHook {
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub api_version: String = "apiVersion", "omitempty";
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub hook: String = "hook", "omitempty";
    }
}

go_struct! {
    /// `ServiceReference` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.v1beta2.ServiceReference", extend("required" = ["name", "namespace"]))]
    pub struct ServiceReference {
        #[schemars(extend("maxLength" = 63, "minLength" = 1))]
        pub namespace: String = "namespace", "omitempty";
        #[schemars(extend("maxLength" = 63, "minLength" = 1))]
        pub name: String = "name", "omitempty";
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub path: String = "path", "omitempty";
        pub port: Option<i32> = "port", "omitempty";
    }
}
