//! The index behind its lock, and the way from a change to the queues.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use super::{
    Index,
    keys::{ClassKey, Job, Name, TemplateKey},
    wake::Wake,
};
use crate::{
    controllers::{cluster_class, extension_config, template_owners},
    metrics::Metrics,
    queue::{Backoff, Queue},
    runtime::Client,
};

/// The index, shared by everything that feeds or reads it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Shared {
    index: Arc<Mutex<Index>>,
    queues: Queues,
    watches: Arc<Notify>,
    clocked: watch::Sender<usize>,
    client: Arc<Client>,
    metrics: Metrics,
}

/// What is to be done, by kind.
#[derive(Clone, Debug)]
pub struct Queues {
    /// `ExtensionConfig`s to reconcile.
    pub configs: Queue<Name>,
    /// `ClusterClass`es to reconcile.
    pub classes: Queue<ClassKey>,
    /// Templates whose owner references are to be looked at.
    pub templates: Queue<TemplateKey>,
    /// Calls to make.
    pub jobs: Queue<Job>,
}

impl Default for Queues {
    fn default() -> Self {
        Self {
            configs: Queue::new(Backoff::WRITES),
            classes: Queue::new(Backoff::WRITES),
            templates: Queue::new(Backoff::WRITES),
            jobs: Queue::new(Backoff::CALLS),
        }
    }
}

impl Queues {
    fn measured_by(&self, metrics: &Metrics) {
        let Self { configs, classes, templates, jobs } = self.clone();
        metrics.watch_queue(extension_config::KIND, move || configs.len());
        metrics.watch_queue(cluster_class::KIND, move || classes.len());
        metrics.watch_queue(template_owners::KIND, move || templates.len());
        metrics.watch_queue("Call", move || jobs.len());
    }
}

impl Shared {
    /// An empty index.
    #[must_use]
    pub fn new(client: Arc<Client>, metrics: Metrics) -> Self {
        let (index, queues): (Arc<Mutex<Index>>, Queues) = Default::default();
        let measured = Arc::clone(&index);
        metrics.watch_index(move || measured.lock().sizes());
        queues.measured_by(&metrics);
        Self { index, queues, watches: Arc::default(), clocked: watch::Sender::new(0), client, metrics }
    }

    /// Where the work waits.
    #[must_use]
    pub fn queues(&self) -> &Queues {
        &self.queues
    }

    /// Reads the index, or changes it in a way that concerns nobody else. Must not block.
    pub fn with<T>(&self, read: impl FnOnce(&mut Index) -> T) -> T {
        let mut index = self.index.lock();
        let result = read(&mut index);
        self.follow_clocked(index.clocked_len());
        result
    }

    /// Changes the index and sees to it that everything concerned is looked at.
    pub fn change(&self, change: impl FnOnce(&mut Index) -> Wake) {
        let wake = {
            let mut index = self.index.lock();
            let wake = change(&mut index);
            self.follow_clocked(index.clocked_len());
            wake
        };
        self.pass_on(wake);
    }

    /// Has the owner references of a template looked at: at once where one is outdated, else when more owners may have
    /// come.
    pub fn look_at_owners(&self, template: TemplateKey) {
        if self.with(|index| template_owners::plan::is_outdated(index, &template)) {
            self.queues.templates.add(template);
        } else {
            self.queues.templates.add_after(template, template_owners::GATHER);
        }
    }

    /// Waits until other Secrets or kinds of template are in use.
    pub async fn watches_changed(&self) {
        self.watches.notified().await;
    }

    /// How many questions the clock repeats, and when that changes.
    #[must_use]
    pub fn clocked(&self) -> watch::Receiver<usize> {
        self.clocked.subscribe()
    }

    fn follow_clocked(&self, count: usize) {
        self.clocked.send_if_modified(|held| std::mem::replace(held, count) != count);
    }

    fn pass_on(&self, wake: Wake) {
        let Wake { configs, classes, templates, gone, watches } = wake;
        for gone in gone {
            self.client.invalidate(&gone.uid);
            self.queues.jobs.forget(&Job::Discovery(Arc::clone(&gone.name)));
            if !gone.is_replaced {
                self.metrics.forget_extension(&gone.name);
            }
        }
        for key in configs {
            self.queues.configs.add(key);
        }
        for key in classes {
            self.queues.classes.add(key);
        }
        for key in templates {
            self.look_at_owners(key);
        }
        if watches {
            self.watches.notify_one();
        }
    }
}
