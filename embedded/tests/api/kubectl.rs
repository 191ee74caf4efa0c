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
            && !line.contains(" diff.go:")
    };
    let lines = said.lines().filter(is_own).map(|line| {
        let words = line.split(' ').map(|word| match word {
            word if is_age(word) => "<age>",
            word if is_time(word) => "<time>",
            word => word,
        });
        words.collect::<Vec<_>>().join(" ").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A time of day, as tables and log lines of kubectl show it.
fn is_time(word: &str) -> bool {
    let digits =
        |text: &str| text.chars().all(|character| character.is_ascii_digit() || ":-.TZ".contains(character));
    word.len() >= 15 && word.contains(':') && digits(word)
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
    (
        "gadget.yaml",
        "{apiVersion: served.example.com/v1, kind: Gadget, metadata: {name: s}, spec: {size: 1, tags: [a]}}\n",
    ),
    (
        "gadget-taken.yaml",
        "{apiVersion: served.example.com/v1, kind: Gadget, metadata: {name: s}, spec: {size: 2, tags: [b]}}\n",
    ),
    (
        "webhook.yaml",
        "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: None, selector: {a: b}, ports: [{port: 80, name: http}]}}\n---\n{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}, addressType: IPv4, ports: [{port: 80, name: http}], endpoints: [{addresses: [10.1.2.3]}]}\n---\n{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: l}, spec: {holderIdentity: me, leaseDurationSeconds: 15}}\n---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r}, rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}\n---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: rb}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}, subjects: [{kind: ServiceAccount, name: sa}]}\n---\n{apiVersion: v1, kind: Event, metadata: {name: e}, involvedObject: {kind: Service, name: web, namespace: kubectl-c, apiVersion: v1}, reason: Made, message: it was made, type: Normal, source: {component: me}}\n",
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
async fn kubectl_applies_custom_resources_on_the_side_of_both_servers() -> Result<()> {
    let kubectls = Kubectl::both("kubectl-b").await?;
    for kubectl in &kubectls {
        let crd = include_str!("data/gadgets.yaml")
            .replace("kubectl.example.com", "served.example.com")
            .replace("gdg", "sgd");
        std::fs::write(kubectl.folder.path().join("served.yaml"), crd)?;
    }
    compare(
        &kubectls,
        &[
            "create namespace kubectl-b",
            "apply --server-side -f served.yaml",
            "wait --for=condition=Established crd/gadgets.served.example.com --timeout=30s",
            "diff --server-side -f gadget.yaml",
            "apply --server-side -f gadget.yaml --field-manager=one",
            "apply --server-side -f gadget-taken.yaml --field-manager=two",
            "apply --server-side -f gadget-taken.yaml --field-manager=two --force-conflicts",
            "diff --server-side -f gadget.yaml",
            "get gadgets.served.example.com s -o yaml --show-managed-fields",
            "apply -f gadget-taken.yaml",
            "apply --server-side -f gadget.yaml --field-manager=one",
            "edit gadgets.served.example.com s --subresource=status",
            "scale gadgets.served.example.com s --replicas=1 --v=0",
            "delete -f gadget.yaml --cascade=foreground",
            "delete -f served.yaml",
            "delete namespace kubectl-b",
        ],
    )
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_shows_and_changes_the_other_kinds_of_both_servers() -> Result<()> {
    let kubectls = Kubectl::both("kubectl-c").await?;
    compare(
        &kubectls,
        &[
            "create namespace kubectl-c",
            "create -f webhook.yaml",
            "get services,leases,roles,rolebindings -o wide",
            "get endpointslices",
            "get events",
            "get -f webhook.yaml -o name",
            "describe service web",
            "describe lease l",
            "describe role r",
            "describe rolebinding rb",
            "get events --field-selector=involvedObject.name=web,type=Normal -o name",
            "get events --field-selector=involvedObject.name=other",
            "get services -A --field-selector=metadata.name=web,metadata.namespace=kubectl-c -o name",
            "get services --field-selector=spec.ports=1",
            "annotate service web a=b --overwrite",
            "label --all services a=b",
            "label service web a=c",
            "label service web a=c --overwrite --dry-run=server",
            "label service web a-",
            "replace -f webhook.yaml --force --wait=true",
            "patch service web --type=strategic -p '{\"spec\":{\"ports\":[{\"port\":81,\"name\":\"more\"}]}}'",
            "get service web -o 'jsonpath={.spec.ports[*].port}'",
            "get service web -o 'custom-columns=NAME:.metadata.name,PORTS:.spec.ports[*].port'",
            "get service web -o 'go-template={{.metadata.name}}'",
            "patch service web --type=strategic -p nonsense",
            "patch service nope --type=merge -p '{}'",
            "delete service web --dry-run=server",
            "delete events --all",
            "delete services,leases --all",
            "wait --for=delete service/web --timeout=30s",
            "wait --for=condition=Ready service/web --timeout=1s",
            "get services",
            "explain lease.spec",
            "explain service.spec.ports.protocol",
            "explain nonsense",
            "explain event --api-version=events.k8s.io/v1",
            "api-resources --api-group=rbac.authorization.k8s.io",
            "api-resources --api-group=apiextensions.k8s.io -o wide",
            "api-resources --api-group=events.k8s.io",
            "get --raw /apis/rbac.authorization.k8s.io/v1/namespaces/kubectl-c/roles/nope",
            "delete namespace kubectl-c",
            "get roles",
        ],
    )
    .await
}

/// The real server serves more kinds; those of this one are named as there.
#[tokio::test(flavor = "multi_thread")]
async fn kubectl_lists_the_kinds_that_it_lists_of_the_real_server() -> Result<()> {
    let [embedded, real] = Kubectl::both("default").await?;
    for line in ["api-resources --no-headers", "api-resources --no-headers -o wide", "api-versions"] {
        let spaced = |said: String| -> Vec<String> {
            said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
        };
        let (ours, theirs) = (spaced(embedded.run(line).await?), spaced(real.run(line).await?));
        assert!(ours.len() > 7, "{ours:?}");
        let strange: Vec<_> = ours.iter().filter(|line| !theirs.contains(line)).collect();
        assert!(strange.is_empty(), "{line}: {strange:#?}\n{theirs:#?}");
    }
    Ok(())
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
