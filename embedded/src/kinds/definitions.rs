//! The types of built-in kinds, as kube-apiserver's `OpenAPI` documents define them.

use std::sync::LazyLock;

use serde_json::{Map, Value};

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../apply/builtin.json"))
        .expect("the built-in definitions must be JSON")
});

/// The definition of a type by its `OpenAPI` name.
pub(super) fn definition(name: &str) -> Option<&'static Map<String, Value>> {
    DOCUMENT["definitions"][name].as_object()
}

/// The `OpenAPI` name of a kind's type.
pub(crate) fn definition_of(api_version: &str, kind: &str) -> Option<&'static str> {
    DOCUMENT["kinds"][format!("{api_version} {kind}")].as_str()
}
