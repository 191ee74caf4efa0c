//! What depends on what, for people: which class uses which handler of which extension in which role, why each object
//! was last evaluated, and when it is next due.
//!
//! Made anew for each look at it, from the whole index; ids are the same in every one.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use kapstan_api::{cluster_class::HandlerRole, handler_name};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{
    Index,
    class::ClassEntry,
    config::{ConfigEntry, Standing},
    keys::{Job, Name},
    shared::Queues,
    waiting::Moment,
};

/// What depends on what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graph {
    /// Every `ExtensionConfig`, handler and `ClusterClass`, by kind and then by id.
    pub nodes: Vec<Node>,
    /// From a class to each handler that it names, and from a handler to its `ExtensionConfig`; sorted.
    pub edges: Vec<Edge>,
}

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// An `ExtensionConfig`.
    ExtensionConfig,
    /// A handler, registered or only named.
    Handler,
    /// A `ClusterClass`.
    ClusterClass,
}

/// An object or a handler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// `extensionconfig/<name>`, `handler/<full name>` or `clusterclass/<namespace>/<name>`.
    pub id: String,
    /// What it stands for.
    pub kind: Kind,
    /// Its name; of a class, with the namespace.
    pub name: String,
    /// How it stands, in words.
    pub state: String,
    /// When its status was last computed; unset before that and for handlers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluated: Option<Timestamp>,
    /// Why that was, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// About when it is looked at or asked about again although nothing changes; unset when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
}

/// One thing refers to another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Edge {
    /// Id of what refers.
    pub from: String,
    /// Id of what is referred to.
    pub to: String,
    /// From a class: the role of the handler. From a handler: the hook that it serves, or that it is not registered.
    pub role: String,
}

/// The last time that an object's status was computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// When.
    pub at: Timestamp,
    /// Why, in words.
    pub because: Arc<str>,
}

/// When what is next due, as far as the index does not know it itself.
#[derive(Clone, Copy, Debug)]
pub struct Times<'a> {
    /// What waits for its time.
    pub queues: &'a Queues,
    /// How often the clock repeats a question; zero means never.
    pub period: Duration,
    /// Now.
    pub now: Moment,
}

impl Times<'_> {
    fn timestamp(&self, instant: Instant) -> Timestamp {
        let Moment { instant: now, timestamp } = self.now;
        let after = SignedDuration::try_from(instant.saturating_duration_since(now)).unwrap_or_default();
        let before = SignedDuration::try_from(now.saturating_duration_since(instant)).unwrap_or_default();
        let moved = timestamp.checked_add(after).and_then(|moved| moved.checked_sub(before));
        let moved = moved.unwrap_or(timestamp);
        Timestamp::from_second(moved.as_second()).unwrap_or(moved)
    }

    /// When a question is asked again: after its back-off, or a period after it was last asked.
    fn job(&self, index: &Index, job: &Job) -> Option<Instant> {
        let clocked =
            index.clocked.asked_at(job).filter(|_| !self.period.is_zero() && !index.is_failing(job));
        self.queues.jobs.due(job).or_else(|| clocked.map(|asked| asked + self.period))
    }
}

impl Index {
    /// What depends on what. Costs as much as there is.
    #[must_use]
    pub fn graph(&self, times: Times<'_>) -> Graph {
        let mut handlers: BTreeMap<Name, Option<String>> = BTreeMap::new();
        let mut nodes = Vec::new();
        for entry in self.configs.values() {
            nodes.push(self.config_node(entry, times));
            for (name, handler) in entry.registration.iter().flat_map(|registration| &registration.handlers) {
                handlers.insert(Arc::clone(name), Some(handler.request_hook.hook.clone()));
            }
        }
        let mut edges = Vec::new();
        for (key, entry) in &self.classes {
            nodes.push(self.class_node(entry, times));
            for (handler, role) in &entry.class.roles {
                handlers.entry(Arc::clone(handler)).or_default();
                edges.push(Edge {
                    from: format!("clusterclass/{key}"),
                    to: format!("handler/{handler}"),
                    role: role_name(*role).to_owned(),
                });
            }
        }
        for (name, hook) in handlers {
            let state = hook.clone().unwrap_or_else(|| "not registered".to_owned());
            let id = format!("handler/{name}");
            let config = handler_name::parse(&name).ok().map(|name| name.config.to_owned());
            // A config with a dot in its name registers handlers that none can name.
            let config = config.filter(|config| self.configs.contains_key(config.as_str()));
            edges.extend(config.map(|config| Edge {
                from: id.clone(),
                to: format!("extensionconfig/{config}"),
                role: state.clone(),
            }));
            let (kind, name) = (Kind::Handler, name.to_string());
            nodes.push(Node { id, kind, name, state, evaluated: None, because: None, due: None });
        }
        nodes.sort_by(|a, b| (a.kind, &a.id).cmp(&(b.kind, &b.id)));
        edges.sort();
        Graph { nodes, edges }
    }

    fn config_node(&self, entry: &ConfigEntry, times: Times<'_>) -> Node {
        let config = &entry.config;
        let state = match entry.standing() {
            _ if config.is_paused => "paused",
            Standing::Open => "awaits its Discovery",
            Standing::Usable => "discovered",
            Standing::Undiscovered => "not discovered",
        };
        let queued = times.queues.configs.due(&config.name);
        let due = [queued, times.job(self, &config.discovery())].into_iter().flatten().min();
        Node {
            id: format!("extensionconfig/{}", config.name),
            kind: Kind::ExtensionConfig,
            name: config.name.to_string(),
            state: state.to_owned(),
            evaluated: entry.last.as_ref().map(|last| last.at),
            because: entry.last.as_ref().map(|last| last.because.to_string()),
            due: due.map(|due| times.timestamp(due)),
        }
    }

    fn class_node(&self, entry: &ClassEntry, times: Times<'_>) -> Node {
        let class = &entry.class;
        let mut awaited = self.awaiting.rights(&class.key).map(|awaited| self.describe(awaited));
        let state = match (awaited.next(), awaited.count()) {
            _ if class.is_paused => "paused".to_owned(),
            (Some(first), 0) => format!("awaits {first}"),
            (Some(first), more) => format!("awaits {first} and {more} more"),
            (None, _) if entry.evaluated.is_some() => "evaluated".to_owned(),
            (None, _) => "not looked at yet".to_owned(),
        };
        let asked = self.asks.rights(&class.key).filter_map(|key| times.job(self, &Job::Question(*key)));
        let due = asked.chain(times.queues.classes.due(&class.key)).min();
        Node {
            id: format!("clusterclass/{}", class.key),
            kind: Kind::ClusterClass,
            name: class.key.to_string(),
            state,
            evaluated: entry.last.as_ref().map(|last| last.at),
            because: entry.last.as_ref().map(|last| last.because.to_string()),
            due: due.map(|due| times.timestamp(due)),
        }
    }
}

fn role_name(role: HandlerRole) -> &'static str {
    match role {
        HandlerRole::GeneratePatches => "generatePatches",
        HandlerRole::ValidateTopology => "validateTopology",
        HandlerRole::DiscoverVariables => "discoverVariables",
        HandlerRole::GenerateUpgradePlan => "generateUpgradePlan",
    }
}

/// How a graph is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Output {
    /// For people: extensions with their handlers and who uses them, then classes.
    #[default]
    Text,
    /// For programs.
    Json,
    /// For Graphviz.
    Dot,
    /// For Markdown.
    Mermaid,
}

impl Graph {
    /// The graph in some form, with a line break at the end.
    #[must_use]
    pub fn show(&self, output: Output) -> String {
        match output {
            Output::Text => self.text(),
            Output::Json => format!("{:#}\n", serde_json::json!(self)),
            Output::Dot => self.dot(),
            Output::Mermaid => self.mermaid(),
        }
    }

    // Writing to a String does not fail.
    fn text(&self) -> String {
        let mut text = String::new();
        let mut users: BTreeMap<&str, Vec<&Edge>> = BTreeMap::new();
        for edge in &self.edges {
            users.entry(&edge.to).or_default().push(edge);
        }
        let of = |id: &str| users.get(id).into_iter().flatten();
        for node in &self.nodes {
            // Handlers stand under their extensions, unless there is none.
            if node.kind == Kind::Handler && self.edges.iter().any(|edge| edge.from == node.id) {
                continue;
            }
            let Node { kind, name, state, .. } = node;
            let _ = write!(text, "{kind:?} {name}: {state}");
            if let (Some(at), Some(because)) = (node.evaluated, &node.because) {
                let at = Timestamp::from_second(at.as_second()).unwrap_or(at);
                let _ = write!(text, "; evaluated {at}, because {because}");
            }
            let _ = node.due.map_or(Ok(()), |due| write!(text, "; due {due}"));
            text.push('\n');
            let indent = if node.kind == Kind::Handler { "  " } else { "    " };
            for edge in of(&node.id) {
                if node.kind == Kind::ExtensionConfig {
                    let _ = writeln!(text, "  {} ({})", name_of(&edge.from), edge.role);
                    for user in of(&edge.from) {
                        let _ = writeln!(text, "{indent}{} as {}", name_of(&user.from), user.role);
                    }
                } else {
                    let _ = writeln!(text, "{indent}{} as {}", name_of(&edge.from), edge.role);
                }
            }
        }
        text
    }

    fn dot(&self) -> String {
        let mut text = "digraph kapstan {\n  rankdir=LR;\n".to_owned();
        for Node { id, kind, name, state, .. } in &self.nodes {
            let shape = match kind {
                Kind::ExtensionConfig => "box3d",
                Kind::Handler => "ellipse",
                Kind::ClusterClass => "box",
            };
            let label = format!("{name}\n{state}");
            let _ = writeln!(text, "  {} [shape={shape}, label={}];", quoted(id), quoted(&label));
        }
        for Edge { from, to, role } in &self.edges {
            let _ = writeln!(text, "  {} -> {} [label={}];", quoted(from), quoted(to), quoted(role));
        }
        text + "}\n"
    }

    fn mermaid(&self) -> String {
        let mut text = "flowchart LR\n".to_owned();
        // Ids of Mermaid have letters and digits only, so a node goes by its place.
        let places: BTreeMap<&str, usize> =
            self.nodes.iter().enumerate().map(|(place, node)| (node.id.as_str(), place)).collect();
        for (place, Node { kind, name, state, .. }) in self.nodes.iter().enumerate() {
            let label = mermaid_text(&format!("{name}: {state}"));
            let (open, close) = match kind {
                Kind::ExtensionConfig => ("[[", "]]"),
                Kind::Handler => ("([", "])"),
                Kind::ClusterClass => ("[", "]"),
            };
            let _ = writeln!(text, "  n{place}{open}\"{label}\"{close}");
        }
        for Edge { from, to, role } in &self.edges {
            if let (Some(from), Some(to)) = (places.get(from.as_str()), places.get(to.as_str())) {
                let _ = writeln!(text, "  n{from} -->|\"{}\"| n{to}", mermaid_text(role));
            }
        }
        text
    }
}

/// The part of an id after the kind.
fn name_of(id: &str) -> &str {
    id.split_once('/').map_or(id, |(_, name)| name)
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

fn mermaid_text(text: &str) -> String {
    text.replace('#', "#35;").replace('"', "#quot;").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::Clock,
        index::tests::fixtures::{World, asked, class, config},
        queue::{Outcome, Priority},
    };

    const PERIOD: Duration = Duration::from_mins(10);

    fn shown(world: &World, queues: &Queues, clock: &Clock) -> Graph {
        world.index.graph(Times { queues, period: PERIOD, now: Moment::now(clock) })
    }

    fn node<'a>(graph: &'a Graph, id: &str) -> &'a Node {
        graph.nodes.iter().find(|node| node.id == id).unwrap()
    }

    /// Two classes and a config, all at rest, and a class that names what is not there.
    fn world(clock: &Clock) -> World {
        let mut world = World::default();
        let _ = world.config(config("ext-a"));
        world.index.asked(&world.discovery("ext-a"), clock.now());
        let _ = world.discover("ext-a", &asked(&["dv.ext-a", "idle.ext-a"]));
        let _ = world.class(class("ns/one").asking("dv.ext-a").generating_with("gp.ext-a"));
        let _ = world.class(class("ns/two").validating_with("dv.ext-a"));
        let _ = world.class(class("ns/lost").upgrading_with("up.gone"));
        world.at_rest()
    }

    #[tokio::test(start_paused = true)]
    async fn every_use_of_a_handler_is_an_edge_and_ids_are_stable() {
        let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
        let queues = Queues::default();
        let graph = shown(&world(&clock), &queues, &clock);
        let edges: Vec<_> =
            graph.edges.iter().map(|edge| format!("{} {} {}", edge.from, edge.role, edge.to)).collect();
        assert_eq!(
            edges,
            [
                "clusterclass/ns/lost generateUpgradePlan handler/up.gone",
                "clusterclass/ns/one discoverVariables handler/dv.ext-a",
                "clusterclass/ns/one generatePatches handler/gp.ext-a",
                "clusterclass/ns/two validateTopology handler/dv.ext-a",
                "handler/dv.ext-a DiscoverVariables extensionconfig/ext-a",
                "handler/gp.ext-a not registered extensionconfig/ext-a",
                "handler/idle.ext-a DiscoverVariables extensionconfig/ext-a",
            ]
        );
        for _ in 0..20 {
            assert_eq!(shown(&world(&clock), &queues, &clock), graph, "no map order gets out");
        }
        let read: Graph = serde_json::from_str(&graph.show(Output::Json)).unwrap();
        assert_eq!(read, graph);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_due_is_told_by_the_clock_and_by_the_back_off() {
        let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
        let (queues, mut world) = (Queues::default(), world(&clock));
        tokio::time::advance(PERIOD / 2).await;
        let due =
            |world: &World, id: &str| node(&shown(world, &queues, &clock), id).due.map(|due| due.to_string());
        assert_eq!(due(&world, "extensionconfig/ext-a").as_deref(), Some("2026-01-01T00:10:00Z"));
        assert_eq!(due(&world, "clusterclass/ns/two"), None, "it asks nothing");
        let _ = world.fail_discovery("ext-a", "down");
        assert_eq!(due(&world, "extensionconfig/ext-a"), None, "the clock leaves out what fails");
        let job = world.discovery("ext-a");
        queues.jobs.add(job.clone());
        assert_eq!(queues.jobs.next().await, job);
        queues.jobs.done(&job, Outcome::Failed);
        assert_eq!(due(&world, "extensionconfig/ext-a").as_deref(), Some("2026-01-01T00:05:05Z"));
        queues.classes.add_after(crate::index::tests::fixtures::key("ns/two"), PERIOD, Priority::Clock);
        assert_eq!(due(&world, "clusterclass/ns/two").as_deref(), Some("2026-01-01T00:15:00Z"));
    }

    #[tokio::test(start_paused = true)]
    async fn each_form_shows_all_of_it() {
        let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
        let graph = shown(&world(&clock), &Queues::default(), &clock);
        let text = graph.show(Output::Text);
        assert_eq!(
            text,
            "ExtensionConfig ext-a: discovered; due 2026-01-01T00:10:00Z\n\
             \u{20}\u{20}dv.ext-a (DiscoverVariables)\n    ns/one as discoverVariables\n    ns/two as validateTopology\n\
             \u{20}\u{20}gp.ext-a (not registered)\n    ns/one as generatePatches\n\
             \u{20}\u{20}idle.ext-a (DiscoverVariables)\n\
             Handler up.gone: not registered\n  ns/lost as generateUpgradePlan\n\
             ClusterClass ns/lost: evaluated\nClusterClass ns/one: evaluated\nClusterClass ns/two: evaluated\n"
        );
        let dot = graph.show(Output::Dot);
        assert!(dot.starts_with("digraph kapstan {\n") && dot.ends_with("}\n"), "{dot}");
        assert!(
            dot.contains(r#""clusterclass/ns/one" -> "handler/dv.ext-a" [label="discoverVariables"];"#),
            "{dot}"
        );
        assert!(
            dot.contains(r#""handler/up.gone" [shape=ellipse, label="up.gone\nnot registered"];"#),
            "{dot}"
        );
        let mermaid = graph.show(Output::Mermaid);
        assert!(mermaid.starts_with("flowchart LR\n  n0[[\"ext-a: discovered\"]]\n"), "{mermaid}");
        assert_eq!(mermaid.lines().count(), 1 + graph.nodes.len() + graph.edges.len(), "{mermaid}");
    }

    #[test]
    fn names_cannot_break_out_of_a_form() {
        assert_eq!(quoted("a\"b\\c\nd"), r#""a\"b\\c\nd""#);
        assert_eq!(mermaid_text("a\"b#c\nd"), "a#quot;b#35;c d");
    }
}
