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
//! # Rules
//! `x-kubernetes-validations` are compiled once, by [`Schema::parse`]: a rule that does not parse or type
//! check, whose estimated cost is above the budget, or which calls a function that is not known here,
//! refuses the schema with the text of the API server. No rule is skipped, none passes unevaluated: when
//! other mistakes keep the rules from being looked at, [`Schema::validate`] says so, as the server does.
//!
//! There are the whole grammar; the macros `has`, `all`, `exists`, `exists_one`, `map` and `filter`, those with
//! two variables, `transformList`, `transformMap`, `transformMapEntry`, `optMap`, `optFlatMap` and `sortBy`;
//! optional types; the standard library; the libraries of strings with `format` and `quote`, sets and lists,
//! and those of Kubernetes for lists, regular expressions, URLs, quantities, addresses and networks, formats
//! and semantic versions. So are `oldSelf`, `optionalOldSelf`, `messageExpression`, `reason`, `fieldPath`, the
//! correlation of list items by their keys, and the mistakes that an update may keep. Costs are estimated and
//! counted as the API server does. [`Options::compatible_with`] is the version of Kubernetes whose functions
//! may be used.
//!
//! What is missing:
//! - the authorizer library, which CRDs cannot use either;
//! - time zones by name: only `UTC` and offsets like `+01:00`;
//! - quantities beyond 128 bits: they stick to the largest;
//! - leave for rules that are stored already to cost more than today's budget.
//!
//! A double without a fraction stays one here. The API server writes `1.0` as `1` and reads an integer the
//! next time; who stores objects should do so too.
//!
//! Of the metadata of embedded resources, the name and the types of names, labels and annotations are validated;
//! the syntax of labels, owner references, finalizers and managed fields are not.
//!
//! # Values that are no resource
//! [`ValueSchema`] is for what embeds the API server's library to describe single values of any type, such as
//! the variables of a Cluster API `ClusterClass`: the same machinery, with the rules that fit there.
//!
//! # Bounds
//! Schemas and values deeper than [`MAX_DEPTH`] are refused. Patterns are finite automata that take at most
//! 4 MiB. A rule has at most 100 000 bytes, 20 000 nodes and 128 levels. An evaluation may cost 1 000 000 of the
//! API server's units, and all those of an object 10 000 000; as these do not cover everything that takes
//! time, steps are counted too, and no text that a rule makes is longer than 8 MiB. What exceeds a bound is an
//! error of the rule, never a pass.

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
mod value;

pub use error::{Cause, FieldError};
pub use node::{ListType, MAX_DEPTH, MapType, Node, Rule, Type};
pub use schema::{Options, Schema, SchemaErrors};
pub use value::ValueSchema;
