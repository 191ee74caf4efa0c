//! Applying CRDs, and waiting until they are served.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::ApiResource;
use kube::{Api, Client, ResourceExt as _};
use serde_json::Value;

use crate::poll;

const MANAGER: &str = "kapstan-envtest";
const SERVED: Duration = Duration::from_secs(30);

/// Applies the CRDs of these files (of all YAML files directly in it, for a folder) and waits until
/// each is served in each of its versions. Says whether one of them was not there before.
pub(crate) async fn apply(client: &Client, paths: &[PathBuf]) -> Result<bool> {
    let definitions = read(paths)?;
    // As untyped objects, so that a field this crate does not know arrives too.
    let untyped =
        Api::<DynamicObject>::all_with(client.clone(), &ApiResource::erase::<CustomResourceDefinition>(&()));
    let typed = Api::<CustomResourceDefinition>::all(client.clone());
    let mut any_new = false;
    for definition in &definitions {
        let name = definition.name_any();
        any_new |= typed.get_opt(&name).await?.is_none();
        let params = PatchParams::apply(MANAGER).force();
        let applied = untyped.patch(&name, &params, &Patch::Apply(definition)).await;
        applied.with_context(|| format!("failed to apply {name}"))?;
    }
    for definition in &definitions {
        wait_until_served(client, &typed, &definition.name_any()).await?;
    }
    Ok(any_new)
}

fn read(paths: &[PathBuf]) -> Result<Vec<DynamicObject>> {
    let mut definitions = Vec::new();
    for path in files(paths)? {
        let text = fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
        let read = parse(&text).with_context(|| format!("{} does not hold CRDs", path.display()))?;
        definitions.extend(read);
    }
    Ok(definitions)
}

fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let entries = fs::read_dir(path)?.map(|entry| Ok(entry?.path()));
            let mut entries = entries.collect::<Result<Vec<_>>>()?;
            entries.retain(|entry| is_yaml(entry));
            entries.sort();
            files.append(&mut entries);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

fn parse(text: &str) -> Result<Vec<DynamicObject>> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text)?;
    let documents = documents.into_iter().filter(|document| !document.is_null());
    documents.map(definition).collect()
}

fn definition(document: Value) -> Result<DynamicObject> {
    if document["kind"] != "CustomResourceDefinition" {
        bail!("a document is of kind {}", document["kind"]);
    }
    Ok(serde_json::from_value(document)?)
}

async fn wait_until_served(
    client: &Client,
    definitions: &Api<CustomResourceDefinition>,
    name: &str,
) -> Result<()> {
    let what = format!("{name} to be established");
    let definition = poll::until(SERVED, &what, async || {
        let definition = definitions.get(name).await?;
        Ok(is_established(&definition)?.then_some(definition))
    });
    let spec = definition.await?.spec;
    for version in spec.versions.iter().filter(|version| version.served) {
        let what = format!("{name} to be served in version {}", version.name);
        let resource = (spec.group.as_str(), version.name.as_str(), spec.names.plural.as_str());
        poll::until(SERVED, &what, || is_served(client, resource)).await?;
    }
    Ok(())
}

fn is_established(definition: &CustomResourceDefinition) -> Result<bool> {
    let conditions = definition.status.as_ref().and_then(|status| status.conditions.as_deref());
    let conditions = conditions.unwrap_or_default();
    if let Some(refusal) = conditions.iter().find(|c| c.type_ == "NamesAccepted" && c.status == "False") {
        bail!("{} is refused: {}", definition.name_any(), refusal.message.as_deref().unwrap_or_default());
    }
    Ok(conditions.iter().any(|condition| condition.type_ == "Established" && condition.status == "True"))
}

/// Whether both kinds of discovery know the resource: the API server learns of it in its own part
/// first, and in the document for all groups, which kubectl reads, a moment later.
async fn is_served(client: &Client, (group, version, plural): (&str, &str, &str)) -> Result<Option<()>> {
    let own = match client.list_api_group_resources(&format!("{group}/{version}")).await {
        Ok(list) => list.resources.iter().any(|resource| resource.name == plural),
        // By the code: the answer is plain text as long as the group is not known.
        Err(kube::Error::Api(status)) if status.code == 404 => false,
        Err(error) => return Err(error.into()),
    };
    if !own {
        return Ok(None);
    }
    let groups = client.list_api_groups_aggregated().await?.items;
    let found = groups
        .iter()
        .filter(|item| item.metadata.as_ref().and_then(|metadata| metadata.name.as_deref()) == Some(group))
        .flat_map(|item| &item.versions)
        .filter(|item| item.version.as_deref() == Some(version))
        .flat_map(|item| &item.resources)
        .any(|item| item.resource.as_deref() == Some(plural));
    Ok(found.then_some(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRD: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n";

    #[test]
    fn a_file_may_hold_several_definitions_and_nothing_else() {
        let text = format!("---\n{CRD}metadata: {{name: a}}\n---\n{CRD}metadata: {{name: b}}\n---\n");
        let names: Vec<_> = parse(&text).unwrap().iter().map(DynamicObject::name_any).collect();
        assert_eq!(names, ["a", "b"]);

        let error = parse("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n").unwrap_err();
        assert_eq!(error.to_string(), "a document is of kind \"Secret\"");
    }

    #[test]
    fn a_folder_gives_its_yaml_files_in_order() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.yaml", "a.yml", "README.md"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let expected = ["a.yml", "b.yaml"].map(|name| folder.path().join(name));
        assert_eq!(files(&[folder.path().to_owned()]).unwrap(), expected);
    }
}
