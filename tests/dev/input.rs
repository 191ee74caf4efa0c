//! What `kapstan dev` says of input that it cannot use.

use std::net::Ipv4Addr;

use anyhow::Result;
use rstest::rstest;
use tokio::net::TcpListener;

use crate::process::{Ended, Kapstan};

pub(crate) const SOUND: &str = "{apiVersion: v1, kind: Namespace, metadata: {name: team}}\n";

/// A class whose parts are wrong in two ways, the second of which a CEL rule finds.
pub(crate) const CLASS: &str = "---
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: wrong, namespace: team}
spec:
  infrastructure:
    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevClusterTemplate, name: basic}
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: basic}
  workers:
    machineDeployments:
    - class: a
      bootstrap:
        templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: basic}
      infrastructure:
        templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: basic}
      healthCheck:
        checks:
          unhealthyMachineConditions:
          - {type: Ready, status: 'False', timeoutSeconds: 300}
";

pub(crate) const CONFIG: &str = "---
apiVersion: runtime.cluster.x-k8s.io/v1beta2
kind: ExtensionConfig
metadata: {name: wrong}
spec:
  clientConfig: {url: ''}
";

pub(crate) const MISSPELT: &str = "---
apiVersion: runtime.cluster.x-k8s.io/v1beta2
kind: ExtensionConfig
metadata: {name: misspelt}
spec:
  clientConfig: {url: 'https://e', cabundle: aaaa}
";

pub(crate) const UNKNOWN: &str = "---
apiVersion: example.com/v1
kind: Gizmo
metadata: {name: g, namespace: team}
---
apiVersion: cluster.x-k8s.io/v1beta9
kind: ClusterClass
metadata: {name: future, namespace: team}
";

/// The whole of what is said, after which nothing runs.
async fn assert_refused(kapstan: Kapstan, says: &str) -> Result<()> {
    let Ended { code, stdout, stderr } = kapstan.end().await?;
    let said: Vec<_> = stderr.lines().filter(|line| !line.starts_with("API server ")).collect();
    similar_asserts::assert_eq!(said.join("\n"), format!("kapstan: {says}"));
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    Ok(())
}

#[rstest]
#[case::no_yaml(
    &[("f.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: team}}\n---\nkind: [a\n")], "f.yaml",
    "nothing was applied: f.yaml: document 2, line 3: column 7: unclosed bracket '['"
)]
#[case::no_json(
    &[("f.json", "{\"kind\": \"Namespace\",\n \"apiVersion\" \"v1\"}\n")], "f.json",
    "nothing was applied: f.json: document 1, line 2: column 15: invalid trailing content after double-quoted scalar"
)]
#[case::no_object(&[("f.yaml", "- a\n")], "f.yaml", "nothing was applied: f.yaml: document 1, line 1: there is no object but a list")]
#[case::two_files_that_are_wrong(
    &[("d/a.yaml", "kind: [a\n"), ("d/b.yaml", "kind: K\n"), ("d/c.yaml", SOUND)], "d",
    "nothing was applied, for 2 reasons:\n* d/a.yaml: document 1, line 1: column 7: unclosed bracket '['\n* d/b.yaml: document 1, line 1: apiVersion: missing"
)]
#[case::no_file(&[], "f.yaml", "failed to read f.yaml: No such file or directory (os error 2)")]
#[case::nothing_in_a_folder(&[("d/a.txt", "")], "d", "d: there is no file *.yaml, *.yml or *.json in this folder")]
#[case::nothing_in_a_file(&[("f.yaml", "# nothing\n")], "f.yaml", "nothing was applied: there is no object in f.yaml")]
#[case::a_kustomization_that_patches(
    &[("d/kustomization.yaml", "resources: [a.yaml]\npatches: [{path: p.yaml}]\n"), ("d/a.yaml", SOUND)], "d",
    "d/kustomization.yaml: patches: only a list of resources is understood here; `kubectl kustomize d | kapstan dev -f -` does the rest"
)]
#[case::refused_by_the_schema(
    &[("f.yaml", &*[SOUND, CONFIG].concat())], "f.yaml",
    "1 of 2 objects refused\n* f.yaml: document 2, line 3: ExtensionConfig wrong: spec.clientConfig.url: Invalid value: \"\": spec.clientConfig.url in body should be at least 1 chars long\napplied: Namespace team"
)]
#[case::refused_by_a_rule(
    &[("f.yaml", &*[SOUND, CLASS].concat())], "f.yaml",
    "1 of 2 objects refused\n* f.yaml: document 2, line 3: ClusterClass team/wrong: spec.workers.machineDeployments[0].healthCheck.checks.unhealthyMachineConditions[0].type: Invalid value: \"Ready\": type must not be one of: Ready, Available, HealthCheckSucceeded, OwnerRemediated, ExternallyRemediated\napplied: Namespace team"
)]
#[case::an_unknown_field(
    &[("f.yaml", MISSPELT)], "f.yaml",
    "1 of 1 objects refused\n* f.yaml: document 1, line 2: ExtensionConfig misspelt: failed to create typed patch object (/misspelt; runtime.cluster.x-k8s.io/v1beta2, Kind=ExtensionConfig): .spec.clientConfig.cabundle: field not declared in schema\napplied: nothing"
)]
#[case::unknown_kinds(
    &[("f.yaml", &*[SOUND, UNKNOWN].concat())], "f.yaml",
    "2 of 3 objects refused\n* f.yaml: document 2, line 3: Gizmo team/g: the server has no CustomResourceDefinition of kind Gizmo, apiVersion example.com/v1\n* f.yaml: document 3, line 7: ClusterClass team/future: the server has no CustomResourceDefinition of kind ClusterClass, apiVersion cluster.x-k8s.io/v1beta9; it serves ClusterClass in cluster.x-k8s.io/v1beta2, cluster.x-k8s.io/v1beta1\napplied: Namespace team"
)]
#[case::no_namespace(
    &[("f.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: nowhere}}\n")], "f.yaml",
    "1 of 1 objects refused\n* f.yaml: document 1, line 1: ConfigMap nowhere/c: namespaces \"nowhere\" not found\napplied: nothing"
)]
#[tokio::test]
async fn bad_input_is_named_with_its_place(
    #[case] files: &[(&str, &str)],
    #[case] filename: &str,
    #[case] says: &str,
) -> Result<()> {
    let mut dev = Kapstan::dev(&["-f", filename])?;
    for (name, content) in files {
        dev = dev.file(name, content)?;
    }
    assert_refused(dev, says).await
}

#[tokio::test]
async fn standard_input_has_a_name_too() -> Result<()> {
    let dev = Kapstan::dev(&["-f", "-"])?.input("kind: K\n");
    assert_refused(dev, "nothing was applied: standard input: document 1, line 1: apiVersion: missing").await
}

#[tokio::test]
async fn a_kubeconfig_that_exists_is_left_alone() -> Result<()> {
    let dev = Kapstan::dev(&["--kubeconfig=mine"])?.file("mine", "precious\n")?;
    let mine = dev.folder.path().join("mine");
    let folder = dev.folder.path().to_owned();
    let says = "--kubeconfig: mine exists, and is not written over, because the file is removed at the end";
    let Ended { code, stderr, .. } =
        Kapstan::dev(&["--kubeconfig", mine.to_str().unwrap_or_default()])?.end().await?;
    assert_eq!(
        (code, stderr),
        (
            Some(1),
            format!(
                "kapstan: {}\n",
                says.replace("mine exists", &format!("{}/mine exists", folder.display()))
            )
        )
    );
    assert_eq!(std::fs::read_to_string(&mine)?, "precious\n");
    assert_refused(dev, says).await
}

#[tokio::test]
async fn a_kubeconfig_that_cannot_be_made_is_named() -> Result<()> {
    let says = "--kubeconfig: failed to make nowhere/k: No such file or directory (os error 2)";
    assert_refused(Kapstan::dev(&["--kubeconfig=nowhere/k"])?, says).await
}

#[rstest]
#[case::of_the_server("--port")]
#[case::of_the_extension("--extension-port")]
#[tokio::test]
async fn a_port_in_use_is_named(#[case] flag: &str) -> Result<()> {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?.local_addr()?;
    let _listens = TcpListener::bind(taken).await?;
    let says = format!("failed to listen on {taken}: Address already in use (os error 98)");
    assert_refused(Kapstan::dev(&[flag, &taken.port().to_string()])?, &says).await
}

#[rstest]
#[case::an_unknown_flag(&["--onec"], "unexpected argument '--onec' found")]
#[case::no_duration(&["--timeout=soon"], "invalid value 'soon' for '--timeout <DURATION>'")]
#[case::no_port(&["--port=70000"], "invalid value '70000' for '--port <PORT>'")]
#[case::no_output(&["--output=xml"], "invalid value 'xml' for '--output <OUTPUT>'")]
#[case::a_file_for_a_server_alone(&["--server-only", "-f", "a"], "'--server-only' cannot be used with '--filename <FILE|DIR|->'")]
#[case::once_for_a_server_alone(&["--server-only", "--once"], "'--server-only' cannot be used with '--once'")]
#[case::an_argument(&["a.yaml"], "unexpected argument 'a.yaml' found")]
#[tokio::test]
async fn a_wrong_command_line_is_another_exit_code(#[case] args: &[&str], #[case] says: &str) -> Result<()> {
    let Ended { code, stdout, stderr } = Kapstan::dev(args)?.end().await?;
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    let first = stderr.lines().next().unwrap_or_default();
    assert!(first.contains(says), "{stderr}");
    Ok(())
}
