//! Dependents go with their owners, and namespaces and CRDs take what is in them along.

use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::world::{MERGE, Step, World, worlds};

const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";

impl World {
    async fn done(&self, step: Step) -> Result<Value> {
        let answer = self.ask(&step).await?;
        anyhow::ensure!(answer.code < 300, "{}: {answer:?}", self.name);
        Ok(answer.body)
    }

    async fn owned(&self, name: &str, owners: &[(&Value, bool)]) -> Result<Value> {
        let reference = |(owner, blocks): &(&Value, bool)| json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "blockOwnerDeletion": blocks });
        let owners: Vec<_> = owners.iter().map(reference).collect();
        self.done(Step::post(MAPS, json!({ "metadata": { "name": name, "ownerReferences": owners } }))).await
    }

    /// Waits until exactly these config maps are left, and returns them.
    async fn until_left(&self, names: &[&str]) -> Result<Vec<Value>> {
        kapstan_envtest::until(Duration::from_mins(1), "the garbage to be collected", async || {
            let list = self.done(Step::get(MAPS)).await?;
            let items = list["items"].as_array().cloned().context("a list has items")?;
            let left: Vec<_> = items.iter().filter_map(|item| item["metadata"]["name"].as_str()).collect();
            Ok((left == names).then_some(items))
        })
        .await
    }
}

fn owner_names(object: &Value) -> Vec<&str> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().filter_map(|owner| owner["name"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn dependents_go_with_their_last_owner() -> Result<()> {
    for world in &worlds("background").await? {
        let one = world.owned("one", &[]).await?;
        let two = world.owned("two", &[]).await?;
        let child = world.owned("child", &[(&one, true)]).await?;
        world.owned("grandchild", &[(&child, false)]).await?;
        world.owned("shared", &[(&one, false), (&two, false)]).await?;
        world.done(Step::delete(format!("{MAPS}/one"))).await?;
        let left = world.until_left(&["shared", "two"]).await?;
        if world.server.is_some() {
            assert_eq!(owner_names(&left[0]), ["two"]);
        }
        world.done(Step::delete(format!("{MAPS}/two"))).await?;
        world.until_left(&[]).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_in_the_foreground_waits_for_those_that_block_it() -> Result<()> {
    for world in &worlds("foreground").await? {
        let owner = world.owned("owner", &[]).await?;
        world.owned("free", &[(&owner, false)]).await?;
        let held = world.owned("held", &[(&owner, true)]).await?;
        world.owned("deeper", &[(&held, true)]).await?;
        let finalizers = json!({ "metadata": { "finalizers": ["a.example.com/b"] } });
        world.done(Step::patch(MERGE, format!("{MAPS}/held"), finalizers)).await?;
        let options = json!({ "propagationPolicy": "Foreground" });
        let answer = world.done(Step::delete_with(format!("{MAPS}/owner"), options)).await?;
        assert_eq!(answer["metadata"]["finalizers"], json!(["foregroundDeletion"]));
        let left = world.until_left(&["held", "owner"]).await?;
        assert!(
            left.iter().all(|object| object["metadata"]["deletionTimestamp"].is_string()),
            "{}",
            world.name
        );
        world
            .done(Step::patch(MERGE, format!("{MAPS}/held"), json!({ "metadata": { "finalizers": null } })))
            .await?;
        world.until_left(&[]).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_stay_and_forget_their_owner() -> Result<()> {
    for world in &worlds("orphan").await? {
        let owner = world.owned("owner", &[]).await?;
        world.owned("child", &[(&owner, true)]).await?;
        let options = json!({ "propagationPolicy": "Orphan" });
        world.done(Step::delete_with(format!("{MAPS}/owner"), options)).await?;
        let left = world.until_left(&["child"]).await?;
        assert_eq!(owner_names(&left[0]), [""; 0], "{}", world.name);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_whose_owner_never_was_goes() -> Result<()> {
    for world in &worlds("absent").await? {
        let nobody =
            json!({ "metadata": { "name": "nobody", "uid": "6c9a5a1e-0000-4000-8000-000000000000" } });
        world.owned("child", &[(&nobody, false)]).await?;
        world.until_left(&[]).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_goes_when_it_is_empty() -> Result<()> {
    for world in &worlds("emptied").await? {
        let finalizers = json!({ "metadata": { "name": "held", "finalizers": ["a.example.com/b"] } });
        world.done(Step::post(MAPS, finalizers)).await?;
        world.owned("free", &[]).await?;
        world.done(Step::delete("/api/v1/namespaces/{ns}")).await?;
        world.until_left(&["held"]).await?;
        kapstan_envtest::until(Duration::from_mins(1), "what is held to be marked", async || {
            let held = world.done(Step::get(format!("{MAPS}/held"))).await?;
            Ok(held["metadata"]["deletionTimestamp"].is_string().then_some(()))
        })
        .await?;
        let namespace = world.done(Step::get("/api/v1/namespaces/{ns}")).await?;
        assert_eq!(namespace["status"]["phase"], "Terminating");
        world
            .done(Step::patch(MERGE, format!("{MAPS}/held"), json!({ "metadata": { "finalizers": null } })))
            .await?;
        kapstan_envtest::until(Duration::from_mins(1), "the namespace to go", async || {
            Ok((world.ask(&Step::get("/api/v1/namespaces/{ns}")).await?.code == 404).then_some(()))
        })
        .await?;
    }
    Ok(())
}

/// A chain of owners is no deep recursion.
#[tokio::test]
async fn a_long_chain_of_owners_goes_at_once() -> Result<()> {
    let [embedded, _] = worlds("chain").await?;
    let mut last = embedded.owned("link-0", &[]).await?;
    for number in 1..3000 {
        last = embedded.owned(&format!("link-{number}"), &[(&last, true)]).await?;
    }
    embedded.done(Step::delete(format!("{MAPS}/link-0"))).await?;
    embedded.until_left(&[]).await?;
    Ok(())
}
