//! Waiting for something to become true, with a deadline.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

const INTERVAL: Duration = Duration::from_millis(20);

/// Asks `attempt` again and again until it has an answer.
///
/// The deadline is real time, whatever the clock of the runtime does. `what` completes the sentence
/// "gave up waiting for ...".
///
/// # Errors
/// The first error of `attempt`, or the deadline.
pub async fn until<T, F>(deadline: Duration, what: &str, mut attempt: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    let started = Instant::now();
    loop {
        if let Some(answer) = attempt().await? {
            return Ok(answer);
        }
        if started.elapsed() >= deadline {
            bail!("gave up waiting for {what} after {deadline:?}");
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use std::future;

    use super::*;

    #[tokio::test]
    async fn the_third_attempt_answers() {
        let mut attempts = 0;
        let answer = until(Duration::from_secs(5), "three", || {
            attempts += 1;
            future::ready(Ok((attempts == 3).then_some(attempts)))
        });
        assert_eq!(answer.await.unwrap(), 3);
    }

    #[tokio::test]
    async fn the_deadline_names_what_was_awaited() {
        let error = until(Duration::ZERO, "nothing", async || Ok(None::<()>)).await.unwrap_err();
        assert_eq!(error.to_string(), "gave up waiting for nothing after 0ns");
    }
}
