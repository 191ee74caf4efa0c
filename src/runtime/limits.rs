//! What is allowed towards one (host, port).
//!
//! A hundred `ExtensionConfig`s may sit on one Deployment, so limits belong to the address and not to the extension.
//! Now: how many calls are in flight at once, with a bounded wait. Their order is that of arrival.
//!
//! This is also the place for what comes with the client policy: the rate and its burst, the length of the queue,
//! fairness between extensions (a slot is asked for under the name of one), and the limit over all addresses. All of
//! them decide here when a [`Slot`] is handed out; breaker and back-off belong to the extension and come before.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A host and a port, as they are dialed.
pub(super) type Address = (Arc<str>, u16);

/// Slots for calls, by address.
pub(super) struct Limits {
    max_in_flight: usize,
    max_wait: Duration,
    hosts: Arc<Mutex<HashMap<Address, Arc<Semaphore>>>>,
}

/// The right to have one call in flight, until dropped.
pub(super) struct Slot {
    permit: Option<OwnedSemaphorePermit>,
    address: Address,
    hosts: Arc<Mutex<HashMap<Address, Arc<Semaphore>>>>,
}

/// No slot came free in time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoSlot {
    pub(super) waited: Duration,
}

impl Limits {
    /// At most `max_in_flight` calls at once to one address; 0 is taken as 1, and what is more than can be counted as
    /// the most that can.
    pub(super) fn new(max_in_flight: usize, max_wait: Duration) -> Self {
        let max_in_flight = max_in_flight.clamp(1, Semaphore::MAX_PERMITS);
        Self { max_in_flight, max_wait, hosts: Arc::default() }
    }

    /// Waits for a slot, in the order of arrival.
    pub(super) async fn slot(&self, address: &Address) -> Result<Slot, NoSlot> {
        let semaphore = {
            let mut hosts = self.hosts.lock();
            let new = || Arc::new(Semaphore::new(self.max_in_flight));
            hosts.entry(address.clone()).or_insert_with(new).clone()
        };
        match tokio::time::timeout(self.max_wait, semaphore.acquire_owned()).await {
            Ok(Ok(permit)) => {
                Ok(Slot { permit: Some(permit), address: address.clone(), hosts: self.hosts.clone() })
            }
            // The semaphore is never closed.
            Ok(Err(_)) | Err(_) => Err(NoSlot { waited: self.max_wait }),
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut hosts = self.hosts.lock();
        drop(self.permit.take());
        // Only the map holds it: nobody has a slot or waits for one (waiting starts under this lock).
        if hosts.get(&self.address).is_some_and(|semaphore| Arc::strong_count(semaphore) == 1) {
            hosts.remove(&self.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(host: &str) -> Address {
        (host.into(), 443)
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_is_per_address_and_waiting_for_one_is_bounded() {
        let limits = Limits::new(1, Duration::from_secs(3));
        let held = limits.slot(&address("a")).await.ok().unwrap();
        assert!(limits.slot(&address("b")).await.is_ok());
        assert_eq!(limits.slot(&address("a")).await.err(), Some(NoSlot { waited: Duration::from_secs(3) }));
        drop(held);
        assert!(limits.slot(&address("a")).await.is_ok());
    }

    #[tokio::test]
    async fn a_limit_beyond_all_bounds_is_none() {
        let limits = Limits::new(usize::MAX, Duration::ZERO);
        assert!(limits.slot(&address("a")).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn addresses_out_of_use_are_forgotten() {
        let limits = Arc::new(Limits::new(1, Duration::from_secs(3)));
        let held = limits.slot(&address("a")).await.ok().unwrap();
        let waiting = tokio::spawn({
            let limits = limits.clone();
            async move { limits.slot(&address("a")).await.is_ok() }
        });
        tokio::task::yield_now().await;
        drop(held);
        assert!(waiting.await.unwrap());
        assert!(limits.hosts.lock().is_empty());
    }
}
