//! What the clock repeats, and when each of it was last asked.

use std::collections::{BTreeSet, HashMap};

use tokio::time::Instant;

use super::keys::Job;

/// The questions that the clock repeats, by age.
#[derive(Debug, Default)]
pub(super) struct Clocked {
    asked: HashMap<Job, Option<Instant>>,
    /// Those that were asked at least once.
    by_age: BTreeSet<(Instant, Job)>,
}

impl Clocked {
    /// Takes a question in, unless it is. It is not repeated before it was first asked.
    pub(super) fn insert(&mut self, job: Job) {
        self.asked.entry(job).or_default();
    }

    /// Takes a question out.
    pub(super) fn remove(&mut self, job: &Job) {
        if let Some(at) = self.asked.remove(job).flatten() {
            self.by_age.remove(&(at, job.clone()));
        }
    }

    /// A question that is in is asked now, whatever the reason.
    pub(super) fn asked(&mut self, job: &Job, now: Instant) {
        let Some(at) = self.asked.get_mut(job) else { return };
        if let Some(before) = at.replace(now) {
            self.by_age.remove(&(before, job.clone()));
        }
        self.by_age.insert((now, job.clone()));
    }

    /// The question that was asked longest ago, and when.
    pub(super) fn oldest(&self) -> Option<&(Instant, Job)> {
        self.by_age.first()
    }

    /// When a question was last asked.
    pub(super) fn asked_at(&self, job: &Job) -> Option<Instant> {
        self.asked.get(job).copied().flatten()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.asked.len()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{digest::Digest, index::keys::Target};

    fn job(name: &str) -> Job {
        Job::Discovery(Target { name: name.into(), content: Digest::of(name), generation: 1 })
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_is_the_one_asked_longest_ago_for_whatever_reason() {
        let start = Instant::now();
        let mut clocked = Clocked::default();
        clocked.insert(job("a"));
        clocked.insert(job("b"));
        assert_eq!(clocked.oldest(), None, "nothing was asked yet");
        clocked.asked(&job("a"), start);
        clocked.asked(&job("b"), start + Duration::from_secs(1));
        assert_eq!(clocked.oldest(), Some(&(start, job("a"))));
        clocked.asked(&job("a"), start + Duration::from_secs(2));
        clocked.insert(job("b"));
        assert_eq!(clocked.oldest(), Some(&(start + Duration::from_secs(1), job("b"))));
        clocked.remove(&job("b"));
        clocked.asked(&job("b"), start);
        clocked.remove(&job("a"));
        assert_eq!((clocked.oldest(), clocked.len()), (None, 0));
    }
}
