//! Schemas of values that are no resource: any type at the root, no metadata, no old-fashioned leniency.
//!
//! Behaviour: Cluster API `internal/topology/variables`, which puts the API server's library to this use. What
//! is otherwise than for CRDs: the root may have any type; `uniqueItems` may be used; junctors may speak of
//! fields that the structure does not have; enums and examples must fit their schema; no list is correlated
//! with what it was before; what was wrong before is not let through.

use serde_json::Value;

use crate::cel::rules::{self, Compiler, Evaluator, Level, Place, Walk};
use crate::error::FieldError;
use crate::node::{Additional, Node, Type};
use crate::path::{child, keyed};
use crate::schema::{Options, check_default, is_shallow, too_deep};
use crate::{default, openapi, parse, prune, structural, validate};

/// The longest message of a rule, in bytes.
const MAX_MESSAGE: usize = 2048;

/// The schema of a value that is no resource, read as it is stored.
#[derive(Debug)]
pub struct ValueSchema {
    root: Node,
    rules: Option<Level>,
}

impl ValueSchema {
    /// Everything that is wrong with a schema that is to be stored. Fields whose schema is wrong keep the rules
    /// at their level and above from being looked at.
    #[must_use]
    pub fn check(schema: &Value, options: &Options<'_>) -> Vec<FieldError> {
        let (root, parser) = parse::parse(schema, options.path);
        if !parser.errors.is_empty() {
            return parser.errors;
        }
        let errors = structural::check_value(&root, options.path);
        if !errors.is_empty() {
            return errors;
        }
        let mut errors = Vec::new();
        // Only here the root counts as a resource, so that rules see its type and name.
        let levels = rules::compile_stored(&root, true);
        check_defaults(&root, options.path, &Walk(levels.as_ref()), &mut Evaluator::default(), &mut errors);
        if !errors.is_empty() {
            return errors;
        }
        let mut checker = Checker {
            compiler: Compiler::new(options.env(), options.stored_expressions()),
            evaluator: Evaluator::default(),
            errors,
        };
        checker.level(&root, Some(&Place::root(options.path)), options.path);
        checker.compiler.check_total(options.path);
        checker.errors.append(&mut checker.compiler.errors);
        checker.errors
    }

    /// Reads a schema that is stored already. Mistakes in it are let through as far as they go: a rule that does
    /// not compile is broken by every value, a pattern that is none by every text.
    ///
    /// # Errors
    /// Keywords that hold something else than they must.
    pub fn read(schema: &Value) -> Result<Self, Vec<FieldError>> {
        let (root, parser) = parse::parse(schema, "");
        if !parser.errors.is_empty() {
            return Err(parser.errors);
        }
        let rules = rules::compile_stored(&root, false);
        Ok(Self { root, rules })
    }

    /// Puts defaults where fields are missing; null becomes the default of the whole.
    pub fn default(&self, value: &mut Value) {
        if is_shallow(value) {
            default::replace_null(value, &self.root);
            default::apply(value, &self.root);
        }
    }

    /// What is wrong with a value but for unknown fields and rules. Paths begin with the prefix.
    #[must_use]
    pub fn validate_openapi(&self, value: &Value, path: &str) -> Vec<FieldError> {
        match too_deep(value) {
            Some(error) => vec![FieldError { path: path.to_owned(), ..error }],
            None => validate::check(value, None, &self.root, path),
        }
    }

    /// The fields of a value that the schema does not know, as `a.b[0].c` below the value, sorted.
    #[must_use]
    pub fn unknown_fields(&self, value: &Value) -> Vec<String> {
        if is_shallow(value) {
            prune::unknown_fields(&mut value.clone(), &self.root, false)
        } else {
            Vec::new()
        }
    }

    /// The rules that a value breaks. Rules about `oldSelf` are only looked at with an old value. Paths begin
    /// with the prefix.
    #[must_use]
    pub fn validate_rules(&self, value: &Value, old: Option<&Value>, path: &str) -> Vec<FieldError> {
        match &self.rules {
            Some(rules) if is_shallow(value) && old.is_none_or(is_shallow) => {
                Evaluator::default().run_once(rules, &self.root, value, old, path)
            }
            _ => Vec::new(),
        }
    }
}

fn check_defaults(
    node: &Node,
    path: &str,
    walk: &Walk<'_>,
    evaluator: &mut Evaluator,
    errors: &mut Vec<FieldError>,
) {
    if let Some(default) = &node.default {
        let here = child(path, "default");
        if check_default(node, default, &here, errors) {
            errors.extend(walk.default(evaluator, node, default, &here));
        }
    }
    if let Some(items) = &node.items {
        check_defaults(items, &child(path, "items"), &walk.items(), evaluator, errors);
    }
    for (name, property) in &node.properties {
        let path = keyed(&child(path, "properties"), name);
        check_defaults(property, &path, &walk.property(name), evaluator, errors);
    }
}

struct Checker {
    compiler: Compiler,
    evaluator: Evaluator,
    /// What is wrong but for rules.
    errors: Vec<FieldError>,
}

impl Checker {
    /// One level and what is below it. Without a place, inside junctors, there are no rules.
    fn level(&mut self, node: &Node, place: Option<&Place>, path: &str) {
        let (before, rules_before) = (self.errors.len(), self.compiler.errors.len());
        if !node.type_name.is_empty() && Type::from_name(&node.type_name).is_none() {
            self.errors.push(openapi::unknown_type(node, path));
            return;
        }
        for (path, value) in samples(node, path) {
            self.errors.extend(validate::check(value, None, node, &path));
        }
        self.below(node, place, path);
        if node.rules.is_empty() {
            return;
        }
        for (index, rule) in node.rules.iter().enumerate() {
            let path = format!("{}[{index}]", child(path, "x-kubernetes-validations"));
            openapi::rule_fields(node, rule, Some(MAX_MESSAGE), &path, &mut self.errors);
        }
        if self.errors.len() == before
            && let Some(place) = place
        {
            self.compiler.rules(node, place);
        }
        if (self.errors.len(), self.compiler.errors.len()) == (before, rules_before) {
            self.samples_keep_rules(node, path);
        }
    }

    fn below(&mut self, node: &Node, place: Option<&Place>, path: &str) {
        if let Some(Additional::Schema(values)) = &node.additional {
            if !node.properties.is_empty() {
                let why = "additionalProperties and properties are mutually exclusive";
                self.errors.push(FieldError::forbidden(path, why));
            }
            let path = child(path, "additionalProperties");
            self.level(values, place.map(|place| place.below(path.clone(), node, values)).as_ref(), &path);
        }
        for (name, property) in &node.properties {
            let path = keyed(&child(path, "properties"), name);
            self.level(
                property,
                place.map(|place| place.below(path.clone(), node, property)).as_ref(),
                &path,
            );
        }
        if let Some(items) = &node.items {
            let path = child(path, "items");
            self.level(items, place.map(|place| place.items(node, items)).as_ref(), &path);
        }
        if let Some(not) = &node.not {
            self.level(not, None, &child(path, "not"));
        }
        for (keyword, nodes) in [("allOf", &node.all_of), ("oneOf", &node.one_of), ("anyOf", &node.any_of)] {
            for (index, nested) in nodes.iter().enumerate() {
                self.level(nested, None, &format!("{}[{index}]", child(path, keyword)));
            }
        }
    }

    fn samples_keep_rules(&mut self, node: &Node, path: &str) {
        let samples = samples(node, path);
        if samples.is_empty() {
            return;
        }
        let Some(level) = rules::compile_stored(node, false) else { return };
        for (path, value) in samples {
            self.errors.extend(self.evaluator.run_once(&level, node, value, None, &path));
        }
    }
}

/// The values that a schema shows: its example and its enumeration.
fn samples<'n>(node: &'n Node, path: &str) -> Vec<(String, &'n Value)> {
    let example = node.example.iter().map(|value| (child(path, "example"), value));
    let enumeration = node.enumeration.iter().enumerate();
    let enumeration = enumeration.map(|(index, value)| (format!("{}[{index}]", child(path, "enum")), value));
    example.chain(enumeration).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(schema: &Value) -> Vec<String> {
        let errors = ValueSchema::check(schema, &Options::default());
        errors.iter().map(ToString::to_string).map(|text| text.chars().take(60).collect()).collect()
    }

    #[test]
    fn any_type_may_be_the_root_and_lists_may_be_unique() {
        let list = json!({"type": "array", "uniqueItems": true, "items": {"type": "integer"}});
        assert_eq!(paths(&list), [""; 0]);
        let list = ValueSchema::read(&list).unwrap();
        assert_eq!(list.validate_openapi(&json!([1, 2]), "v"), []);
        assert_eq!(list.validate_openapi(&json!([1, 1]), "v")[0].path, "v");
    }

    #[test]
    fn enums_and_examples_must_fit_their_schema_and_keep_its_rules() {
        let schema = json!({"type": "integer", "minimum": 1, "enum": [0, 2], "example": "x"});
        let errors = ValueSchema::check(&schema, &Options { path: "s", ..Options::default() });
        let found: Vec<_> = errors.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(found, ["s.example", "s.example", "s.enum[0]"]);
        let rules = json!([{"rule": "self > 1"}]);
        let schema = json!({"type": "integer", "enum": [1, 2], "x-kubernetes-validations": rules});
        let errors = ValueSchema::check(&schema, &Options { path: "s", ..Options::default() });
        assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["s.enum[0]"]);
    }

    #[test]
    fn a_stored_rule_may_use_newer_functions_and_a_new_one_may_not() {
        let schema =
            json!({"type": "string", "maxLength": 9, "x-kubernetes-validations": [{"rule": "isIP(self)"}]});
        let check = |stored| {
            let options = Options { compatible_with: Some(29), stored, ..Options::default() };
            ValueSchema::check(&schema, &options).len()
        };
        assert_eq!(check(None), 1);
        assert_eq!(check(Some(&schema)), 0);
        let crd = json!({"type": "object", "properties": {"a": schema}});
        let options = Options { compatible_with: Some(29), stored: Some(&crd), ..Options::default() };
        assert!(crate::Schema::parse_with(&crd, &options).is_ok());
        assert!(crate::Schema::parse_with(&crd, &Options { stored: None, ..options }).is_err());
    }

    #[test]
    fn a_stored_rule_that_does_not_compile_is_broken_by_every_value() {
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >"}, {"rule": " "}]},
        }});
        let schema = ValueSchema::read(&schema).unwrap();
        let errors = schema.validate_rules(&json!({"a": 1}), None, "v");
        assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["v.a"]);
        assert!(errors[0].detail.starts_with("rule compile error: "), "{}", errors[0].detail);
        assert_eq!(schema.validate_rules(&json!({}), None, "v"), []);
    }

    #[test]
    fn many_samples_share_the_work_they_may_take() {
        let long = "x".repeat(20_000);
        let values: Vec<_> = (0..2000).map(|index| format!("{long}{index}")).collect();
        let rule = "self.matches('a+b') || self.matches('a+c') || self.matches('a+d') || true";
        let rule = json!([{"rule": rule}]);
        let schema =
            json!({"type": "string", "maxLength": 30_000, "enum": values, "x-kubernetes-validations": rule});
        let errors = ValueSchema::check(&schema, &Options::default());
        assert!(errors.len() < 2000 && !errors.is_empty(), "{}", errors.len());
    }
}
