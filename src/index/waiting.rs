//! Since when an object waits for something without which its result cannot be known, and whether it has said so.

use jiff::Timestamp;
use tokio::time::Instant;

use crate::clock::Clock;

/// A moment, for timers and for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// For timers.
    pub instant: Instant,
    /// For people.
    pub timestamp: Timestamp,
}

impl Moment {
    /// This moment.
    #[must_use]
    pub fn now(clock: &Clock) -> Self {
        Self { instant: clock.now(), timestamp: clock.timestamp() }
    }
}

/// The waiting of one object, which it tells of once in each generation.
#[derive(Clone, Debug, Default)]
pub struct Waiting {
    /// For which generation, and since when.
    since: Option<(i64, Moment)>,
    /// The generation in which it was last told of.
    told: Option<i64>,
}

impl Waiting {
    /// The object waits. Since when it has, in this generation; `None` when that was told.
    pub fn goes_on(&mut self, generation: i64, now: Moment) -> Option<Moment> {
        if self.since.is_none_or(|(of, _)| of != generation) {
            self.since = Some((generation, now));
        }
        self.since.filter(|_| self.told != Some(generation)).map(|(_, since)| since)
    }

    /// The object waits for nothing.
    pub fn ends(&mut self) {
        self.since = None;
    }

    /// The waiting in this generation was told of.
    pub fn told(&mut self, generation: i64) {
        self.told = Some(generation);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_wait_begins_anew_with_a_generation_and_after_it_has_ended() {
        let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
        let mut waiting = Waiting::default();
        let first = Moment::now(&clock);
        assert_eq!(waiting.goes_on(1, first), Some(first));
        tokio::time::advance(Duration::from_secs(1)).await;
        let second = Moment::now(&clock);
        assert_eq!(waiting.goes_on(1, second), Some(first));
        assert_eq!(waiting.goes_on(2, second), Some(second));
        waiting.ends();
        tokio::time::advance(Duration::from_secs(1)).await;
        let third = Moment::now(&clock);
        assert_eq!(waiting.goes_on(2, third), Some(third));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_told_is_told_again_only_in_another_generation() {
        let now = Moment::now(&Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap()));
        let mut waiting = Waiting::default();
        assert_eq!(waiting.goes_on(1, now), Some(now));
        waiting.told(1);
        waiting.ends();
        assert_eq!(waiting.goes_on(1, now), None);
        assert_eq!(waiting.goes_on(2, now), Some(now));
    }
}
