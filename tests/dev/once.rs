//! `kapstan dev --once`: what it says, and its exit code.

use std::{path::Path, process::Stdio};

use anyhow::{Context as _, Result};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::process::{Ended, Kapstan};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What is the same on every run: ports, seconds and writes are not, and the order in which objects become ready.
fn plain(text: &str) -> String {
    let is_progress = |line: &&str| line.contains(" is ready after ");
    let mut progress: Vec<_> = text.lines().filter(is_progress).map(line).collect();
    progress.sort();
    let others = text.lines().filter(|line| !is_progress(line)).map(line);
    progress.into_iter().chain(others).map(|line| line + "\n").collect()
}

fn line(line: &str) -> String {
    let words = line.split(' ').map(|word| match word.strip_prefix("https://127.0.0.1:") {
        Some(port) if port.ends_with(',') => "https://127.0.0.1:PORT,",
        Some(_) => "https://127.0.0.1:PORT",
        None if word.parse::<f64>().is_ok() && !line.contains("objects") => "N",
        None => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn the_readme_shows_what_it_says() -> Result<()> {
    let readme = std::fs::read_to_string(root().join("README.md"))?;
    let (_, shown) = readme.split_once("$ cargo run --release -- dev --once\n").context("README shows it")?;
    let (shown, _) = shown.split_once("```").context("the block ends")?;
    let Ended { code, stdout, stderr } = Kapstan::dev(&["--once"])?.end().await?;
    assert_eq!(code, Some(0), "{stderr}");
    // The tables are the same to the letter; only what is outside of them varies.
    let table = |text: &str| -> Vec<_> {
        text.lines().filter(|line| line.contains("   ")).map(str::to_owned).collect()
    };
    assert_eq!(table(shown), table(&stdout));
    similar_asserts::assert_eq!(plain(shown), plain(&format!("{stderr}{stdout}")));
    Ok(())
}

#[tokio::test]
async fn as_json_it_is_one_line_in_which_everything_has_its_place() -> Result<()> {
    let Ended { code, stdout, stderr } = Kapstan::dev(&["--once", "--output=json"])?.end().await?;
    assert_eq!((code, stdout.lines().count()), (Some(0), 1), "{stdout}{stderr}");
    let mut said: Value = serde_json::from_str(&stdout)?;
    assert!(said["seconds"].take().as_f64().is_some_and(|seconds| seconds >= 0.0));
    let handlers = |name: &str| {
        ["discovervariables", "generatepatches", "validatetopology"]
            .map(|handler| format!("{handler}.{name}"))
    };
    let config =
        |name: &str| json!({ "name": name, "ready": true, "reason": null, "handlers": handlers(name) });
    let class = |namespace: &str, name: &str, variables: &[&str]| json!({ "namespace": namespace, "name": name, "ready": true, "reason": null, "variables": variables });
    let sizing = ["sizing-variable-0", "sizing-variable-1", "sizing-variable-2", "sizing-variable-3"];
    let images = ["image-variable-0", "image-variable-1", "image-variable-2"];
    let expected = json!({
        "ready": true,
        "seconds": null,
        "extensionConfigs": [config("images"), config("sites"), config("sizing")],
        "clusterClasses": [
            class("sample-core", "external", &[&images[..], &sizing].concat()),
            class("sample-core", "inline", &["kubeadmVerbosity", "region"]),
            class("sample-edge", "complete", &["podSecurity", "site-variable-0", "site-variable-1"]),
            class("sample-edge", "mixed", &[&["region", "site-variable-0", "site-variable-1"][..], &sizing].concat()),
        ],
        "kubeconfig": null,
    });
    similar_asserts::assert_eq!(sorted(said), expected);
    Ok(())
}

/// With the variables in order of their names.
fn sorted(mut said: Value) -> Value {
    for class in said["clusterClasses"].as_array_mut().into_iter().flatten() {
        if let Some(names) = class["variables"].as_array_mut() {
            names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        }
    }
    said
}

/// Every object and why it is not ready; and the exit code.
async fn not_ready(kapstan: Kapstan) -> Result<(Option<i32>, Vec<(String, String)>)> {
    let Ended { code, stdout, stderr } = kapstan.end().await?;
    let said: Value = serde_json::from_str(&stdout).with_context(|| stderr)?;
    assert_eq!(said["ready"], false);
    let objects = ["extensionConfigs", "clusterClasses"].map(|kind| said[kind].as_array().cloned());
    let reasons = objects.into_iter().flatten().flatten().map(|object| {
        assert_eq!(object["ready"], object["reason"].is_null());
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        (text("name"), text("reason"))
    });
    Ok((code, reasons.collect()))
}

const CONFIG: &str = "
apiVersion: runtime.cluster.x-k8s.io/v1beta2
kind: ExtensionConfig
metadata:
  name: one
spec:
  clientConfig:
    url: URL
    caBundle: ${EXTENSION_CA_BUNDLE}
";

#[rstest]
#[case::dead("https://127.0.0.1:1/images", "Connection refused")]
#[case::at_a_wrong_path("${EXTENSION_URL}/imgaes", "404")]
#[case::below_the_right_path("${EXTENSION_URL}/images/more", "404")]
#[case::without_a_path("${EXTENSION_URL}", "404")]
#[tokio::test]
async fn an_extension_that_does_not_answer_is_a_reason(#[case] url: &str, #[case] says: &str) -> Result<()> {
    let dev = Kapstan::dev(&["--once", "--output=json", "--timeout=4s", "-f", "config.yaml"])?;
    let (code, reasons) =
        not_ready(dev.file("config.yaml", &CONFIG.replace("URL\n", &format!("{url}\n")))?).await?;
    assert_eq!(code, Some(1));
    let [(name, reason)] = &reasons[..] else { panic!("{reasons:?}") };
    assert_eq!(name, "one");
    assert!(reason.starts_with("Discovered is False: NotDiscovered: Error in discovery: "), "{reason}");
    assert!(reason.contains(says), "{reason}");
    Ok(())
}

#[tokio::test]
async fn a_table_tells_every_reason_too() -> Result<()> {
    let dev = Kapstan::dev(&["--once", "--timeout=4s", "-f", "config.yaml"])?;
    let dev = dev.file("config.yaml", &CONFIG.replace("URL\n", "${EXTENSION_URL}/imgaes\n"))?;
    let Ended { code, stdout, stderr } = dev.end().await?;
    assert_eq!(code, Some(1));
    assert!(stderr.contains(" WARN kapstan::jobs: discovery failed extension=one error="), "{stderr}");
    let says = "\nnot ready 4.0 s after the last one was applied:\n* ExtensionConfig one: Discovered is False: NotDiscovered: ";
    assert!(stdout.contains(says), "{stdout}");
    assert!(!stdout.contains("kubectl"), "{stdout}");
    Ok(())
}

#[tokio::test]
async fn what_a_class_waits_for_is_a_reason() -> Result<()> {
    let class = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: lonely}
spec:
  infrastructure:
    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevClusterTemplate, name: missing}
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: missing}
";
    let dev = Kapstan::dev(&["--once", "--output=json", "--timeout=4s", "-f", "-"])?.input(class);
    let (code, reasons) = not_ready(dev).await?;
    assert_eq!(code, Some(1));
    let [(name, reason)] = &reasons[..] else { panic!("{reasons:?}") };
    assert_eq!(name, "lonely");
    assert!(reason.ends_with("; it owns 0 of its 2 templates"), "{reason}");
    Ok(())
}

#[tokio::test]
async fn samples_from_a_folder_are_the_samples_that_it_carries() -> Result<()> {
    let folder = root().join("config/samples");
    let from_folder = Kapstan::dev(&["--once", "-f", folder.to_str().context("a name")?])?.end().await?;
    let carried = Kapstan::dev(&["--once"])?.end().await?;
    assert_eq!((from_folder.code, carried.code), (Some(0), Some(0)), "{}", from_folder.stderr);
    similar_asserts::assert_eq!(plain(&from_folder.stdout), plain(&carried.stdout));
    Ok(())
}

#[tokio::test]
async fn files_may_be_given_one_by_one_and_through_standard_input() -> Result<()> {
    let file = |name: &str| std::fs::read_to_string(root().join("config/samples").join(name));
    let args = ["--once", "--output=json", "-f", "a", "-f", "configs.yaml", "-f", "-"];
    let dev = Kapstan::dev(&args)?
        .file("a/1.yaml", &file("namespaces.yaml")?)?
        .file("a/2.yaml", &file("secret.yaml")?)?
        .file("configs.yaml", &file("extensionconfigs.yaml")?)?
        .input(&format!("{}---\n{}", file("clusterclasses.yaml")?, file("templates.yaml")?));
    let Ended { code, stdout, stderr } = dev.end().await?;
    assert_eq!(code, Some(0), "{stderr}");
    let said: Value = serde_json::from_str(&stdout)?;
    let count = |kind: &str| said[kind].as_array().map(Vec::len);
    assert_eq!((count("extensionConfigs"), count("clusterClasses")), (Some(3), Some(4)));
    Ok(())
}

#[tokio::test]
async fn where_nothing_has_to_become_ready_that_is_said() -> Result<()> {
    let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: team}}";
    let Ended { code, stdout, .. } = Kapstan::dev(&["--once", "-f", "-"])?.input(namespace).end().await?;
    let says = "\nthere is no ExtensionConfig and no ClusterClass, so nothing has to become ready\n";
    assert_eq!((code, stdout.as_str()), (Some(0), says));
    Ok(())
}

#[tokio::test]
async fn who_reads_no_further_is_no_error() -> Result<()> {
    let mut crds = Command::new(env!("CARGO_BIN_EXE_kapstan"))
        .arg("crds")
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    drop(crds.stdout.take()); // it says more than a pipe holds
    let output = crds.wait_with_output().await?;
    assert_eq!((output.status.code(), String::from_utf8(output.stderr)?), (Some(0), String::new()));
    Ok(())
}
