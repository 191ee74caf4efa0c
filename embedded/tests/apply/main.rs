//! Server-side apply against the real API server: the same requests, the same outcomes.

mod builtin;
mod fuzz;
mod model;
mod outcome;
mod random;
mod real;
mod scenario;
mod table;
mod times;

use serde_json::{Value, json};

use self::model::Model;
use self::outcome::Outcome;
use self::random::Random;
use self::real::Real;
use self::scenario::{Kind, Scenario, Step, Verb};

/// The body of a request: what the step says, with the object's identity where the verb needs it.
fn body_of(kind: Kind, name: &str, step: &Step, stored: &Value) -> Value {
    let mut body = step.body.clone();
    if matches!(step.verb, Verb::Merge | Verb::Strategic | Verb::Delete) {
        return body;
    }
    if body.get("apiVersion").is_none() {
        body["apiVersion"] = json!(kind.api_version);
    }
    if body.get("kind").is_none() {
        body["kind"] = json!(kind.name);
    }
    body["metadata"]["name"] = json!(name);
    if step.verb == Verb::Put {
        body["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
    }
    body
}

/// The first step at which two servers differ, with both outcomes.
fn difference(scenario: &Scenario, real: &[Outcome], model: &[Outcome]) -> Option<String> {
    let i = real.iter().zip(model).position(|(real, model)| real != model)?;
    let (real, model) = (real[i].text(), model[i].text());
    let diff = similar_asserts::SimpleDiff::from_str(&real, &model, "real", "here").to_string();
    let step = &scenario.steps[i];
    Some(format!(
        "== {}: step {i}\n{:?} by {:?}: {}\n{diff}",
        scenario.name, step.verb, step.manager, step.body
    ))
}

#[tokio::test]
async fn every_scenario_ends_as_on_the_real_server() -> anyhow::Result<()> {
    let real = Real::start().await?;
    let only = std::env::var("SCENARIO").unwrap_or_default();
    let mut differences = Vec::new();
    let (mut scenarios, mut steps) = (0, 0);
    for (i, scenario) in table::scenarios()?.iter().enumerate().filter(|(_, s)| s.name.contains(&only)) {
        let name = format!("thing-{i}");
        let outcomes = real.run(scenario, &name).await?;
        differences.extend(difference(scenario, &outcomes, &Model::run(scenario, &name)));
        (scenarios, steps) = (scenarios + 1, steps + outcomes.len());
    }
    println!("{scenarios} scenarios, {steps} requests");
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n\n"));
    Ok(())
}

/// Any request that anyone may send, the same ones in every run. `SEED` and `SEEDS` try others.
#[tokio::test]
async fn random_scenarios_end_as_on_the_real_server() -> anyhow::Result<()> {
    let real = Real::start().await?;
    let number =
        |name: &str, default| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (first, count) = (number("SEED", 0), number("SEEDS", 20));
    let mut differences = Vec::new();
    for seed in first..first + count {
        let (scenario, name) = (Random::scenario(seed, 12), format!("seed-{seed}"));
        let outcomes = real.run(&scenario, &name).await?;
        differences.extend(difference(&scenario, &outcomes, &Model::run(&scenario, &name)));
    }
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n\n"));
    Ok(())
}
