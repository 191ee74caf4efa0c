//! Which watches run: the fixed ones for as long as the manager, one for each Secret and each kind of template for
//! as long as something names it.

use std::{
    collections::{BTreeSet, HashMap},
    ops::ControlFlow,
    sync::Arc,
    time::Duration,
};

use k8s_openapi::{
    api::core::v1::{Namespace, Secret},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kapstan_api::{annotations::CA_ENTRY, cluster_class::ClusterClass, extension_config::ExtensionConfig};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DynamicObject, PartialObjectMeta},
    core::{ApiResource, GroupVersionKind},
    discovery::oneshot,
    runtime::watcher::{self, watcher},
};
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    task::{JoinHandle, JoinSet},
};

use super::{
    Index, Watched,
    class::Class,
    config::Config,
    driver::{Feed, drive},
    keys::{ClassKey, GroupKind, Name, SecretKey, TemplateKey},
    lenient::Lenient,
    place::SecretState,
    shared::Shared,
    template::Template,
    wake::Wake,
};
use crate::{
    controllers::runner,
    health::{Health, Sync},
};

/// How long a kind that is not served waits for an event about its CRD before it is looked up all the same.
const KIND_RETRY: Duration = Duration::from_secs(30);
/// How long after such an event the API server may need to serve the kind.
const KIND_SETTLE: Duration = Duration::from_secs(2);

/// The watches that every manager has, and whether they have listed.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// `ExtensionConfig`s.
    pub configs: Sync,
    /// `ClusterClass`es.
    pub classes: Sync,
    /// Namespaces.
    pub namespaces: Sync,
    /// CRDs.
    pub crds: Sync,
}

impl Fixed {
    /// None has listed yet; `health` depends on all of them.
    #[must_use]
    pub fn new(health: &Health) -> Self {
        Self {
            configs: health.watch("ExtensionConfig"),
            classes: health.watch("ClusterClass"),
            namespaces: health.watch("Namespace"),
            crds: health.watch("CustomResourceDefinition"),
        }
    }

    /// Waits until all have listed.
    pub async fn wait(&self) {
        tokio::join!(self.configs.wait(), self.classes.wait(), self.namespaces.wait(), self.crds.wait());
    }
}

/// Runs all watches; does not end.
pub async fn run(client: Client, shared: Shared, fixed: Fixed) {
    let config = watcher::Config::default;
    let configs = watcher(Api::<Lenient<ExtensionConfig>>::all(client.clone()), config());
    let classes = watcher(Api::<Lenient<ClusterClass>>::all(client.clone()), config());
    let namespaces = watcher(Api::<PartialObjectMeta<Namespace>>::all(client.clone()), config());
    let crds = watcher(Api::<PartialObjectMeta<CustomResourceDefinition>>::all(client.clone()), config());
    let mut tasks = JoinSet::new();
    tasks.spawn(drive(shared.clone(), fixed.configs, ConfigFeed, configs));
    tasks.spawn(drive(shared.clone(), fixed.classes, ClassFeed, classes));
    tasks.spawn(drive(shared.clone(), fixed.namespaces, NamespaceFeed, namespaces));
    tasks.spawn(drive(shared.clone(), fixed.crds, CrdFeed, crds));
    tasks.spawn(follow(client, shared));
    runner::all(&mut tasks).await;
}

/// Starts and stops the watches of Secrets and of kinds of template.
async fn follow(client: Client, shared: Shared) {
    let mut secrets: HashMap<SecretKey, Running> = HashMap::new();
    let mut kinds: HashMap<GroupKind, KindWatch> = HashMap::new();
    loop {
        let Watched { secrets: used_secrets, kinds: used_kinds } = shared.with(Index::watched);
        secrets.retain(|key, _| used_secrets.contains(key));
        for key in used_secrets {
            secrets
                .entry(key.clone())
                .or_insert_with(|| Running::spawn(watch_secret(client.clone(), shared.clone(), key)));
        }
        kinds.retain(|kind, _| used_kinds.contains_key(kind));
        for (kind, versions) in used_kinds {
            match kinds.get(&kind) {
                Some(watch) => watch.update(versions, shared.with(|index| index.is_kind_unavailable(&kind))),
                None => {
                    kinds.insert(
                        kind.clone(),
                        KindWatch::start(client.clone(), shared.clone(), kind, versions),
                    );
                }
            }
        }
        shared.watches_changed().await;
    }
}

/// A task that ends with its owner.
struct Running(JoinHandle<()>);

impl Running {
    fn spawn(task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(task))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn watch_secret(client: Client, shared: Shared, key: SecretKey) {
    if !key.can_exist() {
        return shared.change(|index| index.apply_secret(&key, SecretState::Absent));
    }
    let api: Api<Secret> = Api::namespaced(client, &key.namespace);
    let config = watcher::Config::default().fields(&format!("metadata.name={}", key.name));
    let sync = Sync::new(&format!("Secret {key}"));
    drive(shared, sync, SecretFeed(key), watcher(api, config)).await;
}

/// The watch of a kind of template, in whatever version it is served.
struct KindWatch {
    versions: Arc<Mutex<BTreeSet<Name>>>,
    poke: Arc<Notify>,
    _task: Running,
}

impl KindWatch {
    fn start(client: Client, shared: Shared, kind: GroupKind, versions: BTreeSet<Name>) -> Self {
        let (versions, poke) = (Arc::new(Mutex::new(versions)), Arc::new(Notify::new()));
        let task = Running::spawn(watch_kind(client, shared, kind, Arc::clone(&versions), Arc::clone(&poke)));
        Self { versions, poke, _task: task }
    }

    fn update(&self, versions: BTreeSet<Name>, is_unavailable: bool) {
        *self.versions.lock() = versions;
        if is_unavailable {
            self.poke.notify_one();
        }
    }
}

async fn watch_kind(
    client: Client,
    shared: Shared,
    kind: GroupKind,
    versions: Arc<Mutex<BTreeSet<Name>>>,
    poke: Arc<Notify>,
) {
    loop {
        let used = versions.lock().clone();
        match find_kind(&client, &kind, &used).await {
            Ok(resource) => {
                shared.with(|index| index.kind_found(&kind, resource.clone()));
                let api: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(client.clone(), &resource);
                let sync = Sync::new(&kind.to_string());
                let watch = watcher(api, watcher::Config::default());
                drive(shared.clone(), sync, TemplateFeed(kind.clone()), watch).await;
            }
            Err(why) => shared.change(|index| index.kind_unavailable(&kind, why.into())),
        }
        let poked = tokio::time::timeout(KIND_RETRY, poke.notified()).await.is_ok();
        if poked {
            tokio::time::sleep(KIND_SETTLE).await;
        }
    }
}

/// The resource of a kind in the first of these versions, newest first, that the API server serves.
async fn find_kind(
    client: &Client,
    kind: &GroupKind,
    versions: &BTreeSet<Name>,
) -> Result<ApiResource, String> {
    let mut why = format!("{kind} is not served");
    for version in versions.iter().rev() {
        let kind = GroupVersionKind::gvk(&kind.group, version, &kind.kind);
        match oneshot::pinned_kind(client, &kind).await {
            Ok((resource, _)) => return Ok(resource),
            Err(error) if is_not_served(&error) => {}
            Err(error) => why = format!("failed to look up {}: {}", kind.kind, crate::error::chain(&error)),
        }
    }
    Err(why)
}

fn is_not_served(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code == 404,
        kube::Error::Discovery(_) => true,
        _ => false,
    }
}

struct ConfigFeed;

impl Feed for ConfigFeed {
    type Object = Lenient<ExtensionConfig>;

    fn apply(&self, index: &mut Index, object: Self::Object) -> Wake {
        object.read().map(|object| index.apply_config(Config::parse(object))).unwrap_or_default()
    }

    fn delete(&self, index: &mut Index, object: Self::Object) -> Wake {
        index.delete_config(&object.name_any().into())
    }

    fn reset(&self, index: &mut Index, objects: Vec<Self::Object>) -> Wake {
        let configs = objects.into_iter().filter_map(|object| match object {
            Lenient::Read(object) => Some(Config::parse(*object)),
            // What was known of it stays in force.
            unreadable @ Lenient::Unreadable { .. } => {
                index.config(&unreadable.name_any()).map(|entry| entry.config.clone())
            }
        });
        let configs = configs.collect();
        index.reset_configs(configs)
    }

    fn unreadable(&self, object: &Self::Object) -> (String, Option<Arc<str>>) {
        (object.name_any(), object.unreadable().cloned())
    }
}

fn class_key(object: &Lenient<ClusterClass>) -> ClassKey {
    ClassKey::new(&object.namespace().unwrap_or_default(), &object.name_any())
}

struct ClassFeed;

impl Feed for ClassFeed {
    type Object = Lenient<ClusterClass>;

    fn apply(&self, index: &mut Index, object: Self::Object) -> Wake {
        object.read().map(|object| index.apply_class(Class::parse(&object))).unwrap_or_default()
    }

    fn delete(&self, index: &mut Index, object: Self::Object) -> Wake {
        index.delete_class(&class_key(&object))
    }

    fn reset(&self, index: &mut Index, objects: Vec<Self::Object>) -> Wake {
        let classes = objects.iter().filter_map(|object| match object {
            Lenient::Read(object) => Some(Class::parse(object)),
            // What was known of it stays in force.
            Lenient::Unreadable { .. } => index.class(&class_key(object)).map(|entry| (*entry.class).clone()),
        });
        let classes = classes.collect();
        index.reset_classes(classes)
    }

    fn unreadable(&self, object: &Self::Object) -> (String, Option<Arc<str>>) {
        (class_key(object).to_string(), object.unreadable().cloned())
    }
}

struct NamespaceFeed;

impl Feed for NamespaceFeed {
    type Object = PartialObjectMeta<Namespace>;

    fn apply(&self, index: &mut Index, object: Self::Object) -> Wake {
        index.apply_namespace(&object.name_any().into(), object.metadata.labels.unwrap_or_default())
    }

    fn delete(&self, index: &mut Index, object: Self::Object) -> Wake {
        index.delete_namespace(&object.name_any().into())
    }

    fn reset(&self, index: &mut Index, objects: Vec<Self::Object>) -> Wake {
        let named = objects
            .into_iter()
            .map(|object| (object.name_any().into(), object.metadata.labels.unwrap_or_default()));
        index.reset_namespaces(named.collect())
    }
}

struct CrdFeed;

impl Feed for CrdFeed {
    type Object = PartialObjectMeta<CustomResourceDefinition>;

    fn apply(&self, index: &mut Index, object: Self::Object) -> Wake {
        index.apply_crd(&object.name_any().into(), object.metadata.labels.unwrap_or_default())
    }

    fn delete(&self, index: &mut Index, object: Self::Object) -> Wake {
        index.delete_crd(&object.name_any().into())
    }

    fn reset(&self, index: &mut Index, objects: Vec<Self::Object>) -> Wake {
        let named = objects
            .into_iter()
            .map(|object| (object.name_any().into(), object.metadata.labels.unwrap_or_default()));
        index.reset_crds(named.collect())
    }
}

struct TemplateFeed(GroupKind);

impl TemplateFeed {
    fn key(&self, object: &PartialObjectMeta<DynamicObject>) -> TemplateKey {
        TemplateKey {
            kind: self.0.clone(),
            namespace: object.namespace().unwrap_or_default().into(),
            name: object.name_any().into(),
        }
    }
}

impl Feed for TemplateFeed {
    type Object = PartialObjectMeta<DynamicObject>;

    fn apply(&self, index: &mut Index, object: Self::Object) -> Wake {
        index.apply_template(&self.key(&object), Template::of(&object.metadata))
    }

    fn delete(&self, index: &mut Index, object: Self::Object) -> Wake {
        index.delete_template(&self.key(&object))
    }

    fn reset(&self, index: &mut Index, objects: Vec<Self::Object>) -> Wake {
        let templates = objects.iter().map(|object| (self.key(object), Template::of(&object.metadata)));
        index.reset_templates(&self.0, templates.collect())
    }

    fn failed(&self, shared: &Shared, error: &watcher::Error) -> ControlFlow<()> {
        let is_gone = matches!(
            error,
            watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) if is_not_served(error)
        );
        // What was listed once stays in force while a later list fails.
        let is_unknown = !shared.with(|index| index.is_kind_synced(&self.0));
        if is_unknown && matches!(error, watcher::Error::InitialListFailed(_)) {
            let why = format!("failed to list {}: {}", self.0, crate::error::chain(error));
            shared.change(|index| index.kind_unavailable(&self.0, why.into()));
        }
        if is_gone { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

struct SecretFeed(SecretKey);

impl SecretFeed {
    fn state(secret: Option<Secret>) -> SecretState {
        let Some(secret) = secret else { return SecretState::Absent };
        let bundle = secret.data.and_then(|mut data| data.remove(CA_ENTRY));
        SecretState::Present(bundle.filter(|bundle| !bundle.0.is_empty()))
    }
}

impl Feed for SecretFeed {
    type Object = Secret;

    fn apply(&self, index: &mut Index, object: Secret) -> Wake {
        index.apply_secret(&self.0, Self::state(Some(object)))
    }

    fn delete(&self, index: &mut Index, _object: Secret) -> Wake {
        index.apply_secret(&self.0, SecretState::Absent)
    }

    fn reset(&self, index: &mut Index, objects: Vec<Secret>) -> Wake {
        index.apply_secret(&self.0, Self::state(objects.into_iter().next()))
    }

    fn failed(&self, shared: &Shared, error: &watcher::Error) -> ControlFlow<()> {
        let is_unknown = matches!(
            shared.with(|index| index.secret(&self.0)),
            SecretState::Starting | SecretState::Unavailable(_)
        );
        if is_unknown && matches!(error, watcher::Error::InitialListFailed(_)) {
            let why = crate::error::chain(error);
            shared.change(|index| index.apply_secret(&self.0, SecretState::Unavailable(why.into())));
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use bytes::Bytes;
    use futures::{StreamExt as _, stream};
    use http::{Request, Response};
    use http_body_util::{BodyExt as _, StreamBody, combinators::UnsyncBoxBody};
    use hyper::body::Frame;
    use kube::client::Body;

    use super::*;
    use crate::{
        clock::Clock,
        index::{
            lenient::tests::{deep, good},
            tests::fixtures::key,
        },
        metrics::Metrics,
        runtime::{
            self, Options,
            tests::in_process::{InProcess, Pipe},
        },
    };

    type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

    /// An API server that lists these classes and then tells these events of them, and has nothing else.
    fn client(list: String, events: Vec<String>) -> Client {
        let service = tower::service_fn(move |request: Request<Body>| {
            let (list, events) = (list.clone(), events.clone());
            async move {
                let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
                let is_classes = request.uri().path().ends_with("/clusterclasses");
                Ok::<_, Infallible>(match (is_watch, is_classes) {
                    (true, true) => watched(events),
                    (true, false) => watched(vec![]),
                    (false, true) => listed(&list),
                    (false, false) => listed(""),
                })
            }
        });
        Client::new(service, "default")
    }

    fn watched(events: Vec<String>) -> Answer {
        let lines = events.into_iter().map(|event| Ok(Frame::data(Bytes::from(event + "\n"))));
        Response::new(StreamBody::new(stream::iter(lines).chain(stream::pending())).boxed_unsync())
    }

    fn listed(items: &str) -> Answer {
        let list = format!(r#"{{"metadata":{{"resourceVersion":"1"}},"items":[{items}]}}"#);
        Response::new(http_body_util::Full::new(Bytes::from(list)).boxed_unsync())
    }

    fn event(type_: &str, object: &str) -> String {
        format!(r#"{{"type":"{type_}","object":{object}}}"#)
    }

    fn shared() -> (Shared, Metrics) {
        let (metrics, clock) = (Metrics::new(), Clock::system());
        let dialer = Arc::new(Pipe(InProcess::new()));
        let extensions = runtime::Client::new(Options::default(), dialer, clock, metrics.clone());
        (Shared::new(extensions, metrics.clone()), metrics)
    }

    fn unreadable(metrics: &Metrics) -> Option<String> {
        let text = metrics.render();
        let line = text.lines().find(|line| line.starts_with("kapstan_unreadable_objects{"));
        line.map(str::to_owned)
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_that_cannot_be_decoded_keeps_nothing_else_from_being_known() {
        let (shared, metrics) = shared();
        let fixed = Fixed::new(&Health::default());
        let list = [deep("bad"), good("one"), good("two")].join(",");
        let events = vec![
            event("ADDED", &deep("worse")),
            event("MODIFIED", &deep("two")),
            event("DELETED", &deep("bad")),
            event("ADDED", &good("last")),
        ];
        let running = Running::spawn(run(client(list, events), shared.clone(), fixed.clone()));
        fixed.classes.wait().await;
        let is_known = |name: &str| shared.with(|index| index.class(&key(&format!("ns/{name}"))).is_some());
        while !is_known("last") {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let known = ["bad", "one", "two", "worse"].map(is_known);
        assert_eq!(known, [false, true, true, false], "what was known before stays in force");
        let series = r#"kapstan_unreadable_objects{kind="ClusterClass"} 2"#;
        assert_eq!(unreadable(&metrics).as_deref(), Some(series), "worse and two");
        drop(running);
    }

    #[tokio::test]
    async fn a_known_object_that_a_list_shows_unreadable_is_not_taken_for_gone() {
        let (shared, _) = shared();
        let parsed = |text: String| serde_json::from_str::<Lenient<ClusterClass>>(&text).unwrap();
        shared.change(|index| ClassFeed.reset(index, vec![parsed(good("one")), parsed(good("two"))]));
        let wake =
            shared.with(|index| ClassFeed.reset(index, vec![parsed(deep("one")), parsed(deep("new"))]));
        assert_eq!(wake.classes.into_iter().collect::<Vec<_>>(), [key("ns/two")]);
        assert!(shared.with(|index| index.class(&key("ns/one")).is_some()));
    }
}
