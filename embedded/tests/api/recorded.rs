//! What is written down here of the real server is what it says.

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::world::{Step, worlds};

const VERSIONS: [&str; 7] = [
    "api/v1",
    "apis/admissionregistration.k8s.io/v1",
    "apis/apiextensions.k8s.io/v1",
    "apis/coordination.k8s.io/v1",
    "apis/discovery.k8s.io/v1",
    "apis/events.k8s.io/v1",
    "apis/rbac.authorization.k8s.io/v1",
];

/// Every schema that is served is the real one; those of options name fewer groups here.
#[tokio::test(flavor = "multi_thread")]
async fn the_schemas_of_built_in_kinds_are_those_of_the_real_server() -> Result<()> {
    let [embedded, real] = worlds("schemas").await?;
    for version in VERSIONS {
        let path = format!("/openapi/v3/{version}");
        let ours = embedded.ask(&Step::get(&path)).await?.body;
        let theirs = real.ask(&Step::get(&path)).await?.body;
        let ours = ours["components"]["schemas"].as_object().context("there are schemas")?;
        for (name, schema) in ours {
            let plain = |schema: &Value| {
                let mut schema = schema.clone();
                schema
                    .as_object_mut()
                    .into_iter()
                    .for_each(|fields| drop(fields.remove("x-kubernetes-group-version-kind")));
                schema
            };
            let real = &theirs["components"]["schemas"][name];
            similar_asserts::assert_eq!(plain(schema), plain(real), "{name}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn discovery_says_of_each_kind_what_the_real_server_says() -> Result<()> {
    let [embedded, real] = worlds("discovery").await?;
    for version in VERSIONS {
        let path = format!("/{version}");
        let ours = embedded.ask(&Step::get(&path)).await?.body;
        let theirs = real.ask(&Step::get(&path)).await?.body;
        let find = |list: &Value, name: &Value| {
            let mut found = list["resources"].as_array()?.iter().find(|one| one["name"] == *name)?.clone();
            found.as_object_mut()?.remove("storageVersionHash");
            Some(found)
        };
        for resource in ours["resources"].as_array().context("there are resources")? {
            let name = &resource["name"];
            similar_asserts::assert_eq!(find(&ours, name), find(&theirs, name), "{name}");
        }
    }
    Ok(())
}
