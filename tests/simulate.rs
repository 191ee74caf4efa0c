//! `kapstan simulate` as somebody runs it: what it counts on either API server and on either clock, and what it leaves
//! behind.

use std::{
    collections::BTreeSet,
    num::NonZeroUsize,
    process::{Output, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::{
    api::{coordination::v1::Lease, core::v1::Namespace},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kapstan::{
    crds,
    simulate::{self, Phase, Report, Size, Time},
};
use kapstan_api::{cluster_class::ClusterClass, extension_config::ExtensionConfig};
use kapstan_envtest::{ControlPlane, until};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, PostParams},
};
use rstest::rstest;
use serde_json::{Value, json};
use similar_asserts::assert_eq;
use tokio::process::{Child, Command};

/// How long anything may take that a test waits for.
const DEADLINE: Duration = Duration::from_mins(5);

/// `--extension-configs`, `--cluster-classes` and `--refs`.
#[derive(Clone, Copy)]
struct Scale(usize, usize, usize);

const A: Scale = Scale(20, 10, 2);
const B: Scale = Scale(100, 500, 4);

/// On the machine's clock: a busy machine must not make objects say that they wait, nor questions come again.
const PATIENT: [&str; 2] = ["--pending-after=1h", "--sync-period=0s"];

impl Scale {
    fn args(self) -> [String; 3] {
        let Self(configs, classes, refs) = self;
        [
            format!("--extension-configs={configs}"),
            format!("--cluster-classes={classes}"),
            format!("--refs={refs}"),
        ]
    }

    /// Every object is ready, each question was asked once, and nothing was done twice that once is enough for.
    fn assert_costs_little(self, report: &Value) {
        let Self(configs, classes, refs) = self;
        let sets = classes.div_ceil(10);
        let ready =
            json!({ "extensionConfigs": configs, "clusterClasses": classes, "templatesOwned": 4 * sets });
        assert_eq!(report["ready"], ready);
        let size = json!({
            "extensionConfigs": configs, "clusterClasses": classes, "templates": 4 * sets,
            "refs": refs, "templateSharing": 10, "variables": 10,
        });
        assert_eq!(report["size"], size);
        let settle = &report["settle"];
        assert_eq!(settle["calls"], json!({ "discovery": configs, "discoverVariables": configs }));
        assert_eq!(
            report["histogram"].as_array().into_iter().flatten().filter_map(Value::as_u64).sum::<u64>(),
            2 * configs as u64
        );
        let at_once = number(&settle["maxInFlight"]);
        assert!((1..=8).contains(&at_once), "{at_once} calls at once, where the manager allows 8");
        let evaluations = number(&settle["evaluations"]["clusterClass"]);
        assert!((classes..=2 * classes).contains(&evaluations), "{evaluations} evaluations of classes");
        assert_eq!(settle["writes"]["extensionConfig"], configs);
        assert_eq!(settle["writes"]["clusterClass"], classes);
        let templates = number(&settle["writes"]["template"]);
        assert!((4 * sets..=4 * sets * 3).contains(&templates), "{templates} writes to templates");
        assert_eq!(
            settle["lists"],
            json!({ "perWatch": 8, "extra": 0 }),
            "four watches, and one for each template kind"
        );
        let none = [&settle["conflicts"], &settle["events"], &settle["pending"]];
        assert_eq!(none, [0, 0, 0]);
    }
}

fn number(value: &Value) -> usize {
    value.as_u64().and_then(|number| number.try_into().ok()).unwrap_or(usize::MAX)
}

/// `kapstan simulate` with these flags.
fn command<S: AsRef<str>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kapstan"));
    command.arg("simulate").env_clear();
    for arg in args {
        command.arg(arg.as_ref());
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

async fn output<S: AsRef<str>>(args: impl IntoIterator<Item = S>) -> Result<Output> {
    tokio::time::timeout(DEADLINE, command(args).output()).await?.context("it does not run")
}

/// The report as it is printed, whatever the exit code.
async fn report_text(scale: Scale, args: &[&str]) -> Result<(String, Output)> {
    let scale = scale.args();
    let args = scale.iter().map(String::as_str).chain(args.iter().copied()).chain(["--output=json"]);
    let output = output(args).await?;
    Ok((String::from_utf8(output.stdout.clone())?, output))
}

/// The report of a simulation in which everything became ready.
async fn report(scale: Scale, args: &[&str]) -> Result<Value> {
    let (text, output) = report_text(scale, args).await?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_str(&text)?)
}

// ---- in this process ----

#[tokio::test]
async fn size_a_costs_little_on_the_embedded_server_and_the_same_on_either_clock() -> Result<()> {
    let real = report(A, &PATIENT).await?;
    A.assert_costs_little(&real);
    let virtual_ = report(A, &["--clock=virtual"]).await?;
    A.assert_costs_little(&virtual_);
    assert_eq!(determined(real), determined(virtual_));
    Ok(())
}

/// What does not depend on how fast things happen: calls come as objects do; a template is written again when more classes come after it has been
/// written, and an object is evaluated again when the watch shows a write before the answer to it is read.
fn determined(mut report: Value) -> Value {
    let settle = &mut report["settle"];
    settle["seconds"].take();
    settle["maxInFlight"].take();
    settle["evaluations"].take();
    settle["writes"]["template"].take();
    report["histogram"].take();
    report
}

#[rstest]
#[case::on_the_machines_clock(&PATIENT)]
#[case::on_the_virtual_clock(&["--clock=virtual"])]
#[tokio::test]
async fn size_b_costs_little_on_the_embedded_server(#[case] args: &[&str]) -> Result<()> {
    B.assert_costs_little(&report(B, args).await?);
    Ok(())
}

#[tokio::test]
async fn the_same_seed_gives_the_same_report_byte_for_byte() -> Result<()> {
    let scale = Scale(50, 60, 3);
    let args = ["--clock=virtual", "--seed=7"];
    let (first, _) = report_text(scale, &args).await?;
    scale.assert_costs_little(&serde_json::from_str(&first)?);
    let (second, _) = report_text(scale, &args).await?;
    assert_eq!(first, second);
    Ok(())
}

#[tokio::test]
async fn what_waits_longer_than_pending_after_costs_one_write_and_one_evaluation_more() -> Result<()> {
    let [quick, slow, patient] =
        [&["--latency=50ms"][..], &["--latency=6s"], &["--latency=6s", "--pending-after=60s"]];
    let virtual_ = |args: &[&'static str]| [args, &["--clock=virtual"]].concat();
    let quick = report(A, &virtual_(quick)).await?;
    let slow = report(A, &virtual_(slow)).await?;
    // Every object waits: each config for its own answer, which takes 6 s at least, and each class for some of them.
    let Scale(configs, classes, _) = A;
    assert_eq!(slow["settle"]["pending"], configs + classes);
    for what in ["evaluations", "writes"] {
        let [few, more] = [&quick, &slow].map(|report| report["settle"][what].clone());
        for (kind, objects) in [("extensionConfig", configs), ("clusterClass", classes), ("template", 0)] {
            assert_eq!(number(&more[kind]), number(&few[kind]) + objects, "{what} of {kind}");
        }
    }
    assert_eq!(slow["settle"]["calls"], quick["settle"]["calls"]);
    let patient = report(A, &virtual_(patient)).await?;
    A.assert_costs_little(&patient);
    Ok(())
}

#[test]
fn templates_that_all_classes_share_are_written_once_a_second_at_most() -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let size = Size {
        extension_configs: 20,
        cluster_classes: 200,
        refs: 2,
        template_sharing: NonZeroUsize::MAX,
        variables: 10,
    };
    let options = simulate::Options {
        size,
        latency: Duration::from_millis(50),
        sync_period: Duration::from_mins(10),
        pending_after: Duration::from_hours(1),
        phases: vec![Phase::Settle],
        time: Time::Real,
        seed: 1,
        server: simulate::Server::Embedded,
    };
    let Report { ready, settle, .. } = simulate::run(&options)?.report;
    assert_eq!((ready.cluster_classes, ready.templates_owned), (200, 4));
    let most = 4.0 * (2.0 + settle.seconds_of_creation);
    let writes = u32::try_from(settle.writes.template)?;
    assert!(writes >= 4 && f64::from(writes) <= most, "{writes} writes where {most} are allowed");
    assert_eq!(settle.conflicts, 0);
    Ok(())
}

#[tokio::test]
async fn a_simulation_without_extensions_or_without_classes_is_one() -> Result<()> {
    let no_extensions = report(Scale(0, 3, 0), &["--clock=virtual"]).await?;
    assert_eq!(
        no_extensions["ready"],
        json!({ "extensionConfigs": 0, "clusterClasses": 3, "templatesOwned": 4 })
    );
    assert_eq!(no_extensions["histogram"], json!([]));
    let no_classes = report(Scale(3, 0, 0), &["--clock=virtual"]).await?;
    assert_eq!(
        no_classes["ready"],
        json!({ "extensionConfigs": 3, "clusterClasses": 0, "templatesOwned": 0 })
    );
    assert_eq!(no_classes["settle"]["calls"], json!({ "discovery": 3, "discoverVariables": 0 }));
    Ok(())
}

#[tokio::test]
async fn what_does_not_become_ready_is_named_with_its_reason_after_the_report() -> Result<()> {
    let (text, output) = report_text(Scale(2, 1, 1), &["--clock=virtual", "--latency=11s"]).await?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report: Value = serde_json::from_str(&text)?;
    assert_eq!(report["ready"], json!({ "extensionConfigs": 0, "clusterClasses": 0, "templatesOwned": 4 }));
    assert!(report["settle"]["seconds"].as_f64().is_some_and(|seconds| seconds > 60.0), "{text}");
    let stderr = String::from_utf8(output.stderr)?;
    let (_, said) = stderr.split_once("kapstan: not everything became ready:\n").context("it says so")?;
    assert!(said.starts_with("ExtensionConfig ext-0: Discovered: NotDiscovered: "), "{said}");
    assert!(said.contains("gave up after 10s"), "{said}");
    assert!(said.contains("\nClusterClass class-0: VariablesReady: VariableDiscoveryFailed: "), "{said}");
    Ok(())
}

#[tokio::test]
async fn the_report_has_these_keys_and_no_others() -> Result<()> {
    let report = report(Scale(1, 1, 1), &["--clock=virtual"]).await?;
    let mut keys = BTreeSet::new();
    gather_keys(&report, "", &mut keys);
    let expected = "histogram ready ready.clusterClasses ready.extensionConfigs ready.templatesOwned \
        settle settle.calls settle.calls.discoverVariables settle.calls.discovery settle.conflicts \
        settle.evaluations settle.evaluations.clusterClass settle.evaluations.extensionConfig \
        settle.evaluations.template settle.events settle.lists settle.lists.extra settle.lists.perWatch \
        settle.maxInFlight settle.pending settle.seconds \
        settle.writes settle.writes.clusterClass settle.writes.extensionConfig settle.writes.template \
        size size.clusterClasses size.extensionConfigs size.refs size.templateSharing size.templates size.variables";
    assert_eq!(keys, expected.split_whitespace().map(str::to_owned).collect());
    Ok(())
}

fn gather_keys(value: &Value, at: &str, keys: &mut BTreeSet<String>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let key = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
        gather_keys(value, &key, keys);
        keys.insert(key);
    }
}

#[tokio::test]
async fn the_table_shows_what_the_report_has() -> Result<()> {
    let output = output(["--clock=virtual"]).await?;
    let expected = "                    ExtensionConfig    ClusterClass        Template
ready                      20 of 20        10 of 10          4 of 4
evaluations                      40              10               8
writes                           20              10               4

settled            in 0.3 s, of which 0.0 s to create
calls              20 Discovery, 20 DiscoverVariables, 8 at once at most
lists              8 to begin a watch, 0 more
conflicts          0
events             0
pending            0
calls each second  40
";
    assert_eq!(String::from_utf8(output.stdout)?, expected);
    Ok(())
}

// ---- flags ----

#[rstest]
#[case::more_refs_than_extensions(&["--extension-configs=1", "--refs=2"], "a class cannot refer to 2 ExtensionConfigs where there are 1")]
#[case::refs_without_extensions(&["--extension-configs=0"], "a class cannot refer to 2 ExtensionConfigs where there are 0")]
#[case::shared_by_none(&["--template-sharing=0"], "'0' for '--template-sharing")]
#[case::too_many_extensions(&["--extension-configs=10001"], "'10001' for '--extension-configs")]
#[case::too_many_classes(&["--cluster-classes=100000000000000000000000"], "for '--cluster-classes")]
#[case::too_many_variables(&["--variables=1001"], "'1001' for '--variables")]
#[case::negative(&["--cluster-classes=-1"], "'-1' for '--cluster-classes")]
#[case::bad_latency(&["--latency=soon"], "'soon' for '--latency")]
#[case::negative_latency(&["--latency=-5s"], "'-5s' for '--latency")]
#[case::endless_latency(&["--latency=25h"], "'25h' for '--latency")]
#[case::restless(&["--sync-period=1ms"], "'1ms' for '--sync-period")]
#[case::unknown_phase(&["--phases=settle,dance"], "'dance' for '--phases")]
#[case::a_phase_twice(&["--phases=settle,settle"], "the phases must begin with settle")]
#[case::unknown_clock(&["--clock=sundial"], "'sundial' for '--clock")]
#[case::virtual_clock_of_a_cluster(&["--clock=virtual", "--server=/nowhere"], "the virtual clock goes with the embedded server only")]
#[case::unknown_output(&["--output=xml"], "'xml' for '--output")]
#[tokio::test]
async fn flags_that_cannot_be_are_named_with_exit_code_2(
    #[case] args: &[&str],
    #[case] says: &str,
) -> Result<()> {
    let output = output(args).await?;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let text = String::from_utf8(output.stderr)?;
    assert!(text.starts_with("error: ") && text.contains(says), "{text}");
    assert!(output.stdout.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_kubeconfig_that_is_not_there_is_named() -> Result<()> {
    assert_refused(&["--server=/nowhere/kubeconfig"], "failed to read kubeconfig /nowhere/kubeconfig").await
}

async fn assert_refused(args: &[&str], says: &str) -> Result<()> {
    let output = output(args).await?;
    let text = String::from_utf8(output.stderr)?;
    assert!(text.starts_with("kapstan: ") && text.contains(says), "{text}");
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(1), true));
    Ok(())
}

// ---- in a cluster ----

#[tokio::test(flavor = "multi_thread")]
async fn size_a_costs_little_in_a_cluster_which_is_left_as_it_was() -> Result<()> {
    let cluster = Cluster::start().await?;
    let before = cluster.contents().await?;
    A.assert_costs_little(&cluster.report(A).await?);
    cluster.assert_is(&before).await?;
    cluster.an_interrupt_leaves_nothing_behind(&before).await?;
    cluster.a_failure_leaves_nothing_behind(&before).await?;
    cluster.one_that_upstream_manages_is_refused().await?;
    cluster.one_that_is_in_use_is_refused().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes a minute; its figures are in docs/performance.md"]
async fn size_b_costs_little_in_a_cluster() -> Result<()> {
    let cluster = Cluster::start().await?;
    B.assert_costs_little(&cluster.report(B).await?);
    Ok(())
}

struct Cluster {
    _plane: ControlPlane,
    client: Client,
    /// `--server`.
    flag: String,
}

impl Cluster {
    async fn start() -> Result<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let plane = ControlPlane::builder().start().await?;
        let (client, flag) = (plane.client()?, format!("--server={}", plane.kubeconfig().display()));
        Ok(Self { _plane: plane, client, flag })
    }

    async fn report(&self, scale: Scale) -> Result<Value> {
        let [pending, sync] = PATIENT;
        report(scale, &[&self.flag, pending, sync]).await
    }

    /// The names of the CRDs, and of the namespaces that are not going away: nobody empties those in this cluster.
    async fn contents(&self) -> Result<(BTreeSet<String>, BTreeSet<String>)> {
        let all = ListParams::default();
        let namespaces = Api::<Namespace>::all(self.client.clone()).list(&all).await?;
        let staying = namespaces.iter().filter(|namespace| namespace.metadata.deletion_timestamp.is_none());
        let crds = self.crds().list(&all).await?;
        Ok((crds.iter().map(ResourceExt::name_any).collect(), staying.map(ResourceExt::name_any).collect()))
    }

    async fn assert_is(&self, before: &(BTreeSet<String>, BTreeSet<String>)) -> Result<()> {
        assert_eq!(&self.contents().await?, before);
        Ok(())
    }

    fn crds(&self) -> Api<CustomResourceDefinition> {
        Api::all(self.client.clone())
    }

    async fn an_interrupt_leaves_nothing_behind(
        &self,
        before: &(BTreeSet<String>, BTreeSet<String>),
    ) -> Result<()> {
        let args = B.args();
        // An answer takes an hour, so that it is not over before it is interrupted.
        let running =
            command(args.iter().map(String::as_str).chain([&*self.flag, "--latency=1h"])).spawn()?;
        let classes: Api<ClusterClass> = Api::all(self.client.clone());
        let one = ListParams::default().limit(1);
        until(DEADLINE, "a class", async || {
            Ok(classes.list(&one).await.ok().filter(|list| !list.items.is_empty()))
        })
        .await?;
        interrupt(&running).await?;
        let output = tokio::time::timeout(DEADLINE, running.wait_with_output()).await??;
        let text = String::from_utf8(output.stderr)?;
        assert!(text.ends_with("kapstan: interrupted\n"), "{text}");
        assert_eq!(output.status.code(), Some(1));
        self.assert_is(before).await
    }

    /// Templates of a kind that the cluster has already, and which refuses those of a simulation.
    async fn a_failure_leaves_nothing_behind(
        &self,
        before: &(BTreeSet<String>, BTreeSet<String>),
    ) -> Result<()> {
        let crd = crds::TEMPLATES.iter().find(|crd| crd.file.ends_with("devclustertemplates.yaml"));
        let mut crd: Value = serde_saphyr::from_str(crd.context("a CRD")?.yaml)?;
        for version in crd["spec"]["versions"].as_array_mut().into_iter().flatten() {
            version["schema"]["openAPIV3Schema"]["required"] = json!(["anchor"]);
            version["schema"]["openAPIV3Schema"]["properties"]["anchor"] = json!({ "type": "string" });
        }
        let crd: CustomResourceDefinition = serde_json::from_value(crd)?;
        let name = crd.name_any();
        self.crds().create(&PostParams::default(), &crd).await?;
        let says = "failed to create DevClusterTemplate set-0: ";
        assert_refused_late(&[&self.flag], says).await?;
        let mut expected = before.clone();
        expected.0.insert(name.clone());
        self.assert_is(&expected).await?;
        self.crds().delete(&name, &DeleteParams::default()).await?;
        Ok(())
    }

    async fn one_that_upstream_manages_is_refused(&self) -> Result<()> {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), "default");
        let now = jiff::Timestamp::now();
        let lease: Lease = serde_json::from_value(json!({
            "metadata": { "name": "controller-leader-election-capi" },
            "spec": { "holderIdentity": "capi-0", "leaseDurationSeconds": 3600, "renewTime": format!("{now:.6}") },
        }))?;
        leases.create(&PostParams::default(), &lease).await?;
        assert_refused(&[&self.flag], "capi-0 holds the Lease default/controller-leader-election-capi")
            .await?;
        leases.delete(&lease.name_any(), &DeleteParams::default()).await?;
        Ok(())
    }

    async fn one_that_is_in_use_is_refused(&self) -> Result<()> {
        for crd in crds::OWN {
            let crd: CustomResourceDefinition = serde_saphyr::from_str(crd.yaml)?;
            self.crds().create(&PostParams::default(), &crd).await?;
        }
        let config: ExtensionConfig = serde_json::from_value(json!({
            "metadata": { "name": "mine" }, "spec": { "clientConfig": { "url": "https://ext.test" } },
        }))?;
        let configs: Api<ExtensionConfig> = Api::all(self.client.clone());
        until(DEADLINE, "the kind", async || Ok(configs.create(&PostParams::default(), &config).await.ok()))
            .await?;
        let before = self.contents().await?;
        assert_refused(&[&self.flag], "there are ExtensionConfigs in this cluster already (mine)").await?;
        self.assert_is(&before).await?;
        assert_eq!(configs.get("mine").await?.labels().len(), 0);
        Ok(())
    }
}

/// As [`assert_refused`], after something has been logged.
async fn assert_refused_late(args: &[&str], says: &str) -> Result<()> {
    let output = output(args).await?;
    let text = String::from_utf8(output.stderr)?;
    let last = text.lines().last().unwrap_or_default();
    assert!(last.starts_with("kapstan: ") && last.contains(says), "{text}");
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(1), true));
    Ok(())
}

/// As Ctrl-C does.
async fn interrupt(child: &Child) -> Result<()> {
    let id = child.id().context("it runs")?.to_string();
    let killed = Command::new("kill").args(["-INT", &id]).status().await?;
    ensure!(killed.success(), "kill: {killed}");
    Ok(())
}
