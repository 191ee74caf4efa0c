//! The index behind its lock, and the way from a change to the queues.

use std::{collections::BTreeSet, hash::Hash, sync::Arc, time::Duration};

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
    queue::{Backoff, Priority, Queue},
    runtime::Client,
};

/// How many objects that nobody has changed themselves are looked at at once after one change.
pub const FAN_OUT: usize = 100;
/// How far apart the others follow, so that what is changed meanwhile gets its turn.
pub const FAN_OUT_GAP: Duration = Duration::from_millis(1);

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

    /// What is counted.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
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
            self.queues.templates.add_after(template, template_owners::GATHER, Priority::Change);
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
        let Wake { configs, classes, edited_configs, edited_classes, is_clock, .. } = wake;
        let Wake { templates, gone, over, watches, .. } = wake;
        let priority = if is_clock { Priority::Clock } else { Priority::Change };
        for job in over {
            self.queues.jobs.forget(&job);
        }
        for gone in gone {
            self.client.invalidate(&gone.uid);
            if !gone.is_replaced {
                self.metrics.forget_extension(&gone.name);
            }
        }
        fan_out(&self.queues.configs, configs, &edited_configs, priority);
        fan_out(&self.queues.classes, classes, &edited_classes, priority);
        for key in templates {
            self.look_at_owners(key);
        }
        if watches {
            self.watches.notify_one();
        }
    }
}

/// Queues what a change woke: what somebody changed at once, the rest paced. What is queued already comes once, and
/// earlier when it is changed meanwhile.
fn fan_out<K: Clone + Eq + Hash + Ord>(
    queue: &Queue<K>,
    woken: BTreeSet<K>,
    edited: &BTreeSet<K>,
    priority: Priority,
) {
    let mut delay = Duration::ZERO;
    let mut at_once = FAN_OUT;
    for key in woken {
        if edited.contains(&key) {
            queue.renew(key);
        } else if at_once > 0 {
            at_once -= 1;
            queue.add_as(key, priority);
        } else {
            delay += FAN_OUT_GAP;
            queue.add_after(key, delay, priority);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Outcome;

    fn queue() -> Queue<u32> {
        Queue::new(Backoff::WRITES)
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_fan_out_is_paced_and_what_is_changed_meanwhile_goes_first() {
        let queue = queue();
        let start = tokio::time::Instant::now();
        fan_out(&queue, (0..1_100).collect(), &BTreeSet::new(), Priority::Change);
        for _ in 0..FAN_OUT {
            let key = queue.next().await;
            queue.done(&key, Outcome::Done);
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        fan_out(&queue, BTreeSet::from([5_000, 1_099]), &BTreeSet::from([5_000]), Priority::Change);
        let mut keys = Vec::new();
        while !queue.is_empty() {
            let key = queue.next().await;
            queue.done(&key, Outcome::Done);
            keys.push(key);
        }
        assert_eq!(keys[..3], [1_099, 5_000, 100]);
        assert_eq!(keys.len(), 1_001, "each comes once");
        assert_eq!(
            start.elapsed(),
            999 * FAN_OUT_GAP,
            "the last of the first change came earlier by the second"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_somebody_changed_is_not_paced_and_its_failures_are_forgotten() {
        let queue = queue();
        queue.add(7);
        for _ in 0..3 {
            assert_eq!(queue.next().await, 7);
            queue.done(&7, Outcome::Failed);
        }
        let start = tokio::time::Instant::now();
        let all: BTreeSet<u32> = (0..1_000).collect();
        fan_out(&queue, all.clone(), &all, Priority::Change);
        let mut waits = Vec::new();
        for _ in 0..1_000 {
            let key = queue.next().await;
            let outcome = if key == 7 { Outcome::Failed } else { Outcome::Done };
            waits.extend(queue.done(&key, outcome));
        }
        assert_eq!((start.elapsed(), waits), (Duration::ZERO, vec![Backoff::WRITES.first]));
    }
}
