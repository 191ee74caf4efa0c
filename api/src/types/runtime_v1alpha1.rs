//! `runtime.cluster.x-k8s.io/v1alpha1`: `ExtensionConfig`.
//!
//! Shape: Cluster API `api/runtime/v1alpha1`.

use super::{Bytes, Dict, Go, List, Shape, always, core_v1beta1, kubernetes, null_is_default, omitempty};

go_struct! {
    /// `ClientConfig` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.v1alpha1.ClientConfig")]
    pub struct ClientConfig {
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub url: Option<String> = "url", "omitempty";
        pub service: Option<ServiceReference> = "service", "omitempty";
        #[schemars(extend("maxLength" = 51200, "minLength" = 1))]
        pub ca_bundle: Bytes = "caBundle", "omitempty";
    }
}

go_struct! {
    /// `ExtensionConfig` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.v1alpha1.ExtensionConfig")]
    pub struct ExtensionConfig {
        pub api_version: String = "apiVersion", "omitempty";
        pub kind: String = "kind", "omitempty";
        #[schemars(extend("x-crd" = {"type": "object"}))]
        pub metadata: kubernetes::ObjectMeta = "metadata", "omitempty";
        pub spec: ExtensionConfigSpec = "spec", "omitempty";
        pub status: ExtensionConfigStatus = "status", "omitempty";
    }
}

go_struct! {
    /// `ExtensionConfigSpec` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.v1alpha1.ExtensionConfigSpec", extend("required" = ["clientConfig"]))]
    pub struct ExtensionConfigSpec {
        pub client_config: ClientConfig = "clientConfig", "always";
        #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
        pub namespace_selector: Option<kubernetes::LabelSelector> = "namespaceSelector", "omitempty";
        pub settings: Dict<String> = "settings", "omitempty";
    }
}

go_struct! {
    /// `ExtensionConfigStatus` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.v1alpha1.ExtensionConfigStatus")]
    pub struct ExtensionConfigStatus {
        #[schemars(extend("maxItems" = 512, "x-kubernetes-list-map-keys" = ["name"], "x-kubernetes-list-type" = "map"))]
        pub handlers: List<ExtensionHandler> = "handlers", "omitempty";
        pub conditions: List<core_v1beta1::Condition> = "conditions", "omitempty";
        pub v1beta2: Option<ExtensionConfigV1Beta2Status> = "v1beta2", "omitempty";
    }
}

go_struct! {
    /// `ExtensionConfigV1Beta2Status` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.v1alpha1.ExtensionConfigV1Beta2Status")]
    pub struct ExtensionConfigV1Beta2Status {
        #[schemars(extend("maxItems" = 32, "x-kubernetes-list-map-keys" = ["type"], "x-kubernetes-list-type" = "map"))]
        pub conditions: List<kubernetes::Condition> = "conditions", "omitempty";
    }
}

go_struct! {
    /// `ExtensionHandler` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.v1alpha1.ExtensionHandler", extend("required" = ["name", "requestHook"]))]
    pub struct ExtensionHandler {
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub name: String = "name", "always";
        pub request_hook: GroupVersionHook = "requestHook", "always";
        pub timeout_seconds: Option<i32> = "timeoutSeconds", "omitempty";
        #[schemars(extend("enum" = ["Ignore", "Fail"]))]
        pub failure_policy: Option<String> = "failurePolicy", "omitempty";
    }
}

go_struct! {
    /// `GroupVersionHook` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.v1alpha1.GroupVersionHook", extend("required" = ["apiVersion", "hook"]))]
    pub struct GroupVersionHook {
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub api_version: String = "apiVersion", "always";
        #[schemars(extend("maxLength" = 256, "minLength" = 1))]
        pub hook: String = "hook", "always";
    }
}

go_struct! {
    /// `ServiceReference` of Cluster API.
    #[schemars(rename = "sigs.k8s.io.cluster-api.api.runtime.v1alpha1.ServiceReference", extend("required" = ["name", "namespace"]))]
    pub struct ServiceReference {
        #[schemars(extend("maxLength" = 63, "minLength" = 1))]
        pub namespace: String = "namespace", "always";
        #[schemars(extend("maxLength" = 63, "minLength" = 1))]
        pub name: String = "name", "always";
        #[schemars(extend("maxLength" = 512, "minLength" = 1))]
        pub path: Option<String> = "path", "omitempty";
        pub port: Option<i32> = "port", "omitempty";
    }
}
