//! The built-in kinds.

use std::sync::Arc;

use serde_json::Value;

use super::kind::{Behaviour, Kind, Names, Version};
use crate::apply::Types;
use crate::kinds::{self, Strategy, definition_of};
use crate::store::{NAMESPACES, Store};

/// One kind as it is written down here.
struct Entry {
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    short_names: &'static [&'static str],
    categories: &'static [&'static str],
    is_namespaced: bool,
    has_status: bool,
    strategy: &'static dyn Strategy,
}

const RBAC: &str = "rbac.authorization.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";

macro_rules! entry {
    ($group:expr, $plural:literal, $kind:literal, $short:expr, $strategy:expr $(, $flag:ident)*) => {{
        #[allow(unused_mut, reason = "not every kind has flags")]
        let mut entry = Entry {
            group: $group, version: "v1", plural: $plural, singular: "", kind: $kind, short_names: $short,
            categories: &[], is_namespaced: true, has_status: false, strategy: $strategy,
        };
        $( entry.$flag(); )*
        entry
    }};
}

impl Entry {
    fn cluster(&mut self) {
        self.is_namespaced = false;
    }

    fn status(&mut self) {
        self.has_status = true;
    }

    fn services(&mut self) {
        self.categories = &["all"];
    }

    fn extensions(&mut self) {
        self.categories = &["api-extensions"];
    }
}

/// Namespaces come first: the store knows their collection by its number.
fn entries() -> Vec<Entry> {
    vec![
        entry!("", "namespaces", "Namespace", &["ns"], &kinds::Namespace, cluster, status),
        entry!("", "configmaps", "ConfigMap", &["cm"], &kinds::ConfigMap),
        entry!("", "secrets", "Secret", &[], &kinds::Secret),
        entry!("", "events", "Event", &["ev"], &kinds::Event),
        entry!("", "services", "Service", &["svc"], &kinds::Service, status, services),
        entry!("", "serviceaccounts", "ServiceAccount", &["sa"], &kinds::ServiceAccount),
        entry!("coordination.k8s.io", "leases", "Lease", &[], &kinds::Lease),
        entry!("discovery.k8s.io", "endpointslices", "EndpointSlice", &[], &kinds::EndpointSlice),
        entry!(RBAC, "roles", "Role", &[], &kinds::Role),
        entry!(RBAC, "rolebindings", "RoleBinding", &[], &kinds::RoleBinding),
        entry!(RBAC, "clusterroles", "ClusterRole", &[], &kinds::Role, cluster),
        entry!(RBAC, "clusterrolebindings", "ClusterRoleBinding", &[], &kinds::RoleBinding, cluster),
        entry!(
            ADMISSION,
            "mutatingwebhookconfigurations",
            "MutatingWebhookConfiguration",
            &[],
            &kinds::Webhooks,
            cluster,
            extensions
        ),
        entry!(
            ADMISSION,
            "validatingwebhookconfigurations",
            "ValidatingWebhookConfiguration",
            &[],
            &kinds::Webhooks,
            cluster,
            extensions
        ),
        entry!(
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            "CustomResourceDefinition",
            &["crd", "crds"],
            &kinds::Crd,
            cluster,
            status,
            extensions
        ),
    ]
}

/// The built-in kinds, each with a collection in the store, which is new.
pub(crate) fn builtin(store: &Store) -> Vec<Arc<Kind>> {
    let mut kinds = Vec::new();
    for (number, entry) in entries().iter().enumerate() {
        let collection = if number == 0 { NAMESPACES } else { store.add_collection() };
        kinds.push(kind(entry, collection));
        if entry.plural == "events" {
            // The same objects, in a group of their own too.
            kinds.push(kind(&Entry { group: "events.k8s.io", short_names: &["ev"], ..*entry }, collection));
        }
    }
    kinds.into_iter().map(Arc::new).collect()
}

fn kind(entry: &Entry, collection: crate::store::CollectionId) -> Kind {
    let boxed = |texts: &[&str]| texts.iter().map(|text| (*text).into()).collect();
    let singular =
        if entry.singular.is_empty() { entry.kind.to_lowercase() } else { entry.singular.to_owned() };
    let names = Names {
        group: entry.group.into(),
        plural: entry.plural.into(),
        singular: singular.into(),
        kind: entry.kind.into(),
        list_kind: format!("{}List", entry.kind).into(),
        short_names: boxed(entry.short_names),
        categories: boxed(entry.categories),
    };
    Kind {
        names,
        is_namespaced: entry.is_namespaced,
        collection,
        versions: vec![version(entry)],
        storage: 0,
        encoding: 0,
        behaviour: Behaviour::Builtin(entry.strategy),
        needs_webhook: false,
    }
}

fn unsupported(plural: &str) -> &'static [&'static str] {
    match plural {
        "serviceaccounts" => &["token"],
        "services" => &["proxy"],
        _ => &[],
    }
}

fn version(entry: &Entry) -> Version {
    let api_version = match entry.group {
        "" => entry.version.to_owned(),
        group => format!("{group}/{}", entry.version),
    };
    let definition = definition_of(&api_version, entry.kind).unwrap_or_default();
    let types = Types::builtin(&api_version, entry.kind).cloned();
    Version {
        name: entry.version.into(),
        is_served: true,
        has_status: entry.has_status,
        unsupported: unsupported(entry.plural).iter().map(|word| (*word).into()).collect(),
        schema: None,
        raw_schema: Value::Null,
        definition,
        types: types.unwrap_or_else(|| Types::custom(&Value::Null, false)),
        columns: Vec::new(),
        // Events are stored as those of the core group.
        is_as_stored: entry.group != "events.k8s.io",
        deprecation: None,
        api_version: api_version.into(),
    }
}
