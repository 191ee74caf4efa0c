//! The rules of a whole schema: compiled once, evaluated with every object.
//!
//! Behaviour: apiextensions-apiserver `pkg/apiserver/schema/cel/validation.go` and `compilation.go`,
//! `pkg/apis/apiextensions/validation` (costs, `oldSelf`).

use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use serde_json::Value;

use super::check::{self, Checked};
use super::cost;
use super::decl::{Decl, MAX_REQUEST, decl};
use super::eval;
use super::syntax::{self, Env, Expr, Issue, Kind};
use super::types::Type;
use super::value::{Fault, Meter, Val, from_json};
use crate::correlate::{Correlated, find_item};
use crate::error::{Cause, FieldError};
use crate::go;
use crate::node::{Additional, Node, Rule, Type as NodeType};
use crate::openapi::resolve_field_path;
use crate::path::{Path, child, keyed};

/// What one evaluation may cost.
const PER_CALL: u64 = 1_000_000;
/// What all evaluations of one object may cost.
const BUDGET: u64 = 10_000_000;
/// What one rule may be estimated to cost, times how often it can apply.
const RULE_LIMIT: u64 = 10_000_000;
/// What all rules of a schema may be estimated to cost.
const SCHEMA_LIMIT: u64 = 100_000_000;
/// The longest message an expression may make, in bytes.
const MAX_MESSAGE: usize = 5 * 1024;

/// The rules at one level of a schema and below.
#[derive(Debug, Default)]
pub(crate) struct Level {
    rules: Vec<Outcome>,
    /// Why rules of this level cannot be compiled at all.
    broken: Option<String>,
    is_resource: bool,
    items: Option<Box<Level>>,
    properties: BTreeMap<String, Level>,
    additional: Option<Box<Level>>,
}

/// What became of one rule.
#[derive(Debug)]
enum Outcome {
    Compiled(Box<Compiled>),
    /// There is nothing in it, so it holds.
    Empty,
    /// It was stored although it does not compile; no value keeps it.
    Broken(String),
}

#[derive(Debug)]
pub(crate) struct Compiled {
    checked: Checked,
    message: Option<Checked>,
    uses_old_self: bool,
    /// Below the rule's own field; empty when it is that.
    field_path: String,
}

/// Compiles every rule of a schema; `None` when there is none.
pub(crate) fn compile(
    root: &Node,
    path: &str,
    env: Env,
    stored: Stored,
) -> Result<Option<Level>, Vec<FieldError>> {
    let mut compiler = Compiler::new(env, stored);
    let level = compiler.level(root, &Place::root(path));
    compiler.check_total(path);
    if compiler.errors.is_empty() { Ok(level) } else { Err(compiler.errors) }
}

/// Compiles every rule of a schema that is in use already: with all functions, without limits of what it is
/// estimated to cost. What does not compile breaks on every value.
pub(crate) fn compile_stored(node: &Node, is_resource: bool) -> Option<Level> {
    if !has_rules(node) {
        return None;
    }
    let below = |node: &Node| compile_stored(node, node.embedded);
    let mut level = Level { is_resource, ..Level::default() };
    if !node.rules.is_empty() {
        match decl(node, is_resource, "self") {
            None => level.broken = Some("failed to convert to declType for CEL validation rules".to_owned()),
            Some(found) => level.rules = stored_rules(node, &found),
        }
    }
    // Fields whose type rules cannot see are left out, as the API server does.
    let seen = |node: &Node| has_rules(node) && decl(node, node.embedded, "self").is_some();
    for (name, property) in node.properties.iter().filter(|(_, property)| seen(property)) {
        level.properties.extend(below(property).map(|found| (name.clone(), found)));
    }
    level.items = node.items().and_then(below).map(Box::new);
    level.additional = node.map_values().and_then(below).map(Box::new);
    Some(level)
}

fn stored_rules(node: &Node, found: &Decl) -> Vec<Outcome> {
    let compile = |rule: &Rule| {
        if rule.rule.trim().is_empty() {
            return Outcome::Empty;
        }
        let variables = variables(rule, found);
        match Compiler::expression(&rule.rule, &variables, &Type::Bool, Env::ALL) {
            Err(why) => Outcome::Broken(why.of_rule()),
            Ok(checked) => Outcome::Compiled(Box::new(Compiled {
                uses_old_self: names(&checked.expr, "oldSelf"),
                checked,
                message: Compiler::expression(&rule.message_expression, &variables, &Type::String, Env::ALL)
                    .ok()
                    .filter(|_| !rule.message_expression.is_empty()),
                field_path: resolve_field_path(node, &rule.field_path).unwrap_or_default(),
            })),
        }
    };
    node.rules.iter().map(compile).collect()
}

/// The names that a rule can use, with their types.
fn variables(rule: &Rule, found: &Decl) -> [(&'static str, Type); 2] {
    let own = found.cel_type();
    let optional = rule.optional_old_self == Some(true);
    let old = if optional { Type::optional(own.clone()) } else { own.clone() };
    [("self", own), ("oldSelf", old)]
}

/// Expressions that stand in a schema already; they may use all functions.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    rules: HashSet<String>,
    messages: HashSet<String>,
}

impl Stored {
    /// The expressions of a schema, those in its junctors too.
    pub(crate) fn of(node: &Node) -> Self {
        let mut stored = Self::default();
        stored.collect(node);
        stored
    }

    fn collect(&mut self, node: &Node) {
        for rule in &node.rules {
            self.rules.insert(rule.rule.clone());
            if !rule.message_expression.is_empty() {
                self.messages.insert(rule.message_expression.clone());
            }
        }
        let junctors = [&node.all_of, &node.any_of, &node.one_of].into_iter().flatten();
        let nested = junctors.chain(node.not.as_deref()).chain(node.items()).chain(node.map_values());
        nested.chain(node.properties.values()).for_each(|node| self.collect(node));
    }
}

#[allow(clippy::cast_precision_loss)]
fn exceeds(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = match factor {
        factor if factor > 100.0 => "more than 100x".to_owned(),
        factor if factor < 1.5 => format!("{factor:.6}x"),
        factor => format!("{factor:.1}x"),
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}

/// Where in a schema the compiler is.
pub(crate) struct Place {
    pub(crate) path: String,
    /// How often the level can be in one object; `None` when nothing bounds it.
    cardinality: Option<u64>,
    /// The list whose items have no old value.
    uncorrelatable: Option<String>,
    is_resource: bool,
}

impl Place {
    /// The whole of a schema.
    pub(crate) fn root(path: &str) -> Self {
        Self { path: path.to_owned(), cardinality: Some(1), uncorrelatable: None, is_resource: true }
    }

    /// One step down, from the schema `of` to the schema `to`.
    pub(crate) fn below(&self, path: String, of: &Node, to: &Node) -> Self {
        let cardinality = self.cardinality.zip(multiplicity(of)).map(|(a, b)| a.saturating_mul(b));
        let uncorrelatable = self.uncorrelatable.clone();
        Self { path, cardinality, uncorrelatable, is_resource: to.embedded }
    }

    /// One step down, to the items of a list.
    pub(crate) fn items(&self, of: &Node, to: &Node) -> Self {
        let mut place = self.below(child(&self.path, "items"), of, to);
        if of.list_type.as_deref() != Some("map") {
            place.uncorrelatable.get_or_insert_with(|| self.path.clone());
        }
        place
    }
}

pub(crate) struct Compiler {
    env: Env,
    stored: Stored,
    pub(crate) errors: Vec<FieldError>,
    total: u64,
    most_expensive: Vec<(String, u64)>,
}

impl Compiler {
    pub(crate) fn new(env: Env, stored: Stored) -> Self {
        Self { env, stored, errors: Vec::new(), total: 0, most_expensive: Vec::new() }
    }

    /// Refuses a schema whose rules together are estimated to cost too much.
    pub(crate) fn check_total(&mut self, path: &str) {
        if self.total <= SCHEMA_LIMIT {
            return;
        }
        for (path, _) in &self.most_expensive {
            let why =
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            self.errors.push(FieldError::forbidden(path.as_str(), why));
        }
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        self.errors.push(FieldError::forbidden(path, exceeds(what, self.total, SCHEMA_LIMIT)));
    }

    fn level(&mut self, node: &Node, here: &Place) -> Option<Level> {
        if !has_rules(node) {
            return None;
        }
        let mut level = Level { is_resource: here.is_resource, ..Level::default() };
        if !node.rules.is_empty() {
            let rules = self.rules(node, here);
            level.rules = rules.into_iter().map(|rule| Outcome::Compiled(Box::new(rule))).collect();
        }
        for (name, property) in &node.properties {
            let place = here.below(keyed(&child(&here.path, "properties"), name), node, property);
            if let Some(found) = self.level(property, &place) {
                level.properties.insert(name.clone(), found);
            }
        }
        if let Some(items) = &node.items {
            level.items = self.level(items, &here.items(node, items)).map(Box::new);
        }
        if let Some(Additional::Schema(values)) = &node.additional {
            let place = here.below(child(&here.path, "additionalProperties"), node, values);
            level.additional = self.level(values, &place).map(Box::new);
        }
        Some(level)
    }

    /// Compiles the rules of one level; what is wrong with them is in `errors`.
    pub(crate) fn rules(&mut self, node: &Node, here: &Place) -> Vec<Compiled> {
        let path = child(&here.path, "x-kubernetes-validations");
        let Some(found) = decl(node, here.is_resource, "self") else {
            let why = "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations";
            self.errors.push(FieldError::new(path, Cause::Internal, why));
            return Vec::new();
        };
        let rules = node.rules.iter().enumerate();
        rules
            .filter_map(|(index, rule)| self.rule(node, rule, &found, here, &format!("{path}[{index}]")))
            .collect()
    }

    fn rule(&mut self, node: &Node, rule: &Rule, found: &Decl, here: &Place, path: &str) -> Option<Compiled> {
        let variables = variables(rule, found);
        let rule_path = child(path, "rule");
        let env = if self.stored.rules.contains(&rule.rule) { Env::ALL } else { self.env };
        let checked = match Self::expression(&rule.rule, &variables, &Type::Bool, env) {
            Ok(checked) => checked,
            Err(why) => {
                // The API server looks at the message all the same.
                self.message(rule, &variables, found, path);
                self.errors.push(refused(rule_path, rule, &why.of_rule()));
                return None;
            }
        };
        let uses_old_self = names(&checked.expr, "oldSelf");
        let cardinality = here.cardinality.unwrap_or(MAX_REQUEST / (found.min_size + 1));
        let cost = cost::estimate(&checked, found).saturating_mul(cardinality);
        self.observe("estimated rule cost", &rule_path, cost);
        let message = self.message(rule, &variables, found, path);
        if uses_old_self {
            if let Some(list) = &here.uncorrelatable {
                let why = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {list}"
                );
                self.errors.push(FieldError::invalid(rule_path, rule.rule.clone().into(), why));
            }
        } else if let Some(set) = rule.optional_old_self {
            let why = "may not be set if oldSelf is not used in rule";
            self.errors.push(FieldError::invalid(child(path, "optionalOldSelf"), set.into(), why));
        }
        let field_path = resolve_field_path(node, &rule.field_path).unwrap_or_default();
        Some(Compiled { checked, message, uses_old_self, field_path })
    }

    fn message(
        &mut self,
        rule: &Rule,
        variables: &[(&str, Type)],
        found: &Decl,
        path: &str,
    ) -> Option<Checked> {
        if rule.message_expression.is_empty() {
            return None;
        }
        let path = child(path, "messageExpression");
        let env = if self.stored.messages.contains(&rule.message_expression) { Env::ALL } else { self.env };
        match Self::expression(&rule.message_expression, variables, &Type::String, env) {
            Ok(checked) => {
                self.observe("estimated messageExpression cost", &path, cost::estimate(&checked, found));
                Some(checked)
            }
            Err(why) => {
                let why = match why {
                    Wrong::Compilation(why) => format!("messageExpression compilation failed: {why}"),
                    Wrong::Output => "messageExpression must evaluate to a string".to_owned(),
                    Wrong::Instantiation(why) => format!("messageExpression instantiation failed: {why}"),
                };
                self.errors.push(refused(path, rule, &why));
                None
            }
        }
    }

    fn expression(
        source: &str,
        variables: &[(&str, Type)],
        wanted: &Type,
        env: Env,
    ) -> Result<Checked, Wrong> {
        let issues = |issues: &[Issue]| {
            Wrong::Compilation(
                issues.iter().map(|issue| issue.display(source)).collect::<Vec<_>>().join("\n"),
            )
        };
        let parsed = syntax::parse(source, env).map_err(|issue| issues(&[issue]))?;
        let checked = check::check(parsed, env, variables).map_err(|found| issues(&found))?;
        if checked.type_of(&checked.expr) != wanted {
            return Err(Wrong::Output);
        }
        match eval::instantiate(&checked, &checked.expr) {
            Ok(()) => Ok(checked),
            Err(Fault::Error(why)) => Err(Wrong::Instantiation(why)),
            Err(Fault::Cost) => {
                Err(Wrong::Instantiation("operation cancelled: actual cost limit exceeded".to_owned()))
            }
        }
    }

    fn observe(&mut self, what: &str, path: &str, cost: u64) {
        if cost > RULE_LIMIT {
            self.errors.push(FieldError::forbidden(path, exceeds(what, cost, RULE_LIMIT)));
        }
        self.total = self.total.saturating_add(cost);
        if cost >= SCHEMA_LIMIT / 100 {
            self.most_expensive.push((path.to_owned(), cost));
            self.most_expensive.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
            self.most_expensive.truncate(4);
        }
    }
}

enum Wrong {
    Compilation(String),
    Output,
    Instantiation(String),
}

impl Wrong {
    fn of_rule(self) -> String {
        match self {
            Self::Compilation(why) => format!("compilation failed: {why}"),
            Self::Output => "cel expression must evaluate to a bool".to_owned(),
            Self::Instantiation(why) => format!("program instantiation failed: {why}"),
        }
    }
}

/// A rule that does not compile. The API server shows the rule with its fields in this order, so it is
/// part of the text.
fn refused(path: String, rule: &Rule, why: &str) -> FieldError {
    let text = |text: &str| go::json(&Value::from(text));
    let detail = format!(
        r#"{{"Rule":{},"Message":{},"MessageExpression":{},"Reason":{},"FieldPath":{},"OptionalOldSelf":{}}}: {why}"#,
        text(&rule.rule),
        text(&rule.message),
        text(&rule.message_expression),
        rule.reason.as_deref().map_or_else(|| "null".to_owned(), text),
        text(&rule.field_path),
        rule.optional_old_self.map_or("null", |set| if set { "true" } else { "false" }),
    );
    FieldError::new(path, Cause::Invalid, detail)
}

/// How many values one value of a level has directly below it; `None` when nothing bounds it.
fn multiplicity(node: &Node) -> Option<u64> {
    let bound = |most: Option<i64>| most.map(|most| u64::try_from(most).unwrap_or(0));
    match node.value_type() {
        Some(NodeType::Object) if node.additional.is_some() => bound(node.max_properties),
        Some(NodeType::Array) => bound(node.max_items),
        _ => Some(1),
    }
}

fn has_rules(node: &Node) -> bool {
    !node.rules.is_empty()
        || node.items().is_some_and(has_rules)
        || node.map_values().is_some_and(has_rules)
        || node.properties.values().any(has_rules)
}

/// True when a name occurs in an expression.
fn names(expr: &Expr, name: &str) -> bool {
    let mut found = matches!(&expr.kind, Kind::Ident(known) if known == name);
    check::children(expr, &mut |child| found |= names(child, name));
    found
}

/// What is known of the old value of the part that is looked at: it and the nearest part above that has
/// one.
#[derive(Clone, Copy, Default)]
struct Ratchet<'a> {
    current: Option<Correlated<'a>>,
    parent: Option<Correlated<'a>>,
}

impl Ratchet<'_> {
    fn key(self, name: &str) -> Self {
        match self.current {
            None => self,
            // The type of the root is given by the request, so a change of it cannot be seen.
            Some(_) if self.parent.is_none() && matches!(name, "apiVersion" | "kind") => Self::default(),
            Some(current) => Self { current: current.key(name), parent: Some(current) },
        }
    }

    fn index(self, index: usize) -> Self {
        match self.current {
            None => self,
            Some(current) => Self { current: current.index(index), parent: Some(current) },
        }
    }

    fn is_unchanged(&self) -> bool {
        self.current.or(self.parent).is_some_and(|part| part.is_unchanged())
    }
}

/// Evaluates all rules on a value. With its old value, broken rules in unchanged parts are let through,
/// except those that look at the old value.
pub(crate) fn evaluate(
    level: &Level,
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    path: &Path<'_>,
) -> Vec<FieldError> {
    let ratchet = Ratchet { current: old.map(|old| Correlated { old, new: value, node }), parent: None };
    let mut evaluator = Evaluator::default();
    let _ = evaluator.level(level, node, value, old, ratchet, path);
    evaluator.errors
}

/// Nothing more is evaluated: the budget is used up.
struct Exhausted;

/// Runs rules and counts what they take. For several values in turn the budget begins anew, the real work adds
/// up.
pub(crate) struct Evaluator {
    errors: Vec<FieldError>,
    budget: u64,
    meter: Meter,
}

impl Default for Evaluator {
    fn default() -> Self {
        Self { errors: Vec::new(), budget: BUDGET, meter: Meter::new(PER_CALL) }
    }
}

impl Evaluator {
    /// What is wrong with one value, of which nothing is let through because it did not change.
    pub(crate) fn run_once(
        &mut self,
        level: &Level,
        node: &Node,
        value: &Value,
        old: Option<&Value>,
        path: &str,
    ) -> Vec<FieldError> {
        self.budget = BUDGET;
        let _ = self.level(level, node, value, old, Ratchet::default(), &Path::from_prefix(path));
        std::mem::take(&mut self.errors)
    }

    fn level(
        &mut self,
        level: &Level,
        node: &Node,
        value: &Value,
        old: Option<&Value>,
        ratchet: Ratchet<'_>,
        path: &Path<'_>,
    ) -> Result<(), Exhausted> {
        if value.is_null() {
            return Ok(());
        }
        let old = old.filter(|old| !old.is_null());
        let wrong = |why: String| FieldError::invalid(path.text(), node.type_name.clone().into(), why);
        if let Some(why) = &level.broken {
            self.errors.push(wrong(format!("rule compiler initialization error: {why}")));
        }
        for (outcome, rule) in level.rules.iter().zip(&node.rules) {
            match outcome {
                Outcome::Compiled(compiled) => {
                    self.rule(compiled, rule, level, node, value, old, ratchet, path)?;
                }
                Outcome::Broken(why) => self.errors.push(wrong(format!("rule compile error: {why}"))),
                Outcome::Empty => {}
            }
        }
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let old = old.and_then(|old| old.get(name));
                    if let (Some(level), Some(node)) = (&level.additional, node.map_values()) {
                        self.level(level, node, value, old, ratchet.key(name), &path.key(name))?;
                    }
                    if let (Some(level), Some(node)) = (level.properties.get(name), node.properties.get(name))
                    {
                        self.level(level, node, value, old, ratchet.key(name), &path.field(name))?;
                    }
                }
            }
            Value::Array(items) => {
                let (Some(level), Some(schema)) = (&level.items, node.items()) else { return Ok(()) };
                let old = old.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                for (index, item) in items.iter().enumerate() {
                    let old = find_item(node, old, item);
                    self.level(level, schema, item, old, ratchet.index(index), &path.index(index))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn rule(
        &mut self,
        compiled: &Compiled,
        rule: &Rule,
        level: &Level,
        node: &Node,
        value: &Value,
        old: Option<&Value>,
        ratchet: Ratchet<'_>,
        path: &Path<'_>,
    ) -> Result<(), Exhausted> {
        let optional = rule.optional_old_self == Some(true);
        if compiled.uses_old_self && old.is_none() && !optional {
            return Ok(());
        }
        let wrong = |why: String| FieldError::invalid(path.text(), node.type_name.clone().into(), why);
        let result = self.run(&compiled.checked, node, level.is_resource, value, old, optional);
        let text = if rule.message.is_empty() { rule.rule.trim() } else { rule.message.trim() };
        match result {
            Ok(Val::Bool(true)) => return Ok(()),
            Ok(_) => {}
            Err(Fault::Cost) => {
                let why = if self.budget == 0 {
                    "validation failed due to running out of cost budget, no further validation rules will be run".to_owned()
                } else {
                    format!(
                        "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: {text}"
                    )
                };
                self.errors.push(wrong(why));
                return Err(Exhausted);
            }
            Err(Fault::Error(why)) if why.starts_with("no such overload") => {
                self.errors.push(wrong(format!(
                    "'{why}': call arguments did not match a supported operator, function or macro signature for rule: {text}"
                )));
                return Ok(());
            }
            Err(Fault::Error(why)) => {
                self.errors.push(wrong(format!("{why} evaluating rule: {text}")));
                return Ok(());
            }
        }
        let message = self.message(compiled, node, level.is_resource, value, old, &rule.message_expression);
        let detail = match message {
            Ok(Some(message)) => message,
            Ok(None) if rule.message.is_empty() => format!("failed rule: {text}"),
            Ok(None) => text.to_owned(),
            Err(why) => {
                self.errors.push(wrong(why));
                return Err(Exhausted);
            }
        };
        if compiled.uses_old_self || !ratchet.is_unchanged() {
            self.errors.push(broken(compiled, rule, node, value, path, detail));
        }
        Ok(())
    }

    /// Runs one expression; takes its cost from the budget.
    fn run<'a>(
        &mut self,
        checked: &'a Checked,
        node: &'a Node,
        is_resource: bool,
        value: &'a Value,
        old: Option<&'a Value>,
        optional: bool,
    ) -> Result<Val<'a>, Fault> {
        if self.budget == 0 {
            return Err(Fault::Cost);
        }
        let mut variables = vec![("self", from_json(value, node, is_resource)?)];
        let old = old.map(|old| from_json(old, node, is_resource)).transpose()?;
        match old {
            old if optional => variables.push(("oldSelf", Val::Optional(old.map(Rc::new)))),
            Some(old) => variables.push(("oldSelf", old)),
            None => {}
        }
        self.meter.restart();
        let result = eval::run(checked, variables, &mut self.meter);
        let left = self.budget.checked_sub(self.meter.cost);
        self.budget = left.unwrap_or(0);
        if left.is_none() { Err(Fault::Cost) } else { result }
    }

    /// What the message expression says; nothing when it fails or says nothing that can be shown.
    fn message(
        &mut self,
        compiled: &Compiled,
        node: &Node,
        is_resource: bool,
        value: &Value,
        old: Option<&Value>,
        source: &str,
    ) -> Result<Option<String>, String> {
        let Some(checked) = &compiled.message else { return Ok(None) };
        match self.run(checked, node, is_resource, value, old, false) {
            Ok(Val::Text(text)) => {
                let text = text.trim();
                let shown = !text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n');
                Ok(shown.then(|| text.to_owned()))
            }
            Err(Fault::Cost) if self.budget == 0 => Err(
                "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run"
                    .to_owned(),
            ),
            Err(Fault::Cost) => Err(format!(
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: {}",
                go::quote(source)
            )),
            _ => Ok(None),
        }
    }
}

fn broken(
    compiled: &Compiled,
    rule: &Rule,
    node: &Node,
    value: &Value,
    path: &Path<'_>,
    detail: String,
) -> FieldError {
    let path = match (path.is_root(), compiled.field_path.is_empty()) {
        (_, true) => path.text(),
        (true, false) => compiled.field_path.clone(),
        (false, false) => format!("{}.{}", path.text(), compiled.field_path),
    };
    let shown = (!matches!(node.type_name.as_str(), "object" | "array")).then(|| value.clone());
    let (cause, bad_value, detail) = match rule.reason.as_deref() {
        Some("FieldValueForbidden") => (Cause::Forbidden, None, detail),
        Some("FieldValueRequired") => (Cause::Required, None, detail),
        Some("FieldValueDuplicate") => (Cause::Duplicate, shown, String::new()),
        _ => (Cause::Invalid, shown, detail),
    };
    FieldError { path, cause, bad_value, detail }
}

/// The rules of the level at the end of a walk down, for defaults.
pub(crate) struct Walk<'l>(pub(crate) Option<&'l Level>);

impl<'l> Walk<'l> {
    pub(crate) fn items(&self) -> Self {
        Self(self.0.and_then(|level| level.items.as_deref()))
    }

    pub(crate) fn property(&self, name: &str) -> Self {
        Self(self.0.and_then(|level| level.properties.get(name)))
    }

    /// Broken rules of a default, as it stays and as it comes.
    pub(crate) fn default(
        &self,
        evaluator: &mut Evaluator,
        node: &'l Node,
        default: &Value,
        path: &str,
    ) -> Vec<FieldError> {
        let Some(level) = self.0 else { return Vec::new() };
        let errors = evaluator.run_once(level, node, default, Some(default), path);
        if errors.is_empty() { evaluator.run_once(level, node, default, None, path) } else { errors }
    }
}
