//! Shows the manager at work on a real API server: starts one, applies the CRDs and `config/samples`, serves the
//! extension that the samples name, runs the manager in this process, and prints what became of every object.
//!
//! `hack/try` builds what is needed and runs this. The exit code is 0 when everything is ready, 1 otherwise.
#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use clap::Parser;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kapstan::{
    clock::Clock,
    manager::{Manager, Options},
    metrics::Metrics,
    runtime::transport::{SystemResolver, TcpDialer},
};
use kapstan_api::{
    cluster_class::{ClusterClass, TemplateRef},
    conditions::{self, types},
    extension_config::ExtensionConfig,
};
use kapstan_envtest::ControlPlane;
use kapstan_test_extension::{Target, TestExtension, Variables};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DynamicObject, ListParams},
    core::{ApiResource, GroupVersionKind},
};
use tokio::io::AsyncWriteExt as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The extensions of the samples: the path at which each is served, and how many variables it has.
const EXTENSIONS: [(&str, usize); 3] = [("/images", 3), ("/sites", 2), ("/sizing", 4)];
/// The hooks that the manager calls.
const HOOKS: [&str; 2] = ["Discovery", "DiscoverVariables"];
/// Only what the manager warns of: while the API server starts, its client is refused often.
const LOG: &str = "error,kapstan=warn,kube_client=off";
/// How often the objects are looked at while they are not ready.
const LOOK: Duration = Duration::from_millis(100);

/// Starts a control plane, an extension and the manager, and waits until the samples are ready.
#[derive(Debug, Parser)]
#[command(name = "hack/try")]
struct Args {
    /// Keep everything running until Ctrl-C, and say how to look at it.
    #[arg(long)]
    keep: bool,

    /// How many seconds the samples may take to become ready.
    #[arg(long, default_value_t = 60)]
    timeout_seconds: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    tracing_subscriber::fmt().with_env_filter(LOG).with_writer(std::io::stderr).init();
    match run(args).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("hack/try: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Says whether everything became ready.
async fn run(args: Args) -> Result<bool> {
    let Args { keep, timeout_seconds } = args;
    let started = Instant::now();
    let control_plane = ControlPlane::builder().garbage_collector().start().await?;
    control_plane.apply_crds(["config/crd", "config/samples/crds"].map(in_repository)).await?;
    println!("API server with CRDs: up after {:.1} s", started.elapsed().as_secs_f64());

    let shown = show(&control_plane, Duration::from_secs(timeout_seconds), keep).await;
    control_plane.stop().await;
    shown
}

/// Everything that happens between the start and the stop of the control plane.
async fn show(control_plane: &ControlPlane, timeout: Duration, keep: bool) -> Result<bool> {
    let extension = extension().await?;
    let stop = CancellationToken::new();
    let metrics = Metrics::new();
    let manager = manager(control_plane.client()?, metrics.clone(), stop.clone());
    let count = apply_samples(control_plane, &extension).await?;
    println!("applied {count} samples, the extension is {}\n", extension.url());

    let is_ready = wait(&control_plane.client()?, timeout).await?;
    println!("{}", cost(&extension, &metrics));
    if keep {
        until_told_to_stop(control_plane).await?;
        println!("\n{}", cost(&extension, &metrics));
    }
    stop.cancel();
    manager.await.context("the manager panicked")?;
    Ok(is_ready)
}

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// One process that stands for all extensions of the samples.
async fn extension() -> Result<TestExtension> {
    let extension = TestExtension::builder().start().await?;
    for (path, variables) in EXTENSIONS {
        extension.set_variables(path, Variables::count(variables))?;
    }
    Ok(extension)
}

/// Runs the manager as `kapstan manager` does, without its ports.
fn manager(client: Client, metrics: Metrics, stop: CancellationToken) -> JoinHandle<()> {
    let dialer = Arc::new(TcpDialer::new(Arc::new(SystemResolver), None, None));
    let manager = Manager::new(Options::default(), client, dialer, Clock::system(), metrics);
    tokio::spawn(manager.run(stop))
}

/// Applies the samples with their placeholders filled in; says how many objects they are.
async fn apply_samples(control_plane: &ControlPlane, extension: &TestExtension) -> Result<usize> {
    let samples = in_repository("config/samples").into_os_string();
    let samples = kubectl(control_plane, ["kustomize".into(), samples], "").await?;
    let samples = samples
        .replace("${EXTENSION_URL}", &extension.url())
        .replace("${EXTENSION_CA_BUNDLE}", &BASE64_STANDARD.encode(extension.ca_bundle()));
    let applied = kubectl(control_plane, ["apply", "-f", "-"].map(Into::into), &samples).await?;
    Ok(applied.lines().count())
}

/// Runs kubectl with this input and gives its output.
async fn kubectl<const N: usize>(
    control_plane: &ControlPlane,
    args: [std::ffi::OsString; N],
    input: &str,
) -> Result<String> {
    let mut command = control_plane.kubectl(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("failed to start kubectl")?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).await.context("failed to write to kubectl")?;
    }
    let output = child.wait_with_output().await.context("failed to run kubectl")?;
    if !output.status.success() {
        bail!("kubectl failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Looks at the objects until all are ready or the time is over, and prints how they are then.
async fn wait(client: &Client, timeout: Duration) -> Result<bool> {
    let started = Instant::now();
    loop {
        let seen = Seen::read(client).await?;
        let is_ready = seen.problems.is_empty();
        if is_ready || started.elapsed() >= timeout {
            println!("{}", seen.tables());
            println!("{}", verdict(&seen.problems, started.elapsed()));
            return Ok(is_ready);
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn verdict(problems: &[String], elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    if problems.is_empty() {
        format!("all ready {seconds:.1} s after the last one was applied\n")
    } else {
        let problems: Vec<_> = problems.iter().map(|problem| problem.replace('\n', "\n  ")).collect();
        format!("not ready after {seconds:.1} s:\n* {}\n", problems.join("\n* "))
    }
}

/// How all objects are at one time.
#[derive(Debug, Default)]
struct Seen {
    configs: Vec<[String; 3]>,
    classes: Vec<[String; 6]>,
    /// What keeps which object from being ready.
    problems: Vec<String>,
}

impl Seen {
    async fn read(client: &Client) -> Result<Self> {
        let mut seen = Self::default();
        let configs = Api::<ExtensionConfig>::all(client.clone()).list(&ListParams::default()).await;
        for config in configs.context("failed to list ExtensionConfigs")? {
            seen.add_config(&config);
        }
        let classes = Api::<ClusterClass>::all(client.clone()).list(&ListParams::default()).await;
        for class in classes.context("failed to list ClusterClasses")? {
            let owned = owned_templates(client, &class).await?;
            seen.add_class(&class, owned);
        }
        Ok(seen)
    }

    fn add_config(&mut self, config: &ExtensionConfig) {
        let name = config.name_any();
        let status = config.status.clone().unwrap_or_default();
        let judge = Judge { generation: config.metadata.generation, conditions: &status.conditions };
        self.judge(&format!("ExtensionConfig {name}"), &judge, &[types::DISCOVERED]);
        let handlers: Vec<_> = status
            .handlers
            .iter()
            .map(|handler| handler.name.split('.').next().unwrap_or_default().to_owned())
            .collect();
        self.configs.push([name, judge.status(types::DISCOVERED), handlers.join(" ")]);
    }

    fn add_class(&mut self, class: &ClusterClass, owned: usize) {
        let (namespace, name) = (class.namespace().unwrap_or_default(), class.name_any());
        let what = format!("ClusterClass {namespace}/{name}");
        let status = class.status.clone().unwrap_or_default();
        let judge = Judge { generation: class.metadata.generation, conditions: &status.conditions };
        self.judge(&what, &judge, &[types::VARIABLES_READY, types::REF_VERSIONS_UP_TO_DATE]);
        let templates = class.template_refs().len();
        if owned < templates {
            self.problems.push(format!("{what}: owns {owned} of its {templates} templates"));
        }
        self.classes.push([
            namespace,
            name,
            judge.status(types::VARIABLES_READY),
            judge.status(types::REF_VERSIONS_UP_TO_DATE),
            status.variables.len().to_string(),
            format!("{owned} of {templates}"),
        ]);
    }

    fn judge(&mut self, what: &str, judge: &Judge<'_>, wanted: &[&str]) {
        let problems = wanted.iter().filter_map(|type_| judge.problem(type_));
        self.problems.extend(problems.map(|problem| format!("{what}: {problem}")));
    }

    fn tables(&self) -> String {
        let configs = table(["EXTENSIONCONFIG", "DISCOVERED", "HANDLERS"], &self.configs);
        let heads = [
            "NAMESPACE",
            "CLUSTERCLASS",
            "VARIABLESREADY",
            "REFVERSIONSUPTODATE",
            "VARIABLES",
            "OWNED TEMPLATES",
        ];
        format!("{configs}\n{}", table(heads, &self.classes))
    }
}

/// The conditions of one object, which must be about its present generation.
struct Judge<'a> {
    generation: Option<i64>,
    conditions: &'a [Condition],
}

impl Judge<'_> {
    fn status(&self, type_: &str) -> String {
        conditions::get(self.conditions, type_).map_or("-", |condition| &condition.status).to_owned()
    }

    fn problem(&self, type_: &str) -> Option<String> {
        let Some(condition) = conditions::get(self.conditions, type_) else {
            return Some(format!("{type_} is not set"));
        };
        if condition.observed_generation != self.generation {
            return Some(format!("{type_} is about an earlier generation"));
        }
        let Condition { status, reason, message, .. } = condition;
        (status != "True").then(|| format!("{type_} is {status}: {reason}: {message}"))
    }
}

/// How many of its templates have the class as an owner.
async fn owned_templates(client: &Client, class: &ClusterClass) -> Result<usize> {
    let mut owned = 0;
    for reference in class.template_refs() {
        let TemplateRef { kind, name, .. } = &reference;
        let gvk = GroupVersionKind::gvk(reference.group(), reference.version(), kind);
        let resource = ApiResource::from_gvk(&gvk);
        let namespace = class.namespace().unwrap_or_default();
        let templates = Api::<DynamicObject>::namespaced_with(client.clone(), &namespace, &resource);
        let template = templates.get_metadata_opt(name).await;
        let template = template.with_context(|| format!("failed to read {kind} {namespace}/{name}"))?;
        let owners = template.map(|template| template.owner_references().to_vec()).unwrap_or_default();
        owned += usize::from(owners.iter().any(|owner| Some(&owner.uid) == class.metadata.uid.as_ref()));
    }
    Ok(owned)
}

/// The calls that the extension counted, and the writes that the manager did.
fn cost(extension: &TestExtension, metrics: &Metrics) -> String {
    let called = |(path, _): &(&str, usize)| {
        let [discovery, variables] =
            HOOKS.map(|hook| extension.calls(Target::hook_at(path, hook)).to_string());
        [(*path).to_owned(), discovery, variables]
    };
    let calls = table(["CALLS TO", "DISCOVERY", "DISCOVERVARIABLES"], &EXTENSIONS.each_ref().map(called));
    let metrics = metrics.render();
    let writes: Vec<_> = metrics.lines().filter(|line| line.starts_with("kapstan_writes_total")).collect();
    format!("{calls}\n{}\n", writes.join("\n"))
}

/// Columns as wide as their widest cell.
fn table<const N: usize>(heads: [&str; N], rows: &[[String; N]]) -> String {
    let heads = heads.map(str::to_owned);
    let lines = || std::iter::once(&heads).chain(rows);
    let width = |column: usize| lines().map(|line| line[column].len()).max().unwrap_or_default();
    let widths: [usize; N] = std::array::from_fn(width);
    let mut text = String::new();
    for line in lines() {
        let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("   ").trim_end());
        text.push('\n');
    }
    text
}

/// Says how to look at what runs, and waits for Ctrl-C.
async fn until_told_to_stop(control_plane: &ControlPlane) -> Result<()> {
    let assets = kapstan_envtest::assets()?;
    println!("Everything stays up until Ctrl-C. In another terminal:\n");
    println!(
        "  export KUBECONFIG={} PATH={}:$PATH\n",
        control_plane.kubeconfig().display(),
        assets.display()
    );
    println!("  kubectl get extensionconfigs,clusterclasses --all-namespaces");
    println!("  kubectl get clusterclass mixed --namespace sample-edge --output yaml");
    let settings = r#"'{"spec":{"settings":{"season":"winter"}}}'"#;
    println!("  kubectl patch extensionconfig sizing --type merge --patch {settings}");
    let mut terminate = signal(SignalKind::terminate()).context("failed to wait for signals")?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.context("failed to wait for Ctrl-C")?,
        _ = terminate.recv() => {}
    }
    Ok(())
}
