//! The API server of a simulation: how it is reached, what is in it, and what it counted.

use std::net::Ipv4Addr;

use anyhow::{Context as _, Result};
use kapstan_embedded::{AuditEvent, AuditLevel, Listener, Server};
use kube::{
    Client,
    api::{ListParams, PostParams},
    config::Kubeconfig,
    core::Request,
};
use serde_json::{Value, json};

use super::{
    Options, Time,
    cluster::Cluster,
    fleet::{Kind, LABEL, Object},
    requests::Requests,
};
use crate::kubeconfig;

/// The manager's user at an embedded server.
const MANAGER: &str = "kapstan";

/// An API server.
pub(super) enum Host {
    /// In this process.
    Embedded(Embedded),
    /// Wherever a kubeconfig says.
    Cluster(Cluster),
}

/// A server of the simulation's own.
pub(super) struct Embedded {
    server: Server,
    manager: Client,
    /// Where it listens, unless the manager reaches it in process.
    _listener: Option<Listener>,
}

impl Host {
    /// Connects to the API server that is asked for; nothing is written.
    pub(super) async fn connect(options: &Options) -> Result<Self> {
        match &options.server {
            super::Server::Embedded => Ok(Self::Embedded(Embedded::start(options).await?)),
            super::Server::Kubeconfig(path) => Ok(Self::Cluster(Cluster::connect(path).await?)),
        }
    }

    /// The simulation's own client.
    pub(super) fn client(&self) -> Client {
        match self {
            Self::Embedded(embedded) => embedded.server.client(),
            Self::Cluster(cluster) => cluster.client(),
        }
    }

    /// The manager's client.
    pub(super) fn manager_client(&self) -> Client {
        match self {
            Self::Embedded(embedded) => embedded.manager.clone(),
            Self::Cluster(cluster) => cluster.client(),
        }
    }

    /// Makes the kinds known and the namespace of the simulation, whose name this gives.
    pub(super) async fn prepare(&self) -> Result<String> {
        match self {
            Self::Embedded(embedded) => {
                for kind in Kind::all() {
                    let loaded = embedded.server.load(kind.crd_yaml()?);
                    loaded.with_context(|| format!("failed to load the CRD {}", kind.crd()))?;
                }
                create_namespace(&self.client()).await
            }
            Self::Cluster(cluster) => cluster.prepare().await,
        }
    }

    /// Creates an object.
    pub(super) async fn create(&self, object: &Object, namespace: &str) -> Result<()> {
        post(&self.client(), &object.kind.path(namespace), &object.body).await?;
        if let Self::Cluster(cluster) = self {
            cluster.created(object.kind);
        }
        Ok(())
    }

    /// What the manager has asked so far. Of a cluster: what everybody but the simulation has, so that only the
    /// difference of two means something.
    pub(super) async fn requests(&self) -> Result<Requests> {
        match self {
            Self::Embedded(embedded) => embedded.requests(),
            Self::Cluster(cluster) => cluster.requests().await,
        }
    }

    /// Events that the manager has recorded so far.
    pub(super) async fn events(&self) -> Result<u64> {
        match self {
            Self::Embedded(embedded) => Ok(embedded.requests()?.events()),
            Self::Cluster(cluster) => cluster.events().await,
        }
    }

    /// Takes away everything that the simulation has made.
    pub(super) async fn clean_up(&self) -> Result<()> {
        match self {
            Self::Embedded(_) => Ok(()),
            Self::Cluster(cluster) => cluster.clean_up().await,
        }
    }
}

impl Embedded {
    async fn start(options: &Options) -> Result<Self> {
        // Room for every request that settling, and what follows it, can take.
        let room = 100_000 + 50 * options.size.objects();
        let mut builder = Server::builder().seed(options.seed).audit(AuditLevel::Metadata, room);
        if options.time == Time::Virtual {
            builder = builder.starting_at(super::ORIGIN);
        }
        let server = builder.start();
        let (manager, listener) = match options.time {
            Time::Virtual => (server.client_of(MANAGER), None),
            Time::Real => {
                let listener = server.listen((Ipv4Addr::LOCALHOST, 0).into()).await?;
                let own = Kubeconfig::from_yaml(&listener.kubeconfig_of(MANAGER)?);
                let config = kubeconfig::of(own, "of the embedded server").await?;
                (Client::try_from(config)?, Some(listener))
            }
        };
        Ok(Self { server, manager, _listener: listener })
    }

    fn requests(&self) -> Result<Requests> {
        let audit = self.server.audit();
        anyhow::ensure!(audit.forgotten() == 0, "there were more requests than the audit log holds");
        let is_manager = |event: &&AuditEvent| event.user == MANAGER;
        Ok(Requests::from_audit(audit.events().iter().filter(is_manager)))
    }
}

/// Creates a namespace for one simulation; gives its name.
pub(super) async fn create_namespace(client: &Client) -> Result<String> {
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": { "generateName": "kapstan-simulate-", "labels": { LABEL: "" } },
    });
    let made = post(client, "/api/v1/namespaces", &namespace).await?;
    Ok(made["metadata"]["name"].as_str().unwrap_or_default().to_owned())
}

/// Sends an object to be created. Errors name it.
pub(super) async fn post(client: &Client, path: &str, body: &Value) -> Result<Value> {
    let request = Request::new(path).create(&PostParams::default(), serde_json::to_vec(body)?)?;
    let what = || {
        let name = body["metadata"]["name"].as_str().or(body["metadata"]["generateName"].as_str());
        format!("failed to create {} {}", body["kind"].as_str().unwrap_or_default(), name.unwrap_or_default())
    };
    client.request(request).await.with_context(what)
}

/// Reads all objects at a path, page by page, as little of them as `T` has.
pub(super) async fn list<T>(client: &Client, path: &str) -> Result<Vec<T>>
where
    T: Clone + serde::de::DeserializeOwned,
{
    let mut params = ListParams::default().limit(500);
    let mut all = Vec::new();
    loop {
        let request = Request::new(path).list(&params)?;
        let page: kube::core::ObjectList<T> =
            client.request(request).await.with_context(|| format!("failed to list {path}"))?;
        all.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(all),
        }
    }
}
