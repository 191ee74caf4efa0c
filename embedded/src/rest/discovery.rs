//! Discovery: which groups, versions and resources there are.
//!
//! Behaviour: apiserver `pkg/endpoints/discovery` and `discovery/aggregated`.

use std::sync::Arc;

use axum::body::Body;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use super::accept::clauses;
use super::answer;
use crate::registry::{Kind, Registry, Version};

const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const STATUS_VERBS: [&str; 3] = ["get", "patch", "update"];

/// `/api`: the versions of the core group.
pub(crate) fn core_versions(registry: &Registry, headers: &HeaderMap) -> Response<Body> {
    if is_aggregated(headers) {
        return aggregated(registry, headers, str::is_empty);
    }
    let value = json!({
        "kind": "APIVersions",
        "versions": registry.versions(""),
        "serverAddressByClientCIDRs": [],
    });
    answer::json(StatusCode::OK, &value)
}

/// `/apis`: the groups.
pub(crate) fn groups(registry: &Registry, headers: &HeaderMap) -> Response<Body> {
    if is_aggregated(headers) {
        return aggregated(registry, headers, |group| !group.is_empty());
    }
    let names = registry.groups().map(|(group, _)| group).filter(|group| !group.is_empty());
    let groups: Vec<_> =
        names.map(|group| group_value(registry, group)).filter(|group| !group.is_null()).collect();
    answer::json(StatusCode::OK, &json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups }))
}

/// `/apis/<group>`; `None` if there is no such group.
pub(crate) fn group(registry: &Registry, group: &str) -> Option<Response<Body>> {
    let mut value = group_value(registry, group);
    let fields = value.as_object_mut()?;
    fields.insert("kind".to_owned(), "APIGroup".into());
    fields.insert("apiVersion".to_owned(), "v1".into());
    Some(answer::json(StatusCode::OK, &value))
}

fn group_value(registry: &Registry, group: &str) -> Value {
    let versions = registry.versions(group);
    let entry = |version: &&str| json!({ "groupVersion": format!("{group}/{version}"), "version": version });
    let Some(preferred) = versions.first().map(entry) else { return Value::Null };
    json!({
        "name": group,
        "versions": versions.iter().map(entry).collect::<Vec<_>>(),
        "preferredVersion": preferred,
    })
}

/// `/apis/<group>/<version>`, or `/api/<version>`; `None` if there is none.
pub(crate) fn resources(registry: &Registry, group: &str, version: &str) -> Option<Response<Body>> {
    let mut list = Vec::new();
    for (kind, version) in served(registry, group, version) {
        list.push(resource(kind, version));
        if version.has_status {
            list.push(json!({
                "name": format!("{}/status", kind.names.plural),
                "singularName": "",
                "namespaced": kind.is_namespaced,
                "kind": kind.names.kind,
                "verbs": STATUS_VERBS,
            }));
        }
        if is_namespaces(kind) {
            list.push(json!({
                "name": "namespaces/finalize", "singularName": "", "namespaced": false, "kind": "Namespace",
                "verbs": ["update"],
            }));
        }
    }
    if list.is_empty() {
        return None;
    }
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    Some(answer::json(
        StatusCode::OK,
        &json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": list,
        }),
    ))
}

fn is_namespaces(kind: &Kind) -> bool {
    kind.collection == crate::store::NAMESPACES
}

/// The kinds that a version of a group serves.
pub(crate) fn served<'a>(
    registry: &'a Registry,
    group: &str,
    version: &str,
) -> impl Iterator<Item = (&'a Arc<Kind>, &'a Version)> {
    let kinds = registry.kinds().filter(move |kind| *kind.names.group == *group);
    kinds.filter_map(move |kind| {
        let version = kind.versions.iter().find(|one| one.is_served && *one.name == *version)?;
        Some((kind, version))
    })
}

fn resource(kind: &Kind, _version: &Version) -> Value {
    let names = &kind.names;
    let mut value = json!({
        "name": names.plural,
        "singularName": names.singular,
        "namespaced": kind.is_namespaced,
        "kind": names.kind,
        "verbs": verbs(kind),
    });
    for (field, texts) in [("shortNames", &names.short_names), ("categories", &names.categories)] {
        if !texts.is_empty() {
            value[field] = json!(texts);
        }
    }
    value
}

/// Namespaces are not deleted by the dozen.
fn verbs(kind: &Kind) -> Vec<&'static str> {
    VERBS.into_iter().filter(|verb| !is_namespaces(kind) || *verb != "deletecollection").collect()
}

/// Whether the first form that the client accepts is the aggregated one.
fn is_aggregated(headers: &HeaderMap) -> bool {
    let first = clauses(headers).next().unwrap_or_default();
    first.contains("as=APIGroupDiscoveryList")
        && first.contains("g=apidiscovery.k8s.io")
        && first.contains("v=v2")
        && !first.contains("v=v2beta1")
}

fn aggregated(registry: &Registry, headers: &HeaderMap, is_wanted: impl Fn(&str) -> bool) -> Response<Body> {
    let tag = format!("\"{}\"", registry.generation());
    let known = headers.get(header::IF_NONE_MATCH).and_then(|tag| tag.to_str().ok());
    let mut response = if known == Some(&tag) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        let groups = registry.groups().map(|(group, _)| group).filter(|group| is_wanted(group));
        let items: Vec<_> = groups.map(|group| aggregated_group(registry, group)).collect();
        let value = json!({
            "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
        });
        answer::json(StatusCode::OK, &value)
    };
    let headers = response.headers_mut();
    let form = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(form));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

fn aggregated_group(registry: &Registry, group: &str) -> Value {
    let version = |version: &&str| {
        let resources: Vec<_> =
            served(registry, group, version).map(|(kind, one)| aggregated_resource(kind, one)).collect();
        json!({ "version": version, "freshness": "Current", "resources": resources })
    };
    let versions: Vec<_> = registry.versions(group).iter().map(version).collect();
    let metadata = if group.is_empty() { json!({}) } else { json!({ "name": group }) };
    json!({ "metadata": metadata, "versions": versions })
}

fn aggregated_resource(kind: &Kind, version: &Version) -> Value {
    let names = &kind.names;
    let response_kind = json!({ "group": names.group, "version": version.name, "kind": names.kind });
    let mut subresources = Vec::new();
    if version.has_status {
        subresources
            .push(json!({ "subresource": "status", "responseKind": response_kind, "verbs": STATUS_VERBS }));
    }
    if is_namespaces(kind) {
        subresources
            .push(json!({ "subresource": "finalize", "responseKind": response_kind, "verbs": ["update"] }));
    }
    let mut value = json!({
        "resource": names.plural,
        "responseKind": response_kind,
        "scope": if kind.is_namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": names.singular,
        "verbs": verbs(kind),
    });
    for (field, texts) in [("shortNames", &names.short_names), ("categories", &names.categories)] {
        if !texts.is_empty() {
            value[field] = json!(texts);
        }
    }
    if !subresources.is_empty() {
        value["subresources"] = subresources.into();
    }
    value
}
