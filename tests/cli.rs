//! The `kapstan` binary as somebody runs it: what it says when it cannot start, and how it runs and ends.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::Duration,
};

use Server::{Embedded, Real};
use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::Namespace,
    rbac::v1::{ClusterRole, ClusterRoleBinding},
};
use kapstan_embedded::Listener;
use kapstan_envtest::{ControlPlane, until};
use kapstan_test_extension::{Behaviour, TestExtension};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DynamicObject, ObjectMeta, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    process::{Child, ChildStderr, Command},
};

/// How long anything may take that a test waits for; also what a Pod has to end, by default.
const DEADLINE: Duration = Duration::from_secs(30);

// ---- what it says when it cannot start ----

#[rstest]
#[case::unknown_flag(&["--sync-perod=10m"], "--sync-perod")]
#[case::bad_duration(&["--sync-period=soon"], "'soon' for '--sync-period")]
#[case::negative_duration(&["--sync-period=-5m"], "'-5m' for '--sync-period")]
#[case::tiny_period(&["--sync-period=999ms"], "'999ms' for '--sync-period")]
#[case::bad_number(&["--clusterclass-concurrency=many"], "'many' for '--clusterclass-concurrency")]
#[case::unknown_mode(&["--mode=observe-all"], "'observe-all' for '--mode")]
#[case::unknown_format(&["--logging-format=xml"], "'xml' for '--logging-format")]
#[case::bad_log_filter(&["--log=kapstan=loud"], "'kapstan=loud' for '--log")]
#[case::certificate_without_key(&["--runtime-extension-client-cert-file=a"], "--runtime-extension-client-key-file")]
#[tokio::test]
async fn a_wrong_flag_is_named(#[case] args: &[&str], #[case] says: &str) -> Result<()> {
    let output = Kapstan::new()?.args(args).output().await?;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let text = String::from_utf8(output.stderr)?;
    let (first, _usage) = text.split_once("\n\n").context("usage follows")?;
    assert!(first.starts_with("error: ") && first.contains(says), "{text}");
    Ok(())
}

#[tokio::test]
async fn a_kubeconfig_that_is_not_there_is_named() -> Result<()> {
    let kapstan = Kapstan::new()?;
    let says = ["failed to read kubeconfig /nowhere/kubeconfig: No such file"];
    kapstan.args(&["--kubeconfig=/nowhere/kubeconfig"]).assert_refuses(&says).await
}

#[tokio::test]
async fn of_several_kubeconfigs_the_one_that_is_not_there_is_named() -> Result<()> {
    let kapstan = Kapstan::new()?;
    let path = kapstan.write("kubeconfig", &kubeconfig("https://127.0.0.1:1"))?;
    let list = format!("{}:/nowhere/kubeconfig", path.display());
    let says = ["failed to read kubeconfig /nowhere/kubeconfig: No such file"];
    kapstan.env("KUBECONFIG", &list).assert_refuses(&says).await
}

#[rstest]
#[case::no_yaml("{ this is: [no, yaml", &["failed to read kubeconfig", "line 1 column 12: unclosed bracket"])]
#[case::another_kind_of_yaml("- a\n- b\n", &["failed to read kubeconfig", "line 1 column 1"])]
#[case::without_context("apiVersion: v1\nkind: Config\n", &["failed to use kubeconfig", "current context"])]
#[case::empty("", &["failed to use kubeconfig"])]
#[tokio::test]
async fn a_kubeconfig_that_cannot_be_used_is_named(
    #[case] content: &str,
    #[case] says: &[&str],
) -> Result<()> {
    let kapstan = Kapstan::new()?;
    let path = kapstan.write("kubeconfig", content)?;
    let says: Vec<&str> = says.iter().copied().chain([path.to_str().context("a name")?]).collect();
    let flag = format!("--kubeconfig={}", path.display());
    let said = kapstan.args(&[&flag]).refusal(&says).await?;
    assert_eq!(said.matches(path.to_str().context("a name")?).count(), 1, "{said}");
    Ok(())
}

#[tokio::test]
async fn a_kubeconfig_in_the_environment_that_cannot_be_used_is_named() -> Result<()> {
    let kapstan = Kapstan::new()?;
    let path = kapstan.write("from-environment", "{ this is: [no, yaml")?;
    let path = path.to_str().context("a name")?.to_owned();
    kapstan
        .env("KUBECONFIG", &path)
        .assert_refuses(&["failed to read kubeconfig", &path, "line 1 column 12"])
        .await
}

#[tokio::test]
async fn no_cluster_at_all_is_told() -> Result<()> {
    Kapstan::new()?.assert_refuses(&["failed to find a cluster", "KUBECONFIG", "service account"]).await
}

#[tokio::test]
async fn a_cluster_that_cannot_be_reached_is_named() -> Result<()> {
    let kapstan = Kapstan::new()?;
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?.local_addr()?;
    let path = kapstan.write("kubeconfig", &kubeconfig(&format!("https://{closed}")))?;
    kapstan
        .kubeconfig(&path)
        .assert_refuses(&["failed to reach the API server", "refused", &closed.to_string()])
        .await
}

#[tokio::test]
async fn a_cluster_that_never_answers_is_given_up() -> Result<()> {
    let kapstan = Kapstan::new()?;
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let path = kapstan.write("kubeconfig", &kubeconfig(&format!("https://{}", silent.local_addr()?)))?;
    kapstan
        .kubeconfig(&path)
        .assert_refuses(&["the API server https://127.0.0.1:", "did not answer within 10 s"])
        .await
}

fn kubeconfig(server: &str) -> String {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "there",
        "clusters": [{ "name": "there", "cluster": { "server": server } }],
        "users": [{ "name": "there", "user": {} }],
        "contexts": [{ "name": "there", "context": { "cluster": "there", "user": "there" } }],
    })
    .to_string()
}

// ---- on an API server ----

#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn the_binary_runs_on_an_api_server(#[values(Embedded, Real)] server: Server) -> Result<()> {
    let site = Site::open(server).await?;
    site.missing_kinds_are_named().await?;
    site.install().await?;
    site.ports_in_use_are_named().await?;
    site.settings_that_cannot_be_used_are_named().await?;
    site.a_live_holder_of_the_lease_is_named().await?;
    site.it_answers_logs_and_ends().await?;
    site.it_ends_although_somebody_keeps_a_connection_and_a_call_open().await?;
    site.a_refused_object_shows_the_words_of_the_server().await?;
    // On the embedded server every user may do everything.
    if server == Real {
        site.a_user_without_rights_is_told().await?;
        site.a_missing_right_is_named_and_costs_nothing_else().await?;
    }
    Ok(())
}

/// The API server of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Server {
    /// kapstan-embedded, on a socket.
    Embedded,
    /// kube-apiserver and etcd.
    Real,
}

/// An API server that runs.
enum Plane {
    Embedded { server: kapstan_embedded::Server, listener: Listener, folder: tempfile::TempDir },
    Real(Box<ControlPlane>),
}

impl Plane {
    async fn start(server: Server) -> Result<Self> {
        if server == Real {
            return Ok(Self::Real(Box::new(ControlPlane::builder().start().await?)));
        }
        let server = kapstan_embedded::Server::builder().start();
        let listener = server.listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("kubeconfig"), listener.kubeconfig())?;
        Ok(Self::Embedded { server, listener, folder })
    }

    /// A client of an administrator.
    fn client(&self) -> Result<Client> {
        match self {
            Self::Embedded { server, .. } => Ok(server.client()),
            Self::Real(plane) => plane.client(),
        }
    }

    /// The kubeconfig file of another user.
    fn kubeconfig_of(&self, user: &str) -> Result<PathBuf> {
        match self {
            Self::Embedded { listener, folder, .. } => {
                let path = folder.path().join(format!("{user}.kubeconfig"));
                std::fs::write(&path, listener.kubeconfig_of(user)?)?;
                Ok(path)
            }
            Self::Real(plane) => Ok(plane.user(user, None)?.kubeconfig().to_owned()),
        }
    }

    async fn apply_crds(&self, folders: [PathBuf; 2]) -> Result<()> {
        let server = match self {
            Self::Embedded { server, .. } => server,
            Self::Real(plane) => return plane.apply_crds(folders).await.map(drop),
        };
        for folder in folders {
            for file in std::fs::read_dir(folder)? {
                server.load(&std::fs::read_to_string(file?.path())?)?;
            }
        }
        Ok(())
    }

    /// A kubectl as the administrator.
    fn kubectl(&self) -> Result<Command> {
        match self {
            Self::Embedded { folder, .. } => {
                let mut command = Command::new(kapstan_envtest::assets()?.join("kubectl"));
                command.env("KUBECONFIG", folder.path().join("kubeconfig"));
                command.env("KUBECACHEDIR", folder.path().join("cache")).kill_on_drop(true);
                Ok(command)
            }
            Self::Real(plane) => Ok(plane.kubectl([] as [&str; 0])),
        }
    }
}

/// An API server, and the manager's user.
struct Site {
    plane: Plane,
    user: PathBuf,
    extension: TestExtension,
}

impl Site {
    async fn open(server: Server) -> Result<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let plane = Plane::start(server).await?;
        let user = plane.kubeconfig_of("kapstan")?;
        Ok(Self { plane, user, extension: TestExtension::builder().start().await? })
    }

    async fn missing_kinds_are_named(&self) -> Result<()> {
        let says = ["extensionconfigs.runtime.cluster.x-k8s.io", "v1beta2", "CustomResourceDefinition"];
        self.kapstan()?.assert_refuses(&says).await
    }

    async fn install(&self) -> Result<()> {
        self.plane.apply_crds([root().join("config/crd"), root().join("config/samples/crds")]).await?;
        self.bind("kapstan", "kapstan-manager", Self::role()?).await
    }

    fn role() -> Result<ClusterRole> {
        Ok(serde_saphyr::from_str(&std::fs::read_to_string(root().join("config/rbac/role.yaml"))?)?)
    }

    async fn bind(&self, user: &str, name: &str, mut role: ClusterRole) -> Result<()> {
        role.metadata.name = Some(name.to_owned());
        let client = self.plane.client()?;
        Api::all(client.clone()).create(&PostParams::default(), &role).await?;
        let binding: ClusterRoleBinding = serde_json::from_value(json!({
            "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
            "subjects": [{ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user }],
        }))?;
        Api::all(client).create(&PostParams::default(), &binding).await?;
        Ok(())
    }

    async fn ports_in_use_are_named(&self) -> Result<()> {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        for flag in ["--health-addr", "--diagnostics-address"] {
            let address = taken.local_addr()?.to_string();
            let says = [flag, &address, "in use"];
            self.kapstan()?.args(&[&format!("{flag}={address}")]).assert_refuses(&says).await?;
            let says = [flag, "\"everywhere\"", "<ip>:<port>"];
            self.kapstan()?.args(&[&format!("{flag}=everywhere")]).assert_refuses(&says).await?;
        }
        Ok(())
    }

    async fn settings_that_cannot_be_used_are_named(&self) -> Result<()> {
        let pair = [
            "--runtime-extension-client-cert-file=/nowhere/tls.crt",
            "--runtime-extension-client-key-file=/nowhere/tls.key",
        ];
        let says = ["--runtime-extension-client-cert-file", "/nowhere/tls.crt", "No such file"];
        self.kapstan()?.args(&pair).assert_refuses(&says).await?;
        self.kapstan()?
            .env("HTTPS_PROXY", "gopher://proxy")
            .assert_refuses(&["proxy gopher://proxy/", "unsupported"])
            .await
    }

    async fn a_user_without_rights_is_told(&self) -> Result<()> {
        let nobody = self.plane.kubeconfig_of("nobody")?;
        let says =
            ["failed to list Leases", "User \"nobody\" cannot list resource \"leases\"", "--force-manage"];
        self.kapstan()?.kubeconfig(&nobody).assert_refuses(&says).await
    }

    async fn a_live_holder_of_the_lease_is_named(&self) -> Result<()> {
        let namespace = Namespace {
            metadata: ObjectMeta { generate_name: Some("capi-system-".to_owned()), ..ObjectMeta::default() },
            ..Namespace::default()
        };
        let namespace =
            Api::all(self.plane.client()?).create(&PostParams::default(), &namespace).await?.name_any();
        let lease: Lease = serde_json::from_value(json!({
            "metadata": { "name": "controller-leader-election-capi" },
            "spec": { "holderIdentity": "capi-controller-0", "leaseDurationSeconds": 3600, "renewTime": "2020-01-01T00:00:00.000000Z" },
        }))?;
        let leases: Api<Lease> = Api::namespaced(self.plane.client()?, &namespace);
        leases.create(&PostParams::default(), &lease).await?;
        self.kapstan()?.start().await?.end().await?; // it has run out
        let renewed = json!({ "spec": { "renewTime": "2099-01-01T00:00:00.000000Z" } });
        leases
            .patch("controller-leader-election-capi", &PatchParams::default(), &Patch::Merge(renewed))
            .await?;
        let held = format!("capi-controller-0 holds the Lease {namespace}/controller-leader-election-capi");
        self.kapstan()?.assert_refuses(&[&held, "--force-manage"]).await?;
        self.kapstan()?.args(&["--force-manage"]).start().await?.end().await?;
        leases.delete("controller-leader-election-capi", &kube::api::DeleteParams::default()).await?;
        Ok(())
    }

    async fn it_answers_logs_and_ends(&self) -> Result<()> {
        self.apply("healthy", &self.extension.url(), &self.extension.ca_bundle()).await?;
        let running = self.kapstan()?.start().await?;
        assert_eq!(get(running.health, "/healthz").await?, (200, "ok".to_owned()));
        running.until_ready().await?;
        until(DEADLINE, "discovery and its write", async || {
            let (status, metrics) = get(running.diagnostics, "/metrics").await?;
            assert_eq!(status, 200);
            let called = "kapstan_extension_calls_total{cause=\"restart\",extension=\"healthy\",hook=\"Discovery\",result=\"ok\"} 1";
            let written = "kapstan_writes_total{kind=\"ExtensionConfig\",result=\"ok\"} 1";
            Ok((metrics.contains(called) && metrics.contains(written)).then_some(()))
        })
        .await?;
        assert_eq!(get(running.health, "/metrics").await?.0, 404);
        graphs_are_shown(running.diagnostics).await?;
        let logged = running.end().await?;
        assert!(logged.iter().any(|line| line["fields"]["message"] == "manager stopped"), "{logged:?}");
        let is_write =
            |line: &&Value| line["fields"]["message"] == "written" && line["fields"]["name"] == "healthy";
        let written: Vec<_> = logged.iter().filter(is_write).map(|line| &line["fields"]["what"]).collect();
        assert_eq!(written, ["status"], "{logged:?}");
        Ok(())
    }

    async fn it_ends_although_somebody_keeps_a_connection_and_a_call_open(&self) -> Result<()> {
        self.extension.behave("/hangs", Behaviour::hang());
        self.apply("hangs", &self.extension.url_of("/hangs"), &self.extension.ca_bundle()).await?;
        let running = self.kapstan()?.start().await?;
        running.until_ready().await?;
        tokio::time::timeout(DEADLINE, self.extension.until_calls("/hangs", 1)).await?;
        let _silent = TcpStream::connect(running.health).await?;
        let mut half = TcpStream::connect(running.diagnostics).await?;
        half.write_all(b"GET /metrics HTT").await?;
        running.end().await?;
        self.delete("hangs").await
    }

    async fn a_refused_object_shows_the_words_of_the_server(&self) -> Result<()> {
        let without = json!({ "apiVersion": "runtime.cluster.x-k8s.io/v1beta2", "kind": "ExtensionConfig", "metadata": { "name": "bad" }, "spec": {} });
        let output = self.kubectl_apply(&without).await?;
        let text = String::from_utf8(output.stderr)?;
        assert!(!output.status.success());
        assert!(text.contains("spec.clientConfig: Required value"), "{text}");
        let mut long = without;
        long["spec"] = json!({ "clientConfig": { "url": format!("https://{}", "a".repeat(600)) } });
        let text = String::from_utf8(self.kubectl_apply(&long).await?.stderr)?;
        assert!(text.contains("spec.clientConfig.url: Too long"), "{text}");
        Ok(())
    }

    /// A user that may not list Namespaces: that is told, what needs none of them works, and the right heals it.
    async fn a_missing_right_is_named_and_costs_nothing_else(&self) -> Result<()> {
        let mut role = Self::role()?;
        let rules = role.rules.get_or_insert_default();
        let is_of_namespaces = |resources: &Option<Vec<String>>| {
            resources.iter().flatten().any(|resource| resource == "namespaces")
        };
        let (of_namespaces, others): (Vec<_>, Vec<_>) =
            std::mem::take(rules).into_iter().partition(|rule| is_of_namespaces(&rule.resources));
        *rules = others;
        self.bind("limited", "limited", role).await?;
        let limited = self.plane.kubeconfig_of("limited")?;
        let running = self.kapstan()?.kubeconfig(&limited).start().await?;
        let why = until(DEADLINE, "the missing right to be named", async || {
            let (status, why) = get(running.health, "/readyz").await?;
            let is_named = status == 503 && why.lines().count() == 1 && why.contains("forbidden");
            Ok(is_named.then_some(why))
        })
        .await?;
        let says = "Namespace: failed to perform initial object list: namespaces is forbidden: User \"limited\" \
                    cannot list resource \"namespaces\" in API group \"\" at the cluster scope";
        assert_eq!(why, says);
        assert_eq!(get(running.health, "/healthz").await?.0, 200);
        self.apply("beside", &self.extension.url_of("/beside"), &self.extension.ca_bundle()).await?;
        tokio::time::timeout(DEADLINE, self.extension.until_calls("/beside", 1)).await?;
        let rest = ClusterRole { rules: Some(of_namespaces), ..ClusterRole::default() };
        self.bind("limited", "limited-namespaces", rest).await?;
        running.until_ready().await?;
        running.end().await?;
        Ok(())
    }

    fn kapstan(&self) -> Result<Kapstan> {
        Ok(Kapstan::new()?.kubeconfig(&self.user))
    }

    fn configs(&self) -> Result<Api<DynamicObject>> {
        let kind = GroupVersionKind::gvk("runtime.cluster.x-k8s.io", "v1beta2", "ExtensionConfig");
        Ok(Api::all_with(self.plane.client()?, &ApiResource::from_gvk(&kind)))
    }

    async fn apply(&self, name: &str, url: &str, bundle: &[u8]) -> Result<()> {
        let bundle = k8s_openapi::ByteString(bundle.to_vec());
        let object = json!({
            "apiVersion": "runtime.cluster.x-k8s.io/v1beta2", "kind": "ExtensionConfig", "metadata": { "name": name },
            "spec": { "clientConfig": { "url": url, "caBundle": bundle } },
        });
        let output = self.kubectl_apply(&object).await?;
        if !output.status.success() {
            bail!("{output:?}");
        }
        Ok(())
    }

    async fn delete(&self, name: &str) -> Result<()> {
        self.configs()?.delete(name, &kube::api::DeleteParams::default()).await?;
        Ok(())
    }

    async fn kubectl_apply(&self, object: &Value) -> Result<Output> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("object.json");
        std::fs::write(&file, object.to_string())?;
        Ok(self.plane.kubectl()?.args(["apply", "-f"]).arg(file).output().await?)
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

// ---- the process ----

/// A `kapstan manager` to be, in an environment in which nothing is set.
struct Kapstan {
    command: Command,
    home: tempfile::TempDir,
}

impl Kapstan {
    fn new() -> Result<Self> {
        let home = tempfile::tempdir()?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_kapstan"));
        command.arg("manager").env_clear().env("HOME", home.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        Ok(Self { command, home })
    }

    fn args(mut self, args: &[&str]) -> Self {
        self.command.args(args);
        self
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    fn kubeconfig(mut self, path: &Path) -> Self {
        self.command.env("KUBECONFIG", path);
        self
    }

    fn write(&self, name: &str, content: &str) -> Result<PathBuf> {
        let path = self.home.path().join(name);
        std::fs::write(&path, content)?;
        Ok(path)
    }

    async fn output(mut self) -> Result<Output> {
        Ok(tokio::time::timeout(DEADLINE, self.command.output()).await.context("it does not end")??)
    }

    /// It ends with an error, and says all this in the one line that it writes.
    async fn assert_refuses(self, says: &[&str]) -> Result<()> {
        self.refusal(says).await.map(drop)
    }

    /// The same, and gives the line back.
    async fn refusal(self, says: &[&str]) -> Result<String> {
        let output = self.output().await?;
        let text = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.starts_with("kapstan: "), "{text}");
        for word in says {
            assert!(text.contains(word), "not said: {word}: {text}");
        }
        assert!(output.stdout.is_empty());
        Ok(text)
    }

    /// Starts it on free ports and waits until it has them.
    async fn start(mut self) -> Result<Running> {
        let free = "127.0.0.1:0";
        self.command.args(["--logging-format=json", "--health-addr", free, "--diagnostics-address", free]);
        let mut child = self.command.spawn()?;
        let stderr = child.stderr.take().context("stderr is piped")?;
        let mut log = Log { lines: BufReader::new(stderr).lines(), seen: Vec::new() };
        let health = log.until_listening("health probes").await?;
        let diagnostics = log.until_listening("metrics").await?;
        Ok(Running { child, log, health, diagnostics, _home: self.home })
    }
}

/// A manager that has its ports.
struct Running {
    child: Child,
    log: Log,
    health: SocketAddr,
    diagnostics: SocketAddr,
    _home: tempfile::TempDir,
}

impl Running {
    async fn until_ready(&self) -> Result<()> {
        let ready = until(2 * DEADLINE, "the manager to be ready", async || {
            let (status, text) = get(self.health, "/readyz").await?;
            Ok((status == 200).then_some(text))
        });
        assert_eq!(ready.await?, "ok");
        Ok(())
    }

    /// Tells it to end, and gives what it logged, each line of it an object.
    async fn end(mut self) -> Result<Vec<Value>> {
        let id = self.child.id().context("it ended by itself")?;
        let sent = Command::new("kill").args(["-TERM", &id.to_string()]).status().await?;
        assert!(sent.success());
        let ended = tokio::time::timeout(DEADLINE, async {
            while self.log.next().await?.is_some() {}
            anyhow::Ok(self.child.wait().await?)
        });
        let status = ended.await.context("it does not end")??;
        assert_eq!(status.code(), Some(0), "{:?}", self.log.seen);
        Ok(self.log.seen)
    }
}

struct Log {
    lines: tokio::io::Lines<BufReader<ChildStderr>>,
    seen: Vec<Value>,
}

impl Log {
    async fn next(&mut self) -> Result<Option<&Value>> {
        let Some(line) = self.lines.next_line().await? else { return Ok(None) };
        let parsed: Value = serde_json::from_str(&line).with_context(|| format!("no JSON: {line}"))?;
        for part in ["timestamp", "level", "target"] {
            assert!(parsed[part].is_string(), "{line}");
        }
        assert!(parsed["fields"]["message"].is_string(), "{line}");
        self.seen.push(parsed);
        Ok(self.seen.last())
    }

    async fn until_listening(&mut self, what: &str) -> Result<SocketAddr> {
        let found = tokio::time::timeout(DEADLINE, async {
            while let Some(line) = self.next().await? {
                if line["fields"]["message"] == "listening" && line["fields"]["what"] == what {
                    return Ok(line["fields"]["address"].as_str().unwrap_or_default().parse()?);
                }
            }
            bail!("it ended: {:?}", self.seen)
        });
        found.await.with_context(|| format!("nothing listens for {what}"))?
    }
}

/// Status and body of a GET.
async fn get(address: SocketAddr, path: &str) -> Result<(u16, String)> {
    let mut stream = TcpStream::connect(address).await?;
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").as_bytes())
        .await?;
    let mut answer = String::new();
    tokio::time::timeout(DEADLINE, stream.read_to_string(&mut answer)).await??;
    let (head, body) = answer.split_once("\r\n\r\n").context("no head")?;
    let status = head.split(' ').nth(1).context("no status")?.parse()?;
    Ok((status, body.to_owned()))
}

/// By the port and by the command, which ask the same manager.
async fn graphs_are_shown(diagnostics: SocketAddr) -> Result<()> {
    let (status, served) = get(diagnostics, "/debug/graph").await?;
    let served: Value = serde_json::from_str(&served)?;
    assert_eq!((status, &served["nodes"][0]["id"]), (200, &json!("extensionconfig/healthy")));
    assert_eq!(get(diagnostics, "/debug/graph?output=svg").await?.0, 400);
    let kapstan = async |address: &str, output: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kapstan"));
        command.args(["graph", "--address", address, "--output", output]).output().await
    };
    let (address, free) = (diagnostics.to_string(), "127.0.0.1:1");
    for (output, begins) in
        [("text", "ExtensionConfig healthy: "), ("json", "{"), ("dot", "digraph"), ("mermaid", "flowchart")]
    {
        let shown = kapstan(&address, output).await?;
        let text = String::from_utf8(shown.stdout)?;
        assert!(shown.status.success() && text.starts_with(begins), "{output}: {text}");
        assert!(text.contains("discovervariables.healthy"), "{output}: {text}");
    }
    let refused = kapstan(free, "text").await?;
    let text = String::from_utf8(refused.stderr)?;
    assert_eq!(refused.status.code(), Some(1), "{text}");
    assert!(text.contains("failed to reach a manager at 127.0.0.1:1 (--address)"), "{text}");
    Ok(())
}
