//! Get and list.
//!
//! Behaviour: apiserver `pkg/endpoints/handlers/get.go`, `pkg/storage`.

use std::sync::Arc;

use axum::body::Body;
use http::{Response, StatusCode};

use super::accept::Form;
use super::answer::{self, List};
use super::options::{Continue, ListOptions, revision};
use super::request::{Query, Target};
use crate::core::Core;
use crate::registry::Endpoint;
use crate::status::{Result, Status};
use crate::store::{self, Key, Object, OutOfReach};

/// The fields that lists of this kind can be narrowed by.
pub(crate) fn is_selectable(endpoint: &Endpoint, field: &str) -> bool {
    matches!(field, "metadata.name" | "metadata.namespace")
        || endpoint.strategy().is_some_and(|strategy| strategy.selectable().contains(&field))
}

/// The object that a target names.
pub(crate) fn find(core: &Core, endpoint: &Endpoint, target: &Target) -> Result<Arc<Object>> {
    let namespace = endpoint.kind().is_namespaced.then_some(target.namespace.as_str());
    let object = core.store.get(endpoint.collection(), &Key::new(namespace, &target.name));
    object.ok_or_else(|| Status::not_found(endpoint.resource(), &target.name))
}

pub(crate) fn get(
    core: &Core,
    endpoint: &Endpoint,
    target: &Target,
    query: &Query,
    form: Form,
) -> Result<Response<Body>> {
    if let Some(wanted) = query.get("resourceVersion").map(revision).transpose()? {
        not_from_the_future(wanted, core.store.revision())?;
    }
    let object = find(core, endpoint, target)?;
    Ok(answer::object(endpoint, &object, form, StatusCode::OK, core.clock.timestamp()))
}

fn not_from_the_future(wanted: u64, current: u64) -> Result<()> {
    if wanted > current { Err(Status::from_the_future(wanted, current)) } else { Ok(()) }
}

pub(crate) fn list(
    core: &Core,
    endpoint: &Endpoint,
    target: &Target,
    query: &Query,
    form: Form,
) -> Result<Response<Body>> {
    let options = ListOptions::parse(query, |field| is_selectable(endpoint, field))?;
    let page = page(core, endpoint, target, &options)?;
    let next = page.is_partial.then(|| page.objects.last()).flatten();
    let next = next.map(|last| Continue { revision: Some(page.revision), after: last.key.clone() }.encode());
    let list =
        List { endpoint, objects: &page.objects, revision: page.revision, next, remaining: page.remaining };
    Ok(list.answer(form, core.clock.timestamp()))
}

/// The objects that the options ask for.
pub(crate) fn page(
    core: &Core,
    endpoint: &Endpoint,
    target: &Target,
    options: &ListOptions,
) -> Result<store::Page> {
    let is_exact = options.is_exact && options.resource_version.is_some();
    if let Some(wanted) = options.resource_version.filter(|_| !is_exact) {
        not_from_the_future(wanted, core.store.revision())?;
    }
    let next = options.next.as_ref();
    let query = store::Query {
        namespace: namespace(endpoint, target),
        revision: next.map_or(options.resource_version.filter(|_| is_exact), |next| next.revision),
        after: next.map(|next| &next.after),
        limit: options.limit,
    };
    core.store.list(endpoint.collection(), query, &options.filter).map_err(|error| match (error, next) {
        (OutOfReach::Gone { .. }, Some(next)) => {
            Status::page_expired(Continue { revision: None, after: next.after.clone() }.encode())
        }
        (OutOfReach::Gone { .. }, None) => {
            Status::expired("The resourceVersion for the provided list is too old.")
        }
        (OutOfReach::Future { current }, _) => {
            Status::from_the_future(query.revision.unwrap_or_default(), current)
        }
    })
}

/// The namespace that a list is narrowed to.
pub(crate) fn namespace<'a>(endpoint: &Endpoint, target: &'a Target) -> Option<&'a str> {
    Some(target.namespace.as_str()).filter(|namespace| endpoint.kind().is_namespaced && !namespace.is_empty())
}
