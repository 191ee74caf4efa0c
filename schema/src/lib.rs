//! Structural schemas of Kubernetes CRDs: validation, defaulting, pruning, CEL.
//!
//! What the API server does with `spec.versions[*].schema.openAPIV3Schema` of a CRD, as pure functions
//! over [`serde_json::Value`]: [`Schema::parse`] refuses what it refuses, [`Schema::prune`],
//! [`Schema::default`] and [`Schema::validate`] do to an object what it does, with the same field paths,
//! cause types and texts. [`Schema::root`] is the tree that server-side apply asks for list and map
//! types. Nothing here knows HTTP, time, or any kind; nothing panics, whatever the input.
//!
//! ```
//! use kapstan_schema::Schema;
//! use serde_json::json;
//!
//! let schema = Schema::parse(&json!({
//!     "type": "object",
//!     "properties": {"spec": {
//!         "type": "object",
//!         "required": ["size"],
//!         "properties": {
//!             "size": {"type": "integer", "maximum": 3},
//!             "color": {"type": "string", "default": "red"},
//!         },
//!     }},
//! }))?;
//! let mut object = json!({"spec": {"size": 4, "shape": "round"}});
//! schema.prune(&mut object);
//! schema.default(&mut object);
//! assert_eq!(object, json!({"spec": {"size": 4, "color": "red"}}));
//! let errors = schema.validate(&object, None);
//! assert_eq!(
//!     errors[0].to_string(),
//!     "spec.size: Invalid value: 4: spec.size in body should be less than or equal to 3"
//! );
//! # Ok::<(), kapstan_schema::SchemaErrors>(())
//! ```
//!
//! # Bounds
//! Schemas and values deeper than [`MAX_DEPTH`] are refused. Patterns are finite automata of bounded
//! size.

mod cel;
mod correlate;
mod default;
mod embedded;
mod error;
mod format;
mod go;
mod lists;
mod node;
mod openapi;
mod parse;
mod path;
mod prune;
mod schema;
mod structural;
mod validate;

pub use error::{Cause, FieldError};
pub use node::{ListType, MAX_DEPTH, MapType, Node, Rule, Type};
pub use schema::{Options, Schema, SchemaErrors};
