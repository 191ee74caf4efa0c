//! Objects in files, and their way into a cluster.
//!
//! [`read`] finds the files, [`objects`] finds what is in them, [`apply()`] has a server apply it. Everything that can be
//! wrong is found before the first object is applied, and whatever a server refuses is told with the place it is from.

mod apply;
mod kustomization;
mod object;
mod read;
mod text;

use std::{fmt, sync::Arc};

pub use apply::{Options, Refusal, Report, apply};
pub use object::{Object, Origin};
pub use read::{ReadError, read};

/// A file, or what stands for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    source: Arc<str>,
    text: String,
}

impl Manifest {
    /// What `source`, the name to use in messages, contains: one or more documents of YAML, or JSON objects.
    #[must_use]
    pub fn new(source: impl Into<Arc<str>>, text: impl Into<String>) -> Self {
        Self { source: source.into(), text: text.into() }
    }

    /// Its name in messages.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// With this value wherever the placeholder is. The value is put in as it is, so it should be one that means itself
    /// in YAML.
    #[must_use]
    pub fn fill(mut self, placeholder: &str, value: &str) -> Self {
        self.text = self.text.replace(placeholder, value);
        self
    }
}

/// The objects of all manifests, in order. The items of lists (any kind with `items`) stand for themselves.
///
/// # Errors
/// Everything that is wrong in any of them.
pub fn objects(manifests: &[Manifest]) -> Result<Vec<Object>, Problems> {
    let (mut objects, mut problems) = (Vec::new(), Vec::new());
    for manifest in manifests {
        for document in text::documents(manifest) {
            let found = document.and_then(|(origin, value)| object::flatten(&origin, value));
            match found {
                Ok(found) => objects.extend(found),
                Err(problem) => problems.push(problem),
            }
        }
    }
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    if objects.is_empty() {
        let sources: Vec<_> = manifests.iter().map(Manifest::source).collect();
        return Err(Problems(vec![format!("there is no object in {}", sources.join(", "))]));
    }
    Ok(objects)
}

/// What keeps manifests from being applied at all, each with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problems(Vec<String>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0[..] {
            [only] => write!(f, "nothing was applied: {only}"),
            all => write!(f, "nothing was applied, for {} reasons:\n* {}", all.len(), all.join("\n* ")),
        }
    }
}

#[cfg(test)]
mod tests;
