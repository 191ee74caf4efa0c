//! What things are called in the index.

use std::{fmt, sync::Arc};

use crate::{digest::Digest, runtime::QuestionKey};

/// A Secret that holds a CA.
pub use kapstan_api::ca::SecretRef as SecretKey;

/// A name, shared.
pub type Name = Arc<str>;

/// A `ClusterClass`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassKey {
    /// Its namespace.
    pub namespace: Name,
    /// Its name.
    pub name: Name,
}

/// A kind of template, whatever its version.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKind {
    /// The API group.
    pub group: Name,
    /// The kind.
    pub kind: Name,
}

/// A template that some class refers to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TemplateKey {
    /// Its kind.
    pub kind: GroupKind,
    /// Its namespace, which is also that of the class.
    pub namespace: Name,
    /// Its name.
    pub name: Name,
}

impl ClassKey {
    /// The key of `namespace/name`.
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ClassKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.kind, self.group)
    }
}

impl fmt::Display for TemplateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// An `ExtensionConfig` as it is to be discovered. One that was recreated or edited is another target, so that it does
/// not wait for a call that was made to what it was before, nor for that call's back-off.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// Its name.
    pub name: Name,
    /// [`Extension::digest`](crate::runtime::Extension::digest): who it is, by UID, and how it is reached.
    pub content: Digest,
    /// The generation that the result is about.
    pub generation: i64,
}

/// Something to ask an extension.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Job {
    /// The Discovery of an `ExtensionConfig`.
    Discovery(Target),
    /// A `DiscoverVariables` question.
    Question(QuestionKey),
}
