//! The scenarios of `scenarios.yaml`.

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::scenario::{KINDS, Scenario, Step, Verb};

#[derive(Deserialize)]
struct Row {
    name: String,
    kind: String,
    steps: Vec<(String, String, Value)>,
}

pub(crate) fn scenarios() -> Result<Vec<Scenario>> {
    let rows: Vec<Row> = serde_saphyr::from_str(include_str!("scenarios.yaml"))?;
    rows.into_iter().map(scenario).collect()
}

fn scenario(row: Row) -> Result<Scenario> {
    let kind = KINDS.iter().find(|kind| kind.name == row.kind);
    let kind = *kind.with_context(|| format!("{}: unknown kind {}", row.name, row.kind))?;
    let steps = row.steps.into_iter().map(|(verb, manager, body)| step(&verb, manager, body));
    let steps = steps.collect::<Result<_>>().with_context(|| row.name.clone())?;
    Ok(Scenario { name: row.name, kind, steps })
}

fn step(verb: &str, manager: String, body: Value) -> Result<Step> {
    let (verb, subresource) = match verb.split_once('/') {
        Some((verb, "status")) => (verb, "status"),
        Some((_, other)) => bail!("unknown subresource {other}"),
        None => (verb, ""),
    };
    let (verb, force) = verb.strip_suffix('!').map_or((verb, false), |verb| (verb, true));
    let verb = match verb {
        "create" => Verb::Create,
        "put" => Verb::Put,
        "apply" => Verb::Apply,
        "merge" => Verb::Merge,
        "strategic" => Verb::Strategic,
        "delete" => Verb::Delete,
        other => bail!("unknown verb {other}"),
    };
    Ok(Step { verb, manager, force, subresource, body })
}
