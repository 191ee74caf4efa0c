//! Which CA bundle an `ExtensionConfig` takes from a Secret.
//!
//! Mirrors `reconcileCABundle` of Cluster API `core/reconcilers/extensionconfig`, with one difference: an empty
//! entry counts as a missing one, while upstream would write it over a bundle that works.

use std::collections::BTreeMap;

use k8s_openapi::{ByteString, apimachinery::pkg::apis::meta::v1::ObjectMeta};

use crate::{
    annotations::{self, CA_ENTRY, INJECT_CA_FROM_SECRET},
    text,
};

/// The Secret that an annotation names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretRef {
    /// The Secret's namespace.
    pub namespace: String,
    /// The Secret's name.
    pub name: String,
}

/// Why there is no bundle to take. As text it names the Secret and what is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// The annotation does not name a Secret.
    #[error("annotation {INJECT_CA_FROM_SECRET} is {value:?}, it must name a Secret as <namespace>/<name>")]
    MalformedName {
        /// The annotation's value, bounded.
        value: String,
    },
    /// There is no such Secret.
    #[error("Secret {secret} not found, annotation {INJECT_CA_FROM_SECRET} names it")]
    SecretNotFound {
        /// The Secret.
        secret: SecretRef,
    },
    /// The Secret has no entry [`CA_ENTRY`], or an empty one.
    #[error("Secret {secret} has no entry {CA_ENTRY}, or an empty one")]
    EntryMissing {
        /// The Secret.
        secret: SecretRef,
    },
}

impl std::fmt::Display for SecretRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl SecretRef {
    /// The Secret that an `ExtensionConfig` takes its CA from; `None` without the annotation.
    ///
    /// # Errors
    /// [`Missing::MalformedName`] when the annotation does not name a Secret.
    pub fn of(metadata: &ObjectMeta) -> Option<Result<Self, Missing>> {
        annotations::get(metadata, INJECT_CA_FROM_SECRET).map(Self::parse)
    }

    /// Reads `<namespace>/<name>`, split at the first slash. Spaces and letter case are taken as they are; such
    /// a Secret is just not found.
    ///
    /// # Errors
    /// [`Missing::MalformedName`] when either part is empty.
    pub fn parse(value: &str) -> Result<Self, Missing> {
        match value.split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => {
                Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err(Missing::MalformedName { value: text::foreign_within(value, 512) }),
        }
    }

    /// Whether a Secret can have this name, in a namespace that can have that one. If not, there is no such Secret, and
    /// the names must not get into a URL or a selector, where they would mean something else.
    #[must_use]
    pub fn can_exist(&self) -> bool {
        let is_fit = |part: &str| {
            part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
                && !part.is_empty()
        };
        is_fit(&self.namespace) && self.name.split('.').all(is_fit)
    }
}

/// The bundle in a Secret's `data`; `None` stands for a Secret that does not exist.
///
/// # Errors
/// [`Missing`] when there is none to take.
pub fn bundle(
    secret: &SecretRef,
    data: Option<&BTreeMap<String, ByteString>>,
) -> Result<ByteString, Missing> {
    let Some(data) = data else { return Err(Missing::SecretNotFound { secret: secret.clone() }) };
    match data.get(CA_ENTRY) {
        Some(bundle) if !bundle.0.is_empty() => Ok(bundle.clone()),
        _ => Err(Missing::EntryMissing { secret: secret.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use similar_asserts::assert_eq;

    use super::*;

    #[test]
    fn each_reason_names_the_secret_and_what_is_missing() {
        let secret = SecretRef::parse("vault/ca-one").unwrap();
        assert_eq!(
            SecretRef::parse("vault/").unwrap_err().to_string(),
            "annotation runtime.cluster.x-k8s.io/inject-ca-from-secret is \"vault/\", it must name a Secret as \
             <namespace>/<name>"
        );
        assert_eq!(
            bundle(&secret, None).unwrap_err().to_string(),
            "Secret vault/ca-one not found, annotation runtime.cluster.x-k8s.io/inject-ca-from-secret names it"
        );
        assert_eq!(
            bundle(&secret, Some(&BTreeMap::new())).unwrap_err().to_string(),
            "Secret vault/ca-one has no entry ca.crt, or an empty one"
        );
    }

    #[test]
    fn a_secret_that_cannot_exist_is_known_by_its_name() {
        let can_exist = |value| SecretRef::parse(value).unwrap().can_exist();
        assert!(can_exist("vault/ca-1.example"));
        for value in
            ["../secrets", "a?x=1&y/b", "a%2fb/c", "vault/a,b", "vault/a=b", "vault/a/b", "V/a", "vault/ü"]
        {
            assert!(!can_exist(value), "{value}");
        }
    }

    #[test]
    fn without_the_annotation_no_secret_is_asked_for() {
        assert_eq!(SecretRef::of(&ObjectMeta::default()), None);
    }
}
