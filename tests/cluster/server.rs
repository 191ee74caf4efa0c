//! On which API server a test runs, and by which clock.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::Instant;

/// How long anything may take that a test waits for.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

const INTERVAL: Duration = Duration::from_millis(20);

/// The API server of a test. Every test here is one function that runs on both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// kapstan-embedded, with extensions reached in process and a clock that moves on when everybody waits: what takes
    /// minutes passes at once.
    Embedded,
    /// kube-apiserver and etcd, with extensions on sockets, in real time.
    Real,
}

impl Server {
    /// Runs a test by the clock of this server.
    pub(crate) fn run(self, test: impl Future<Output = Result<()>>) -> Result<()> {
        let runtime = match self {
            Self::Embedded => {
                tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?
            }
            Self::Real => tokio::runtime::Builder::new_multi_thread().enable_all().build()?,
        };
        runtime.block_on(Box::pin(test))
    }
}

/// Asks `attempt` again and again until it has an answer, for as long as the deadline, by the clock of the test.
///
/// `what` completes the sentence "gave up waiting for ...".
pub(crate) async fn until<T, F>(what: &str, mut attempt: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    let started = Instant::now();
    loop {
        if let Some(answer) = attempt().await? {
            return Ok(answer);
        }
        if started.elapsed() >= DEADLINE {
            bail!("gave up waiting for {what} after {DEADLINE:?}");
        }
        tokio::time::sleep(INTERVAL).await;
    }
}
