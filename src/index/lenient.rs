//! Objects of a watch, each decoded by itself, so that one that cannot be decoded is left out alone: a `ClusterClass`
//! whose schemas are nested more than about 120 levels, say. A list as a whole would fail for it, and the watch with it.

use std::{borrow::Cow, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::Error as _};
use serde_json::value::RawValue;

/// An object, or that it cannot be decoded.
#[derive(Clone, Debug)]
pub enum Lenient<K> {
    /// The object.
    Read(Box<K>),
    /// It cannot be decoded.
    Unreadable {
        /// What it is called and which of its states this is; the rest of its metadata is left out.
        metadata: Box<ObjectMeta>,
        /// Why it cannot be decoded.
        why: Arc<str>,
    },
}

impl<K> Lenient<K> {
    /// The object, if it could be decoded.
    #[must_use]
    pub fn read(self) -> Option<K> {
        match self {
            Self::Read(object) => Some(*object),
            Self::Unreadable { .. } => None,
        }
    }

    /// Why it cannot be decoded; `None` when it could be.
    #[must_use]
    pub fn unreadable(&self) -> Option<&Arc<str>> {
        match self {
            Self::Read(_) => None,
            Self::Unreadable { why, .. } => Some(why),
        }
    }
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for Lenient<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Skips over what is nested, however deep.
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        match serde_json::from_str(raw.get()) {
            Ok(object) => Ok(Self::Read(Box::new(object))),
            Err(error) => {
                let Nameplate { metadata } = serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
                let metadata = ObjectMeta {
                    name: metadata.name,
                    namespace: metadata.namespace,
                    uid: metadata.uid,
                    resource_version: metadata.resource_version,
                    ..ObjectMeta::default()
                };
                Ok(Self::Unreadable { metadata: Box::new(metadata), why: error.to_string().into() })
            }
        }
    }
}

/// As much of an object as tells which one it is.
#[derive(Deserialize)]
struct Nameplate {
    metadata: Names,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Names {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
}

impl<K: Resource> Resource for Lenient<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(dt)
    }

    fn group(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::group(dt)
    }

    fn version(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::version(dt)
    }

    fn plural(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(dt)
    }

    fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Read(object) => object.meta(),
            Self::Unreadable { metadata, .. } => metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Read(object) => object.meta_mut(),
            Self::Unreadable { metadata, .. } => metadata,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use kapstan_api::cluster_class::ClusterClass;
    use kube::{ResourceExt as _, core::ObjectList, core::WatchEvent};
    use serde_json::json;

    use super::*;

    /// A `ClusterClass` that can be decoded, as JSON.
    pub(in crate::index) fn good(name: &str) -> String {
        json!({ "metadata": { "namespace": "ns", "name": name, "uid": name, "resourceVersion": "1" }, "spec": {} })
            .to_string()
    }

    /// A `ClusterClass` that is nested too deep to be decoded, as JSON.
    pub(in crate::index) fn deep(name: &str) -> String {
        let schema = format!("{}{}", r#"{"items":"#.repeat(150), "{}".to_owned() + &"}".repeat(150));
        let variable = format!(r#"{{"name":"v","schema":{{"openAPIV3Schema":{schema}}}}}"#);
        good(name).replace(r#""spec":{}"#, &format!(r#""spec":{{"variables":[{variable}]}}"#))
    }

    #[test]
    fn one_object_that_cannot_be_decoded_leaves_the_list_whole() {
        let list =
            format!(r#"{{"metadata":{{"resourceVersion":"7"}},"items":[{},{}]}}"#, deep("bad"), good("good"));
        assert!(serde_json::from_str::<ObjectList<ClusterClass>>(&list).is_err(), "as a whole");
        let list: ObjectList<Lenient<ClusterClass>> = serde_json::from_str(&list).unwrap();
        let names: Vec<_> =
            list.iter().map(|class| (class.name_any(), class.unreadable().is_some())).collect();
        assert_eq!(names, [("bad".to_owned(), true), ("good".to_owned(), false)]);
        assert!(list.items[0].unreadable().unwrap().contains("recursion limit"), "{list:?}");
        assert_eq!(list.items[0].resource_version().as_deref(), Some("1"));
    }

    #[test]
    fn an_event_about_it_tells_who_it_is() {
        let event = format!(r#"{{"type":"MODIFIED","object":{}}}"#, deep("bad"));
        let event: WatchEvent<Lenient<ClusterClass>> = serde_json::from_str(&event).unwrap();
        let WatchEvent::Modified(class) = event else { panic!("{event:?}") };
        assert_eq!((class.name_any().as_str(), class.namespace().as_deref()), ("bad", Some("ns")));
        assert!(class.read().is_none());
    }

    #[test]
    fn what_has_no_name_is_no_object() {
        assert!(serde_json::from_str::<Lenient<ClusterClass>>(r#"{"metadata":7,"spec":8}"#).is_err());
    }
}
