//! How far apart the questions are that the clock repeats. Pure.

use std::time::Duration;

use tokio::time::Instant;

/// Releases `count` questions in a period, no two closer together than a period's share of one.
///
/// The share is collected while time passes, at the rate that `count` gives at that time, so that a change of `count`
/// neither starts the period anew nor makes up for anything. Never more than one question is due.
#[derive(Clone, Debug)]
pub struct Pacer {
    period: Duration,
    count: u32,
    /// What has been collected up to `since`, in question-nanoseconds; one question costs a period of them.
    collected: u128,
    since: Instant,
}

impl Pacer {
    /// Nothing to release yet. A period of zero releases nothing ever.
    #[must_use]
    pub fn new(period: Duration, now: Instant) -> Self {
        Self { period, count: 0, collected: 0, since: now }
    }

    /// From now on there are this many questions.
    pub fn resize(&mut self, now: Instant, count: usize) {
        self.collect(now);
        self.count = u32::try_from(count).unwrap_or(u32::MAX);
    }

    /// When the next question is due; `None` when there is none.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        if self.count == 0 || self.period.is_zero() {
            return None;
        }
        let missing = self.period.as_nanos().saturating_sub(self.collected).div_ceil(u128::from(self.count));
        Some(self.since + Duration::from_nanos(u64::try_from(missing).unwrap_or(u64::MAX)))
    }

    /// One question is released.
    pub fn release(&mut self, now: Instant) {
        self.collect(now);
        self.collected = self.collected.saturating_sub(self.period.as_nanos());
    }

    fn collect(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.since).as_nanos();
        self.collected = (self.collected + passed * u128::from(self.count)).min(self.period.as_nanos());
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_mins(10);

    /// The times of the first releases, in seconds since the start, with `count` questions.
    fn releases(pacer: &mut Pacer, start: Instant, until: Duration) -> Vec<f64> {
        let mut times = Vec::new();
        while let Some(due) = pacer.due().filter(|due| *due <= start + until) {
            pacer.release(due);
            times.push((due - start).as_secs_f64());
        }
        times
    }

    #[tokio::test(start_paused = true)]
    async fn a_period_holds_each_question_once_at_even_distances() {
        let start = Instant::now();
        let mut pacer = Pacer::new(PERIOD, start);
        pacer.resize(start, 40);
        let times = releases(&mut pacer, start, PERIOD);
        assert_eq!(times.len(), 40);
        assert!(times.windows(2).all(|pair| (pair[1] - pair[0] - 15.0).abs() < 1e-6), "{times:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn more_questions_come_faster_from_then_on_and_nothing_is_made_up_for() {
        let start = Instant::now();
        let mut pacer = Pacer::new(PERIOD, start);
        pacer.resize(start, 1);
        pacer.resize(start + PERIOD / 2, 100);
        let times = releases(&mut pacer, start, PERIOD);
        assert!((times[0] - 303.0).abs() < 1e-6, "{times:?}");
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] > 5.999_999), "{times:?}");
        assert_eq!(times.len(), 50);
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_release_is_not_followed_by_a_burst() {
        let start = Instant::now();
        let mut pacer = Pacer::new(PERIOD, start);
        pacer.resize(start, 100);
        pacer.release(start + Duration::from_mins(5));
        assert_eq!(pacer.due(), Some(start + Duration::from_secs(306)));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_due_without_questions_or_without_a_period() {
        let start = Instant::now();
        assert_eq!(Pacer::new(PERIOD, start).due(), None);
        let mut never = Pacer::new(Duration::ZERO, start);
        never.resize(start, 5);
        assert_eq!(never.due(), None);
    }
}
