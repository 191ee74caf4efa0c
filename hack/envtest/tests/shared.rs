//! What a test can do with the control plane that all tests of a process share.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kapstan_envtest::{AuditEvent, ControlPlane, Identity, Stage, shared, until};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Resource as _};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(30);

fn from_json<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the JSON is of the type")
}

fn config_map(name: &str) -> ConfigMap {
    from_json(json!({ "metadata": { "name": name }, "data": { "key": "value" } }))
}

fn owned_by(mut object: ConfigMap, owner: OwnerReference) -> ConfigMap {
    object.meta_mut().owner_references = Some(vec![owner]);
    object
}

/// The events of a namespace that satisfy the condition, as soon as there is one.
async fn audited(
    control_plane: &ControlPlane,
    namespace: &str,
    wanted: impl Fn(&AuditEvent) -> bool,
) -> Result<Vec<AuditEvent>> {
    until(SOON, "an audit event", async || {
        let mut events = control_plane.audit_events()?;
        events.retain(|event| event.namespace == namespace && wanted(event));
        Ok((!events.is_empty()).then_some(events))
    })
    .await
}

async fn is_refused(identity: &Identity, namespace: &str) -> Result<bool> {
    let config_maps = Api::<ConfigMap>::namespaced(identity.client()?, namespace);
    match config_maps.list(&ListParams::default()).await {
        Ok(_) => Ok(false),
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(true),
        Err(error) => Err(error.into()),
    }
}

#[tokio::test]
async fn the_audit_log_shows_who_asked_for_what() -> Result<()> {
    let control_plane = shared().await?;
    let namespace = control_plane.namespace("audit").await?;
    let config_maps = Api::<ConfigMap>::namespaced(control_plane.client()?, &namespace);
    config_maps.create(&PostParams::default(), &config_map("a")).await?;
    let mark = control_plane.audit_mark()?;
    let params = PatchParams { field_manager: Some("me".to_owned()), ..Default::default() };
    let patch = json!({ "data": { "key": "other" } });
    config_maps.patch("a", &params, &Patch::Merge(&patch)).await?;

    let [created] = &audited(control_plane, &namespace, |event| event.verb == "create").await?[..] else {
        panic!("one create was sent");
    };
    assert_eq!(created.stage, Stage::ResponseComplete);
    assert_eq!(created.user, "kapstan-envtest-admin");
    assert_eq!(
        (created.group.as_str(), created.resource.as_str(), created.code),
        ("", "configmaps", Some(201))
    );
    let body = created.body.as_ref().context("a create has a body")?;
    assert_eq!(body["data"], json!({ "key": "value" }));

    let [patched] = &audited(control_plane, &namespace, |event| event.verb == "patch").await?[..] else {
        panic!("one patch was sent");
    };
    assert_eq!((patched.name.as_str(), patched.parameter("fieldManager").as_deref()), ("a", Some("me")));
    assert_eq!(patched.body, Some(patch));
    let later = control_plane.audit_events_since(mark)?;
    assert!(later.contains(patched) && !later.contains(created));
    Ok(())
}

#[tokio::test]
async fn dependents_go_with_their_owner() -> Result<()> {
    let control_plane = shared().await?;
    let namespace = control_plane.namespace("gc").await?;
    let config_maps = Api::<ConfigMap>::namespaced(control_plane.client()?, &namespace);
    let owner = config_maps.create(&PostParams::default(), &config_map("owner")).await?;
    let reference = owner.owner_ref(&()).context("the owner has a UID")?;
    config_maps.create(&PostParams::default(), &owned_by(config_map("dependent"), reference)).await?;

    config_maps.delete("owner", &DeleteParams::background()).await?;

    until(SOON, "the dependent to go", async || {
        Ok(config_maps.get_opt("dependent").await?.is_none().then_some(()))
    })
    .await
}

#[tokio::test]
async fn a_deleted_namespace_goes_with_its_content() -> Result<()> {
    let control_plane = shared().await?;
    let namespace = control_plane.namespace("gone").await?;
    let client = control_plane.client()?;
    Api::namespaced(client.clone(), &namespace).create(&PostParams::default(), &config_map("a")).await?;
    let namespaces = Api::<Namespace>::all(client);

    namespaces.delete(&namespace, &DeleteParams::default()).await?;

    until(SOON, "the namespace to go", async || {
        Ok(namespaces.get_opt(&namespace).await?.is_none().then_some(()))
    })
    .await
}

#[tokio::test]
async fn custom_resources_are_served_validated_and_collected() -> Result<()> {
    let control_plane = shared().await?;
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    control_plane.apply_crds([data.join("widgets.yaml")]).await?;
    control_plane.apply_crds([data]).await?; // a second time changes nothing
    let namespace = control_plane.namespace("widgets").await?;
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("envtest.kapstan.io", "v1alpha1", "Widget"));
    let widgets = Api::<DynamicObject>::namespaced_with(control_plane.client()?, &namespace, &kind);
    let widget = |name, size| DynamicObject::new(name, &kind).data(json!({ "spec": { "size": size } }));

    let owner = widgets.create(&PostParams::default(), &widget("owner", 1)).await?;
    let Err(kube::Error::Api(refusal)) = widgets.create(&PostParams::default(), &widget("b", 0)).await else {
        panic!("the schema does not allow a size of 0");
    };
    assert_eq!(refusal.code, 422);

    let arguments = ["get", "widgets", "--output=name", "--namespace", &namespace];
    let listed = control_plane.kubectl(arguments).output().await?;
    assert_eq!(String::from_utf8(listed.stdout)?, "widget.envtest.kapstan.io/owner\n");

    let config_maps = Api::<ConfigMap>::namespaced(control_plane.client()?, &namespace);
    let reference = owner.owner_ref(&kind).context("the owner has a UID")?;
    config_maps.create(&PostParams::default(), &owned_by(config_map("dependent"), reference)).await?;
    widgets.delete("owner", &DeleteParams::background()).await?;
    until(SOON, "the dependent to go", async || {
        Ok(config_maps.get_opt("dependent").await?.is_none().then_some(()))
    })
    .await
}

#[tokio::test]
async fn another_user_may_do_what_its_group_is_bound_to() -> Result<()> {
    let control_plane = shared().await?;
    let namespace = control_plane.namespace("rbac").await?;
    let user = control_plane.user("someone", Some("readers"))?;
    assert!(is_refused(&user, &namespace).await?);
    let refused = audited(control_plane, &namespace, |event| event.user == "someone").await?;
    assert_eq!((refused[0].verb.as_str(), refused[0].code), ("list", Some(403)));

    bind(control_plane, &namespace, json!({ "kind": "Group", "name": "readers" })).await?;

    until(SOON, "the binding", async || Ok((!is_refused(&user, &namespace).await?).then_some(()))).await
}

#[tokio::test]
async fn a_service_account_talks_by_its_token() -> Result<()> {
    let control_plane = shared().await?;
    let namespace = control_plane.namespace("account").await?;
    let account = control_plane.service_account(&namespace, "manager").await?;
    control_plane.service_account(&namespace, "manager").await?; // is there already
    assert!(is_refused(&account, &namespace).await?);
    let user = format!("system:serviceaccount:{namespace}:manager");
    audited(control_plane, &namespace, |event| event.user == user && event.verb == "list").await?;

    let subject = json!({ "kind": "ServiceAccount", "name": "manager", "namespace": namespace });
    bind(control_plane, &namespace, subject).await?;

    until(SOON, "the binding", async || Ok((!is_refused(&account, &namespace).await?).then_some(()))).await
}

/// Lets the subject read the config maps of the namespace.
async fn bind(control_plane: &ControlPlane, namespace: &str, subject: Value) -> Result<()> {
    let role: Role = from_json(json!({
        "metadata": { "name": "read" },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"] }],
    }));
    let binding: RoleBinding = from_json(json!({
        "metadata": { "name": "read" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "read" },
        "subjects": [subject],
    }));
    let client = control_plane.client()?;
    Api::namespaced(client.clone(), namespace).create(&PostParams::default(), &role).await?;
    Api::namespaced(client, namespace).create(&PostParams::default(), &binding).await?;
    Ok(())
}

#[tokio::test]
async fn kubectl_and_the_server_are_of_the_pinned_release() -> Result<()> {
    let control_plane = shared().await?;
    let output = control_plane.kubectl(["version", "--output=json"]).output().await?;
    let version: Value = serde_json::from_slice(&output.stdout)?;
    let pinned =
        include_str!("../go.mod").lines().find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes v"));
    let pinned =
        format!("v{}", pinned.and_then(|line| line.split(' ').next()).context("go.mod pins Kubernetes")?);
    assert_eq!(
        [&version["clientVersion"]["gitVersion"], &version["serverVersion"]["gitVersion"]],
        [&pinned; 2]
    );
    Ok(())
}
