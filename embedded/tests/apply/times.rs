//! When managers last changed something, and the order that makes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::model::Model;
use crate::real::Real;
use crate::scenario::{CONFIG_MAP, Scenario, apply, merge, put, scenario};

fn story() -> Scenario {
    scenario(
        "times",
        CONFIG_MAP,
        [
            apply("z", json!({"data": {"x": "1"}})),
            apply("a", json!({"data": {"y": "1"}})),
            merge("m", json!({"data": {"x": "2"}})),
            merge("c", json!({"data": {"z": "2"}})),
            apply("a", json!({"data": {"y": "1"}})),
            apply("q", json!({"data": {"y": "1"}})),
            apply("z", json!({"data": {"x": "1"}})).force(),
            merge("c", json!({"data": {"z": "2"}})),
            put("m", json!({"data": {"x": "1", "y": "1", "z": "2", "w": "1"}})),
        ],
    )
}

/// The managers in their order, each with the step in which its time was set.
fn order(object: &Value, step_of: impl Fn(&str) -> usize) -> Vec<(String, Option<usize>)> {
    let managers = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let named = |manager: &Value| format!("{} {}", manager["operation"], manager["manager"]);
    managers.iter().map(|manager| (named(manager), manager["time"].as_str().map(&step_of))).collect()
}

#[tokio::test]
async fn managers_are_as_old_and_in_the_order_as_on_the_real_server() -> anyhow::Result<()> {
    let (real, story) = (Real::start().await?, story());
    let mut model = Model::new(story.kind, "times");
    let (mut stored, mut seen, mut ours) = (Value::Null, Vec::<String>::new(), Vec::new());
    for (i, step) in story.steps.iter().enumerate() {
        // Times are whole seconds, and they decide the order.
        tokio::time::sleep(Duration::from_millis(1_050)).await;
        (_, _, stored) = real.step(&story, "times", step, &stored).await?;
        let times = stored["metadata"]["managedFields"].as_array().into_iter().flatten();
        seen.resize(i + 1, String::new());
        if let Some(newest) = times.filter_map(|manager| manager["time"].as_str()).max()
            && !seen.iter().any(|time| time == newest)
        {
            newest.clone_into(&mut seen[i]);
        }
        model.now += Duration::from_secs(2);
        ours.push(model.now.to_string());
        model.step(step);

        let real = order(&stored, |time| seen.iter().position(|seen| seen == time).unwrap_or(usize::MAX));
        let here =
            order(&model.stored(), |time| ours.iter().position(|ours| ours == time).unwrap_or(usize::MAX));
        similar_asserts::assert_eq!(here, real, "step {i}");
    }
    Ok(())
}
