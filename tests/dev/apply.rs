//! How objects get into a server: the same on the embedded one and on the real one.

use anyhow::Result;
use kapstan::{
    crds,
    manifests::{self, Manifest, Object, Options},
    samples,
};
use kapstan_embedded::Server;
use kube::Client;

use crate::input::{CLASS, CONFIG, MISSPELT, SOUND, UNKNOWN};

const OPTIONS: Options<'_> = Options { field_manager: "tests", force: false };

#[tokio::test]
async fn the_embedded_server_takes_and_refuses_what_it_should() -> Result<()> {
    take_and_refuse(Server::builder().start().client()).await
}

#[tokio::test]
async fn a_real_server_takes_and_refuses_what_it_should() -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    take_and_refuse(kapstan_envtest::shared().await?.client()?).await
}

async fn take_and_refuse(client: Client) -> Result<()> {
    // The CRDs come last, and their kinds are needed at once.
    let fill = |manifest: Manifest| manifest.fill(samples::URL, "https://e").fill(samples::CA_BUNDLE, "YWFh");
    let crds = crds::OWN.iter().chain(crds::TEMPLATES).map(|crd| Manifest::new(crd.file, crd.yaml));
    let manifests: Vec<_> = samples::manifests().into_iter().map(fill).chain(crds).collect();
    let objects = manifests::objects(&manifests)?;
    let report = manifests::apply(&client, objects.clone(), OPTIONS).await;
    assert!(report.refused.is_empty(), "{report}");
    let is_first =
        |kinds: &[&str], at: &[Object]| at.iter().all(|object| kinds.contains(&object.kind.as_str()));
    assert_eq!(report.applied.len(), objects.len());
    assert!(is_first(&["CustomResourceDefinition"], &report.applied[..6]), "{:?}", titles(&report.applied));
    assert!(is_first(&["Namespace"], &report.applied[6..8]), "{:?}", titles(&report.applied));

    let nowhere = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: nowhere}}\n";
    let text = [SOUND, CONFIG, CLASS, MISSPELT, UNKNOWN, nowhere].concat();
    let report = manifests::apply(&client, manifests::objects(&[Manifest::new("f", text)])?, OPTIONS).await;
    let says = "6 of 7 objects refused
* f: document 2, line 3: ExtensionConfig wrong: spec.clientConfig.url: Invalid value: \"\": spec.clientConfig.url in body should be at least 1 chars long
* f: document 3, line 9: ClusterClass team/wrong: spec.workers.machineDeployments[0].healthCheck.checks.unhealthyMachineConditions[0].type: Invalid value: \"Ready\": type must not be one of: Ready, Available, HealthCheckSucceeded, OwnerRemediated, ExternallyRemediated
* f: document 4, line 29: ExtensionConfig misspelt: failed to create typed patch object (/misspelt; runtime.cluster.x-k8s.io/v1beta2, Kind=ExtensionConfig): .spec.clientConfig.cabundle: field not declared in schema
* f: document 5, line 35: Gizmo team/g: the server has no CustomResourceDefinition of kind Gizmo, apiVersion example.com/v1
* f: document 6, line 39: ClusterClass team/future: the server has no CustomResourceDefinition of kind ClusterClass, apiVersion cluster.x-k8s.io/v1beta9; it serves ClusterClass in cluster.x-k8s.io/v1beta2, cluster.x-k8s.io/v1beta1
* f: document 7, line 43: ConfigMap nowhere/c: namespaces \"nowhere\" not found
applied: Namespace team";
    similar_asserts::assert_eq!(report.to_string(), says);
    Ok(())
}

fn titles(objects: &[Object]) -> Vec<String> {
    objects.iter().map(Object::title).collect()
}
