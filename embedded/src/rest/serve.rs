//! From a request to the function that answers it.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::{Value, json};

use super::accept::{self, Form};
use super::answer::{self, refusal, warn};
use super::body;
use super::delete::{self, Deleted};
use super::discovery;
use super::options::{DeleteOptions, ListOptions, WriteOptions};
use super::patch;
use super::read;
use super::request::{Query, Target, Verb};
use super::watch;
use super::write::{Absent, Made, Write, Written};
use crate::apply;
use crate::audit::Asked;
use crate::core::Core;
use crate::faults::Struck;
use crate::kinds::Strategy;
use crate::openapi::Document;
use crate::registry::{Endpoint, Registry, is_of_kubernetes};
use crate::status::{self, Result, Status};
use crate::store::{Key, metadata_mut};

/// The largest body that is read, in bytes.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// The document of version 2 as a protocol buffer.
const GNOSTIC: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/// The same, as old clients call it.
const OLD_GNOSTIC: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// Who asks, put into a request's extensions by what knows it.
#[derive(Clone, Debug)]
pub(crate) struct User(pub(crate) Arc<str>);

/// The whole API.
pub(crate) fn router(core: Arc<Core>) -> Router {
    Router::new().fallback(handle).with_state(core)
}

/// A request that was read.
struct Call {
    method: Method,
    path: String,
    query: Query,
    headers: HeaderMap,
    body: Bytes,
    target: Option<Target>,
    verb: Verb,
    user_agent: String,
}

async fn handle(State(core): State<Arc<Core>>, request: Request) -> Response {
    let received_at = core.clock.timestamp();
    let user =
        request.extensions().get::<User>().map_or_else(|| "system:unsecured".into(), |user| user.0.clone());
    let (parts, body) = request.into_parts();
    let body = match read_body(body).await {
        Ok(body) => body,
        Err(status) => return refusal(&status),
    };
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let target = Target::of_path(parts.uri.path());
    let verb = target.as_ref().map_or(Verb::Other, |target| target.verb(&parts.method, &query));
    let user_agent = parts.headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    let user_agent = user_agent.unwrap_or_default().to_owned();
    let call = Call {
        path: parts.uri.path().to_owned(),
        method: parts.method,
        query,
        headers: parts.headers,
        body,
        target,
        verb,
        user_agent,
    };
    let mut asked = Asked::new(received_at, user.to_string(), call.user_agent.clone(), call.body.clone());
    call.describe(&mut asked, parts.uri.query().unwrap_or_default());
    let mut response = answer(&core, &call).await;
    if call.verb == Verb::Watch && response.status().is_success() {
        let open = asked.opened();
        response = response.map(|body| kept_open(body, open));
    }
    core.audit.record(asked, response.status().as_u16());
    response
}

/// A body that keeps something for as long as it lives.
fn kept_open(body: Body, open: Arc<()>) -> Body {
    Body::new(body.map_frame(move |frame| {
        let _ = &open;
        frame
    }))
}

async fn read_body(body: Body) -> Result<Bytes> {
    match Limited::new(body, BODY_LIMIT).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Status::too_large(BODY_LIMIT)),
        Err(error) => Err(Status::bad_request(format!("failed to read the body: {error}"))),
    }
}

async fn answer(core: &Arc<Core>, call: &Call) -> Response {
    let none = Target::default();
    let target = call.target.as_ref().unwrap_or(&none);
    let struck = Struck {
        verb: &call.verb.name(&call.method),
        resource: &target.resource,
        subresource: &target.subresource,
        name: &target.name,
    };
    let (delay, fault) = core.faults.strike(&struck);
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    if let Some(code) = fault {
        let reason = code.canonical_reason().unwrap_or("Unknown").replace(' ', "");
        return refusal(&Status::new(code, reason, "a fault was asked for"));
    }
    let answered = match &call.target {
        _ if call.impersonates() => Err(Status::not_implemented("impersonation")),
        Some(target) => call.resource(core, target),
        None => call.other(core),
    };
    answered.unwrap_or_else(|status| refusal(&status))
}

impl Call {
    fn describe(&self, asked: &mut Asked, query: &str) {
        let event = &mut asked.event;
        event.verb = self.verb.name(&self.method);
        event.path.clone_from(&self.path);
        query.clone_into(&mut event.query);
        if let Some(target) = &self.target {
            let Target { group, version, namespace, resource, name, subresource } = target.clone();
            (event.group, event.version, event.namespace) = (group, version, namespace);
            (event.resource, event.name, event.subresource) = (resource, name, subresource);
        }
    }

    /// Whether the request is to count as somebody else's.
    fn impersonates(&self) -> bool {
        self.headers.keys().any(|name| name.as_str().starts_with("impersonate-"))
    }

    /// What names no resource.
    fn other(&self, core: &Core) -> Result<Response> {
        if self.method != Method::GET && self.method != Method::HEAD {
            return Err(Status::method_not_allowed());
        }
        let registry = core.registry();
        let parts: Vec<&str> = self.path.trim_matches('/').split('/').collect();
        let found = match parts[..] {
            ["healthz" | "livez" | "readyz", ..] => Some(text("ok")),
            ["version"] => Some(answer::json(StatusCode::OK, &version())),
            ["api"] => Some(discovery::core_versions(&registry, &self.headers)),
            ["apis"] => Some(discovery::groups(&registry, &self.headers)),
            ["api", version] => discovery::resources(&registry, "", version),
            ["apis", group] if !group.is_empty() => discovery::group(&registry, group),
            ["openapi", "v2"] => Some(self.swagger(core)?),
            ["openapi", "v3"] => {
                Some(self.tagged(&Document::new(&core.openapi.documents(&registry).index())))
            }
            ["openapi", "v3", ..] => {
                let path = self.path.trim_matches('/').trim_start_matches("openapi/v3/");
                core.openapi.documents(&registry).group(path).map(|document| self.tagged(document))
            }
            ["apis", group, version] if !group.is_empty() => discovery::resources(&registry, group, version),
            [""] => Some(answer::json(
                StatusCode::OK,
                &json!({ "paths": ["/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"] }),
            )),
            _ => None,
        };
        Ok(found.unwrap_or_else(not_found))
    }

    fn swagger(&self, core: &Core) -> Result<Response> {
        let documents = core.openapi.documents(&core.registry());
        if accept::clauses(&self.headers).any(|clause| [GNOSTIC, OLD_GNOSTIC].contains(&clause)) {
            let mut response = self.tagged(documents.gnostic());
            response.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static(GNOSTIC));
            return Ok(response);
        }
        accept::form(&self.headers, &self.query)?;
        Ok(self.tagged(documents.swagger()))
    }

    /// A document, or no more than word that the client has it already.
    fn tagged(&self, document: &Document) -> Response {
        let tag = format!("\"{}\"", document.tag);
        let known = self.headers.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok());
        let mut response = if known == Some(&tag) {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        } else {
            answer::bytes(StatusCode::OK, [document.bytes.clone()])
        };
        if let Ok(tag) = http::HeaderValue::from_str(&tag) {
            response.headers_mut().insert(header::ETAG, tag);
        }
        response
    }

    /// What names a resource.
    fn resource(&self, core: &Arc<Core>, target: &Target) -> Result<Response> {
        let registry = core.registry();
        let endpoint = registry.endpoint(&target.group, &target.version, &target.resource);
        let Some(endpoint) = endpoint else { return no_such_resource(&registry, target) };
        if endpoint.needs_webhook() {
            return Err(Status::not_implemented("conversion webhooks"));
        }
        self.check_scope(&endpoint, target)?;
        self.check_subresource(&endpoint, target)?;
        let form = accept::form(&self.headers, &self.query)?;
        let mut response = match self.verb {
            Verb::Get => read::get(core, &endpoint, target, &self.query, form),
            Verb::List => read::list(core, &endpoint, target, &self.query, form),
            Verb::Watch => self.watch(core, &endpoint, target, form),
            Verb::Create => self.create(core, &endpoint, target, form),
            Verb::Update => self.update(core, &endpoint, target, form),
            Verb::Patch => self.patch(core, &endpoint, target, form),
            Verb::Delete => self.delete(core, &endpoint, target, form),
            Verb::DeleteCollection => self.delete_collection(core, &endpoint, target, form),
            Verb::Other => Err(Status::method_not_allowed()),
        }?;
        if let Some(warning) = &endpoint.version().deprecation {
            warn(&mut response, &[warning.to_string()]);
        }
        Ok(response)
    }

    /// Objects of a namespace are made and changed in one; those of the cluster in none.
    fn check_scope(&self, endpoint: &Endpoint, target: &Target) -> Result<()> {
        let is_namespaced = endpoint.kind().is_namespaced;
        let is_namespace = endpoint.collection() == crate::store::NAMESPACES;
        if is_namespace && target.name.is_empty() && !target.namespace.is_empty() {
            return Err(Status::no_such_resource());
        }
        let has_namespace = !target.namespace.is_empty() && !is_namespace;
        if is_namespaced == has_namespace {
            return Ok(());
        }
        // Across all namespaces there are lists and watches only.
        if is_namespaced && matches!(self.verb, Verb::List | Verb::Watch) {
            return Ok(());
        }
        if is_namespaced && target.name.is_empty() {
            return Err(Status::method_not_allowed());
        }
        Err(Status::no_such_resource())
    }

    fn check_subresource(&self, endpoint: &Endpoint, target: &Target) -> Result<()> {
        let is_main = target.subresource.is_empty();
        match (self.verb, target.subresource.as_str()) {
            (Verb::Create, "") if target.name.is_empty() => Ok(()),
            (Verb::Update | Verb::Patch, "") if target.name.is_empty() => Err(Status::method_not_allowed()),
            (Verb::Create, "") => Err(Status::method_not_allowed()),
            (Verb::DeleteCollection, _) if endpoint.collection() == crate::store::NAMESPACES => {
                Err(Status::method_not_allowed())
            }
            _ if is_main => Ok(()),
            (Verb::Get | Verb::Update | Verb::Patch, "status") if endpoint.version().has_status => Ok(()),
            (Verb::Update, "finalize") if endpoint.collection() == crate::store::NAMESPACES => Ok(()),
            (verb, "status") if endpoint.version().has_status && endpoint.strategy().is_none() => {
                Err(Status::verb_not_supported(endpoint.resource(), &verb.name(&self.method)))
            }
            (_, "status") if endpoint.version().has_status => Err(Status::method_not_allowed()),
            (_, subresource) if endpoint.version().lacks(subresource) => {
                let feature = format!("the subresource {subresource} of {}", target.resource);
                Err(Status::not_implemented(&feature))
            }
            _ if endpoint.strategy().is_none() => Err(Status::not_found(endpoint.resource(), &target.name)),
            _ => Err(Status::no_such_resource()),
        }
    }

    fn watch(&self, core: &Arc<Core>, endpoint: &Endpoint, target: &Target, form: Form) -> Result<Response> {
        let options = ListOptions::parse(&self.query, |field| read::is_selectable(endpoint, field))?;
        let drops = core.faults.drops(&target.resource);
        watch::watch(core, endpoint.clone(), target, options, form, drops)
    }

    fn write<T>(
        &self,
        core: &Arc<Core>,
        endpoint: &Endpoint,
        target: &Target,
        kind: &str,
        act: impl FnOnce(&Write<'_>) -> Result<T>,
    ) -> Result<T> {
        let is_apply = self.verb == Verb::Patch && patch::is_apply(&self.headers);
        let options = WriteOptions::parse(&self.query, kind, is_apply)?;
        let manager = apply::manager_name(&options.field_manager, &self.user_agent);
        act(&Write { core, endpoint, target, options: &options, manager: &manager })
    }

    fn create(&self, core: &Arc<Core>, endpoint: &Endpoint, target: &Target, form: Form) -> Result<Response> {
        let written = self.write(core, endpoint, target, "CreateOptions", |write| {
            write.create(self.decoded(endpoint, write.options)?)
        })?;
        Ok(written_answer(core, endpoint, &written, form))
    }

    fn decoded(&self, endpoint: &Endpoint, options: &WriteOptions) -> Result<Made> {
        let decoded = body::decode(endpoint, &self.headers, &self.body, options.field_validation)?;
        Ok(Made { value: decoded.value, warnings: decoded.warnings, is_tracked: false })
    }

    fn update(&self, core: &Arc<Core>, endpoint: &Endpoint, target: &Target, form: Form) -> Result<Response> {
        let creates = endpoint.strategy().is_some_and(Strategy::creates_on_update);
        let absent = if creates { Absent::Create } else { Absent::Refuse };
        let written = self.write(core, endpoint, target, "UpdateOptions", |write| {
            let made = self.decoded(endpoint, write.options)?;
            check_name(&made.value, &target.name)?;
            write.update(absent, &|_| {
                Ok(Made { value: made.value.clone(), warnings: made.warnings.clone(), is_tracked: false })
            })
        })?;
        Ok(written_answer(core, endpoint, &written, form))
    }

    fn patch(&self, core: &Arc<Core>, endpoint: &Endpoint, target: &Target, form: Form) -> Result<Response> {
        let written = self.write(core, endpoint, target, "PatchOptions", |write| {
            patch::patch(write, &self.headers, &self.body)
        })?;
        Ok(written_answer(core, endpoint, &written, form))
    }

    fn delete(&self, core: &Arc<Core>, endpoint: &Endpoint, target: &Target, form: Form) -> Result<Response> {
        let options = DeleteOptions::parse(&self.query, &self.headers, &self.body)?;
        let namespace = endpoint.kind().is_namespaced.then_some(target.namespace.as_str());
        let deleted = delete::delete(core, endpoint, &Key::new(namespace, &target.name), &options)?;
        let now = core.clock.timestamp();
        Ok(match deleted {
            Deleted::Marked(object) => answer::object(endpoint, &object, form, delete_code(&options), now),
            Deleted::Gone(object) if endpoint.strategy().is_some_and(Strategy::returns_deleted) => {
                answer::object(endpoint, &object, form, StatusCode::OK, now)
            }
            Deleted::Gone(object) => {
                let status = status::deleted(endpoint.resource(), &target.name, &object.uid);
                answer::json(StatusCode::OK, &status)
            }
        })
    }

    fn delete_collection(
        &self,
        core: &Arc<Core>,
        endpoint: &Endpoint,
        target: &Target,
        form: Form,
    ) -> Result<Response> {
        let list = ListOptions::parse(&self.query, |field| read::is_selectable(endpoint, field))?;
        let options = DeleteOptions::parse(&self.query, &self.headers, &self.body)?;
        let page = read::page(core, endpoint, target, &list)?;
        for object in &page.objects {
            match delete::delete(core, endpoint, &object.key, &options) {
                Err(status) if status.code() != StatusCode::NOT_FOUND => return Err(status),
                _ => {}
            }
        }
        let revision = core.store.revision();
        let list = answer::List { endpoint, objects: &page.objects, revision, next: None, remaining: None };
        Ok(list.answer(form, core.clock.timestamp()))
    }
}

/// Creates an object, or replaces it if it is there.
pub(crate) fn load(core: &Core, endpoint: &Endpoint, mut object: Value) -> Result<()> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut namespace = text(&object["metadata"]["namespace"]);
    if namespace.is_empty() && endpoint.kind().is_namespaced {
        "default".clone_into(&mut namespace);
    }
    let target = Target { namespace, name: text(&object["metadata"]["name"]), ..Target::default() };
    let query = Query::parse("fieldValidation=Strict");
    let options = WriteOptions::parse(&query, "UpdateOptions", false)?;
    let write = Write { core, endpoint, target: &target, options: &options, manager: "kapstan-embedded" };
    object.as_object_mut().into_iter().for_each(|fields| drop(fields.remove("status")));
    let made = |value: Value| -> Result<Made> {
        body::check_type(endpoint, &value, b"")?;
        let decoded = body::complete(endpoint, value, &[], options.field_validation)?;
        Ok(Made { value: decoded.value, warnings: decoded.warnings, is_tracked: false })
    };
    let replaced = write.update(Absent::Refuse, &|live| {
        let mut object = object.clone();
        if let Some(live) = live {
            let version = live["metadata"]["resourceVersion"].clone();
            metadata_mut(&mut object).insert("resourceVersion".to_owned(), version);
        }
        made(object)
    });
    match replaced {
        Err(status) if status.code() == StatusCode::NOT_FOUND => write.create(made(object)?).map(drop),
        other => other.map(drop),
    }
}

/// A deletion that was asked for with the old word for propagation and is not over is accepted, not done.
fn delete_code(options: &DeleteOptions) -> StatusCode {
    if options.orphan_dependents == Some(false) { StatusCode::ACCEPTED } else { StatusCode::OK }
}

fn written_answer(core: &Core, endpoint: &Endpoint, change: &Written, form: Form) -> Response {
    let status = if change.is_new { StatusCode::CREATED } else { StatusCode::OK };
    let mut response = answer::object(endpoint, &change.object, form, status, core.clock.timestamp());
    warn(&mut response, &change.warnings);
    response
}

/// What no kind is served at. Only the built-in groups answer with a `Status`.
fn no_such_resource(registry: &Registry, target: &Target) -> Result<Response> {
    let Target { group, resource, subresource, .. } = target;
    if matches!(resource.as_str(), "watch" | "proxy") {
        return Err(Status::not_implemented(&format!("paths that begin with {resource}")));
    }
    if is_of_kubernetes(group, resource) {
        let subresource = if subresource.is_empty() { String::new() } else { format!("/{subresource}") };
        let group = if group.is_empty() { String::new() } else { format!(".{group}") };
        return Err(Status::not_served(&format!("{resource}{subresource}{group}")));
    }
    let is_builtin = registry.kinds().any(|kind| *kind.names.group == target.group && kind.is_builtin());
    if is_builtin { Err(Status::no_such_resource()) } else { Ok(not_found()) }
}

fn not_found() -> Response {
    let mut response = text("404 page not found\n");
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

/// Whether an object that is to replace or to make another is called as the path says.
pub(super) fn check_name(value: &Value, expected: &str) -> Result<()> {
    let name = value["metadata"]["name"].as_str().unwrap_or_default();
    if name == expected {
        return Ok(());
    }
    if name.is_empty() {
        let why = format!(
            "the name of the object ({expected} based on URL) was undeterminable: name must be provided"
        );
        return Err(Status::bad_request(why));
    }
    Err(Status::bad_request(format!(
        "the name of the object ({name}) does not match the name on the URL ({expected})"
    )))
}

fn text(text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    let plain = http::HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

/// The release of Kubernetes that this server takes after.
fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "gitVersion": "v1.36.3+embedded",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}
