//! What an API server was asked, counted by the server itself. Pure.

use std::collections::BTreeMap;

use anyhow::Context as _;
use kapstan_embedded::AuditEvent;

use super::{
    fleet::{CLASS, CONFIG, Kind, TEMPLATES},
    report::{Lists, PerKind},
};

/// The metric in which an API server counts what it has answered.
const METRIC: &str = "apiserver_request_total";

/// How many requests there were of which sort.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Requests(BTreeMap<Sort, u64>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sort {
    verb: Verb,
    group: String,
    resource: String,
    /// Of lists and watches.
    field_selector: String,
    code: u16,
}

/// What is listed or watched: group, resource, field selector.
type Target<'a> = (&'a str, &'a str, &'a str);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verb {
    Get,
    List,
    Watch,
    Create,
    /// Of an object that is there.
    Change,
    Delete,
}

impl Verb {
    /// From an audit event (`patch`) or a metric (`PATCH`); `None` for what is no request for a resource.
    fn parse(verb: &str) -> Option<Self> {
        match verb.to_ascii_lowercase().as_str() {
            "get" => Some(Self::Get),
            "list" => Some(Self::List),
            "watch" | "watchlist" => Some(Self::Watch),
            "create" | "post" => Some(Self::Create),
            "update" | "put" | "patch" | "apply" => Some(Self::Change),
            "delete" | "deletecollection" => Some(Self::Delete),
            _ => None,
        }
    }
}

impl Requests {
    /// From an audit log.
    pub(super) fn from_audit<'a>(events: impl IntoIterator<Item = &'a AuditEvent>) -> Self {
        let mut requests = Self::default();
        for event in events {
            // A further page of a list is no further list.
            let is_page = event.verb == "list" && event.parameter("continue").is_some();
            if let Some(verb) = Verb::parse(&event.verb).filter(|_| !is_page) {
                requests.add(
                    verb,
                    &event.group,
                    &event.resource,
                    event.parameter("fieldSelector"),
                    event.code,
                    1,
                );
            }
        }
        requests
    }

    /// From the text that an API server shows at `/metrics`, which does not say who asked: so only of what the manager
    /// asks for. The controllers of a cluster empty namespaces, so without deletions, which the manager has no right to,
    /// and without lists of one namespace, of which it needs none in a simulation. Without watches too, which are counted
    /// when they end, be it those of others. Pages of a list count as lists.
    ///
    /// # Errors
    /// When the text has no counts of requests.
    pub(super) fn from_metrics(text: &str) -> anyhow::Result<Self> {
        let mut requests = Self::default();
        let mut samples =
            text.lines().filter_map(|line| line.strip_prefix(METRIC)?.strip_prefix('{')).peekable();
        anyhow::ensure!(samples.peek().is_some(), "there is no {METRIC}");
        for sample in samples {
            let (labels, value) = sample.rsplit_once("} ").with_context(|| format!("malformed: {sample}"))?;
            let value: f64 = value.trim().parse().with_context(|| format!("malformed: {sample}"))?;
            let label = |name: &str| label(labels, name).unwrap_or_default();
            let (group, resource) = (label("group"), label("resource"));
            let verb = Verb::parse(label("verb")).filter(|verb| match verb {
                Verb::Delete | Verb::Watch => false,
                Verb::List => label("scope") == "cluster",
                Verb::Get | Verb::Create | Verb::Change => true,
            });
            if let Some(verb) = verb.filter(|_| is_managers(group, resource)) {
                let code = label("code").parse().unwrap_or_default();
                requests.add(verb, group, resource, None, code, whole(value));
            }
        }
        Ok(requests)
    }

    /// Counts an object of this kind that was created.
    pub(super) fn created(&mut self, kind: &Kind) {
        self.add(Verb::Create, kind.group, kind.plural, None, 201, 1);
    }

    fn add(
        &mut self,
        verb: Verb,
        group: &str,
        resource: &str,
        selector: Option<String>,
        code: u16,
        count: u64,
    ) {
        let field_selector = selector.unwrap_or_default();
        let sort =
            Sort { verb, group: group.to_owned(), resource: resource.to_owned(), field_selector, code };
        *self.0.entry(sort).or_default() += count;
    }

    /// What is in these and not in `others`.
    pub(super) fn without(mut self, others: &Self) -> Self {
        for (sort, count) in &others.0 {
            if let Some(mine) = self.0.get_mut(sort) {
                *mine = mine.saturating_sub(*count);
            }
        }
        self.0.retain(|_, count| *count > 0);
        self
    }

    /// A kind of which fewer objects were created than `own` says, how many were, and how many that should be.
    pub(super) fn missing(&self, own: &Self) -> Option<(&'static Kind, u64, u64)> {
        let both = Kind::all().map(|kind| (kind, self.creations(kind), own.creations(kind)));
        both.into_iter().find(|(_, counted, made)| counted < made)
    }

    /// How many objects of a kind were created.
    fn creations(&self, kind: &Kind) -> u64 {
        self.count(|sort| sort.verb == Verb::Create && sort.code == 201 && is(sort, kind))
    }

    /// Requests for a change, granted or not.
    pub(super) fn writes(&self) -> PerKind {
        let of = |kinds: &[Kind]| {
            self.count(|sort| is_write(sort.verb) && kinds.iter().any(|kind| is(sort, kind)))
        };
        PerKind { extension_config: of(&[CONFIG]), cluster_class: of(&[CLASS]), template: of(&TEMPLATES) }
    }

    /// Writes that came too late.
    pub(super) fn conflicts(&self) -> u64 {
        let is_ours = |sort: &Sort| Kind::all().any(|kind| is(sort, kind));
        self.count(|sort| is_write(sort.verb) && sort.code == 409 && is_ours(sort))
    }

    /// Event objects that were created.
    pub(super) fn events(&self) -> u64 {
        self.count(|sort| sort.verb == Verb::Create && sort.code == 201 && sort.resource == "events")
    }

    /// Lists. One of a thing is what its watch began with, if there is one. Where it is not known what was watched, as in
    /// a cluster, it is taken that everything was that was listed.
    pub(super) fn lists(&self) -> Lists {
        let (lists, watches) = (self.by_target(Verb::List), self.by_target(Verb::Watch));
        let began = |target: &Target<'_>| watches.is_empty() || watches.contains_key(target);
        let per_watch = lists.keys().filter(|target| began(target)).count() as u64;
        Lists { per_watch, extra: lists.values().sum::<u64>() - per_watch }
    }

    fn by_target(&self, verb: Verb) -> BTreeMap<Target<'_>, u64> {
        let mut counts = BTreeMap::new();
        for (sort, count) in self.0.iter().filter(|(sort, _)| sort.verb == verb) {
            *counts.entry((&*sort.group, &*sort.resource, &*sort.field_selector)).or_default() += count;
        }
        counts
    }

    fn count(&self, is: impl Fn(&Sort) -> bool) -> u64 {
        self.0.iter().filter(|(sort, _)| is(sort)).map(|(_, count)| count).sum()
    }
}

/// Whether the manager asks for this in a simulation: what is simulated, and what it watches besides.
fn is_managers(group: &str, resource: &str) -> bool {
    let besides = [("", "namespaces"), ("apiextensions.k8s.io", "customresourcedefinitions")];
    besides.contains(&(group, resource))
        || Kind::all().any(|kind| kind.group == group && kind.plural == resource)
}

fn is(sort: &Sort, kind: &Kind) -> bool {
    sort.group == kind.group && sort.resource == kind.plural
}

fn is_write(verb: Verb) -> bool {
    matches!(verb, Verb::Create | Verb::Change | Verb::Delete)
}

/// The value of a label in `a="1",b="2"`. No value that matters here has a quote in it.
fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = labels.split("\",").filter_map(|pair| pair.split_once("=\""));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value.trim_end_matches('"'))
}

/// A counter's value, which is written as a float.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counters are whole and not negative"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Secret;
    use kapstan_embedded::Server;
    use kube::{
        Api,
        api::{ListParams, WatchParams},
    };

    use super::*;

    const BEFORE: &str = r#"
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",component="apiserver",dry_run="",group="cluster.x-k8s.io",resource="clusterclasses",scope="resource",subresource="status",verb="PATCH",version="v1beta2"} 7
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="namespaces",scope="cluster",subresource="",verb="LIST",version="v1"} 1e+06
apiserver_request_total_other{code="200"} 3
"#;
    const AFTER: &str = r#"
apiserver_request_total{code="200",component="apiserver",dry_run="",group="cluster.x-k8s.io",resource="clusterclasses",scope="resource",subresource="status",verb="PATCH",version="v1beta2"} 9
apiserver_request_total{code="409",component="apiserver",dry_run="",group="cluster.x-k8s.io",resource="clusterclasses",scope="resource",subresource="status",verb="APPLY",version="v1beta2"} 1
apiserver_request_total{code="201",component="apiserver",dry_run="",group="cluster.x-k8s.io",resource="clusterclasses",scope="resource",subresource="",verb="POST",version="v1beta2"} 2
apiserver_request_total{code="409",component="apiserver",dry_run="",group="coordination.k8s.io",resource="leases",scope="resource",subresource="",verb="PUT",version="v1"} 5
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="namespaces",scope="cluster",subresource="",verb="LIST",version="v1"} 1.000002e+06
apiserver_request_total{code="200",component="apiserver",dry_run="",group="bootstrap.cluster.x-k8s.io",resource="kubeadmconfigtemplates",scope="resource",subresource="",verb="PATCH",version="v1beta2"} 4
apiserver_request_total{code="200",component="apiserver",dry_run="",group="coordination.k8s.io",resource="leases",scope="cluster",subresource="",verb="LIST",version="v1"} 3
apiserver_request_total{code="200",component="apiserver",dry_run="",group="cluster.x-k8s.io",resource="clusterclasses",scope="namespace",subresource="",verb="DELETECOLLECTION",version="v1beta2"} 1
apiserver_request_total{code="200",component="apiserver",dry_run="",group="cluster.x-k8s.io",resource="clusterclasses",scope="cluster",subresource="",verb="WATCH",version="v1beta2"} 1
apiserver_request_total{code="200",component="apiserver",dry_run="",group="cluster.x-k8s.io",resource="clusterclasses",scope="namespace",subresource="",verb="LIST",version="v1beta2"} 1
apiserver_request_total{code="0",component="apiserver",dry_run="",group="",resource="",scope="",subresource="/healthz",verb="CONNECT",version=""} 5
"#;

    #[test]
    fn what_a_server_counted_is_the_difference_of_its_metrics_without_what_was_created() {
        let [before, after] = [BEFORE, AFTER].map(|text| Requests::from_metrics(text).unwrap());
        let mut own = Requests::default();
        (0..2).for_each(|_| own.created(&CLASS));
        let asked = after.without(&before);
        assert!(asked.missing(&own).is_none());
        let asked = asked.without(&own);
        assert_eq!(asked.writes(), PerKind { extension_config: 0, cluster_class: 3, template: 4 });
        assert_eq!(asked.conflicts(), 1);
        assert_eq!(asked.lists(), Lists { per_watch: 1, extra: 1 }, "of namespaces");
    }

    #[test]
    fn a_server_that_has_not_counted_what_was_created_is_found_out() {
        let [before, after] = [BEFORE, AFTER].map(|text| Requests::from_metrics(text).unwrap());
        let mut own = Requests::default();
        (0..2).for_each(|_| own.created(&CLASS));
        let missing =
            |counted: Requests| counted.missing(&own).map(|(kind, counted, made)| (kind.name, counted, made));
        assert_eq!(missing(after), None);
        assert_eq!(missing(before), Some(("ClusterClass", 0, 2)));
    }

    #[tokio::test]
    async fn a_list_is_extra_unless_a_watch_of_the_same_began_with_it() {
        let server = Server::builder().start();
        let secrets = Api::<Secret>::all(server.client());
        let [one, two] = ["one", "two"].map(|name| format!("metadata.name={name}"));
        let list =
            async |selector: &str| secrets.list(&ListParams::default().fields(selector)).await.unwrap();
        let watch = async |selector: &str| {
            drop(secrets.watch(&WatchParams::default().fields(selector), "0").await.unwrap());
        };
        let lists = || Requests::from_audit(&server.audit().events()).lists();
        list(&one).await;
        watch(&one).await;
        watch(&one).await;
        assert_eq!(lists(), Lists { per_watch: 1, extra: 0 });
        list(&two).await;
        assert_eq!(lists(), Lists { per_watch: 1, extra: 1 });
        watch(&two).await;
        assert_eq!(lists(), Lists { per_watch: 2, extra: 0 });
        list(&two).await;
        assert_eq!(lists(), Lists { per_watch: 2, extra: 1 });
    }

    #[test]
    fn metrics_without_requests_or_with_something_else_in_them_are_refused() {
        let error = |text| Requests::from_metrics(text).unwrap_err().to_string();
        assert_eq!(error("up 1\n"), "there is no apiserver_request_total");
        assert_eq!(error("apiserver_request_total{a=\"b\"} many"), "malformed: a=\"b\"} many");
    }
}
