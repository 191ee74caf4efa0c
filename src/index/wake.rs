//! What a change of the index makes worth looking at again.

use std::collections::BTreeSet;

use super::keys::{ClassKey, Name, TemplateKey};

/// Exactly what is to be reconciled, asked, watched or dropped after a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Wake {
    /// `ExtensionConfig`s to reconcile.
    pub configs: BTreeSet<Name>,
    /// `ClusterClass`es to reconcile.
    pub classes: BTreeSet<ClassKey>,
    /// Templates whose owner references are to be looked at.
    pub templates: BTreeSet<TemplateKey>,
    /// Extensions that are gone, with everything that was known of them.
    pub gone: Vec<Gone>,
    /// Whether other Secrets or kinds of template are in use than before.
    pub watches: bool,
}

/// An extension that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gone {
    /// The name of its `ExtensionConfig`.
    pub name: Name,
    /// The UID of its `ExtensionConfig`.
    pub uid: Name,
    /// Whether another object has taken the name.
    pub is_replaced: bool,
}
