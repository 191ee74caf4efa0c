//! The one source of time. It is passed in everywhere, so that a paused tokio clock moves all of it.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Tells what time it is, for timers and for timestamps.
///
/// Cheap to clone; clones agree with each other.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Source>);

#[derive(Debug)]
enum Source {
    System,
    Virtual { origin: Instant, timestamp: Timestamp },
}

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(Arc::new(Source::System))
    }

    /// A clock that reads `timestamp` now and goes on with tokio's clock, paused or not.
    ///
    /// Must be called inside a tokio runtime whose clock it shall follow.
    #[must_use]
    pub fn starting_at(timestamp: Timestamp) -> Self {
        Self(Arc::new(Source::Virtual { origin: Instant::now(), timestamp }))
    }

    /// Now, for measuring how long something takes and for deadlines.
    #[must_use]
    pub fn now(&self) -> Instant {
        Instant::now()
    }

    /// Now, for what is written down: conditions, certificates, logs.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        match &*self.0 {
            Source::System => Timestamp::now(),
            Source::Virtual { origin, timestamp } => {
                let passed = SignedDuration::try_from(origin.elapsed()).unwrap_or(SignedDuration::MAX);
                timestamp.saturating_add(passed).unwrap_or(Timestamp::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_virtual_clock_moves_with_paused_time() {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let clock = Clock::starting_at(start);
        tokio::time::advance(Duration::from_hours(1)).await;
        assert_eq!(clock.timestamp(), "2026-01-01T01:00:00Z".parse::<Timestamp>().unwrap());
    }
}
