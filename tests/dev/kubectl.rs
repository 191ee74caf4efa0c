//! kubectl, unmodified, against `kapstan dev`: every verb that somebody would try, from the binary that they have.

use std::{path::PathBuf, process::Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use kapstan_envtest::until;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
};

use crate::process::{DEADLINE, Kapstan, Running};

/// An ExtensionConfig of the test's own. Its extension is not there.
const EXTENSION: &str = "
apiVersion: runtime.cluster.x-k8s.io/v1beta2
kind: ExtensionConfig
metadata:
  name: absent
spec:
  clientConfig:
    url: https://127.0.0.1:1/absent
  settings:
    season: winter
";

/// A command line; its exit code, 1 for a refusal and for a difference; and what stands somewhere in what it says.
struct Step {
    line: &'static str,
    code: i32,
    says: &'static [&'static str],
}

const fn ok(line: &'static str, says: &'static [&'static str]) -> Step {
    Step { line, code: 0, says }
}

const fn no(line: &'static str, says: &'static [&'static str]) -> Step {
    Step { line, code: 1, says }
}

const FILES: &[(&str, &str)] = &[
    ("absent.yaml", EXTENSION),
    ("team.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: team}}\n"),
    (
        "map.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: map, namespace: team}, data: {a: '1'}}\n",
    ),
    (
        "taken.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: map, namespace: team}, data: {a: '2'}}\n",
    ),
    (
        "mine.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, namespace: team}, data: {a: '1'}}\n",
    ),
    (
        "theirs.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, namespace: team}, data: {a: '2'}}\n",
    ),
    (
        "service.yaml",
        "{apiVersion: v1, kind: Service, metadata: {name: front, namespace: team}, spec: {ports: [{name: plain, port: 80}]}}\n",
    ),
    (
        "wrong.yaml",
        "{apiVersion: runtime.cluster.x-k8s.io/v1beta2, kind: ExtensionConfig, metadata: {name: wrong}, spec: {clientConfig: {url: ''}}}\n",
    ),
    ("unknown.yaml", "{apiVersion: example.com/v1, kind: Gizmo, metadata: {name: g}}\n"),
];

/// In this order: later steps use what earlier ones made.
const STEPS: &[Step] = &[
    ok(
        "api-resources --api-group=runtime.cluster.x-k8s.io",
        &["extensionconfigs   ext          runtime.cluster.x-k8s.io/v1beta2   false        ExtensionConfig"],
    ),
    ok("api-resources", &["clusterclasses", "configmaps", "clusterrolebindings", "devclustertemplates"]),
    ok(
        "explain extensionconfig.spec.clientConfig",
        &["KIND:       ExtensionConfig", "caBundle\t<string>", "url\t<string>"],
    ),
    ok("explain configmap.data", &["FIELD: data <map[string]string>"]),
    ok(
        "wait extensionconfigs --all --for=condition=Discovered",
        &["images condition met", "sizing condition met"],
    ),
    ok(
        "wait clusterclasses -A --all --for=condition=VariablesReady",
        &["external condition met", "mixed condition met"],
    ),
    ok(
        "get extensionconfigs",
        &["NAME     DISCOVERED   AGE\nimages   True", "sites    True", "sizing   True"],
    ),
    ok("get extensionconfigs -o wide", &["NAME     PAUSED   DISCOVERED   AGE"]),
    ok(
        "get clusterclasses -A",
        &["NAMESPACE     NAME       ", "sample-core   external   ", "sample-edge   mixed      "],
    ),
    ok("get extensionconfig images -o yaml", &["kind: ExtensionConfig", "type: Discovered", "caBundle: "]),
    ok(
        "get cc external -n sample-core -o json",
        &["\"kind\": \"ClusterClass\"", "\"type\": \"VariablesReady\""],
    ),
    ok(
        "get ext -o name --field-selector metadata.name=sites",
        &["extensionconfig.runtime.cluster.x-k8s.io/sites\n"],
    ),
    ok(
        "describe extensionconfig sizing",
        &["Kind:         ExtensionConfig", "Type:                  Discovered"],
    ),
    ok("describe clusterclass inline -n sample-core", &["Status:", "VariablesReady", "kubeadmVerbosity"]),
    // apply on the client's side
    ok("apply -f absent.yaml", &["extensionconfig.runtime.cluster.x-k8s.io/absent created\n"]),
    ok("apply -f absent.yaml", &["extensionconfig.runtime.cluster.x-k8s.io/absent unchanged\n"]),
    ok("apply -f team.yaml -f map.yaml", &["namespace/team created\nconfigmap/map created\n"]),
    no("diff -f taken.yaml", &["-  a: \"1\"\n+  a: \"2\"\n"]),
    ok("diff -f map.yaml", &[]),
    ok("apply -f taken.yaml --dry-run=server", &["configmap/map configured (server dry run)\n"]),
    ok("get configmap map -n team -o jsonpath={.data.a}", &["1"]),
    no(
        "apply -f wrong.yaml",
        &["The ExtensionConfig \"wrong\" is invalid: spec.clientConfig.url: Invalid value: \"\": "],
    ),
    no(
        "apply -f unknown.yaml",
        &["no matches for kind \"Gizmo\" in version \"example.com/v1\"\nensure CRDs are installed first"],
    ),
    // apply on the server's side
    ok("apply --server-side --field-manager=one -f mine.yaml", &["configmap/mine serverside-applied\n"]),
    no("apply --server-side --field-manager=two -f theirs.yaml", &["conflict with \"one\": .data.a"]),
    ok("get configmap mine -n team -o jsonpath={.data.a}", &["1"]),
    ok(
        "apply --server-side --field-manager=two -f theirs.yaml --force-conflicts",
        &["configmap/mine serverside-applied\n"],
    ),
    ok("get configmap mine -n team -o jsonpath={.data.a}", &["2"]),
    ok("get configmap mine -n team -o jsonpath={.metadata.managedFields[*].manager}", &["two"]),
    // change in place
    ok(
        "label extensionconfig absent tier=gold",
        &["extensionconfig.runtime.cluster.x-k8s.io/absent labeled\n"],
    ),
    ok("get extensionconfigs -l tier=gold --show-labels", &["tier=gold\n"]),
    ok(
        "annotate extensionconfig absent example.com/note=hello",
        &["extensionconfig.runtime.cluster.x-k8s.io/absent annotated\n"],
    ),
    ok(
        "patch extensionconfig absent --type=merge -p {\"spec\":{\"settings\":{\"season\":\"summer\"}}}",
        &["extensionconfig.runtime.cluster.x-k8s.io/absent patched\n"],
    ),
    ok(
        "patch extensionconfig absent --type=json -p [{\"op\":\"add\",\"path\":\"/spec/settings/day\",\"value\":\"monday\"}]",
        &["extensionconfig.runtime.cluster.x-k8s.io/absent patched\n"],
    ),
    ok("patch configmap map -n team -p {\"data\":{\"b\":\"3\"}}", &["configmap/map patched\n"]),
    ok("get configmap map -n team -o jsonpath={.data}", &["{\"a\":\"1\",\"b\":\"3\"}"]),
    // a strategic patch merges lists by their keys
    ok("apply -f service.yaml", &["service/front created\n"]),
    ok(
        "patch service front -n team -p {\"spec\":{\"ports\":[{\"port\":443,\"name\":\"secure\"}]}}",
        &["service/front patched\n"],
    ),
    ok("get service front -n team -o jsonpath={.spec.ports[*].port}", &["443 80"]),
    ok("edit extensionconfig absent", &["extensionconfig.runtime.cluster.x-k8s.io/absent edited\n"]),
    ok(
        "get extensionconfig absent -o jsonpath={.spec.settings}",
        &["{\"day\":\"monday\",\"season\":\"autumn\"}"],
    ),
    // and away with it
    ok("delete extensionconfig absent", &["\"absent\" deleted"]),
    no("get extensionconfig absent", &["Error from server (NotFound)", "\"absent\" not found"]),
    ok("delete namespace team", &["namespace \"team\" deleted"]),
    no("get namespace team", &["namespaces \"team\" not found"]),
    no("get --raw /api/v1/namespaces/team/configmaps/map", &["configmaps \"map\" not found"]),
];

#[tokio::test]
async fn kubectl_does_all_that_it_does_elsewhere() -> Result<()> {
    let Some(site) = Site::open(&[]).await? else { return Ok(()) };
    for Step { line, code, says } in STEPS {
        let (status, said) = site.run(line).await?;
        let missing: Vec<_> = says.iter().filter(|text| !said.contains(**text)).collect();
        ensure!(
            status == Some(*code) && missing.is_empty(),
            "kubectl {line}: ended with {status:?} instead of {code}, does not say {missing:?}:\n{said}"
        );
    }
    site.close().await
}

#[tokio::test]
async fn settings_that_kubectl_changes_lead_to_a_discovery_and_to_other_variables() -> Result<()> {
    let Some(site) = Site::open(&[]).await? else { return Ok(()) };
    let before = site.json("get clusterclass external -n sample-core -o json").await?;
    let patch = r#"{"spec":{"settings":{"variablePrefix":"picture-"}}}"#;
    site.run(&format!("patch extensionconfig images --type=merge -p {patch}")).await?;
    let generation = site.json("get extensionconfig images -o json").await?["metadata"]["generation"].clone();
    let discovered = until(DEADLINE, "the new generation to be discovered", async || {
        let config = site.json("get extensionconfig images -o json").await?;
        let conditions = config["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let discovered = conditions.into_iter().find(|condition| condition["type"] == "Discovered");
        Ok(discovered.filter(|condition| condition["observedGeneration"] == generation))
    })
    .await?;
    assert_eq!(discovered["status"], "True");
    let names = |class: &Value| -> Vec<_> {
        let variables = class["status"]["variables"].as_array().cloned().unwrap_or_default();
        variables.iter().map(|variable| variable["name"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert!(names(&before).contains(&"image-variable-0".to_owned()), "{before}");
    let after = until(DEADLINE, "the class to have the other variables", async || {
        let names = names(&site.json("get clusterclass external -n sample-core -o json").await?);
        Ok(names.contains(&"picture-variable-0".to_owned()).then_some(names))
    })
    .await?;
    assert_eq!(after.len(), 7);
    assert!(!after.contains(&"image-variable-0".to_owned()), "{after:?}");
    site.close().await
}

#[tokio::test]
async fn kubectl_watches_what_changes() -> Result<()> {
    let Some(site) = Site::open(&["-f", "team.yaml"]).await? else { return Ok(()) };
    let mut watch = site.kubectl("get configmaps -n team -w --output-watch-events --no-headers");
    let mut watch = watch.stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(watch.stdout.take().context("its output is piped")?).lines();
    // Whether the watch has begun is known only by what it shows, so each thing is done when the one before was seen.
    let mut seen = Vec::new();
    site.run("create configmap first -n team").await?;
    let steps = [
        ("ADDED first", Some("label configmap first -n team a=b")),
        ("MODIFIED first", Some("delete configmap first -n team")),
        ("DELETED first", None),
    ];
    let watching = async {
        for (wanted, next) in steps {
            loop {
                let Some(line) = lines.next_line().await? else { bail!("the watch ended after {seen:?}") };
                let event = line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
                seen.push(event.clone());
                if event == wanted {
                    break;
                }
            }
            if let Some(next) = next {
                site.run(next).await?;
            }
        }
        Ok(())
    };
    tokio::time::timeout(DEADLINE, watching).await.context("the watch does not show everything")??;
    watch.kill().await?;
    assert_eq!(seen, ["ADDED first", "MODIFIED first", "DELETED first"]);
    site.close().await
}

#[tokio::test]
async fn kubectl_takes_the_crds_that_are_printed() -> Result<()> {
    let Some(site) = Site::open(&["--server-only"]).await? else { return Ok(()) };
    let crds = Kapstan::new(&["crds"])?.end().await?.stdout;
    std::fs::write(site.dev.folder().join("crds.yaml"), crds)?;
    let (code, said) = site.run("apply --server-side --force-conflicts -f crds.yaml").await?;
    let says = "customresourcedefinition.apiextensions.k8s.io/clusterclasses.cluster.x-k8s.io serverside-applied\n\
                customresourcedefinition.apiextensions.k8s.io/extensionconfigs.runtime.cluster.x-k8s.io serverside-applied\n";
    assert_eq!((code, said.as_str()), (Some(0), says));
    site.close().await
}

/// Where kubectl is. Nowhere is a failure where everything has to run (`CI=true`), and a word elsewhere.
async fn kubectl() -> Result<Option<PathBuf>> {
    let assets = tokio::task::spawn_blocking(kapstan_envtest::assets).await?;
    let found = assets.map(|assets| assets.join("kubectl")).and_then(|path| {
        ensure!(path.is_file(), "{} is missing", path.display());
        Ok(path)
    });
    match found {
        Err(error) if std::env::var("CI").as_deref() != Ok("true") => {
            eprintln!("skipped, since there is no kubectl: {error:#}");
            Ok(None)
        }
        found => found.map(Some).context("kubectl is needed where CI=true"),
    }
}

/// `kapstan dev`, and a kubectl that is led to it.
struct Site {
    dev: Running,
    kubectl: PathBuf,
    kubeconfig: PathBuf,
}

impl Site {
    /// Unset when there is no kubectl.
    async fn open(args: &[&str]) -> Result<Option<Self>> {
        let Some(kubectl) = kubectl().await? else { return Ok(None) };
        let mut dev = Kapstan::dev(args)?;
        for (name, content) in FILES {
            dev = dev.file(name, content)?;
        }
        let mut dev = dev.spawn()?;
        let kubeconfig = dev.kubeconfig().await?;
        Ok(Some(Self { dev, kubectl, kubeconfig }))
    }

    fn kubectl(&self, line: &str) -> Command {
        let mut command = Command::new(&self.kubectl);
        command
            .args(line.split_whitespace())
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", self.dev.folder().join("cache"))
            .env("KUBE_EDITOR", "sed -i s/summer/autumn/")
            .current_dir(self.dev.folder())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Its exit code, and all that it says.
    async fn run(&self, line: &str) -> Result<(Option<i32>, String)> {
        let output = tokio::time::timeout(DEADLINE, self.kubectl(line).output()).await;
        let output = output.with_context(|| format!("kubectl {line} takes too long"))??;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((output.status.code(), text(&output.stdout) + &text(&output.stderr)))
    }

    async fn json(&self, line: &str) -> Result<Value> {
        let (_, said) = self.run(line).await?;
        serde_json::from_str(&said).with_context(|| format!("kubectl {line}: {said}"))
    }

    async fn close(self) -> Result<()> {
        self.dev.signal("INT").await?;
        ensure!(self.dev.end().await? == Some(0), "it did not end well");
        Ok(())
    }
}
