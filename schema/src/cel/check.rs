//! Types of every node, found before anything runs.
//!
//! Behaviour: cel-go `checker/checker.go`, and the validators of `cel/validator.go` that the API server
//! switches on (literals of durations, timestamps and patterns; lists and maps of one type).

use super::functions::{self, Overload};
use super::library::strings;
use super::syntax::{Env, Expr, Fold, Issue, Kind, Literal, Parsed, qualified_name};
use super::types::{Solver, Type};
use super::value::Fault;
use crate::format::go_duration;
use crate::go::regex;

/// How many issues are told of one expression.
const MAX_ISSUES: usize = 20;

/// A tree whose every node has a type.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) expr: Expr,
    types: Vec<Type>,
    overloads: Vec<Vec<&'static str>>,
    constants: Vec<bool>,
}

impl Checked {
    /// True when the value is known before anything runs; it costs nothing then.
    pub(crate) fn is_constant(&self, expr: &Expr) -> bool {
        self.constants.get(expr.id).copied().unwrap_or(false)
    }

    pub(crate) fn type_of(&self, expr: &Expr) -> &Type {
        self.types.get(expr.id).unwrap_or(&Type::Dyn)
    }

    /// The overloads that a call may turn out to be.
    pub(crate) fn overloads(&self, expr: &Expr) -> &[&'static str] {
        self.overloads.get(expr.id).map_or(&[], Vec::as_slice)
    }
}

/// Checks a tree against the variables it may use.
pub(crate) fn check(parsed: Parsed, env: Env, variables: &[(&str, Type)]) -> Result<Checked, Vec<Issue>> {
    let mut expr = parsed.expr;
    let mut checker = Checker {
        env,
        solver: Solver::default(),
        scope: variables.iter().map(|(name, found)| ((*name).to_owned(), found.clone())).collect(),
        types: vec![Type::Dyn; parsed.ids],
        overloads: vec![Vec::new(); parsed.ids],
        issues: Vec::new(),
    };
    checker.expr(&mut expr);
    let types = checker.types.iter().map(|found| checker.solver.substitute(found, true)).collect();
    let mut constants = vec![false; parsed.ids];
    constant(&expr, &mut constants);
    let tree = Checked { expr, types, overloads: checker.overloads, constants };
    if checker.issues.is_empty() {
        let mut issues = Vec::new();
        literals(&tree, &tree.expr, &mut issues);
        checker.issues = issues;
    }
    if checker.issues.is_empty() {
        return Ok(tree);
    }
    checker.issues.sort_by_key(|issue| issue.at);
    checker.issues.truncate(MAX_ISSUES);
    Err(checker.issues)
}

struct Checker {
    env: Env,
    solver: Solver,
    scope: Vec<(String, Type)>,
    types: Vec<Type>,
    overloads: Vec<Vec<&'static str>>,
    issues: Vec<Issue>,
}

impl Checker {
    fn issue(&mut self, at: usize, message: String) {
        if self.issues.len() < MAX_ISSUES {
            self.issues.push(Issue::new(at, message));
        }
    }

    fn undeclared(&mut self, at: usize, name: &str) -> Type {
        self.issue(at, format!("undeclared reference to '{name}' (in container '')"));
        Type::Error
    }

    fn mismatch(&mut self, at: usize, expected: &Type, found: &Type) {
        let (expected, found) =
            (self.solver.substitute(expected, false), self.solver.substitute(found, false));
        self.issue(at, format!("expected type '{expected}' but found '{found}'"));
    }

    fn variable(&self, name: &str) -> Option<Type> {
        self.scope.iter().rev().find(|(known, _)| known == name).map(|(_, found)| found.clone())
    }

    fn expr(&mut self, expr: &mut Expr) -> Type {
        let found = match &mut expr.kind {
            Kind::Literal(literal) => literal_type(literal),
            Kind::TypeName(_) => Type::Meta,
            Kind::Ident(name) => match self.variable(name) {
                Some(found) => found,
                None if functions::is_type_name(name, self.env) => {
                    expr.kind = Kind::TypeName(std::mem::take(name));
                    Type::Meta
                }
                None => {
                    let name = name.clone();
                    self.undeclared(expr.at, &name)
                }
            },
            Kind::Select { .. } => self.select(expr),
            Kind::Call { .. } => self.call(expr),
            Kind::List(items) => {
                let item = self.list(items);
                Type::list(item)
            }
            Kind::Map(entries) => self.map(entries),
            Kind::Struct { name, fields } => {
                // No type that an expression can name has fields.
                let name = name.clone();
                for (_, value) in fields {
                    self.expr(value);
                }
                self.undeclared(expr.at, &name)
            }
            Kind::Fold(fold) => self.fold(fold),
        };
        self.types[expr.id] = found.clone();
        found
    }

    fn select(&mut self, expr: &mut Expr) -> Type {
        if let Some(name) = qualified_name(expr).filter(|name| functions::is_type_name(name, self.env)) {
            expr.kind = Kind::TypeName(name);
            return Type::Meta;
        }
        let at = expr.at;
        let Kind::Select { operand, field, test } = &mut expr.kind else { return Type::Error };
        let (test, field) = (*test, field.clone());
        let found = self.field(at, operand, &field, false);
        if test { Type::Bool } else { found }
    }

    fn field(&mut self, at: usize, operand: &mut Expr, field: &str, optional: bool) -> Type {
        let operand = self.expr(operand);
        let operand = self.solver.substitute(&operand, false);
        let (target, was_optional) = match operand {
            Type::Optional(inner) => ((*inner).clone(), true),
            other => (other, false),
        };
        let found = match &target {
            Type::Map(_, value) => (**value).clone(),
            Type::Object(object) => {
                if let Some(decl) = object.fields.get(field) {
                    decl.cel_type()
                } else {
                    self.issue(at, format!("undefined field '{field}'"));
                    Type::Error
                }
            }
            Type::Param(_) => {
                self.solver.assignable(&Type::Dyn, &target);
                Type::Dyn
            }
            Type::Dyn | Type::Error => Type::Dyn,
            other => {
                self.issue(at, format!("type '{other}' does not support field selection"));
                Type::Dyn
            }
        };
        let found = self.solver.substitute(&found, false);
        if was_optional || optional { Type::optional(found) } else { found }
    }

    fn call(&mut self, expr: &mut Expr) -> Type {
        let (at, id) = (expr.at, expr.id);
        let Kind::Call { function, target, args } = &mut expr.kind else { return Type::Error };
        if function == "_?._" {
            self.overloads[id] = vec!["select_optional_field"];
            let [operand, field] = args.as_mut_slice() else { return Type::Error };
            let Kind::Literal(Literal::String(name)) = &field.kind else { return Type::Error };
            let name = name.clone();
            self.types[field.id] = Type::String;
            return self.field(at, operand, &name, true);
        }
        let arg_types: Vec<_> = args.iter_mut().map(|arg| self.expr(arg)).collect();
        if let Some(prefix) = target.as_deref().and_then(qualified_name) {
            let qualified = format!("{prefix}.{function}");
            if functions::overloads(&qualified, self.env).is_some() {
                function.clone_from(&qualified);
                *target = None;
            }
        }
        let function = function.clone();
        let target_type = target.as_deref_mut().map(|target| self.expr(target));
        let Some(overloads) = functions::overloads(&function, self.env) else {
            return self.undeclared(at, &function);
        };
        let is_member = target_type.is_some();
        let given: Vec<_> = target_type.into_iter().chain(arg_types).collect();
        let places: Vec<_> = args.iter().map(|arg| arg.at).collect();
        self.resolve(at, id, &function, overloads, is_member, &given, &places)
    }

    #[allow(clippy::too_many_arguments)]
    fn resolve(
        &mut self,
        at: usize,
        id: usize,
        function: &str,
        overloads: impl Iterator<Item = &'static Overload>,
        is_member: bool,
        given: &[Type],
        places: &[usize],
    ) -> Type {
        if matches!(function, "_&&_" | "_||_") {
            self.overloads[id] = vec![if function == "_&&_" { "logical_and" } else { "logical_or" }];
            return self.logical(given, places);
        }
        let mut result: Option<Type> = None;
        for overload in overloads.filter(|overload| overload.is_member == is_member) {
            let (args, returned) = overload.instantiate(&mut self.solver);
            if !self.solver.all_assignable(given, &args) {
                continue;
            }
            self.overloads[id].push(overload.id);
            let returned = self.solver.substitute(&returned, false);
            result = Some(match result {
                None => returned,
                Some(known) if known == Type::Dyn || known == returned => known,
                Some(_) => Type::Dyn,
            });
        }
        result.unwrap_or_else(|| {
            let signature = self.signature(given, is_member);
            self.issue(at, format!("found no matching overload for '{function}' applied to '{signature}'"));
            Type::Error
        })
    }

    fn logical(&mut self, given: &[Type], places: &[usize]) -> Type {
        let mut found = Type::Bool;
        for (given, at) in given.iter().zip(places) {
            if !self.solver.assignable(given, &Type::Bool) {
                self.mismatch(*at, &Type::Bool, given);
                found = Type::Error;
            }
        }
        found
    }

    fn signature(&self, given: &[Type], is_member: bool) -> String {
        let mut texts = given.iter().map(|given| self.solver.substitute(given, true).to_string());
        let target = if is_member {
            texts.next().map(|target| target + ".").unwrap_or_default()
        } else {
            String::new()
        };
        format!("{target}({})", texts.collect::<Vec<_>>().join(", "))
    }

    /// The item's type, out of its optional where it is marked as one.
    fn element(&mut self, expr: &mut Expr, optional: bool) -> Type {
        let found = self.expr(expr);
        if !optional {
            return found;
        }
        match self.solver.substitute(&found, false) {
            Type::Optional(inner) => (*inner).clone(),
            other => {
                if other != Type::Dyn {
                    self.mismatch(expr.at, &Type::optional(other.clone()), &other);
                }
                other
            }
        }
    }

    fn join(&mut self, at: usize, previous: Option<Type>, found: &Type) -> Type {
        if let Some(joined) = self.solver.join(previous.clone(), found) {
            return joined;
        }
        self.mismatch(at, &previous.unwrap_or(Type::Error), found);
        Type::Error
    }

    fn list(&mut self, items: &mut [(Expr, bool)]) -> Type {
        let mut item: Option<Type> = None;
        for (expr, optional) in items {
            let found = self.element(expr, *optional);
            item = Some(self.join(expr.at, item, &found));
        }
        item.unwrap_or_else(|| self.solver.fresh())
    }

    fn map(&mut self, entries: &mut [(Expr, Expr, bool)]) -> Type {
        let (mut key_type, mut value_type) = (None, None);
        for (key, value, optional) in entries {
            let found = self.expr(key);
            key_type = Some(self.join(key.at, key_type, &found));
            let found = self.element(value, *optional);
            value_type = Some(self.join(value.at, value_type, &found));
        }
        let key = key_type.unwrap_or_else(|| self.solver.fresh());
        Type::map(key, value_type.unwrap_or_else(|| self.solver.fresh()))
    }

    fn fold(&mut self, fold: &mut Fold) -> Type {
        let range = self.expr(&mut fold.range);
        let init = self.expr(&mut fold.init);
        let range = self.solver.substitute(&range, false);
        let (first, second) = match &range {
            Type::List(item) if fold.var2.is_some() => (Type::Int, (**item).clone()),
            Type::List(item) => ((**item).clone(), Type::Error),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            Type::Dyn | Type::Error | Type::Param(_) => {
                self.solver.assignable(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let message = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.issue(fold.range.at, message);
                (Type::Error, Type::Error)
            }
        };
        let outside = self.scope.len();
        self.scope.push((fold.accu.clone(), init.clone()));
        let inside = self.scope.len();
        self.scope.push((fold.var.clone(), first));
        if let Some(var2) = &fold.var2 {
            self.scope.push((var2.clone(), second));
        }
        self.assert(&mut fold.condition, &Type::Bool);
        self.assert(&mut fold.step, &init);
        self.scope.truncate(inside);
        let result = self.expr(&mut fold.result);
        self.scope.truncate(outside);
        self.solver.substitute(&result, false)
    }

    fn assert(&mut self, expr: &mut Expr, wanted: &Type) {
        let found = self.expr(expr);
        if !self.solver.assignable(wanted, &found) {
            self.mismatch(expr.at, wanted, &found);
        }
    }
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}

/// The functions that convert their only argument.
const CONVERSIONS: [&str; 9] =
    ["bool", "bytes", "double", "dyn", "duration", "int", "string", "timestamp", "uint"];

/// True when a call converts what it is given.
pub(crate) fn is_conversion(function: &str) -> bool {
    CONVERSIONS.contains(&function) || function == "type"
}

/// Marks literals, and lists, maps and conversions of constants.
fn constant(expr: &Expr, constants: &mut [bool]) -> bool {
    let mut all = true;
    children(expr, &mut |child| all &= constant(child, constants));
    let is_constant = match &expr.kind {
        Kind::Literal(_) => true,
        Kind::List(items) => all && !items.iter().any(|(_, optional)| *optional),
        Kind::Map(entries) => all && !entries.iter().any(|(_, _, optional)| *optional),
        Kind::Call { function, target: None, args } => all && args.len() == 1 && is_conversion(function),
        _ => false,
    };
    constants[expr.id] = is_constant;
    is_constant
}

/// Literals that would fail every time they are used.
fn literals(checked: &Checked, expr: &Expr, issues: &mut Vec<Issue>) {
    if let Kind::Call { function, target, args } = &expr.kind {
        let literal = |arg: Option<&Expr>| match arg.map(|arg| (arg.at, &arg.kind)) {
            Some((at, Kind::Literal(Literal::String(text)))) => Some((at, text.clone())),
            _ => None,
        };
        match (function.as_str(), target.is_some()) {
            ("duration", false) => {
                if let Some((at, text)) =
                    literal(args.first()).filter(|(_, text)| go_duration(text).is_none())
                {
                    let _ = text;
                    issues.push(Issue::new(at, "invalid duration argument"));
                }
            }
            ("timestamp", false) => {
                if let Some((at, _)) =
                    literal(args.first()).filter(|(_, text)| super::time::parse(text).is_none())
                {
                    issues.push(Issue::new(at, "invalid timestamp argument"));
                }
            }
            ("matches", is_member) => {
                let pattern = literal(args.get(usize::from(!is_member)));
                if let Some((at, _)) = pattern.filter(|(_, text)| regex::compile(text).is_err()) {
                    issues.push(Issue::new(at, "invalid matches argument"));
                }
            }
            _ => {}
        }
    }
    if let Kind::Call { function, target: Some(target), args } = &expr.kind
        && function == "format"
        && let (Kind::Literal(Literal::String(pattern)), [list]) = (&target.kind, args.as_slice())
        && let Kind::List(items) = &list.kind
    {
        issues.extend(format_issue(checked, expr.at, pattern, items));
    }
    children(expr, &mut |child| literals(checked, child, issues));
}

/// What is wrong with a literal format and the list of what it formats.
fn format_issue(checked: &Checked, at: usize, pattern: &str, items: &[(Expr, bool)]) -> Option<Issue> {
    let mut taken = 0;
    for piece in strings::pieces(pattern) {
        let verb = match piece {
            Ok(strings::Piece::Clause { verb, .. }) => verb,
            Ok(strings::Piece::Text(_)) => continue,
            Err(Fault::Error(why)) => return Some(Issue::new(at, why)),
            Err(Fault::Cost) => return None,
        };
        let Some((item, _)) = items.get(taken) else {
            return Some(Issue::new(at, format!("index {taken} out of range")));
        };
        taken += 1;
        let Some(wants) = strings::wants(verb) else {
            return Some(Issue::new(at, strings::unrecognized(verb)));
        };
        if let Some((at, found)) = misfit(checked, verb, item) {
            return Some(Issue::new(at, format!("error during formatting: {wants}, was given {found}")));
        }
    }
    (items.len() > taken).then(|| {
        Issue::new(
            at,
            format!("too many arguments supplied to string.format (expected {taken}, got {})", items.len()),
        )
    })
}

/// Where an argument is not what a clause takes, and its type.
fn misfit(checked: &Checked, verb: char, item: &Expr) -> Option<(usize, String)> {
    let found = checked.type_of(item);
    let fits = *found == Type::Dyn
        || match verb {
            's' => !matches!(
                found,
                Type::Error | Type::Object(_) | Type::Optional(_) | Type::Kubernetes(_) | Type::Param(_)
            ),
            'f' | 'e' => matches!(found, Type::Double | Type::String),
            'b' => matches!(found, Type::Int | Type::Uint | Type::Bool),
            'x' | 'X' => matches!(found, Type::Int | Type::Uint | Type::String | Type::Bytes),
            _ => matches!(found, Type::Int | Type::Uint),
        };
    if !fits {
        return Some((item.at, found.plain_name().to_owned()));
    }
    match &item.kind {
        Kind::List(items) if verb == 's' => items.iter().find_map(|(item, _)| misfit(checked, verb, item)),
        Kind::Map(entries) if verb == 's' => entries
            .iter()
            .find_map(|(key, value, _)| misfit(checked, verb, key).or_else(|| misfit(checked, verb, value))),
        _ => None,
    }
}

/// Calls a function with every node directly below one.
pub(crate) fn children<'e>(expr: &'e Expr, visit: &mut dyn FnMut(&'e Expr)) {
    match &expr.kind {
        Kind::Literal(_) | Kind::Ident(_) | Kind::TypeName(_) => {}
        Kind::Select { operand, .. } => visit(operand),
        Kind::Call { target, args, .. } => target.as_deref().into_iter().chain(args).for_each(visit),
        Kind::List(items) => items.iter().for_each(|(item, _)| visit(item)),
        Kind::Map(entries) => entries.iter().for_each(|(key, value, _)| {
            visit(key);
            visit(value);
        }),
        Kind::Struct { fields, .. } => fields.iter().for_each(|(_, value)| visit(value)),
        Kind::Fold(fold) => {
            [&fold.range, &fold.init, &fold.condition, &fold.step, &fold.result].into_iter().for_each(visit);
        }
    }
}
