//! Watches what is simulated, to know when all of it is ready, and which of it had to say that it waits.

use std::{collections::BTreeSet, time::Duration};

use anyhow::Result;
use futures::StreamExt as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kapstan_api::conditions::{self, reasons, types};
use kube::{
    Api, Client, ResourceExt as _,
    core::{NotUsed, Object},
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event, watcher},
    },
};
use serde::Deserialize;
use tokio::{sync::watch, task::JoinSet, time::Instant};

use super::fleet::{CLASS, CONFIG, Kind};

/// As much of an object as is looked at.
pub(super) type Seen = Object<NotUsed, SeenStatus>;

/// As much of a status as is looked at.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SeenStatus {
    observed_generation: Option<i64>,
    #[serde(default)]
    conditions: Vec<Condition>,
}

/// Whether an `ExtensionConfig` or a `ClusterClass` is as it should be in its present generation.
pub(super) fn is_ready(kind: &Kind, object: &Seen) -> bool {
    let Some(status) = &object.status else { return false };
    let generation = object.metadata.generation;
    if kind.name == CONFIG.name {
        conditions::get(&status.conditions, types::DISCOVERED).is_some_and(|discovered| {
            discovered.status == "True" && discovered.observed_generation == generation
        })
    } else {
        status.observed_generation == generation
            && [types::VARIABLES_READY, types::REF_VERSIONS_UP_TO_DATE]
                .iter()
                .all(|type_| conditions::is_true(&status.conditions, type_))
    }
}

/// What an object that is not ready says of itself.
pub(super) fn complaint(object: &Seen) -> String {
    let conditions = object.status.iter().flat_map(|status| &status.conditions);
    let wrong = conditions
        .filter(|condition| condition.status != "True" && condition.type_ != types::PAUSED)
        .map(|condition| format!("{}: {}: {}", condition.type_, condition.reason, condition.message));
    let wrong = wrong.collect::<Vec<_>>().join("; ");
    if wrong.is_empty() { "it says nothing yet".to_owned() } else { wrong.replace('\n', "; ") }
}

fn is_pending(object: &Seen) -> bool {
    let mut conditions = object.status.iter().flat_map(|status| &status.conditions);
    conditions.any(|condition| condition.reason == reasons::DISCOVERY_PENDING)
}

/// What has been seen so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Standing {
    configs: Group,
    classes: Group,
    /// When one last became ready.
    pub(super) progress: Option<Instant>,
}

#[derive(Clone, Debug, Default)]
struct Group {
    is_listed: bool,
    ready: BTreeSet<String>,
    pending: BTreeSet<String>,
}

impl Standing {
    /// How many `ExtensionConfig`s are ready, and how many `ClusterClass`es.
    pub(super) fn ready(&self) -> (usize, usize) {
        (self.configs.ready.len(), self.classes.ready.len())
    }

    /// How many objects have said at some time that they wait.
    pub(super) fn pending(&self) -> usize {
        self.configs.pending.len() + self.classes.pending.len()
    }

    fn group(&mut self, kind: &Kind) -> &mut Group {
        if kind.name == CONFIG.name { &mut self.configs } else { &mut self.classes }
    }

    fn saw(&mut self, kind: &Kind, object: &Seen) {
        let (name, is_ready) = (object.name_any(), is_ready(kind, object));
        let group = self.group(kind);
        if is_pending(object) {
            group.pending.insert(name.clone());
        }
        if !is_ready {
            group.ready.remove(&name);
        } else if group.ready.insert(name) {
            self.progress = Some(Instant::now());
        }
    }

    fn apply(&mut self, kind: &Kind, event: Event<Seen>) {
        match event {
            Event::Apply(object) | Event::InitApply(object) => self.saw(kind, &object),
            Event::Delete(object) => {
                self.group(kind).ready.remove(&object.name_any());
            }
            Event::Init => self.group(kind).ready.clear(),
            Event::InitDone => self.group(kind).is_listed = true,
        }
    }
}

/// The watches; they end when it is dropped.
pub(super) struct Sight {
    standing: watch::Receiver<Standing>,
    _tasks: JoinSet<()>,
}

impl Sight {
    /// Begins to watch; returns once the watches have begun.
    pub(super) async fn open(client: &Client) -> Result<Self> {
        let (sender, mut standing) = watch::channel(Standing::default());
        let mut tasks = JoinSet::new();
        for kind in [&CONFIG, &CLASS] {
            tasks.spawn(follow(client.clone(), kind, sender.clone()));
        }
        standing.wait_for(|standing| standing.configs.is_listed && standing.classes.is_listed).await?;
        Ok(Self { standing, _tasks: tasks })
    }

    /// What has been seen until now.
    pub(super) fn standing(&self) -> watch::Ref<'_, Standing> {
        self.standing.borrow()
    }

    /// Waits until something is seen, but no longer than this.
    pub(super) async fn changed(&mut self, patience: Duration) {
        // The senders live as long as the watches, which do not end.
        let _ = tokio::time::timeout(patience, self.standing.changed()).await;
    }
}

async fn follow(client: Client, kind: &'static Kind, standing: watch::Sender<Standing>) {
    let objects: Api<Seen> = Api::all_with(client, &kind.resource());
    let events = watcher(objects, watcher::Config::default()).default_backoff();
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => standing.send_modify(|standing| standing.apply(kind, event)),
            Err(error) => tracing::debug!(kind = kind.name, %error, "watch broke off"),
        }
    }
}
