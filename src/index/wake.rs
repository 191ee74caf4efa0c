//! What a change of the index makes worth looking at again.

use std::collections::BTreeSet;

use super::keys::{ClassKey, Job, Name, TemplateKey};

/// Exactly what is to be reconciled, asked, watched or dropped after a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Wake {
    /// `ExtensionConfig`s to reconcile.
    pub configs: BTreeSet<Name>,
    /// `ClusterClass`es to reconcile.
    pub classes: BTreeSet<ClassKey>,
    /// Those of `configs` that somebody has changed: what failed before counts no longer.
    pub edited_configs: BTreeSet<Name>,
    /// Those of `classes` that somebody has changed.
    pub edited_classes: BTreeSet<ClassKey>,
    /// Whether nothing changed but the time: an extension was asked again and has another answer.
    pub is_clock: bool,
    /// Templates whose owner references are to be looked at.
    pub templates: BTreeSet<TemplateKey>,
    /// Extensions that are gone, with everything that was known of them.
    pub gone: Vec<Gone>,
    /// Discoveries that nobody wants any more.
    pub over: Vec<Job>,
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
