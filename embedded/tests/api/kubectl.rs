//! The same kubectl commands on both servers, and the same words from it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result};
use kapstan_embedded::{Listener, Server};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

/// A kubectl that talks to one server.
struct Kubectl {
    name: &'static str,
    binary: PathBuf,
    kubeconfig: PathBuf,
    folder: TempDir,
    namespace: &'static str,
    _listener: Option<Listener>,
}

impl Kubectl {
    async fn both(namespace: &'static str) -> Result<[Self; 2]> {
        let binary = tokio::task::spawn_blocking(kapstan_envtest::assets).await??.join("kubectl");
        let folder = tempfile::tempdir()?;
        let listener = Server::builder().start().listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, listener.kubeconfig())?;
        let embedded = Self {
            name: "embedded",
            binary: binary.clone(),
            kubeconfig,
            folder,
            namespace,
            _listener: Some(listener),
        };
        let real = kapstan_envtest::shared().await?;
        let real = Self {
            name: "real",
            binary,
            kubeconfig: real.kubeconfig().to_owned(),
            folder: tempfile::tempdir()?,
            namespace,
            _listener: None,
        };
        for kubectl in [&embedded, &real] {
            for (name, content) in FILES {
                std::fs::write(kubectl.folder.path().join(name), content)?;
            }
        }
        Ok([embedded, real])
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(words(line))
            .args(["--namespace", self.namespace])
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", self.folder.path().join("cache"))
            .env("KUBE_EDITOR", "sed -i s/size:.2/size:\\ 9/")
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// What kubectl says, and whether it is content.
    async fn run(&self, line: &str) -> Result<String> {
        let output = tokio::time::timeout(Duration::from_mins(1), self.command(line).output());
        let output = output.await.with_context(|| format!("{}: {line} takes too long", self.name))??;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        Ok(format!("exit {}\n{}", output.status.code().unwrap_or(-1), plain(&said)))
    }
}

/// The words of a command line; quotes keep what belongs together.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    parts
        .flat_map(|(index, part)| {
            if index % 2 == 1 {
                vec![part.to_owned()]
            } else {
                part.split_whitespace().map(str::to_owned).collect()
            }
        })
        .collect()
}

/// Without what is different on every run.
fn plain(said: &str) -> String {
    let is_own = |line: &&str| {
        let line = line.trim_start();
        let own = [
            "uid:",
            "UID:",
            "resourceVersion:",
            "\"resourceVersion\"",
            "\"uid\"",
            "\"creationTimestamp\"",
            "Resource Version:",
            "creationTimestamp:",
            "Creation Timestamp:",
            "time:",
            "Time:",
            "Last Transition Time:",
            "lastTransitionTime:",
        ];
        !own.iter().any(|name| line.trim_start_matches(['-', '+', ' ']).starts_with(name))
            && !line.starts_with("diff -")
            && !line.starts_with("--- ")
            && !line.starts_with("+++ ")
    };
    let lines = said.lines().filter(is_own).map(|line| {
        let words = line.split(' ').map(|word| if is_age(word) { "<age>" } else { word });
        words.collect::<Vec<_>>().join(" ").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn is_age(word: &str) -> bool {
    let is_unit = |character: char| matches!(character, 's' | 'm' | 'h');
    word.ends_with(is_unit)
        && word.len() > 1
        && word.chars().all(|character| character.is_ascii_digit() || is_unit(character))
}

const FILES: &[(&str, &str)] = &[
    ("crd.yaml", include_str!("data/gadgets.yaml")),
    (
        "objects.yaml",
        "{apiVersion: kubectl.example.com/v1, kind: Gadget, metadata: {name: g}, spec: {size: 2}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}\n",
    ),
    (
        "changed.yaml",
        "{apiVersion: kubectl.example.com/v1, kind: Gadget, metadata: {name: g}, spec: {size: 3, tags: [x]}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: c}}\n",
    ),
    ("owned.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: o}, data: {a: b}}\n"),
    ("taken.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: o}, data: {a: c}}\n"),
    (
        "invalid.yaml",
        "{apiVersion: kubectl.example.com/v1, kind: Gadget, metadata: {name: h}, spec: {size: 0}}\n",
    ),
    (
        "unknown.yaml",
        "{apiVersion: kubectl.example.com/v1, kind: Gadget, metadata: {name: h}, spec: {sise: 1}}\n",
    ),
    ("absent.yaml", "{apiVersion: kubectl.example.com/v1, kind: Gizmo, metadata: {name: h}}\n"),
];

async fn compare(kubectls: &[Kubectl; 2], lines: &[&str]) -> Result<()> {
    let mut differences = Vec::new();
    for line in lines {
        let [embedded, real] = [kubectls[0].run(line).await?, kubectls[1].run(line).await?];
        if embedded != real {
            let diff =
                similar_asserts::SimpleDiff::from_str(&embedded, &real, "embedded", "real").to_string();
            differences.push(format!("# kubectl {line}\n{diff}"));
        }
    }
    anyhow::ensure!(
        differences.is_empty(),
        "{} of {} differ\n{}",
        differences.len(),
        lines.len(),
        differences.join("\n")
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_says_the_same_about_both_servers() -> Result<()> {
    let kubectls = Kubectl::both("kubectl-a").await?;
    compare(
        &kubectls,
        &[
            "apply -f crd.yaml",
            "wait --for=condition=Established crd/gadgets.kubectl.example.com --timeout=30s",
            "create namespace kubectl-a",
            "apply -f objects.yaml",
            "apply -f objects.yaml",
            "diff -f objects.yaml",
            "diff -f changed.yaml",
            "apply -f changed.yaml",
            "get gadgets,configmaps",
            "get gdg g -o wide",
            "get gadget g -o yaml",
            "get configmap c -o json",
            "get gadgets --show-labels -l a=b",
            "describe gadget g",
            "describe configmap c",
            "label gadget g a=b",
            "get gadgets --show-labels -l a=b",
            "annotate configmap c x=y",
            "patch gadget g --type=merge -p '{\"spec\":{\"size\":2}}'",
            "patch gadget g --type=json -p '[{\"op\":\"remove\",\"path\":\"/spec/tags\"}]'",
            "patch configmap c -p '{\"data\":{\"z\":\"1\"}}'",
            "patch gadget g --subresource=status --type=merge -p '{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}'",
            "wait --for=condition=Ready gadget/g --timeout=30s",
            "wait --for=jsonpath={.spec.size}=2 gadget/g --timeout=30s",
            "edit gadget g",
            "get gadget g -o jsonpath={.spec.size}",
            "explain gadget",
            "explain gadget.spec --recursive",
            "explain configmap.metadata.ownerReferences",
            "apply -f invalid.yaml",
            "apply -f unknown.yaml",
            "apply -f unknown.yaml --validate=ignore",
            "apply -f absent.yaml",
            "apply -f objects.yaml --dry-run=server",
            "get gadget nope",
            "get nopes",
            "delete -f objects.yaml",
            "get gadgets,configmaps -l '!nope'",
            "create configmap later --from-literal=a=b",
            "create secret generic later --from-literal=a=b",
            "create serviceaccount later",
            "get secret later -o yaml",
            "delete namespace kubectl-a",
            "get namespace kubectl-a",
            "delete crd gadgets.kubectl.example.com",
            "get gadgets",
        ],
    )
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_applies_on_the_side_of_both_servers() -> Result<()> {
    let kubectls = Kubectl::both("default").await?;
    compare(
        &kubectls,
        &[
            "apply --server-side -f owned.yaml --field-manager=one",
            "apply --server-side -f owned.yaml --field-manager=one",
            "apply --server-side -f taken.yaml --field-manager=two",
            "apply --server-side -f taken.yaml --field-manager=two --force-conflicts",
            "get configmap o -o yaml --show-managed-fields",
            "apply --server-side -f owned.yaml --dry-run=server --force-conflicts",
            "diff --server-side -f taken.yaml",
            "delete configmap o",
        ],
    )
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_watches_both_servers() -> Result<()> {
    for kubectl in &Kubectl::both("default").await? {
        kubectl.run("apply -f owned.yaml").await?;
        let mut watch = kubectl
            .command("get configmap o -w --output-watch-events --no-headers")
            .stdout(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(watch.stdout.take().context("its output is piped")?).lines();
        let mut next = async || {
            let line = tokio::time::timeout(Duration::from_secs(30), lines.next_line()).await??;
            let line = line.context("a watch goes on")?;
            Ok::<_, anyhow::Error>(line.split_whitespace().take(3).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(next().await?, "ADDED o 1", "{}", kubectl.name);
        kubectl.run("label configmap o a=b").await?;
        assert_eq!(next().await?, "MODIFIED o 1", "{}", kubectl.name);
        kubectl.run("delete configmap o").await?;
        assert_eq!(next().await?, "DELETED o 1", "{}", kubectl.name);
        watch.kill().await?;
    }
    Ok(())
}
