//! What `kapstan dev` says in the end.

use std::{collections::BTreeMap, fmt::Write as _, path::Path, time::Duration};

use serde::Serialize;

use crate::{
    metrics::Metrics,
    readiness::{Class, Config, Snapshot},
};

/// The hooks that the manager calls.
const HOOKS: [&str; 2] = ["Discovery", "DiscoverVariables"];

/// How the objects are, and what it took.
pub(super) struct Report {
    snapshot: Snapshot,
    elapsed: Duration,
    /// Calls by extension and hook.
    calls: BTreeMap<[String; 2], u64>,
    /// Writes by kind.
    writes: BTreeMap<[String; 1], u64>,
}

impl Report {
    pub(super) fn new(snapshot: Snapshot, elapsed: Duration, metrics: &Metrics) -> Self {
        let calls = metrics.sums("kapstan_extension_calls_total", ["extension", "hook"]);
        let writes = metrics.sums("kapstan_writes_total", ["kind"]);
        Self { snapshot, elapsed, calls, writes }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.snapshot.is_ready()
    }

    /// One line of JSON.
    pub(super) fn json(&self, kubeconfig: Option<&Path>) -> anyhow::Result<String> {
        let json = Json {
            ready: self.is_ready(),
            seconds: (self.elapsed.as_secs_f64() * 1000.0).round() / 1000.0,
            extension_configs: self.snapshot.configs.iter().map(JsonConfig::of).collect(),
            cluster_classes: self.snapshot.classes.iter().map(JsonClass::of).collect(),
            kubeconfig: kubeconfig.map(|path| path.display().to_string()),
        };
        Ok(serde_json::to_string(&json)? + "\n")
    }

    /// Tables, the verdict, and how to go on if there is a kubeconfig to do it with.
    pub(super) fn table(&self, kubeconfig: Option<&Path>) -> String {
        let mut parts = Vec::new();
        if !self.snapshot.configs.is_empty() {
            parts.push(self.configs());
        }
        if !self.snapshot.classes.is_empty() {
            parts.push(self.classes());
        }
        parts.push(self.verdict() + &self.cost());
        parts.extend(kubeconfig.map(|path| next(path, &self.commands())));
        format!("\n{}", parts.join("\n"))
    }

    fn configs(&self) -> String {
        let row = |config: &Config| {
            let suffix = format!(".{}", config.name);
            let short = |name: &String| name.strip_suffix(&suffix).unwrap_or(name).to_owned();
            let handlers: Vec<_> = config.handlers.iter().map(short).collect();
            let [discovery, variables] = HOOKS.map(|hook| self.calls_to(config, hook).to_string());
            [config.name.clone(), shown(config.discovered.as_ref()), discovery, variables, handlers.join(" ")]
        };
        let rows: Vec<_> = self.snapshot.configs.iter().map(row).collect();
        let heads =
            ["EXTENSIONCONFIG", "DISCOVERED", "DISCOVERY CALLS", "DISCOVERVARIABLES CALLS", "HANDLERS"];
        table(heads, &rows)
    }

    fn calls_to(&self, config: &Config, hook: &str) -> u64 {
        self.calls.get(&[config.name.clone(), hook.to_owned()]).copied().unwrap_or_default()
    }

    fn classes(&self) -> String {
        let row = |class: &Class| {
            [
                class.namespace.clone(),
                class.name.clone(),
                shown(class.variables_ready.as_ref()),
                shown(class.ref_versions_up_to_date.as_ref()),
                class.variables.len().to_string(),
                format!("{} of {}", class.owned, class.templates),
            ]
        };
        let rows: Vec<_> = self.snapshot.classes.iter().map(row).collect();
        let heads = [
            "NAMESPACE",
            "CLUSTERCLASS",
            "VARIABLESREADY",
            "REFVERSIONSUPTODATE",
            "VARIABLES",
            "OWNED TEMPLATES",
        ];
        table(heads, &rows)
    }

    fn verdict(&self) -> String {
        let seconds = self.elapsed.as_secs_f64();
        if self.is_ready() {
            let Snapshot { configs, classes } = &self.snapshot;
            if configs.is_empty() && classes.is_empty() {
                return "there is no ExtensionConfig and no ClusterClass, so nothing has to become ready\n"
                    .to_owned();
            }
            return format!("all ready {seconds:.1} s after the last one was applied\n");
        }
        let problems = self.snapshot.problems();
        let lines =
            problems.map(|(title, problem)| format!("* {title}: {}\n", problem.replace('\n', "\n  ")));
        format!("not ready {seconds:.1} s after the last one was applied:\n{}", lines.collect::<String>())
    }

    fn cost(&self) -> String {
        let writes: Vec<_> = self.writes.iter().map(|([kind], count)| format!("{count} {kind}")).collect();
        if writes.is_empty() { String::new() } else { format!("writes: {}\n", writes.join(", ")) }
    }

    /// What to try next, on objects that are there.
    fn commands(&self) -> [String; 3] {
        let Snapshot { configs, classes } = &self.snapshot;
        let class = classes.iter().rev().max_by_key(|class| class.variables.len());
        let class = class.map_or_else(
            || "kubectl explain clusterclass.spec.patches".to_owned(),
            |Class { name, namespace, .. }| {
                format!("kubectl get clusterclass {name} --namespace {namespace} --output yaml")
            },
        );
        let config = configs.iter().max_by_key(|config| self.calls_to(config, HOOKS[1]));
        let config = config.map_or_else(
            || "kubectl explain extensionconfig.spec".to_owned(),
            |Config { name, .. }| {
                let settings = r#"{"spec":{"settings":{"season":"winter"}}}"#;
                format!("kubectl patch extensionconfig {name} --type merge --patch '{settings}'")
            },
        );
        ["kubectl get extensionconfigs,clusterclasses --all-namespaces".to_owned(), class, config]
    }
}

/// What is said of an API server alone.
pub(super) fn server_only(url: &str, kubeconfig: &Path) -> String {
    let commands = [
        "kapstan manager".to_owned(),
        "kubectl api-resources --categories cluster-api".to_owned(),
        "kubectl explain extensionconfig.spec".to_owned(),
    ];
    let next = next(kubeconfig, &commands);
    format!("API server {url}, with the CRDs of Kapstan and of the samples' templates\n\n{next}")
}

fn next(kubeconfig: &Path, commands: &[String; 3]) -> String {
    let (path, mut text) = (kubeconfig.display(), String::new());
    // Writing to a String cannot fail.
    let _ = writeln!(text, "kubeconfig: {path}\nIt runs until Ctrl-C. In another terminal:\n");
    let _ = writeln!(text, "  export KUBECONFIG={path}\n  {}", commands.join("\n  "));
    text
}

fn shown(status: Option<&String>) -> String {
    status.map_or("-", String::as_str).to_owned()
}

/// Columns as wide as their widest cell.
fn table<const N: usize>(heads: [&str; N], rows: &[[String; N]]) -> String {
    let heads = heads.map(str::to_owned);
    let lines = || std::iter::once(&heads).chain(rows);
    let width = |column: usize| lines().map(|line| line[column].chars().count()).max().unwrap_or_default();
    let widths: [usize; N] = std::array::from_fn(width);
    let mut text = String::new();
    for line in lines() {
        let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("   ").trim_end());
        text.push('\n');
    }
    text
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Json<'a> {
    ready: bool,
    seconds: f64,
    extension_configs: Vec<JsonConfig<'a>>,
    cluster_classes: Vec<JsonClass<'a>>,
    kubeconfig: Option<String>,
}

#[derive(Serialize)]
struct JsonConfig<'a> {
    name: &'a str,
    ready: bool,
    reason: Option<String>,
    handlers: &'a [String],
}

impl<'a> JsonConfig<'a> {
    fn of(config: &'a Config) -> Self {
        let Config { name, handlers, problems, .. } = config;
        let reason = reason(problems);
        Self { name, ready: reason.is_none(), reason, handlers }
    }
}

#[derive(Serialize)]
struct JsonClass<'a> {
    namespace: &'a str,
    name: &'a str,
    ready: bool,
    reason: Option<String>,
    variables: &'a [String],
}

impl<'a> JsonClass<'a> {
    fn of(class: &'a Class) -> Self {
        let Class { namespace, name, variables, problems, .. } = class;
        let reason = reason(problems);
        Self { namespace, name, ready: reason.is_none(), reason, variables }
    }
}

/// Unset when there is nothing wrong.
fn reason(problems: &[String]) -> Option<String> {
    (!problems.is_empty()).then(|| problems.join("; "))
}
