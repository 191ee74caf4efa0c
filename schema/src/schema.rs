//! The whole schema of a resource.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::cel::Env;
use crate::cel::rules::{self, Evaluator, Level, Stored, Walk};
use crate::error::FieldError;
use crate::node::{MAX_DEPTH, Node};
use crate::path::{Path, child};
use crate::{default, embedded, lists, openapi, parse, prune, structural, validate};

/// The schema of a custom resource, checked.
#[derive(Clone, Debug)]
pub struct Schema {
    root: Node,
    rules: Option<Arc<Level>>,
    unknown_keywords: Vec<String>,
}

/// How a schema is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// What paths of errors begin with; empty for nothing.
    pub path: &'a str,
    /// The minor version of Kubernetes (1.x) that knows every function the rules use; unset means all that
    /// is implemented.
    pub compatible_with: Option<u16>,
    /// The schema that is in use now. The rules and messages that it has, to the letter, may use all functions
    /// that are implemented, whatever `compatible_with` says. One that cannot be read has none.
    pub stored: Option<&'a Value>,
}

impl Options<'_> {
    pub(crate) fn env(&self) -> Env {
        self.compatible_with.map_or(Env::ALL, |minor| Env { minor })
    }

    pub(crate) fn stored_expressions(&self) -> Stored {
        self.stored.map(|schema| Stored::of(&parse::parse(schema, "").0)).unwrap_or_default()
    }
}

/// Why a schema was refused: all mistakes, never none.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaErrors(Vec<FieldError>);

impl SchemaErrors {
    /// The mistakes, each with its path below the schema's.
    #[must_use]
    pub fn errors(&self) -> &[FieldError] {
        &self.0
    }

    /// Hands the mistakes over.
    #[must_use]
    pub fn into_errors(self) -> Vec<FieldError> {
        self.0
    }
}

impl fmt::Display for SchemaErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            write!(formatter, "{}{error}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl std::error::Error for SchemaErrors {}

impl Schema {
    /// Reads and checks a schema: the value of `openAPIV3Schema`.
    ///
    /// # Errors
    /// Every rule for schemas of CRDs that is broken. Paths begin with the first keyword, such as
    /// `properties[spec].type`.
    pub fn parse(schema: &Value) -> Result<Self, SchemaErrors> {
        Self::parse_at(schema, "")
    }

    /// The same, with paths that begin with a prefix, such as `spec.versions[0].schema.openAPIV3Schema`.
    ///
    /// # Errors
    /// As [`Schema::parse`].
    pub fn parse_at(schema: &Value, path: &str) -> Result<Self, SchemaErrors> {
        Self::parse_with(schema, &Options { path, ..Options::default() })
    }

    /// The same, with options.
    ///
    /// # Errors
    /// As [`Schema::parse`].
    pub fn parse_with(schema: &Value, options: &Options<'_>) -> Result<Self, SchemaErrors> {
        let path = options.path;
        let (root, parser) = parse::parse(schema, path);
        if !parser.errors.is_empty() {
            return Err(SchemaErrors(parser.errors));
        }
        let mut errors = structural::check(&root, path);
        if errors.is_empty() {
            check_defaults(&root, path, &mut errors);
        }
        errors.extend(openapi::check(&root, path));
        if !errors.is_empty() {
            return Err(SchemaErrors(errors));
        }
        let rules = rules::compile(&root, path, options.env(), options.stored_expressions());
        let rules = rules.map_err(SchemaErrors)?;
        let mut evaluator = Evaluator::default();
        check_default_rules(&root, path, &Walk(rules.as_ref()), &mut evaluator, &mut errors);
        if !errors.is_empty() {
            return Err(SchemaErrors(errors));
        }
        Ok(Self { root, rules: rules.map(Arc::new), unknown_keywords: parser.unknown })
    }

    /// The top of the tree of types.
    #[must_use]
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// Paths of keywords in the schema that schemas of CRDs do not have. They have no effect; the API
    /// server drops them, and refuses them under `fieldValidation=Strict`.
    #[must_use]
    pub fn unknown_keywords(&self) -> &[String] {
        &self.unknown_keywords
    }

    /// Removes fields that the schema does not know, and nulls that are no value. `apiVersion`, `kind` and
    /// `metadata` of the object stay as they are. Says which fields were unknown, sorted, in the notation
    /// of `fieldValidation` (`spec.items[0].name`).
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        if !is_shallow(object) {
            return Vec::new();
        }
        let unknown = prune::unknown_fields(object, &self.root, true);
        prune::nulls(object, Some(&self.root));
        prune::embedded_metadata(object, &self.root, true);
        unknown
    }

    /// Puts defaults where fields are missing.
    pub fn default(&self, object: &mut Value) {
        if is_shallow(object) {
            default::apply(object, &self.root);
        }
    }

    /// Validates a whole object: OpenAPI, embedded resources, list types, rules in CEL. With the object as
    /// it was before, mistakes in parts that did not change are let through, as the API server does on
    /// update. Rules are not evaluated on an object that is wrong otherwise; one error says so.
    ///
    /// Metadata of the object itself is the caller's business.
    #[must_use]
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        self.validate_after(false, object, old)
    }

    /// [`Schema::validate`] for a caller that has found mistakes of its own, in the metadata for instance.
    /// `is_blocked` tells that one of them keeps rules from being evaluated, see [`Cause::blocks_rules`].
    ///
    /// [`Cause::blocks_rules`]: crate::Cause::blocks_rules
    #[must_use]
    pub fn validate_after(&self, is_blocked: bool, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = self.validate_openapi(object, old);
        errors.extend(self.validate_embedded(object));
        errors.extend(self.validate_lists(object, old));
        self.extend_with_rules(&mut errors, is_blocked, object, old);
        errors
    }

    /// Validates a write to the status subresource, `object` being the whole object with its new status:
    /// OpenAPI for the status alone, list types and rules for the whole. `is_blocked` is that of
    /// [`Schema::validate_after`].
    ///
    /// Behaviour: apiextensions-apiserver `pkg/registry/customresource/status_strategy.go`, `ValidateUpdate`.
    #[must_use]
    pub fn validate_status(&self, is_blocked: bool, object: &Value, old: &Value) -> Vec<FieldError> {
        if let Some(error) = too_deep(object).or_else(|| too_deep(old)) {
            return vec![error];
        }
        let mut errors = match (object.get("status"), self.root.field("status")) {
            (Some(status), Some(node)) => validate::check(status, old.get("status"), node, "status"),
            _ => Vec::new(),
        };
        errors.extend(self.validate_lists(object, Some(old)));
        self.extend_with_rules(&mut errors, is_blocked, object, Some(old));
        errors
    }

    /// Adds what the rules say, or that they were not asked.
    fn extend_with_rules(
        &self,
        errors: &mut Vec<FieldError>,
        is_blocked: bool,
        object: &Value,
        old: Option<&Value>,
    ) {
        if self.rules.is_none() {
            return;
        }
        if is_blocked || errors.iter().any(|error| error.cause.blocks_rules()) {
            let why = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
            errors.push(FieldError::invalid("<nil>", Value::Null, why));
        } else {
            errors.extend(self.validate_rules(object, old));
        }
    }

    /// Only the rules in CEL of [`Schema::validate`], whatever else is wrong with the object.
    #[must_use]
    pub fn validate_rules(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        match &self.rules {
            Some(rules) if is_shallow(object) && old.is_none_or(is_shallow) => {
                rules::evaluate(rules, &self.root, object, old, &Path::Root)
            }
            _ => Vec::new(),
        }
    }

    /// True when the schema has rules in CEL.
    #[must_use]
    pub fn has_rules(&self) -> bool {
        self.rules.is_some()
    }

    /// Only the OpenAPI part of [`Schema::validate`].
    #[must_use]
    pub fn validate_openapi(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        if let Some(error) = too_deep(object).or_else(|| old.and_then(too_deep)) {
            return vec![error];
        }
        validate::check(object, old, &self.root, "")
    }

    /// Only the embedded resources of [`Schema::validate`].
    #[must_use]
    pub fn validate_embedded(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if is_shallow(object) {
            embedded::check(object, &self.root, &Path::Root, &mut errors);
        }
        errors
    }

    /// Only the uniqueness in sets and map lists of [`Schema::validate`]. Nothing is told when the old
    /// object broke it too.
    #[must_use]
    pub fn validate_lists(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let check = |value: &Value| {
            let mut errors = Vec::new();
            if is_shallow(value) {
                lists::check(value, &self.root, &Path::Root, &mut errors);
            }
            errors
        };
        match old {
            Some(old) if !check(old).is_empty() => Vec::new(),
            _ => check(object),
        }
    }
}

/// Defaults must be pruned and valid themselves.
fn check_defaults(node: &Node, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(default) = &node.default {
        check_default(node, default, &child(path, "default"), errors);
    }
    if let Some(items) = &node.items {
        check_defaults(items, &child(path, "items"), errors);
    }
    for (name, property) in &node.properties {
        check_defaults(property, &crate::path::keyed(&child(path, "properties"), name), errors);
    }
}

/// Checks one default, without its rules; true when these can be looked at.
pub(crate) fn check_default(node: &Node, default: &Value, path: &str, errors: &mut Vec<FieldError>) -> bool {
    let mut pruned = default.clone();
    prune::unknown_fields(&mut pruned, node, node.embedded);
    if pruned != *default {
        errors.push(FieldError::invalid(path, default.clone(), "must not have unknown fields"));
    }
    let mut found = Vec::new();
    embedded::check(default, node, &Path::from_prefix(path), &mut found);
    if found.is_empty() {
        found = validate::check(default, None, &node.for_defaults(), path);
    }
    let is_sound = found.is_empty();
    errors.append(&mut found);
    is_sound
}

/// Defaults must keep the rules too.
fn check_default_rules(
    node: &Node,
    path: &str,
    walk: &Walk<'_>,
    evaluator: &mut Evaluator,
    errors: &mut Vec<FieldError>,
) {
    if let Some(default) = &node.default {
        errors.extend(walk.default(evaluator, node, default, &child(path, "default")));
    }
    if let Some(items) = &node.items {
        check_default_rules(items, &child(path, "items"), &walk.items(), evaluator, errors);
    }
    for (name, property) in &node.properties {
        let path = crate::path::keyed(&child(path, "properties"), name);
        check_default_rules(property, &path, &walk.property(name), evaluator, errors);
    }
}

pub(crate) fn too_deep(value: &Value) -> Option<FieldError> {
    (!is_shallow(value))
        .then(|| FieldError::forbidden("<nil>", format!("must not be nested deeper than {MAX_DEPTH}")))
}

/// True when a value nests no deeper than [`MAX_DEPTH`].
pub(crate) fn is_shallow(value: &Value) -> bool {
    fn fits(value: &Value, left: usize) -> bool {
        match value {
            Value::Array(items) => left > 0 && items.iter().all(|item| fits(item, left - 1)),
            Value::Object(fields) => left > 0 && fields.values().all(|value| fits(value, left - 1)),
            _ => true,
        }
    }
    fits(value, MAX_DEPTH)
}
