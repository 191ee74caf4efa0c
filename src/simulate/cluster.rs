//! A cluster that a kubeconfig leads to. It is counted in by its own metrics, so it should be one that nobody else
//! uses, and it is left as it was found.

use std::{fmt::Debug, path::Path, time::Duration};

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::core::v1::{Event, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, DynamicObject, ListParams, PartialObjectMeta},
};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    fleet::{CLASS, CONFIG, Kind, LABEL},
    host,
    requests::Requests,
};
use crate::{clock::Clock, controllers::write::has_code, kubeconfig, leader};

/// How long the API server may take to answer at the start.
const PREFLIGHT: Duration = Duration::from_secs(10);
/// How long a CRD may take to be served, or to be gone.
const CRD_PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(100);
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A cluster, and what the simulation has made in it.
pub(super) struct Cluster {
    client: Client,
    url: String,
    made: Mutex<Made>,
}

#[derive(Default)]
struct Made {
    namespace: Option<String>,
    /// Names of CRDs that were not there before.
    crds: Vec<String>,
    requests: Requests,
    /// What the server had counted before.
    before: Option<Requests>,
}

impl Cluster {
    /// Connects, and refuses a cluster in which there is something to be managed already.
    pub(super) async fn connect(path: &Path) -> Result<Self> {
        let config = kubeconfig::read(path).await?;
        let url = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let client = Client::try_from(config).context("failed to set up the connection to the cluster")?;
        let cluster = Self { client, url, made: Mutex::default() };
        let version = tokio::time::timeout(PREFLIGHT, cluster.client.apiserver_version()).await;
        version
            .with_context(|| {
                format!("the API server {} did not answer within {} s", cluster.url, PREFLIGHT.as_secs())
            })?
            .with_context(|| format!("failed to reach the API server {}", cluster.url))?;
        cluster.refuse_if_in_use().await?;
        Ok(cluster)
    }

    async fn refuse_if_in_use(&self) -> Result<()> {
        let holder = leader::upstream_holder(self.client(), Clock::system().timestamp()).await;
        if let Some(leader::Holder { namespace, identity }) = holder.context("failed to list Leases")? {
            bail!(
                "Cluster API's own manager runs in this cluster and would manage what is simulated: \
                 {identity} holds the Lease {namespace}/{}",
                leader::UPSTREAM_LEASE
            );
        }
        for kind in [&CONFIG, &CLASS] {
            if let Some(name) = self.any(kind).await? {
                bail!(
                    "there are {}s in this cluster already ({name}): a simulation would manage them too",
                    kind.name
                );
            }
        }
        Ok(())
    }

    /// The name of an object of a kind; `None` where there is none, or no such kind.
    async fn any(&self, kind: &Kind) -> Result<Option<String>> {
        if self.crds().get_metadata_opt(&kind.crd()).await?.is_none() {
            return Ok(None);
        }
        let objects: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(self.client(), &kind.resource());
        let some = objects.list_metadata(&ListParams::default().limit(1)).await;
        let some = some.with_context(|| format!("failed to list {}", kind.plural))?;
        Ok(some.items.first().map(|object| match object.namespace() {
            Some(namespace) => format!("{namespace}/{}", object.name_any()),
            None => object.name_any(),
        }))
    }

    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    fn crds(&self) -> Api<CustomResourceDefinition> {
        Api::all(self.client())
    }

    /// Installs the CRDs that are not there, and makes the namespace.
    pub(super) async fn prepare(&self) -> Result<String> {
        for kind in Kind::all() {
            if self.crds().get_metadata_opt(&kind.crd()).await?.is_none() {
                let body: Value = serde_saphyr::from_str(kind.crd_yaml()?)?;
                host::post(&self.client, CRDS, &body).await?;
                self.made.lock().crds.push(kind.crd());
            }
        }
        for kind in Kind::all() {
            self.until_served(kind).await?;
        }
        let namespace = host::create_namespace(&self.client).await?;
        self.made.lock().namespace = Some(namespace.clone());
        Ok(namespace)
    }

    async fn until_served(&self, kind: &Kind) -> Result<()> {
        let objects: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(self.client(), &kind.resource());
        let one = ListParams::default().limit(1);
        let served = until(async || objects.list_metadata(&one).await.is_ok());
        served
            .await
            .with_context(|| format!("the cluster does not serve {} in version {}", kind.crd(), kind.version))
    }

    /// Notes that the simulation has created an object.
    pub(super) fn created(&self, kind: &Kind) {
        self.made.lock().requests.created(kind);
    }

    /// What everybody but the simulation has asked so far.
    ///
    /// # Errors
    /// When the metrics cannot be read, or do not show all that the simulation itself has asked: then they do not show
    /// all that the manager has asked either.
    pub(super) async fn requests(&self) -> Result<Requests> {
        let request = http::Request::get("/metrics").body(Vec::new())?;
        let metrics = self.client.request_text(request).await;
        let metrics =
            metrics.context("failed to read /metrics of the API server, by which requests are counted")?;
        let all = Requests::from_metrics(&metrics).context("failed to read /metrics of the API server")?;
        let (own, before) = {
            let mut made = self.made.lock();
            (made.requests.clone(), made.before.get_or_insert_with(|| all.clone()).clone())
        };
        if let Some((kind, counted, made)) = all.clone().without(&before).missing(&own) {
            bail!(
                "/metrics of the API server counts {counted} {} that were created, where the simulation alone created \
                 {made}: there is more than one API server behind {}, and what one of them counts is not all",
                kind.plural,
                self.url
            );
        }
        Ok(all.without(&own))
    }

    /// Events about simulated objects.
    pub(super) async fn events(&self) -> Result<u64> {
        Ok(self.recorded().await?.len() as u64)
    }

    /// Where the events about simulated objects are. Those about objects without a namespace are in `default`.
    async fn recorded(&self) -> Result<Vec<(String, String)>> {
        let mut found = Vec::new();
        let namespace = self.made.lock().namespace.clone();
        for namespace in [Some("default".to_owned()), namespace].into_iter().flatten() {
            let path = format!("/api/v1/namespaces/{namespace}/events");
            let events: Vec<Event> = host::list(&self.client, &path).await?;
            let about_ours = events.into_iter().filter(is_about_ours);
            found.extend(about_ours.map(|event| (namespace.clone(), event.name_any())));
        }
        Ok(found)
    }

    /// Takes away everything that the simulation has made. Goes on where something cannot be taken away, and names all
    /// of that.
    pub(super) async fn clean_up(&self) -> Result<()> {
        let Made { namespace, crds, requests: _, before: _ } = std::mem::take(&mut *self.made.lock());
        let mut left = Vec::new();
        let mut note = |what: &str, done: Result<()>| {
            if let Err(error) = done {
                left.push(format!("{what} ({error:#})"));
            }
        };
        if let Some(namespace) = &namespace {
            note("Events", self.delete_events().await);
            for kind in Kind::all() {
                note(kind.plural, self.delete_objects(kind, namespace).await);
            }
            let namespaces: Api<Namespace> = Api::all(self.client());
            note(namespace, delete(&namespaces, namespace).await);
        }
        for name in &crds {
            note(name, delete(&self.crds(), name).await);
        }
        for name in &crds {
            let is_gone = async || matches!(self.crds().get_metadata_opt(name).await, Ok(None));
            note(name, until(is_gone).await.context("is still there"));
        }
        anyhow::ensure!(left.is_empty(), "failed to clean up; still there: {}", left.join(", "));
        Ok(())
    }

    async fn delete_events(&self) -> Result<()> {
        for (namespace, name) in self.recorded().await? {
            delete(&Api::<Event>::namespaced(self.client(), &namespace), &name).await?;
        }
        Ok(())
    }

    async fn delete_objects(&self, kind: &Kind, namespace: &str) -> Result<()> {
        let resource = kind.resource();
        let objects: Api<DynamicObject> = if kind.is_namespaced {
            Api::namespaced_with(self.client(), namespace, &resource)
        } else {
            Api::all_with(self.client(), &resource)
        };
        let ours = ListParams::default().labels(&format!("{LABEL}={namespace}"));
        objects.delete_collection(&DeleteParams::default(), &ours).await?;
        Ok(())
    }
}

fn is_about_ours(event: &Event) -> bool {
    let about = event.involved_object.api_version.as_deref().unwrap_or_default();
    let group = about.split_once('/').map_or("", |(group, _)| group);
    Kind::all().any(|kind| kind.group == group && event.involved_object.kind.as_deref() == Some(kind.name))
}

/// Deletes an object; one that is gone is no error.
async fn delete<K>(api: &Api<K>, name: &str) -> Result<()>
where
    K: Clone + Debug + DeserializeOwned,
{
    match api.delete(name, &DeleteParams::default()).await {
        Err(error) if !has_code(&error, 404) => Err(error.into()),
        _ => Ok(()),
    }
}

async fn until(is_so: impl AsyncFn() -> bool) -> Result<(), tokio::time::error::Elapsed> {
    let wait = async {
        while !is_so().await {
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(CRD_PATIENCE, wait).await
}
