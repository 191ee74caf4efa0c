//! Writes to the API server: merge patches that say exactly which object they are meant for.
//!
//! A merge patch replaces lists whole, which is what a status needs: entries that another manager wrote and that are
//! no longer true vanish (server-side apply would keep them), while fields that we do not know stay. UID and resource
//! version go along as preconditions, so that nothing is written over what we have not seen, and nothing to an object
//! that was deleted and made again. It never creates an object.

use std::fmt::Debug;

use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::metrics::Metrics;

/// The name under which our fields are managed.
pub const FIELD_MANAGER: &str = "kapstan";

/// Why a reconcile failed. Its key is tried again after the queue's back-off.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A write was refused, or did not get through.
    #[error("failed to write {what} of {kind} {name}")]
    Write {
        /// Which part.
        what: &'static str,
        /// Whose.
        kind: &'static str,
        /// Whose.
        name: String,
        /// Why.
        #[source]
        source: Box<kube::Error>,
    },
    /// A fresh copy could not be read after a conflict.
    #[error("failed to read {kind} {name} after a conflict")]
    Read {
        /// Whose.
        kind: &'static str,
        /// Whose.
        name: String,
        /// Why.
        #[source]
        source: Box<kube::Error>,
    },
}

impl Error {
    /// Whether the API server has read what was to be written and will not have it, so that trying again helps only
    /// once something else has changed. Then an object should say so where its reader looks.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Write { source, .. } => [400, 413, 422].iter().any(|code| has_code(source, *code)),
            Self::Read { .. } => false,
        }
    }
}

/// How a write ended that was not refused.
#[derive(Debug)]
pub enum Written<K> {
    /// It is done; the object as it is now.
    Done(K),
    /// Somebody else wrote meanwhile; the object as it is now, to decide anew.
    Conflict(K),
    /// The object is gone.
    Gone,
}

/// One write.
pub struct Write<'a> {
    /// The kind, as in metrics.
    pub kind: &'static str,
    /// The object.
    pub name: &'a str,
    /// Its UID.
    pub uid: &'a str,
    /// The state that was decided on.
    pub resource_version: &'a str,
    /// The part that is written, for errors.
    pub what: &'static str,
    /// Whether it goes to the status.
    pub is_status: bool,
    /// What is merged; `metadata` is added here.
    pub body: Value,
}

impl Write<'_> {
    /// Sends it.
    ///
    /// # Errors
    /// [`Error`] when it was refused for another reason than a conflict, or did not get through.
    pub async fn send<K>(self, api: &Api<K>, metrics: &Metrics) -> Result<Written<K>, Error>
    where
        K: kube::Resource + Clone + DeserializeOwned + Debug,
    {
        let Self { kind, name, uid, resource_version, what, is_status, mut body } = self;
        body["metadata"]["uid"] = json!(uid);
        body["metadata"]["resourceVersion"] = json!(resource_version);
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let patch = Patch::Merge(&body);
        let sent = if is_status {
            api.patch_status(name, &params, &patch).await
        } else {
            api.patch(name, &params, &patch).await
        };
        match sent {
            Ok(object) => {
                metrics.written(kind, "ok");
                let namespace = api.namespace();
                tracing::info!(kind, namespace, name, what, "written");
                Ok(Written::Done(object))
            }
            Err(error) if has_code(&error, 404) => {
                metrics.written(kind, "gone");
                Ok(Written::Gone)
            }
            Err(error) if has_code(&error, 409) => {
                metrics.conflict(kind);
                let fresh = api.get_opt(name).await;
                let fresh = fresh.map_err(|source| Error::Read {
                    kind,
                    name: name.to_owned(),
                    source: Box::new(source),
                })?;
                Ok(fresh.map_or(Written::Gone, Written::Conflict))
            }
            Err(source) => {
                metrics.written(kind, "error");
                Err(Error::Write { what, kind, name: name.to_owned(), source: Box::new(source) })
            }
        }
    }
}

/// Whether the API server answered with this HTTP status.
#[must_use]
pub fn has_code(error: &kube::Error, code: u16) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == code)
}
