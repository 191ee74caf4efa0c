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
    if let Some(named) = body.pointer_mut("/metadata/name") {
        *named = json!(name);
    }
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

/// Runs a scenario on both servers. The difference, if there is one.
///
/// The real server's clock may tick between two requests and so put managers in another order, which is a
/// change where there would be none. A difference counts only if it is there three times in a row.
async fn compare(real: &Real, scenario: &Scenario, name: &str) -> anyhow::Result<Option<String>> {
    let mut found = None;
    for round in 0..3 {
        let name = format!("{name}-{round}");
        let outcomes = real.run(scenario, &name).await?;
        found = difference(scenario, &outcomes, &Model::run(scenario, &name));
        if found.is_none() {
            break;
        }
    }
    Ok(found)
}

#[tokio::test]
async fn every_scenario_ends_as_on_the_real_server() -> anyhow::Result<()> {
    let real = Real::start().await?;
    let only = std::env::var("SCENARIO").unwrap_or_default();
    let mut differences = Vec::new();
    for (i, scenario) in table::scenarios()?.iter().enumerate().filter(|(_, s)| s.name.contains(&only)) {
        differences.extend(compare(&real, scenario, &format!("thing-{i}")).await?);
    }
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n\n"));
    Ok(())
}

/// Any request that anyone may send, the same ones in every run. `SEED` and `SEEDS` try others; a few in a
/// thousand find that the real server stores an empty map of labels, shows none, and drops it with the next
/// write, which then is a change.
#[tokio::test]
async fn random_scenarios_end_as_on_the_real_server() -> anyhow::Result<()> {
    let real = Real::start().await?;
    let number =
        |name: &str, default| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (first, count) = (number("SEED", 0), number("SEEDS", 20));
    let mut differences = Vec::new();
    for seed in first..first + count {
        for scenario in [Random::scenario(seed, 12), Random::strategic_scenario(seed, 8)] {
            differences.extend(compare(&real, &scenario, &format!("seed-{seed}")).await?);
        }
    }
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n\n"));
    Ok(())
}
