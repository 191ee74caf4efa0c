//! Objects into a cluster, by server-side apply.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    time::Duration,
};

use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::APIResource,
};
use kube::{
    Api, Client,
    api::{DynamicObject, Patch, PatchParams},
    core::{ApiResource, GroupVersionKind, Status},
    runtime::wait::{await_condition, conditions},
};
use serde_json::Value;

use super::Object;
use crate::error::chain;

/// The namespace of objects that name none.
const NAMESPACE: &str = "default";
/// How long a CRD may take until its kind is served.
const ESTABLISHING: Duration = Duration::from_secs(30);
/// How often a server is asked whether it serves a kind whose CRD it says is established.
const LOOK: Duration = Duration::from_millis(100);

/// How objects are applied.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Who owns the fields that are set.
    pub field_manager: &'a str,
    /// Whether fields are taken from others that own them; otherwise that is a refusal.
    pub force: bool,
}

/// What became of the objects.
#[derive(Debug, Default)]
#[must_use]
pub struct Report {
    /// In the order in which they were applied.
    pub applied: Vec<Object>,
    /// In the order in which they were tried.
    pub refused: Vec<Refusal>,
}

/// An object that was not applied.
#[derive(Debug)]
pub struct Refusal {
    /// Which one.
    pub object: Object,
    /// Why not, with the fields that the server names.
    pub why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.object.origin, self.object.title(), self.why)
    }
}

/// What was refused, and then what was applied nevertheless.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (refused, applied) = (self.refused.len(), self.applied.len());
        write!(f, "{refused} of {} objects refused", refused + applied)?;
        for refusal in &self.refused {
            write!(f, "\n* {refusal}")?;
        }
        let applied: Vec<_> = self.applied.iter().map(Object::title).collect();
        let applied = if applied.is_empty() { "nothing".to_owned() } else { applied.join(", ") };
        write!(f, "\napplied: {applied}")
    }
}

/// Applies objects: first CRDs, until their kinds are served, then Namespaces, then the others, each in the order given.
/// Every object is tried, whatever became of those before it. Fields that the server does not know are refusals.
pub async fn apply(client: &Client, objects: Vec<Object>, options: Options<'_>) -> Report {
    let (crds, others) = split(objects, ("apiextensions.k8s.io", "CustomResourceDefinition"));
    let (namespaces, others) = split(others, ("", "Namespace"));
    let mut applying = Applying { client, options, kinds: Kinds::new(client), report: Report::default() };
    for crd in crds {
        applying.crd(crd).await;
    }
    for object in namespaces.into_iter().chain(others) {
        applying.object(object).await;
    }
    applying.report
}

/// Those of a group and kind, and the others.
fn split(objects: Vec<Object>, wanted: (&str, &str)) -> (Vec<Object>, Vec<Object>) {
    objects.into_iter().partition(|object| (object.group_version().0, object.kind.as_str()) == wanted)
}

struct Applying<'a> {
    client: &'a Client,
    options: Options<'a>,
    kinds: Kinds<'a>,
    report: Report,
}

impl Applying<'_> {
    async fn crd(&mut self, object: Object) {
        let applied = match self.apply(&object).await {
            Ok(()) => self.established(&object).await,
            refused => refused,
        };
        if applied.is_ok() {
            self.kinds.expect(&object.value);
        }
        self.note(object, applied);
    }

    async fn object(&mut self, object: Object) {
        let applied = self.apply(&object).await;
        self.note(object, applied);
    }

    fn note(&mut self, object: Object, applied: Result<(), String>) {
        match applied {
            Ok(()) => self.report.applied.push(object),
            Err(why) => self.report.refused.push(Refusal { object, why }),
        }
    }

    async fn apply(&mut self, object: &Object) -> Result<(), String> {
        let (resource, is_namespaced) = self.kinds.find(object).await?;
        let api: Api<DynamicObject> = if is_namespaced {
            let namespace = object.namespace.as_deref().unwrap_or(NAMESPACE);
            Api::namespaced_with(self.client.clone(), namespace, &resource)
        } else {
            Api::all_with(self.client.clone(), &resource)
        };
        let mut params = PatchParams::apply(self.options.field_manager);
        params.force = self.options.force;
        let applied = api.patch(&object.name, &params, &Patch::Apply(&object.value)).await;
        applied.map(drop).map_err(|error| refusal(&error))
    }

    /// Waits until the server serves the kind.
    async fn established(&self, object: &Object) -> Result<(), String> {
        let crds: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let established = await_condition(crds.clone(), &object.name, conditions::is_crd_established());
        match tokio::time::timeout(ESTABLISHING, established).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(format!("failed to see whether it is established: {}", chain(&error))),
            Err(_) => {
                let why = crds.get(&object.name).await.ok().and_then(not_accepted).unwrap_or_default();
                Err(format!("not established within {} s{why}", ESTABLISHING.as_secs()))
            }
        }
    }
}

/// What the server says about the names of a CRD that it does not accept.
fn not_accepted(crd: CustomResourceDefinition) -> Option<String> {
    let conditions = crd.status?.conditions?;
    let refused = conditions
        .into_iter()
        .find(|condition| condition.type_ == "NamesAccepted" && condition.status == "False");
    Some(format!(": {}", refused?.message?))
}

/// The server's words, field by field where it names fields.
fn refusal(error: &kube::Error) -> String {
    let kube::Error::Api(status) = error else { return chain(error) };
    let causes: Vec<_> = causes(status).collect();
    if causes.is_empty() { status.message.clone() } else { causes.join("; ") }
}

/// Causes without a field say no more than the message; `<nil>` is the object itself.
fn causes(status: &Status) -> impl Iterator<Item = String> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.filter(|cause| !cause.field.is_empty()).map(|cause| match cause.field.as_str() {
        "<nil>" => cause.message.clone(),
        field => format!("{field}: {}", cause.message),
    })
}

/// The kinds that a server serves, asked for when they are needed.
struct Kinds<'a> {
    client: &'a Client,
    /// By `apiVersion`; only those that are served.
    known: HashMap<String, Vec<APIResource>>,
    /// Group, version and kind of what the server is about to serve.
    expected: BTreeSet<(String, String, String)>,
}

impl<'a> Kinds<'a> {
    fn new(client: &'a Client) -> Self {
        Self { client, known: HashMap::new(), expected: BTreeSet::new() }
    }

    /// The server will serve what this CRD defines, or does already.
    fn expect(&mut self, crd: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group, kind) = (text(&crd["spec"]["group"]), text(&crd["spec"]["names"]["kind"]));
        for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
            if version["served"] == true {
                self.expected.insert((group.clone(), text(&version["name"]), kind.clone()));
            }
        }
    }

    /// The resource of an object's kind, and whether it has namespaces.
    async fn find(&mut self, object: &Object) -> Result<(ApiResource, bool), String> {
        let (group, version) = object.group_version();
        let is_expected =
            self.expected.contains(&(group.to_owned(), version.to_owned(), object.kind.clone()));
        let until = tokio::time::Instant::now() + ESTABLISHING;
        loop {
            if let Some(found) = self.look(object).await? {
                return Ok(found);
            }
            if !is_expected || tokio::time::Instant::now() >= until {
                return Err(self.missing(object).await);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn look(&mut self, object: &Object) -> Result<Option<(ApiResource, bool)>, String> {
        let Object { api_version, kind, .. } = object;
        let of_kind = |known: &[APIResource]| {
            known.iter().find(|resource| resource.kind == *kind && !resource.name.contains('/')).cloned()
        };
        let mut found = self.known.get(api_version).and_then(|known| of_kind(known));
        if found.is_none() {
            let listed = served(self.client, api_version).await?;
            found = of_kind(&listed);
            self.known.insert(api_version.clone(), listed);
        }
        let (group, version) = object.group_version();
        Ok(found.map(|found| {
            let kind = GroupVersionKind::gvk(group, version, kind);
            (ApiResource::from_gvk_with_plural(&kind, &found.name), found.namespaced)
        }))
    }

    /// Why an object of a kind that is not served cannot be applied.
    async fn missing(&self, object: &Object) -> String {
        let Object { api_version, kind, .. } = object;
        let missing =
            format!("the server has no CustomResourceDefinition of kind {kind}, apiVersion {api_version}");
        let elsewhere = self.other_versions(object).await;
        if elsewhere.is_empty() {
            missing
        } else {
            format!("{missing}; it serves {kind} in {}", elsewhere.join(", "))
        }
    }

    /// The versions of the same group in which the server does serve the kind.
    async fn other_versions(&self, object: &Object) -> Vec<String> {
        let (group, _) = object.group_version();
        let groups = self.client.list_api_groups().await.map(|list| list.groups).unwrap_or_default();
        let versions =
            groups.into_iter().filter(|served| served.name == group).flat_map(|group| group.versions);
        let mut others = Vec::new();
        for version in versions {
            let listed = served(self.client, &version.group_version).await.unwrap_or_default();
            if listed.iter().any(|resource| resource.kind == object.kind) {
                others.push(version.group_version);
            }
        }
        others
    }
}

/// What the server serves of an `apiVersion`; nothing if it does not know it.
async fn served(client: &Client, api_version: &str) -> Result<Vec<APIResource>, String> {
    let listed = if api_version.contains('/') {
        client.list_api_group_resources(api_version).await
    } else {
        client.list_core_api_resources(api_version).await
    };
    match listed {
        Ok(list) => Ok(list.resources),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(format!("failed to ask for the kinds of {api_version}: {}", chain(&error))),
    }
}
