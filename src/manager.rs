//! Puts the parts together and runs them.

use std::{sync::Arc, time::Duration};

use kube::Client;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{
    clock::Clock,
    controllers::{
        Context, cluster_class, extension_config,
        runner::{self, Controller},
        template_owners::{self, reconcile::Pace},
    },
    health::Health,
    index::{
        graph::{Graph, Times},
        shared::Shared,
        waiting::Moment,
        watches::{self, Fixed},
    },
    jobs,
    metrics::Metrics,
    resync,
    runtime::{self, transport::Dial},
};

/// How a manager works.
#[derive(Clone, Debug)]
pub struct Options {
    /// `ExtensionConfig`s reconciled at once.
    pub extension_config_workers: usize,
    /// `ClusterClass`es reconciled at once.
    pub cluster_class_workers: usize,
    /// How often each extension is asked again although nothing changed; zero means never.
    pub sync_period: Duration,
    /// How long an object waits for an extension before its condition says so; zero means that it never does.
    pub pending_after: Duration,
    /// How extensions are treated.
    pub runtime: runtime::Options,
}

impl Default for Options {
    /// Upstream's: 10 at once of either kind, 10 min. Ours: waiting is told of after 5 s.
    fn default() -> Self {
        Self {
            extension_config_workers: 10,
            cluster_class_workers: 10,
            sync_period: Duration::from_mins(10),
            pending_after: Duration::from_secs(5),
            runtime: runtime::Options::default(),
        }
    }
}

/// The controllers of `ExtensionConfig` and `ClusterClass`.
///
/// Everything that it talks to is handed in: the API server as a client over any service, extensions by a dialer, and
/// the time. Nothing else of the world is touched.
pub struct Manager {
    options: Options,
    context: Context,
    health: Health,
    fixed: Fixed,
}

impl Manager {
    /// A manager that is ready to run.
    #[must_use]
    pub fn new(
        options: Options,
        kube: Client,
        dialer: Arc<dyn Dial>,
        clock: Clock,
        metrics: Metrics,
    ) -> Self {
        let extensions =
            runtime::Client::new(options.runtime.clone(), dialer, clock.clone(), metrics.clone());
        let shared = Shared::new(Arc::clone(&extensions), metrics.clone());
        let health = Health::default();
        let fixed = Fixed::new(&health);
        let pending_after = options.pending_after;
        let context = Context { kube, shared, extensions, clock, metrics, pending_after };
        Self { options, context, health, fixed }
    }

    /// Whether it is ready.
    #[must_use]
    pub fn health(&self) -> Health {
        self.health.clone()
    }

    /// What depends on what, at any time.
    #[must_use]
    pub fn graph(&self) -> Graphs {
        Graphs {
            shared: self.context.shared.clone(),
            clock: self.context.clock.clone(),
            period: self.options.sync_period,
        }
    }

    /// What it knows.
    #[must_use]
    pub fn shared(&self) -> Shared {
        self.context.shared.clone()
    }

    /// Runs until `stop`. Reconciles under way are finished if that takes no more than some seconds, calls to extensions
    /// are given up.
    pub async fn run(self, stop: CancellationToken) {
        let Self { options, context, health: _, fixed } = self;
        let Options { extension_config_workers, cluster_class_workers, sync_period, .. } = options;
        // Tasks of their own, so that they use as many cores as there are. Those that are left end with their set.
        let (mut watches, mut work) = (JoinSet::new(), JoinSet::new());
        watches.spawn(watches::run(context.kube.clone(), context.shared.clone(), fixed.clone()));
        work.spawn(jobs::run(context.clone(), stop.clone()));
        work.spawn(resync::run(context.clone(), sync_period, stop.clone()));
        work.spawn(run_configs(context.clone(), fixed.clone(), extension_config_workers, stop.clone()));
        work.spawn(run_classes(context.clone(), fixed.clone(), cluster_class_workers, stop.clone()));
        work.spawn(run_templates(context.clone(), fixed.clone(), cluster_class_workers, stop.clone()));
        work.spawn(note_start(context, fixed, stop));
        tokio::select! {
            () = runner::all(&mut watches) => {}
            () = runner::all(&mut work) => {}
        }
    }
}

async fn run_configs(context: Context, fixed: Fixed, workers: usize, stop: CancellationToken) {
    if stop.run_until_cancelled(fixed.configs.wait()).await.is_none() {
        return;
    }
    let queue = context.shared.queues().configs.clone();
    let controller = controller(&context, extension_config::KIND, queue, workers);
    runner::run(controller, stop, move |key| {
        let context = context.clone();
        async move { extension_config::reconcile::reconcile(key, &context).await }
    })
    .await;
}

async fn run_classes(context: Context, fixed: Fixed, workers: usize, stop: CancellationToken) {
    if stop.run_until_cancelled(fixed.wait()).await.is_none() {
        return;
    }
    tracing::info!("everything is listed, reconciling");
    let queue = context.shared.queues().classes.clone();
    let controller = controller(&context, cluster_class::KIND, queue, workers);
    runner::run(controller, stop, move |key| {
        let context = context.clone();
        async move { cluster_class::reconcile::reconcile(key, &context).await }
    })
    .await;
}

async fn run_templates(context: Context, fixed: Fixed, workers: usize, stop: CancellationToken) {
    if stop.run_until_cancelled(fixed.wait()).await.is_none() {
        return;
    }
    let queue = context.shared.queues().templates.clone();
    let controller = controller(&context, template_owners::KIND, queue, workers);
    let pace = Pace::default();
    runner::run(controller, stop, move |key| {
        let (context, pace) = (context.clone(), pace.clone());
        async move { template_owners::reconcile::reconcile(key, &context, &pace).await }
    })
    .await;
}

/// Where the graph of a manager is asked for. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Graphs {
    shared: Shared,
    clock: Clock,
    period: Duration,
}

impl Graphs {
    /// What depends on what now.
    #[must_use]
    pub fn now(&self) -> Graph {
        let queues = self.shared.queues();
        let now = Moment::now(&self.clock);
        self.shared.with(|index| index.graph(Times { queues, period: self.period, now }))
    }
}

/// Once everything that was there is known, whatever comes is a change.
async fn note_start(context: Context, fixed: Fixed, stop: CancellationToken) {
    let known = async {
        tokio::join!(fixed.configs.wait(), fixed.classes.wait());
    };
    if stop.run_until_cancelled(known).await.is_some() {
        context.shared.with(crate::index::Index::started);
    }
}

fn controller<K>(
    context: &Context,
    kind: &'static str,
    queue: crate::queue::Queue<K>,
    workers: usize,
) -> Controller<K> {
    Controller { kind, queue, workers, metrics: context.metrics.clone(), clock: context.clock.clone() }
}
