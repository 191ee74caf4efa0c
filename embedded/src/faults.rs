//! Misbehaviour on demand: answers that are late, that are errors, and watches that end.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use parking_lot::Mutex;
use tokio::sync::watch;

/// What a server does wrong; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    list: Arc<Mutex<Vec<Entry>>>,
    drops: Arc<Mutex<Vec<Drop>>>,
}

/// A fault, and the requests that it strikes.
///
/// ```
/// use kapstan_embedded::Fault;
/// use std::time::Duration;
///
/// let slow = Fault::delay(Duration::from_millis(200)).verb("list").resource("widgets");
/// let flaky = Fault::status(500).verb("update").resource("widgets").subresource("status").times(2);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Fault {
    verb: Option<String>,
    resource: Option<String>,
    subresource: Option<String>,
    name: Option<String>,
    delay: Duration,
    status: Option<StatusCode>,
    times: Option<usize>,
}

#[derive(Debug)]
struct Entry {
    fault: Fault,
    left: Option<usize>,
}

#[derive(Debug)]
struct Drop {
    resource: String,
    signal: watch::Sender<u64>,
}

impl Fault {
    fn new() -> Self {
        Self {
            verb: None,
            resource: None,
            subresource: None,
            name: None,
            delay: Duration::ZERO,
            status: None,
            times: None,
        }
    }

    /// Answers come this much later, by tokio's clock.
    pub fn delay(delay: Duration) -> Self {
        Self { delay, ..Self::new() }
    }

    /// Answers have this status, and nothing is done. A number that is no HTTP status counts as 500.
    pub fn status(code: u16) -> Self {
        let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status: Some(status), ..Self::new() }
    }

    /// Also comes this much later.
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Strikes only requests of this verb, such as `get`, `list`, `watch`, `create`, `update`, `patch`,
    /// `delete`, `deletecollection`. Unset: any.
    pub fn verb(mut self, verb: impl Into<String>) -> Self {
        self.verb = Some(verb.into());
        self
    }

    /// Strikes only this resource, a lower-case plural of any group. Unset: any.
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.resource = Some(resource.into());
        self
    }

    /// Strikes only this subresource; empty is the object itself. Unset: any.
    pub fn subresource(mut self, subresource: impl Into<String>) -> Self {
        self.subresource = Some(subresource.into());
        self
    }

    /// Strikes only objects of this name. Unset: any.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Strikes this many requests and is over then. Unset: it stays until [`Faults::clear`].
    pub fn times(mut self, times: usize) -> Self {
        self.times = Some(times);
        self
    }

    fn strikes(&self, request: &Struck<'_>) -> bool {
        let is =
            |wanted: &Option<String>, value: &str| wanted.as_deref().is_none_or(|wanted| wanted == value);
        is(&self.verb, request.verb)
            && is(&self.resource, request.resource)
            && is(&self.subresource, request.subresource)
            && is(&self.name, request.name)
    }
}

/// A request, as far as faults look at it.
pub(crate) struct Struck<'a> {
    pub(crate) verb: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) name: &'a str,
}

impl Faults {
    /// Adds a fault. Of several that strike a request all delays count, and the first status.
    pub fn add(&self, fault: Fault) {
        let left = fault.times;
        self.list.lock().push(Entry { fault, left });
    }

    /// Ends all faults.
    pub fn clear(&self) {
        self.list.lock().clear();
    }

    /// Ends the open watches of a resource, a lower-case plural of any group, as a lost connection would.
    pub fn drop_watches(&self, resource: &str) {
        for drop in self.drops.lock().iter().filter(|drop| drop.resource == resource) {
            drop.signal.send_modify(|count| *count += 1);
        }
    }

    /// What befalls a request: a delay, and perhaps a status.
    pub(crate) fn strike(&self, request: &Struck<'_>) -> (Duration, Option<StatusCode>) {
        let (mut delay, mut status) = (Duration::ZERO, None);
        let mut list = self.list.lock();
        for entry in list.iter_mut().filter(|entry| entry.left != Some(0) && entry.fault.strikes(request)) {
            entry.left = entry.left.map(|left| left - 1);
            delay += entry.fault.delay;
            status = status.or(entry.fault.status);
        }
        list.retain(|entry| entry.left != Some(0));
        (delay, status)
    }

    /// What tells a new watch that it is to be dropped.
    pub(crate) fn drops(&self, resource: &str) -> Drops {
        let mut drops = self.drops.lock();
        if let Some(drop) = drops.iter().find(|drop| drop.resource == resource) {
            return Drops(drop.signal.subscribe());
        }
        let (signal, receiver) = watch::channel(0);
        drops.push(Drop { resource: resource.to_owned(), signal });
        Drops(receiver)
    }
}

/// Tells a watch that it is to be dropped.
pub(crate) struct Drops(watch::Receiver<u64>);

impl Drops {
    pub(crate) async fn dropped(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UPDATE: Struck<'_> =
        Struck { verb: "update", resource: "widgets", subresource: "status", name: "a" };

    #[test]
    fn a_fault_strikes_what_it_names_and_as_often_as_it_says() {
        let faults = Faults::default();
        faults.add(Fault::status(503).verb("update").resource("widgets").times(1));
        faults.add(Fault::delay(Duration::from_secs(1)).name("b"));
        assert_eq!(faults.strike(&Struck { verb: "get", ..UPDATE }), (Duration::ZERO, None));
        assert_eq!(faults.strike(&UPDATE), (Duration::ZERO, Some(StatusCode::SERVICE_UNAVAILABLE)));
        assert_eq!(faults.strike(&UPDATE), (Duration::ZERO, None));
        assert_eq!(faults.strike(&Struck { name: "b", ..UPDATE }), (Duration::from_secs(1), None));
        faults.clear();
        assert_eq!(faults.strike(&Struck { name: "b", ..UPDATE }), (Duration::ZERO, None));
    }
}
