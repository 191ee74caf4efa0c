//! Objects from YAML, without a client.

use serde_json::Value;

use crate::rest;
use crate::server::Server;

/// Why YAML was not loaded. What came before the document that is named is in the server.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It is no YAML.
    #[error("failed to read YAML: {0}")]
    Yaml(String),
    /// A document is no object of a kind that is served.
    #[error("document {document} is of kind {kind:?} in version {api_version:?}, which is not served")]
    Kind {
        /// The number of the document, from 1.
        document: usize,
        /// Its `apiVersion`; empty if it has none.
        api_version: String,
        /// Its `kind`; empty if it has none.
        kind: String,
    },
    /// The server refuses an object.
    #[error("document {document} ({kind} {name}) was refused: {message}")]
    Refused {
        /// The number of the document, from 1.
        document: usize,
        /// The kind of the object.
        kind: String,
        /// The name of the object.
        name: String,
        /// What a client would have been told.
        message: String,
    },
}

impl Server {
    /// Creates the objects of a YAML stream, in order, or replaces them where they are. An object of a
    /// namespace that names none goes to `default`. Unknown fields are refused. Kinds of CRDs are served at
    /// once, so objects of them may follow. Says how many objects there were.
    ///
    /// # Errors
    /// See [`LoadError`]; the first that is wrong.
    pub fn load(&self, yaml: &str) -> Result<usize, LoadError> {
        let documents: Vec<Value> =
            serde_saphyr::from_multiple(yaml).map_err(|error| LoadError::Yaml(error.to_string()))?;
        let mut count = 0;
        for (index, document) in documents.into_iter().enumerate().filter(|(_, document)| !document.is_null())
        {
            self.load_one(index + 1, document)?;
            count += 1;
        }
        Ok(count)
    }

    fn load_one(&self, document: usize, object: Value) -> Result<(), LoadError> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let name = text(&object["metadata"]["name"]);
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let registry = self.core.registry();
        let plural = registry.named(group, &kind).map(|kind| kind.names.plural.clone());
        let endpoint = plural.and_then(|plural| registry.endpoint(group, version, &plural));
        let Some(endpoint) = endpoint else { return Err(LoadError::Kind { document, api_version, kind }) };
        rest::load(&self.core, &endpoint, object).map_err(|status| LoadError::Refused {
            document,
            kind,
            name,
            message: status.message().to_owned(),
        })
    }
}
