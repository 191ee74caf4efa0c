//! Every metric name, label set and bucket list.
//!
//! The two families of Cluster API's runtime client keep their exact names, labels and buckets (upstream's
//! `internal/runtime/metrics`). Ours start with `kapstan_`. Label values are bounded: what an extension sends never
//! becomes one, and the series of an extension go with it ([`Metrics::forget_extension`]).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus::{
    HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder,
    core::Collector, proto::MetricFamily,
};

/// Buckets of `capi_runtime_sdk_request_duration_seconds`, as upstream has them.
const REQUEST_BUCKETS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0,
    20.0, 30.0, 45.0, 60.0,
];
/// Waiting for a free slot: nothing to half a minute.
const WAIT_BUCKETS: [f64; 8] = [0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0];
/// Age of an answer in use: a second to a day. The default period is 10 min.
const AGE_BUCKETS: [f64; 10] = [1.0, 10.0, 60.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 21600.0, 86400.0];
const RECONCILE_BUCKETS: [f64; 10] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0];

/// All metrics of one manager, with a registry of their own.
///
/// Cheap to clone; clones count into the same series.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    families: Families,
    work: Work,
    book: Mutex<Book>,
    /// What is measured only when somebody looks.
    gauges: Mutex<Vec<Gauge>>,
}

/// Sets gauges to what they are now.
type Gauge = Box<dyn Fn(&Work) + Send + Sync>;

/// What is counted about calls to extensions.
struct Families {
    requests: IntCounterVec,
    request_duration: HistogramVec,
    calls: IntCounterVec,
    avoided: IntCounterVec,
    wait: HistogramVec,
    in_flight: IntGaugeVec,
    answer_age: HistogramVec,
}

/// What is counted about the manager's own work.
struct Work {
    reconciles: IntCounterVec,
    reconcile_duration: HistogramVec,
    evaluations: IntCounterVec,
    queue_depth: IntGaugeVec,
    index_entries: IntGaugeVec,
    writes: IntCounterVec,
    unreadable: IntGaugeVec,
    pending: IntCounterVec,
}

/// Series by family and label values.
type SeriesSet = BTreeSet<(Family, Vec<String>)>;

/// Which series exist because of which extension, so that they can go with it.
#[derive(Default)]
struct Book {
    extensions: HashMap<Arc<str>, ExtensionSeries>,
    hosts: HashMap<Arc<str>, HostSeries>,
    incarnations: u64,
}

struct ExtensionSeries {
    incarnation: u64,
    /// Where it was last called.
    host: Option<Arc<str>>,
    series: SeriesSet,
}

#[derive(Default)]
struct HostSeries {
    users: BTreeSet<Arc<str>>,
    series: SeriesSet,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Family {
    Requests,
    RequestDuration,
    Calls,
    Avoided,
    Wait,
    InFlight,
}

/// Why a call to an extension did not have to be made, or was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Avoided {
    /// A recent answer to the same question was at hand.
    Cached,
    /// The same question was being asked already.
    Shared,
    /// No slot came free within the time allowed for waiting.
    Throttled,
    /// The extension's breaker was open.
    Open,
}

impl Avoided {
    const fn label(self) -> &'static str {
        match self {
            Self::Cached => "cached",
            Self::Shared => "shared",
            Self::Throttled => "throttled",
            Self::Open => "open",
        }
    }
}

/// One HTTP exchange with an extension, as upstream's metrics describe it.
#[derive(Clone, Debug)]
pub struct Exchange<'a> {
    /// Host of the URL, with the port when the URL has one.
    pub host: &'a str,
    /// API group of the hook.
    pub group: &'a str,
    /// API version of the hook.
    pub version: &'a str,
    /// Name of the hook.
    pub hook: &'a str,
    /// HTTP status; `None` when no answer came, shown as `<error>`.
    pub code: Option<u16>,
    /// `status` of the decoded answer; `None` when there is none or it is neither `Success` nor `Failure`, shown as
    /// `Unknown`.
    pub status: Option<&'static str>,
    /// From the start of the call to its end.
    pub duration: Duration,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// A set of metrics in which nothing has been counted.
    ///
    /// # Panics
    /// When two families here have the same name.
    #[must_use]
    pub fn new() -> Self {
        let registry = Registry::new();
        let (families, work) = Families::register(&registry)
            .and_then(|families| Ok((families, Work::register(&registry)?)))
            .expect("metric names and labels are valid and distinct");
        Self(Arc::new(Inner { registry, families, work, book: Mutex::default(), gauges: Mutex::default() }))
    }

    /// The text exposition of everything counted, and of what is measured at this moment.
    #[must_use]
    pub fn render(&self) -> String {
        self.0.gauges.lock().iter().for_each(|set| set(&self.0.work));
        TextEncoder::new().encode_to_string(&self.0.registry.gather()).unwrap_or_else(|error| {
            tracing::error!(%error, "failed to encode metrics");
            String::new()
        })
    }

    /// The counters of a family, added up by the values of these labels. Empty for a family that there is not, or in
    /// which nothing was counted.
    #[must_use]
    pub fn sums<const N: usize>(&self, family: &str, labels: [&str; N]) -> BTreeMap<[String; N], u64> {
        let mut sums = BTreeMap::new();
        let families = self.0.registry.gather();
        for metric in
            families.iter().filter(|found| found.name() == family).flat_map(MetricFamily::get_metric)
        {
            let value = |label: &str| {
                let pair = metric.get_label().iter().find(|pair| pair.name() == label);
                pair.map(|pair| pair.value().to_owned()).unwrap_or_default()
            };
            // Only whole numbers are counted in.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "counts are small and positive"
            )]
            let count = metric.get_counter().get_value() as u64;
            *sums.entry(labels.map(value)).or_default() += count;
        }
        sums
    }

    /// The metrics of one extension, for the time until it is forgotten.
    #[must_use]
    pub fn extension(&self, name: &str) -> ExtensionMetrics {
        let mut book = self.0.book.lock();
        if let Some((name, known)) = book.extensions.get_key_value(name) {
            return ExtensionMetrics {
                metrics: self.clone(),
                name: name.clone(),
                incarnation: known.incarnation,
            };
        }
        book.incarnations += 1;
        let (name, incarnation): (Arc<str>, u64) = (name.into(), book.incarnations);
        book.extensions
            .insert(name.clone(), ExtensionSeries { incarnation, host: None, series: SeriesSet::new() });
        ExtensionMetrics { metrics: self.clone(), name, incarnation }
    }

    /// Drops every series of a deleted extension, and those of a host that no other extension uses.
    ///
    /// Calls still under way count nowhere afterwards; they cannot bring a series back.
    pub fn forget_extension(&self, name: &str) {
        let mut book = self.0.book.lock();
        let Some((name, gone)) = book.extensions.remove_entry(name) else { return };
        self.0.families.remove(gone.series);
        if let Some(host) = gone.host {
            self.0.families.remove(book.leave(&host, &name));
        }
    }

    /// An answer from the cache was used; `age` is the time since it was asked for.
    pub fn answer_used(&self, hook: &str, age: Duration) {
        self.0.families.answer_age.with_label_values(&[hook]).observe(age.as_secs_f64());
    }

    /// A reconcile of `kind` ended with `result` (`success`, `error`, ...) after `duration`.
    pub fn reconciled(&self, kind: &'static str, result: &'static str, duration: Duration) {
        self.0.work.reconciles.with_label_values(&[kind, result]).inc();
        self.0.work.reconcile_duration.with_label_values(&[kind]).observe(duration.as_secs_f64());
    }

    /// A desired status of an object of `kind` was computed.
    pub fn evaluated(&self, kind: &'static str) {
        self.0.work.evaluations.with_label_values(&[kind]).inc();
    }

    /// How many desired statuses of objects of `kind` have been computed.
    #[must_use]
    pub fn evaluations(&self, kind: &'static str) -> u64 {
        self.0.work.evaluations.with_label_values(&[kind]).get()
    }

    /// From now on, `depth` says at each [`Metrics::render`] how much work of `kind` waits.
    pub fn watch_queue(&self, kind: &'static str, depth: impl Fn() -> usize + Send + Sync + 'static) {
        self.watch(move |work| work.queue_depth.with_label_values(&[kind]).set(gauge(depth())));
    }

    /// From now on, `sizes` says at each [`Metrics::render`] how many entries of what the index holds.
    pub fn watch_index<S>(&self, sizes: impl Fn() -> S + Send + Sync + 'static)
    where
        S: IntoIterator<Item = (&'static str, usize)>,
    {
        self.watch(move |work| {
            for (what, size) in sizes() {
                work.index_entries.with_label_values(&[what]).set(gauge(size));
            }
        });
    }

    fn watch(&self, set: impl Fn(&Work) + Send + Sync + 'static) {
        self.0.gauges.lock().push(Box::new(set));
    }

    /// A write to an object of `kind` was sent and ended with `result`.
    pub fn written(&self, kind: &'static str, result: &'static str) {
        self.0.work.writes.with_label_values(&[kind, result]).inc();
    }

    /// So many objects of `kind` cannot be decoded. Without any, the series is not shown.
    pub fn unreadable(&self, kind: &str, count: usize) {
        if count > 0 {
            self.0.work.unreadable.with_label_values(&[kind]).set(gauge(count));
        } else {
            // It was not there where there was none before.
            let _ = self.0.work.unreadable.remove_label_values(&[kind]);
        }
    }

    /// An object of `kind` has waited so long that its condition says so.
    pub fn pending(&self, kind: &'static str) {
        self.0.work.pending.with_label_values(&[kind]).inc();
    }

    /// A write to an object of `kind` was refused because somebody else wrote first.
    pub fn conflict(&self, kind: &'static str) {
        self.written(kind, "conflict");
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// The metrics of one extension, from [`Metrics::extension`].
///
/// Counts nothing once the extension was forgotten. A later extension of the same name starts anew.
#[derive(Clone, Debug)]
pub struct ExtensionMetrics {
    metrics: Metrics,
    name: Arc<str>,
    incarnation: u64,
}

impl ExtensionMetrics {
    /// A call was made for `cause` and ended with `result` (`ok`, or the label of the failure).
    pub fn called(&self, hook: &str, cause: &'static str, result: &'static str) {
        self.count(Family::Calls, &[&self.name, hook, cause, result], |families, labels| {
            families.calls.with_label_values(labels).inc();
        });
    }

    /// A call was not made.
    pub fn avoided(&self, hook: &str, why: Avoided) {
        self.count(Family::Avoided, &[&self.name, hook, why.label()], |families, labels| {
            families.avoided.with_label_values(labels).inc();
        });
    }

    /// A call waited for its slot.
    pub fn waited(&self, duration: Duration) {
        self.count(Family::Wait, &[&self.name], |families, labels| {
            families.wait.with_label_values(labels).observe(duration.as_secs_f64());
        });
    }

    /// A call is in flight until the guard is dropped.
    #[must_use]
    pub fn in_flight(&self) -> InFlight {
        let mut gauge = None;
        self.count(Family::InFlight, &[&self.name], |families, labels| {
            let series = families.in_flight.with_label_values(labels);
            series.inc();
            gauge = Some(series);
        });
        InFlight(gauge)
    }

    /// An HTTP exchange ended. Counted per host, as upstream does.
    pub fn exchanged(&self, exchange: &Exchange<'_>) {
        let Exchange { host, group, version, hook, code, status, duration } = exchange;
        let code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
        let families = &self.metrics.0.families;
        let mut book = self.metrics.0.book.lock();
        if !book.knows(self) {
            return;
        }
        families.remove(book.move_to(&self.name, host));
        let requests = [code.as_str(), host, group, version, hook, status.unwrap_or("Unknown")];
        let durations = [*host, group, version, hook];
        families.requests.with_label_values(&requests).inc();
        families.request_duration.with_label_values(&durations).observe(duration.as_secs_f64());
        let known = book.hosts.entry((*host).into()).or_default();
        known.series.insert((Family::Requests, owned(&requests)));
        known.series.insert((Family::RequestDuration, owned(&durations)));
    }

    /// Counts while the extension cannot be forgotten in between, and notes the series.
    fn count(&self, family: Family, labels: &[&str], count: impl FnOnce(&Families, &[&str])) {
        let mut book = self.metrics.0.book.lock();
        if !book.knows(self) {
            return;
        }
        count(&self.metrics.0.families, labels);
        if let Some(extension) = book.extensions.get_mut(&self.name) {
            extension.series.insert((family, owned(labels)));
        }
    }
}

/// Keeps a call counted as in flight; see [`ExtensionMetrics::in_flight`].
#[derive(Debug)]
pub struct InFlight(Option<IntGauge>);

impl Drop for InFlight {
    fn drop(&mut self) {
        // The series itself, not its name: of a forgotten extension it is no longer shown.
        if let Some(gauge) = &self.0 {
            gauge.dec();
        }
    }
}

impl Book {
    fn knows(&self, of: &ExtensionMetrics) -> bool {
        self.extensions.get(&of.name).is_some_and(|known| known.incarnation == of.incarnation)
    }

    /// Notes where an extension is called. Gives the series of the host it left, when nobody else is there.
    fn move_to(&mut self, extension: &Arc<str>, host: &str) -> SeriesSet {
        let Some(known) = self.extensions.get_mut(extension) else { return SeriesSet::new() };
        if known.host.as_deref() == Some(host) {
            return SeriesSet::new();
        }
        let host: Arc<str> = host.into();
        let left = known.host.replace(host.clone());
        self.hosts.entry(host).or_default().users.insert(extension.clone());
        left.map(|left| self.leave(&left, extension)).unwrap_or_default()
    }

    /// Gives the series of `host` when nobody but `extension` was there.
    fn leave(&mut self, host: &Arc<str>, extension: &Arc<str>) -> SeriesSet {
        let Some(known) = self.hosts.get_mut(host) else { return SeriesSet::new() };
        known.users.remove(extension);
        if !known.users.is_empty() {
            return SeriesSet::new();
        }
        self.hosts.remove(host).map(|known| known.series).unwrap_or_default()
    }
}

impl Families {
    fn register(registry: &Registry) -> prometheus::Result<Self> {
        let new = Registrar(registry);
        Ok(Self {
            requests: new.counter(
                "capi_runtime_sdk_requests_total",
                "HTTP requests by status code, host, hook and status of the response.",
                &["code", "host", "group", "version", "hook", "status"],
            )?,
            request_duration: new.histogram(
                "capi_runtime_sdk_request_duration_seconds",
                "Duration of requests in seconds by hook and host.",
                &["host", "group", "version", "hook"],
                &REQUEST_BUCKETS,
            )?,
            calls: new.counter(
                "kapstan_extension_calls_total",
                "Calls made to an extension, by what caused them and how they ended.",
                &["extension", "hook", "cause", "result"],
            )?,
            avoided: new.counter(
                "kapstan_extension_calls_avoided_total",
                "Calls to an extension that were not made, by the reason.",
                &["extension", "hook", "why"],
            )?,
            wait: new.histogram(
                "kapstan_extension_wait_seconds",
                "Time that a call waited for its slot.",
                &["extension"],
                &WAIT_BUCKETS,
            )?,
            in_flight: new.gauge(
                "kapstan_extension_in_flight",
                "Calls to an extension under way.",
                &["extension"],
            )?,
            answer_age: new.histogram(
                "kapstan_answer_age_seconds",
                "Age of a cached answer when it was used.",
                &["hook"],
                &AGE_BUCKETS,
            )?,
        })
    }

    fn remove(&self, series: SeriesSet) {
        for (family, labels) in series {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            let removed = match family {
                Family::Requests => self.requests.remove_label_values(&labels),
                Family::RequestDuration => self.request_duration.remove_label_values(&labels),
                Family::Calls => self.calls.remove_label_values(&labels),
                Family::Avoided => self.avoided.remove_label_values(&labels),
                Family::Wait => self.wait.remove_label_values(&labels),
                Family::InFlight => self.in_flight.remove_label_values(&labels),
            };
            if let Err(error) = removed {
                tracing::debug!(%error, "series to remove was not there");
            }
        }
    }
}

impl Work {
    fn register(registry: &Registry) -> prometheus::Result<Self> {
        let new = Registrar(registry);
        Ok(Self {
            reconciles: new.counter(
                "kapstan_reconciles_total",
                "Reconciles by result.",
                &["kind", "result"],
            )?,
            reconcile_duration: new.histogram(
                "kapstan_reconcile_duration_seconds",
                "Duration of a reconcile in seconds.",
                &["kind"],
                &RECONCILE_BUCKETS,
            )?,
            evaluations: new.counter("kapstan_evaluations_total", "Desired statuses computed.", &["kind"])?,
            queue_depth: new.gauge(
                "kapstan_queue_depth",
                "Objects waiting for their reconcile.",
                &["kind"],
            )?,
            index_entries: new.gauge("kapstan_index_entries", "Entries in the reverse index.", &["index"])?,
            writes: new.counter(
                "kapstan_writes_total",
                "Writes to the API server by result.",
                &["kind", "result"],
            )?,
            unreadable: new.gauge(
                "kapstan_unreadable_objects",
                "Objects that cannot be decoded and are left out.",
                &["kind"],
            )?,
            pending: new.counter(
                "kapstan_pending_total",
                "Objects that waited so long for an extension that their condition said so.",
                &["kind"],
            )?,
        })
    }
}

/// Makes families and registers them.
struct Registrar<'a>(&'a Registry);

impl Registrar<'_> {
    fn counter(&self, name: &str, help: &str, labels: &[&str]) -> prometheus::Result<IntCounterVec> {
        self.register(IntCounterVec::new(Opts::new(name, help), labels)?)
    }

    fn gauge(&self, name: &str, help: &str, labels: &[&str]) -> prometheus::Result<IntGaugeVec> {
        self.register(IntGaugeVec::new(Opts::new(name, help), labels)?)
    }

    fn histogram(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
        buckets: &[f64],
    ) -> prometheus::Result<HistogramVec> {
        self.register(HistogramVec::new(HistogramOpts::new(name, help).buckets(buckets.to_vec()), labels)?)
    }

    fn register<C: Collector + Clone + 'static>(&self, family: C) -> prometheus::Result<C> {
        self.0.register(Box::new(family.clone())).map(|()| family)
    }
}

fn owned(labels: &[&str]) -> Vec<String> {
    labels.iter().map(|&label| label.to_owned()).collect()
}

fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(host: &str) -> Exchange<'_> {
        Exchange {
            host,
            group: "hooks.runtime.cluster.x-k8s.io",
            version: "v1alpha1",
            hook: "Discovery",
            code: Some(200),
            status: Some("Success"),
            duration: Duration::from_millis(300),
        }
    }

    #[test]
    fn upstream_families_keep_their_names_labels_and_buckets() {
        let metrics = Metrics::new();
        metrics.extension("ext-a").exchanged(&exchange("a.test:9443"));
        metrics.extension("ext-a").exchanged(&Exchange {
            code: None,
            status: None,
            ..exchange("a.test:9443")
        });
        let text = metrics.render();
        let hook = r#"group="hooks.runtime.cluster.x-k8s.io",hook="Discovery",host="a.test:9443""#;
        for line in [
            format!(
                r#"capi_runtime_sdk_requests_total{{code="200",{hook},status="Success",version="v1alpha1"}} 1"#
            ),
            format!(
                r#"capi_runtime_sdk_requests_total{{code="<error>",{hook},status="Unknown",version="v1alpha1"}} 1"#
            ),
            format!(
                r#"capi_runtime_sdk_request_duration_seconds_bucket{{{hook},version="v1alpha1",le="0.2"}} 0"#
            ),
            format!(
                r#"capi_runtime_sdk_request_duration_seconds_bucket{{{hook},version="v1alpha1",le="0.4"}} 2"#
            ),
        ] {
            assert!(text.contains(&line), "{line} not in\n{text}");
        }
        // 23 of upstream and +Inf.
        assert_eq!(text.matches("request_duration_seconds_bucket").count(), 24);
    }

    #[test]
    fn series_of_a_forgotten_extension_are_gone_and_stay_gone() {
        let metrics = Metrics::new();
        let (gone, other) = (metrics.extension("gone"), metrics.extension("other"));
        let in_flight = gone.in_flight();
        for (extension, hosts) in
            [(&gone, ["common.test", "own.test"]), (&other, ["old.test", "common.test"])]
        {
            extension.called("Discovery", "change", "ok");
            extension.avoided("Discovery", Avoided::Shared);
            extension.waited(Duration::ZERO);
            for host in hosts {
                extension.exchanged(&exchange(host));
            }
        }
        let text = metrics.render();
        assert!(text.contains("own.test") && text.contains("common.test"), "{text}");
        assert!(!text.contains("old.test"), "an extension that moved leaves nothing behind: {text}");
        metrics.forget_extension("gone");
        gone.called("Discovery", "change", "ok"); // a call that ended late
        gone.exchanged(&exchange("own.test"));
        drop(in_flight);
        let text = metrics.render();
        assert!(!text.contains("\"gone\"") && !text.contains("own.test"), "{text}");
        assert!(text.contains("\"other\"") && text.contains("common.test"), "{text}");
        metrics.extension("gone").called("Discovery", "change", "ok");
        assert!(metrics.render().contains("extension=\"gone\""), "a new extension of that name counts again");
    }

    #[test]
    fn conflicts_are_writes_with_a_result() {
        let metrics = Metrics::new();
        metrics.conflict("ClusterClass");
        metrics.evaluated("ClusterClass");
        let depth = Arc::new(Mutex::new(7));
        let of_metrics = Arc::clone(&depth);
        metrics.watch_queue("ClusterClass", move || *of_metrics.lock());
        *depth.lock() = 3;
        let text = metrics.render();
        assert!(text.contains(r#"kapstan_writes_total{kind="ClusterClass",result="conflict"} 1"#), "{text}");
        assert!(text.contains(r#"kapstan_evaluations_total{kind="ClusterClass"} 1"#), "{text}");
        assert!(text.contains(r#"kapstan_queue_depth{kind="ClusterClass"} 3"#), "{text}");
    }
}
