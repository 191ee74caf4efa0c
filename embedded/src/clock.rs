//! Where the server's time comes from.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// A wall clock that moves with tokio's clock, so that a paused one moves it too.
///
/// It shows the origin at the moment it is made and, from then on, the origin plus what has passed on
/// tokio's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Timestamp,
    started: Instant,
}

impl Clock {
    pub(crate) fn starting_at(origin: Timestamp) -> Self {
        Self { origin, started: Instant::now() }
    }

    /// The wall-clock time.
    pub(crate) fn timestamp(self) -> Timestamp {
        let passed = SignedDuration::try_from(self.started.elapsed()).unwrap_or(SignedDuration::MAX);
        self.origin.checked_add(passed).unwrap_or(Timestamp::MAX)
    }

    /// The wall-clock time in whole seconds, as `metav1.Time` is written.
    pub(crate) fn seconds(self) -> String {
        seconds(self.timestamp())
    }
}

/// The time in whole seconds, as `metav1.Time` is written.
pub(crate) fn seconds(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_wall_clock_moves_with_the_clock_of_tokio() {
        let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
        tokio::time::advance(Duration::from_millis(3_661_500)).await;
        assert_eq!(clock.seconds(), "2026-01-01T01:01:01Z");
    }
}
