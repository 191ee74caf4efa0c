//! Runs recorded answers of Cluster API (`tests/vectors`) against ours: one line for each file, differences as
//! diffs, exit code 1 when a case differs, when nothing ran, or when nobody knows a file.
//!
//! `KAPSTAN_VECTORS=DIR` reads the files of another folder. The runners call what the manager, the webhooks and the
//! command line call, and hold no rule of their own.

#![allow(clippy::print_stdout, reason = "this is what it is for")]
#![allow(clippy::unwrap_used, reason = "a panic in a runner fails its case")]

use std::{
    collections::BTreeSet,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::Value;
use similar_asserts::SimpleDiff;

#[path = "vectors/run/mod.rs"]
mod run;

/// One recorded case.
#[derive(Deserialize)]
struct Case {
    name: String,
    #[serde(default)]
    tags: Vec<String>,
    input: Value,
    expect: Value,
}

impl Case {
    /// What comes before the first slash of the name.
    fn group(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }
}

/// What one file is run with.
struct Runner {
    file: &'static str,
    /// Gives our answer and the recorded one, without what is not compared.
    run: fn(&Case) -> (Value, Value),
    /// Which cases it knows.
    covers: fn(&Case) -> bool,
    /// Cases that are answered differently on purpose, with the reason. They must differ, and
    /// `docs/differences.md` must name them.
    exceptions: &'static [(&'static str, &'static str)],
}

/// Files whose rules are those of the webhooks.
const OF_THE_WEBHOOKS: [&str; 2] = ["admission_clusterclass.json", "admission_extensionconfig.json"];

fn main() -> ExitCode {
    match check() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(failed) => {
            println!("{failed} failed");
            ExitCode::FAILURE
        }
        Err(error) => {
            println!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs every file of the folder; the number of failures.
fn check() -> Result<usize> {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let folder = std::env::var_os("KAPSTAN_VECTORS").map_or(ours, PathBuf::from);
    let differences = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/differences.md"))?;
    let files = json_files(&folder)?;
    ensure!(!files.is_empty(), "{}: there are no vectors", folder.display());
    let mut failed = 0;
    for file in &files {
        if OF_THE_WEBHOOKS.contains(&file.as_str()) {
            println!("{file}: left to the tests of the webhooks");
            continue;
        }
        let Some(runner) = run::RUNNERS.iter().find(|runner| runner.file == file) else {
            println!("{file}: nobody knows how to run it");
            failed += 1;
            continue;
        };
        failed += run_file(runner, &folder.join(file), &differences)?;
    }
    Ok(failed)
}

fn json_files(folder: &Path) -> Result<BTreeSet<String>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files = BTreeSet::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if Path::new(&name).extension().is_some_and(|extension| extension == "json") {
            files.insert(name);
        }
    }
    Ok(files)
}

fn run_file(runner: &Runner, path: &Path, differences: &str) -> Result<usize> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let cases: Vec<Case> = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
    let cases: Vec<_> = cases.into_iter().filter(runner.covers).collect();
    let mut reports: Vec<_> = cases.iter().filter_map(|case| judge(runner, case)).collect();
    for (name, _) in runner.exceptions.iter().filter(|(name, _)| !differences.contains(name)) {
        reports.push(format!("{name}: docs/differences.md does not name it"));
    }
    if cases.is_empty() {
        reports.push("there are no cases".to_owned());
    }
    for report in &reports {
        println!("{report}\n");
    }
    println!("{}: {} run, {} failed", runner.file, cases.len(), reports.len());
    Ok(reports.len())
}

/// What is wrong with a case; nothing when it is as it should be.
fn judge(runner: &Runner, case: &Case) -> Option<String> {
    let exception = runner.exceptions.iter().find(|(name, _)| *name == case.name);
    let name = format!("{} {:?}", case.name, case.tags);
    match (catch_unwind(AssertUnwindSafe(|| (runner.run)(case))), exception) {
        (Err(_), _) => Some(format!("{name}: panicked")),
        (Ok((ours, recorded)), None) if ours != recorded => {
            let (recorded, ours) = (format!("{recorded:#}"), format!("{ours:#}"));
            Some(format!("{name}\n{}", SimpleDiff::from_str(&recorded, &ours, "recorded", "ours")))
        }
        (Ok((ours, recorded)), Some((_, reason))) if ours == recorded => {
            Some(format!("{name}: is answered as recorded, but is an exception: {reason}"))
        }
        _ => None,
    }
}
