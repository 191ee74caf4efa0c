//! The parts of a simulation while it runs: API server, extension, manager, and what is counted at each.

use std::{io, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use futures::future::BoxFuture;
use kapstan_test_extension::{Counts, Target, TestExtension, Variables};
use tokio::{task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    Options, Time,
    fleet::Fleet,
    host::Host,
    progress::Progress,
    report::{Calls, PerKind},
    requests::Requests,
    sight::Sight,
};
use crate::{
    clock::Clock,
    controllers::{cluster_class, extension_config, template_owners},
    health::Health,
    manager::{self, Manager},
    metrics::Metrics,
    runtime::transport::{BoxedIo, Dial, SystemResolver, TcpDialer},
};

/// For how long nothing has to happen until everything counts as done. Longer than anything that the manager puts off
/// while nothing is wrong.
const QUIET: Duration = Duration::from_secs(2);
/// How often it is looked whether something has happened.
const LOOK: Duration = Duration::from_millis(100);
/// How long a manager may take to know what is there already.
const START: Duration = Duration::from_mins(1);

/// The parts of a simulation.
pub(super) struct Bench<'a> {
    pub(super) options: &'a Options,
    pub(super) host: &'a Host,
    pub(super) fleet: Fleet,
    pub(super) sight: Sight,
    pub(super) extension: Arc<TestExtension>,
    pub(super) progress: Progress,
    clock: Clock,
    running: Option<Running>,
}

/// A manager that runs.
struct Running {
    metrics: Metrics,
    health: Health,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// What has been counted up to a moment. Of evaluations: those of the manager that runs.
pub(super) struct Totals {
    pub(super) requests: Requests,
    pub(super) events: u64,
    pub(super) evaluations: PerKind,
}

impl<'a> Bench<'a> {
    /// Makes everything ready but the manager and the objects.
    pub(super) async fn set_up(options: &'a Options, host: &'a Host) -> Result<Self> {
        let clock = match options.time {
            Time::Real => Clock::system(),
            Time::Virtual => Clock::starting_at(super::ORIGIN),
        };
        // The same answers whatever the settings, so that a change of settings can leave everything as it is.
        let variables = Variables::count(options.size.variables).for_settings(&[].into());
        let builder = TestExtension::builder()
            .variables(Variables::Fixed(variables))
            .latency(options.latency)
            .keep_requests(0);
        let extension = match options.time {
            Time::Real => builder.start().await?,
            Time::Virtual => builder.in_process()?,
        };
        let namespace = host.prepare().await?;
        let fleet = Fleet::new(options.size, namespace, options.seed);
        let sight = Sight::open(&host.client()).await?;
        let progress = Progress::start(options.size);
        Ok(Self {
            options,
            host,
            fleet,
            sight,
            extension: Arc::new(extension),
            progress,
            clock,
            running: None,
        })
    }

    /// Starts a manager, and waits until it knows what is there.
    pub(super) async fn start_manager(&mut self) -> Result<()> {
        let options = manager::Options {
            sync_period: self.options.sync_period,
            pending_after: self.options.pending_after,
            ..manager::Options::default()
        };
        let dialer: Arc<dyn Dial> = match self.options.time {
            Time::Real => Arc::new(TcpDialer::new(Arc::new(SystemResolver), None, None)),
            Time::Virtual => Arc::new(InProcess(Arc::clone(&self.extension))),
        };
        let metrics = Metrics::new();
        let manager =
            Manager::new(options, self.host.manager_client(), dialer, self.clock.clone(), metrics.clone());
        let (health, stop) = (manager.health(), CancellationToken::new());
        let task = tokio::spawn(manager.run(stop.clone()));
        let running = self.running.insert(Running { metrics, health, stop, task });
        let is_up = async {
            while !running.health.missing().is_empty() {
                tokio::time::sleep(LOOK).await;
            }
        };
        let is_up = tokio::time::timeout(START, is_up).await;
        is_up.with_context(|| format!("the manager does not start: {}", running.health.missing().join(", ")))
    }

    /// Stops the manager, if one runs, and waits for its end.
    pub(super) async fn stop_manager(&mut self) -> Result<()> {
        let Some(Running { stop, task, .. }) = self.running.take() else { return Ok(()) };
        stop.cancel();
        task.await.context("the manager failed")
    }

    /// What has been counted until now.
    pub(super) async fn totals(&self) -> Result<Totals> {
        let requests = self.host.requests().await?;
        Ok(Totals { requests, events: self.host.events().await?, evaluations: self.evaluations() })
    }

    /// The calls that extensions got since they began to count.
    pub(super) fn calls(&self) -> Calls {
        let counts = self.extension.counts();
        let of = |hook: &str| counts.calls_of(&Target::Hook(hook.to_owned()));
        Calls { discovery: of("Discovery"), discover_variables: of("DiscoverVariables") }
    }

    fn evaluations(&self) -> PerKind {
        let of = |kind| self.running.as_ref().map_or(0, |running| running.metrics.evaluations(kind));
        PerKind {
            extension_config: of(extension_config::KIND),
            cluster_class: of(cluster_class::KIND),
            template: of(template_owners::KIND),
        }
    }

    /// Waits until every object is ready, or until for so long nothing has come any nearer: no object became ready, and
    /// no question was asked that had not been asked before. Says which.
    pub(super) async fn until_ready(&mut self, patience: Duration) -> bool {
        let size = self.options.size;
        let (mut seen, mut since) = ((0, 0, 0), Instant::now());
        loop {
            let (configs, classes) = self.sight.standing().ready();
            self.progress.ready((configs, classes));
            if (configs, classes) == (size.extension_configs, size.cluster_classes) {
                return true;
            }
            let Counts { calls, .. } = self.extension.counts();
            let standing = (configs, classes, calls.len());
            if standing != seen {
                (seen, since) = (standing, Instant::now());
            }
            if since.elapsed() >= patience {
                return false;
            }
            self.sight.changed(Duration::from_secs(1)).await;
        }
    }

    /// Waits until nothing has been evaluated for a while.
    pub(super) async fn until_quiet(&self) {
        let (mut seen, mut since) = (self.evaluations(), Instant::now());
        while since.elapsed() < QUIET {
            tokio::time::sleep(LOOK).await;
            let evaluations = self.evaluations();
            if evaluations != seen {
                (seen, since) = (evaluations, Instant::now());
            }
        }
    }
}

/// Connects to the extension without a socket, whatever the host.
struct InProcess(Arc<TestExtension>);

impl Dial for InProcess {
    fn dial<'a>(&'a self, _host: &'a str, _port: u16) -> BoxFuture<'a, io::Result<BoxedIo>> {
        Box::pin(async { Ok(Box::new(self.0.connect()?) as BoxedIo) })
    }
}
