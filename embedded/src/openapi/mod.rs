//! `OpenAPI` documents: what `kubectl explain`, `apply` and `diff` read.
//!
//! There is a document of version 3 for each group and version, and one of version 2 for everything. They
//! hold the schemas of all kinds that are served and the paths that kubectl looks for. They are made when
//! somebody asks, and kept until the kinds change.
//!
//! `schemas.json` is what kube-apiserver 1.36.3 serves for the built-in kinds, one schema a line; a test
//! compares the two.
//!
//! Behaviour: kube-openapi `pkg/handler3`, apiextensions-apiserver `pkg/controller/openapi`.

mod gnostic;
mod paths;
mod schemas;
mod swagger;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::registry::Registry;
use crate::store::write;

/// The documents, as they were last made.
#[derive(Default)]
pub(crate) struct OpenApi(Mutex<Option<(u64, Arc<Documents>)>>);

/// The documents of one moment.
pub(crate) struct Documents {
    /// Of version 3, by the path below `/openapi/v3/`, such as `apis/apps/v1`.
    groups: BTreeMap<String, Document>,
    /// Of version 2, as JSON.
    swagger: Document,
    /// The same as a protocol buffer.
    gnostic: Document,
}

/// A document and its tag.
pub(crate) struct Document {
    pub(crate) bytes: Bytes,
    /// Changes with the content.
    pub(crate) tag: String,
}

impl OpenApi {
    /// The documents of the kinds that are served now.
    pub(crate) fn documents(&self, registry: &Registry) -> Arc<Documents> {
        let mut kept = self.0.lock();
        match &*kept {
            Some((generation, documents)) if *generation == registry.generation() => documents.clone(),
            _ => {
                let documents = Arc::new(Documents::of(registry));
                *kept = Some((registry.generation(), documents.clone()));
                documents
            }
        }
    }
}

impl Documents {
    fn of(registry: &Registry) -> Self {
        let mut groups = BTreeMap::new();
        for (group, _) in registry.groups() {
            for version in registry.versions(group) {
                let path = if group.is_empty() {
                    format!("api/{version}")
                } else {
                    format!("apis/{group}/{version}")
                };
                groups.insert(path, Document::new(&document(registry, group, version)));
            }
        }
        let swagger = swagger::document(registry);
        let gnostic = Document::of_bytes(gnostic::encode(&swagger));
        Self { groups, swagger: Document::new(&swagger), gnostic }
    }

    /// `/openapi/v3`: where the documents are.
    pub(crate) fn index(&self) -> Value {
        let entry = |(path, document): (&String, &Document)| {
            let url = format!("/openapi/v3/{path}?hash={}", document.tag);
            (path.clone(), json!({ "serverRelativeURL": url }))
        };
        let paths: serde_json::Map<String, Value> = self.groups.iter().map(entry).collect();
        json!({ "paths": paths })
    }

    /// The document of version 3 at a path below `/openapi/v3/`.
    pub(crate) fn group(&self, path: &str) -> Option<&Document> {
        self.groups.get(path)
    }

    /// The document of version 2, as JSON.
    pub(crate) fn swagger(&self) -> &Document {
        &self.swagger
    }

    /// The document of version 2, as a protocol buffer.
    pub(crate) fn gnostic(&self) -> &Document {
        &self.gnostic
    }
}

impl Document {
    pub(crate) fn new(value: &Value) -> Self {
        let mut json = Vec::new();
        write(&mut json, value);
        Self::of_bytes(json)
    }

    fn of_bytes(bytes: Vec<u8>) -> Self {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        Self { bytes: bytes.into(), tag: format!("{:016X}", hasher.finish()) }
    }
}

fn document(registry: &Registry, group: &str, version: &str) -> Value {
    json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": "1.36" },
        "paths": paths::of(registry, group, version),
        "components": { "schemas": schemas::of(registry, group, version) },
    })
}
