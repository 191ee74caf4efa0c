//! What a custom kind needs besides its fields: its place in the API and how it is written.
//!
//! kube's derive is not used because its root object has a closed set of fields and asks for a `spec`.

/// Implements `kube_core::Resource`, `new` and `Serialize` for a kind with the fields `metadata`, `spec`,
/// `status` and `unknown`.
macro_rules! custom_kind {
    ($kind:ident, $spec:ty, scope: $scope:ty, group: $group:expr, version: $version:expr, plural: $plural:expr) => {
        impl $kind {
            /// An object with this name and spec and nothing else; the namespace, where the kind has one, is set
            /// in `metadata`.
            #[must_use]
            pub fn new(name: &str, spec: $spec) -> Self {
                let metadata = k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                    name: Some(name.to_owned()),
                    ..Default::default()
                };
                Self { metadata, spec, ..Self::default() }
            }
        }

        impl kube_core::Resource for $kind {
            type DynamicType = ();
            type Scope = $scope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                stringify!($kind).into()
            }

            fn group((): &()) -> std::borrow::Cow<'_, str> {
                $group.into()
            }

            fn version((): &()) -> std::borrow::Cow<'_, str> {
                $version.into()
            }

            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }

        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut object = serializer.serialize_map(None)?;
                object.serialize_entry("apiVersion", &<Self as kube_core::Resource>::api_version(&()))?;
                object.serialize_entry("kind", stringify!($kind))?;
                object.serialize_entry("metadata", &self.metadata)?;
                if !crate::wire::is_default(&self.spec) {
                    object.serialize_entry("spec", &self.spec)?;
                }
                if !crate::wire::is_absent(&self.status) {
                    object.serialize_entry("status", &self.status)?;
                }
                for (name, value) in &self.unknown {
                    object.serialize_entry(name, value)?;
                }
                object.end()
            }
        }
    };
}

pub(crate) use custom_kind;
