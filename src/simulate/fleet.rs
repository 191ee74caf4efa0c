//! What is simulated: how many objects of which kind, and what is in them. Pure.
//!
//! Every class has external patches that name neighbouring extensions, so that all extensions are named equally often;
//! so many classes in a row share one set of templates; all classes send the same settings. The seed decides which
//! extension has which neighbours.

use std::num::NonZeroUsize;

use anyhow::Context as _;
use kapstan_api::{cluster_class, extension_config};
use kube::core::{ApiResource, GroupVersionKind};
use serde::{Serialize, ser::SerializeStruct as _};
use serde_json::{Value, json};

use crate::{crds, digest::Digest};

/// The label of everything that a simulation makes; its value is the name of the simulation's namespace.
pub(super) const LABEL: &str = "kapstan.io/simulation";

/// How many objects there are, and how they hang together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// `ExtensionConfig`s.
    pub extension_configs: usize,
    /// `ClusterClass`es.
    pub cluster_classes: usize,
    /// External patches in each class, each of another extension.
    pub refs: usize,
    /// Classes that share one set of four templates.
    pub template_sharing: NonZeroUsize,
    /// Variables in each answer of an extension.
    pub variables: usize,
}

impl Size {
    /// Sets of templates.
    #[must_use]
    pub fn sets(self) -> usize {
        self.cluster_classes.div_ceil(self.template_sharing.get())
    }

    /// Templates: one of each kind in every set.
    #[must_use]
    pub fn templates(self) -> usize {
        self.sets() * TEMPLATES.len()
    }

    /// All objects.
    #[must_use]
    pub fn objects(self) -> usize {
        self.extension_configs + self.cluster_classes + self.templates()
    }
}

/// The keys of a report: what is `ready` counts the first three too.
impl Serialize for Size {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { extension_configs, cluster_classes, refs, template_sharing, variables } = self;
        let mut size = serializer.serialize_struct("Size", 6)?;
        size.serialize_field("extensionConfigs", extension_configs)?;
        size.serialize_field("clusterClasses", cluster_classes)?;
        size.serialize_field("templates", &self.templates())?;
        size.serialize_field("refs", refs)?;
        size.serialize_field("templateSharing", template_sharing)?;
        size.serialize_field("variables", variables)?;
        size.end()
    }
}

/// A kind of object, as the API server knows it.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) name: &'static str,
    pub(super) plural: &'static str,
    pub(super) is_namespaced: bool,
}

pub(super) const CONFIG: Kind = Kind {
    group: extension_config::GROUP,
    version: extension_config::VERSION,
    name: "ExtensionConfig",
    plural: "extensionconfigs",
    is_namespaced: false,
};

pub(super) const CLASS: Kind = Kind {
    group: cluster_class::GROUP,
    version: cluster_class::VERSION,
    name: "ClusterClass",
    plural: "clusterclasses",
    is_namespaced: true,
};

/// The kinds of the templates in a set.
pub(super) const TEMPLATES: [Kind; 4] = [
    template("infrastructure.cluster.x-k8s.io", "DevClusterTemplate", "devclustertemplates"),
    template("infrastructure.cluster.x-k8s.io", "DevMachineTemplate", "devmachinetemplates"),
    template("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate", "kubeadmconfigtemplates"),
    template("controlplane.cluster.x-k8s.io", "KubeadmControlPlaneTemplate", "kubeadmcontrolplanetemplates"),
];

const fn template(group: &'static str, name: &'static str, plural: &'static str) -> Kind {
    Kind { group, version: "v1beta2", name, plural, is_namespaced: true }
}

impl Kind {
    /// Every kind that is simulated.
    pub(super) fn all() -> impl Iterator<Item = &'static Self> {
        [&CONFIG, &CLASS].into_iter().chain(&TEMPLATES)
    }

    /// The path of its objects.
    pub(super) fn path(&self, namespace: &str) -> String {
        let Self { group, version, plural, .. } = self;
        if self.is_namespaced {
            format!("/apis/{group}/{version}/namespaces/{namespace}/{plural}")
        } else {
            format!("/apis/{group}/{version}/{plural}")
        }
    }

    /// The name of its CRD.
    pub(super) fn crd(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// Its CRD, one of those that the binary carries.
    pub(super) fn crd_yaml(&self) -> anyhow::Result<&'static str> {
        let file = format!("{}_{}.yaml", self.group, self.plural);
        let found = crds::OWN.iter().chain(crds::TEMPLATES).find(|crd| crd.file == file);
        found.map(|crd| crd.yaml).with_context(|| format!("there is no CRD {}", self.crd()))
    }

    pub(super) fn resource(&self) -> ApiResource {
        let kind = GroupVersionKind::gvk(self.group, self.version, self.name);
        ApiResource::from_gvk_with_plural(&kind, self.plural)
    }

    fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }
}

/// An object to be made.
pub(super) struct Object {
    pub(super) kind: &'static Kind,
    pub(super) body: Value,
}

/// The objects of one simulation.
pub(super) struct Fleet {
    pub(super) size: Size,
    pub(super) namespace: String,
    /// The numbers of the extensions, in the order in which classes name them.
    order: Vec<usize>,
}

impl Fleet {
    pub(super) fn new(size: Size, namespace: String, seed: u64) -> Self {
        let mut order: Vec<usize> = (0..size.extension_configs).collect();
        order.sort_by_cached_key(|number| Digest::of(&(seed, number)));
        Self { size, namespace, order }
    }

    /// The path below which the extension of a config is served.
    fn prefix(number: usize) -> String {
        format!("/ext-{number}")
    }

    /// All objects, in the order in which they are made: first the configs; then for each set of templates these, and
    /// the classes that use them.
    pub(super) fn objects(&self, url: &str, ca_bundle: &[u8]) -> impl Iterator<Item = Object> {
        let configs = (0..self.size.extension_configs).map(move |number| self.config(number, url, ca_bundle));
        configs.chain((0..self.size.sets()).flat_map(move |set| {
            let templates = TEMPLATES.iter().map(move |kind| self.template(kind, set));
            templates.chain(self.classes_of(set).map(move |number| self.class(number)))
        }))
    }

    /// The classes that use a set of templates.
    pub(super) fn classes_of(&self, set: usize) -> std::ops::Range<usize> {
        let sharing = self.size.template_sharing.get();
        let first = set.saturating_mul(sharing);
        first..first.saturating_add(sharing).min(self.size.cluster_classes)
    }

    pub(super) fn class_name(number: usize) -> String {
        format!("class-{number}")
    }

    pub(super) fn set_name(set: usize) -> String {
        format!("set-{set}")
    }

    fn config(&self, number: usize, url: &str, ca_bundle: &[u8]) -> Object {
        let client = json!({
            "url": format!("{url}{}", Self::prefix(number)),
            "caBundle": k8s_openapi::ByteString(ca_bundle.to_vec()),
        });
        self.object(&CONFIG, &format!("ext-{number}"), &json!({ "clientConfig": client }))
    }

    fn template(&self, kind: &'static Kind, set: usize) -> Object {
        let spec = match kind.name {
            "KubeadmConfigTemplate" => json!({ "verbosity": 2 }),
            "KubeadmControlPlaneTemplate" => json!({ "kubeadmConfigSpec": { "verbosity": 2 } }),
            _ => json!({ "backend": { "inMemory": {} } }),
        };
        self.object(kind, &Self::set_name(set), &json!({ "template": { "spec": spec } }))
    }

    fn class(&self, number: usize) -> Object {
        let set = Self::set_name(number / self.size.template_sharing);
        let reference = |kind: &Kind| json!({ "templateRef": { "apiVersion": kind.api_version(), "kind": kind.name, "name": set } });
        let [cluster, machine, bootstrap, control_plane] = TEMPLATES.each_ref().map(reference);
        let mut control_plane = control_plane;
        control_plane["machineInfrastructure"] = machine.clone();
        let workers =
            json!([{ "class": "default-worker", "bootstrap": bootstrap, "infrastructure": machine }]);
        let mut spec = json!({
            "infrastructure": cluster,
            "controlPlane": control_plane,
            "workers": { "machineDeployments": workers },
        });
        if self.size.refs > 0 {
            spec["patches"] = self.patches(number).collect();
        }
        self.object(&CLASS, &Self::class_name(number), &spec)
    }

    fn patches(&self, number: usize) -> impl Iterator<Item = Value> {
        (0..self.size.refs).map(move |patch| {
            let extension = self.order[(number * self.size.refs + patch) % self.order.len()];
            json!({ "name": format!("patch-{patch}"), "external": {
                "generatePatchesExtension": format!("generatepatches.ext-{extension}"),
                "discoverVariablesExtension": format!("discovervariables.ext-{extension}"),
                "settings": { "team": "a" },
            } })
        })
    }

    fn object(&self, kind: &'static Kind, name: &str, spec: &Value) -> Object {
        let mut metadata = json!({ "name": name, "labels": { LABEL: self.namespace } });
        if kind.is_namespaced {
            metadata["namespace"] = json!(self.namespace);
        }
        let body = json!({
            "apiVersion": kind.api_version(), "kind": kind.name, "metadata": metadata, "spec": spec,
        });
        Object { kind, body }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    fn fleet(seed: u64) -> Fleet {
        let size = Size {
            extension_configs: 100,
            cluster_classes: 500,
            refs: 4,
            template_sharing: NonZeroUsize::new(10).unwrap(),
            variables: 10,
        };
        Fleet::new(size, "ns".to_owned(), seed)
    }

    fn bodies(fleet: &Fleet) -> Vec<Value> {
        fleet.objects("https://ext.test", b"pem").map(|object| object.body).collect()
    }

    fn asked(class: &Value) -> BTreeSet<&str> {
        let patches = class["spec"]["patches"].as_array().into_iter().flatten();
        patches.filter_map(|patch| patch["external"]["discoverVariablesExtension"].as_str()).collect()
    }

    #[test]
    fn every_extension_is_asked_by_equally_many_classes() {
        let bodies = bodies(&fleet(1));
        let mut users = BTreeMap::<&str, usize>::new();
        let classes: Vec<_> = bodies.iter().filter(|body| body["kind"] == "ClusterClass").collect();
        for class in &classes {
            let asked = asked(class);
            assert_eq!(asked.len(), 4, "{class}");
            for handler in asked {
                *users.entry(handler).or_default() += 1;
            }
        }
        assert_eq!((classes.len(), users.len()), (500, 100));
        assert!(users.values().all(|count| *count == 20), "{users:?}");
    }

    #[test]
    fn the_seed_decides_which_extensions_are_neighbours() {
        assert_eq!(bodies(&fleet(1)), bodies(&fleet(1)));
        assert_ne!(bodies(&fleet(1)), bodies(&fleet(2)));
    }

    #[test]
    fn templates_come_before_the_classes_that_use_them() {
        let fleet = fleet(1);
        let mut made = BTreeSet::new();
        for body in bodies(&fleet) {
            let set = &body["spec"]["infrastructure"]["templateRef"]["name"];
            assert!(body["kind"] != "ClusterClass" || made.contains(&set.to_string()), "{body}");
            made.insert(body["metadata"]["name"].to_string());
        }
        assert_eq!((fleet.size.sets(), fleet.size.templates(), fleet.size.objects()), (50, 200, 800));
        assert_eq!(fleet.classes_of(49), 490..500);
    }
}
