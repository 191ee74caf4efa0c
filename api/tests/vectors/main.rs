//! Runs recorded answers of Cluster API (`tests/vectors`) against our own.
//!
//! A case that is answered differently on purpose is named in its file, with the reason; a name that is listed
//! there and answered alike makes the test fail, so that the lists stay true.

#![expect(clippy::unwrap_used, reason = "a panic in a helper fails the test that called it")]

use std::{fs, path::Path};

use serde::Deserialize;
use serde_json::Value;

mod ca;
mod discovery;
mod hooks;
mod names;
mod variables;

/// One recorded case.
#[derive(Deserialize)]
struct Case {
    name: String,
    input: Value,
    expect: Value,
}

impl Case {
    fn group(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }
}

/// All cases of a file.
fn cases(file: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// Reports every case that `answers` differently than recorded, except those in `exceptions` (name, reason),
/// which must differ. Returns how many cases agreed.
fn compare(cases: &[Case], exceptions: &[(&str, &str)], answer: impl Fn(&Case) -> (Value, Value)) -> usize {
    let mut wrong = Vec::new();
    let mut agreed = 0;
    for case in cases {
        let (ours, recorded) = answer(case);
        let is_exception = exceptions.iter().any(|(name, _)| *name == case.name);
        match (ours == recorded, is_exception) {
            (true, false) => agreed += 1,
            (false, true) => {}
            (true, true) => wrong.push(format!("{} is listed as an exception and agrees", case.name)),
            (false, false) => wrong.push(format!("{}:\n  ours     {ours}\n  recorded {recorded}", case.name)),
        }
    }
    for (name, _) in exceptions {
        assert!(cases.iter().any(|case| case.name == *name), "there is no case {name}");
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    agreed
}
