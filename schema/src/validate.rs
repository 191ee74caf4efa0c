//! Values against the OpenAPI part of a schema, with the API server's texts.
//!
//! Behaviour: kube-openapi `pkg/validation/validate`; on update apiextensions-apiserver
//! `pkg/apiserver/validation/ratcheting.go`: what was wrong before and did not change is let through.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::correlate::Correlated;
use crate::error::{Cause, FieldError, MAX_ERRORS};
use crate::format::Format;
use crate::go::{self, Num};
use crate::node::{Additional, Node};
use crate::path::Path;

/// Validates a value, given as the whole of what the path names; with its old value, errors in
/// unchanged parts are dropped.
pub(crate) fn check(value: &Value, old: Option<&Value>, node: &Node, prefix: &str) -> Vec<FieldError> {
    let outcome = match old {
        None => validate(node, value, &Path::Root, None),
        Some(old) => ratchet(node, value, &Path::Root, &Correlated { old, new: value, node }),
    };
    outcome.errors.into_iter().map(|found| found.into_error(prefix)).collect()
}

/// True when a value fits, whatever else is wrong is of no interest.
fn ratchet(node: &Node, value: &Value, path: &Path<'_>, before: &Correlated<'_>) -> Outcome {
    let mut outcome = validate(node, value, path, Some(before));
    if !outcome.is_valid() && before.is_unchanged() {
        outcome.errors.clear();
        outcome.seen.clear();
    }
    outcome
}

/// An error before it has a prefix.
struct Found {
    /// Dotted path; `None` for errors that the API server has no path for.
    path: Option<String>,
    message: String,
    cause: Cause,
    value: Value,
}

impl Found {
    fn into_error(self, prefix: &str) -> FieldError {
        let name = self.path.as_deref().map(|path| path.trim_start_matches('.')).unwrap_or_default();
        let path = match (prefix.is_empty(), name.is_empty()) {
            (true, true) => "<nil>".to_owned(),
            (true, false) => name.to_owned(),
            (false, true) => prefix.to_owned(),
            (false, false) => format!("{prefix}.{name}"),
        };
        let bad_value = match self.cause {
            Cause::Required | Cause::TooLong => None,
            _ => Some(self.value),
        };
        FieldError { path, cause: self.cause, bad_value, detail: self.message }
    }
}

/// What validation of one level gave: errors, and how much did apply (to tell the best of alternatives).
#[derive(Default)]
struct Outcome {
    errors: Vec<Found>,
    seen: HashSet<(String, Option<String>)>,
    matches: u64,
}

impl Outcome {
    fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }

    fn push(&mut self, found: Found) {
        if self.errors.len() >= MAX_ERRORS {
            return;
        }
        let path = found.path.clone().filter(|_| found.cause != Cause::Invalid);
        if self.seen.insert((found.message.clone(), path)) {
            self.errors.push(found);
        }
    }

    fn merge(&mut self, other: Self) {
        self.matches += other.matches;
        other.errors.into_iter().for_each(|found| self.push(found));
    }

    /// Merges, and counts one for the validator having run.
    fn add(&mut self, other: Self) {
        self.merge(other);
        self.matches += 1;
    }

    fn error(&mut self, path: &Path<'_>, cause: Cause, value: Value, message: impl Into<String>) {
        self.push(Found { path: Some(path.dotted()), message: message.into(), cause, value });
    }

    fn invalid(&mut self, path: &Path<'_>, value: Value, message: impl FnOnce(&str) -> String) {
        let here = path.dotted();
        let message = message(&here);
        self.push(Found { path: Some(here), message, cause: Cause::Invalid, value });
    }

    fn pathless(&mut self, message: String) {
        self.push(Found { path: None, message, cause: Cause::Invalid, value: "".into() });
    }
}

fn validate(node: &Node, value: &Value, path: &Path<'_>, before: Option<&Correlated<'_>>) -> Outcome {
    let mut out = Outcome::default();
    if value.is_null() {
        out.merge(types(node, value, path));
        out.merge(enumeration(node, value, path));
        return out;
    }
    let format = node.checked_format();
    if !node.wanted_types().is_empty() || !format.is_empty() {
        out.add(types(node, value, path));
    }
    out.add(junctors(node, value, path, before));
    match value {
        Value::String(text) => {
            out.add(string(node, text, path));
            if let Some(format) = Format::from_name(format) {
                out.add(formatted(format, node, text, path));
            }
        }
        Value::Number(number) => out.add(numbers(node, Num::of(number), value, path)),
        Value::Array(items) => out.add(array(node, items, path, before)),
        _ => {}
    }
    out.add(enumeration(node, value, path));
    if let Value::Object(fields) = value {
        out.add(object(node, fields, path, before));
    }
    out.matches += 1;
    out
}

/// The JSON type of a value and its format, as the API server infers them.
fn inferred(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) => match Num::of(number) {
            Num::Int(_) => ("integer", "int64"),
            Num::Float(_) => ("number", "float64"),
        },
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

fn types(node: &Node, value: &Value, path: &Path<'_>) -> Outcome {
    let mut out = Outcome::default();
    let (found, inferred_format) = inferred(value);
    let (wanted, format) = (node.wanted_types(), node.checked_format());
    let mismatch = |wanted: &str, found: &str| {
        let mut out = Outcome::default();
        let message = format!("{} in body must be of type {wanted}: {}", path.dotted(), go::quote(found));
        out.error(path, Cause::TypeInvalid, found.into(), message);
        out
    };
    if value.is_null() {
        return if wanted.is_empty() || node.nullable {
            counted()
        } else {
            mismatch(&wanted.join(","), "null")
        };
    }
    let is_whole = match value {
        Value::Number(number) => matches!(Num::of(number), Num::Float(float) if is_whole(float)),
        _ => false,
    };
    let fits = wanted.contains(&found)
        || (is_whole && wanted.contains(&"integer"))
        || (found == "integer" && wanted.contains(&"number"));
    let is_text = matches!(value, Value::String(_) | Value::Array(_));
    if !is_text && !format.is_empty() && !fits && inferred_format != format {
        return mismatch(format, inferred_format);
    }
    // A format stands for the type; text and lists are left to the format.
    let is_numeric = wanted.contains(&"number") || wanted.contains(&"integer");
    if !(is_numeric || format.is_empty()) && is_text {
        return counted();
    }
    if !fits {
        return mismatch(&wanted.join(","), found);
    }
    out.matches = 1;
    out
}

fn counted() -> Outcome {
    Outcome { matches: 1, ..Outcome::default() }
}

/// True when a double counts as a whole number, as go-openapi/swag has it.
fn is_whole(value: f64) -> bool {
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    if !value.is_finite() || value.abs() > LARGEST {
        return false;
    }
    // Relative error up to 1e-9, against the whole number below, as there.
    let below = value.trunc();
    let difference = (value - below).abs();
    difference == 0.0 || (below > 0.0 && difference / (value.abs() + below.abs()) < 1e-9)
}

fn junctors(node: &Node, value: &Value, path: &Path<'_>, before: Option<&Correlated<'_>>) -> Outcome {
    let mut out = Outcome::default();
    if !node.any_of.is_empty() {
        any_of(&mut out, node, value, path, before);
    }
    if !node.one_of.is_empty() {
        one_of(&mut out, node, value, path, before);
    }
    if !node.all_of.is_empty() {
        let mut valid = 0;
        for nested in &node.all_of {
            let result = validate(nested, value, path, before);
            valid += usize::from(result.is_valid());
            out.merge(result);
        }
        if valid != node.all_of.len() {
            let suffix = if valid == 0 { ". None validated" } else { "" };
            out.pathless(format!(
                "{} must validate all the schemas (allOf){suffix}",
                go::quote(&path.dotted())
            ));
        }
    }
    if let Some(not) = &node.not
        && validate(not, value, path, before).is_valid()
    {
        out.pathless(format!("{} must not validate the schema (not)", go::quote(&path.dotted())));
    }
    out.matches += 1;
    out
}

fn any_of(out: &mut Outcome, node: &Node, value: &Value, path: &Path<'_>, before: Option<&Correlated<'_>>) {
    let mut best: Option<Outcome> = None;
    for nested in &node.any_of {
        let result = validate(nested, value, path, before);
        if result.is_valid() {
            out.merge(result);
            return;
        }
        if best.as_ref().is_none_or(|best| result.matches > best.matches) {
            best = Some(result);
        }
    }
    out.pathless(format!("{} must validate at least one schema (anyOf)", go::quote(&path.dotted())));
    out.merge(best.unwrap_or_default());
}

fn one_of(out: &mut Outcome, node: &Node, value: &Value, path: &Path<'_>, before: Option<&Correlated<'_>>) {
    let mut best: Option<Outcome> = None;
    let mut first = None;
    let mut valid = 0;
    for nested in &node.one_of {
        let result = validate(nested, value, path, before);
        if result.is_valid() {
            valid += 1;
            best = None;
            first.get_or_insert(result);
        } else if valid == 0 && best.as_ref().is_none_or(|best| result.matches > best.matches) {
            best = Some(result);
        }
    }
    if valid == 1 {
        out.merge(first.unwrap_or_default());
        return;
    }
    let found =
        if valid == 0 { "Found none valid".to_owned() } else { format!("Found {valid} valid alternatives") };
    out.pathless(format!(
        "{} must validate one and only one schema (oneOf). {found}",
        go::quote(&path.dotted())
    ));
    out.merge(best.unwrap_or_default());
}

fn string(node: &Node, text: &str, path: &Path<'_>) -> Outcome {
    let mut out = Outcome::default();
    // Counting characters is only needed where the bytes do not decide.
    let length = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    if let Some(most) = node.max_length.filter(|most| length() > *most) {
        let unit = if most == 1 { "byte" } else { "bytes" };
        let message = if most < 0 {
            "value is too long".to_owned()
        } else {
            format!("may not be more than {most} {unit}")
        };
        out.error(path, Cause::TooLong, Value::Null, message);
    } else if let Some(least) = node.min_length.filter(|least| length() < *least) {
        out.invalid(path, text.into(), |here| {
            format!("{here} in body should be at least {least} chars long")
        });
    } else if let Some(pattern) = &node.pattern {
        match pattern.regex() {
            Ok(regex) if regex.is_match(text) => {}
            Ok(_) => out.invalid(path, text.into(), |here| {
                format!("{here} in body should match '{}'", pattern.text())
            }),
            Err(why) => out.invalid(path, text.into(), |here| {
                format!("{here} in body should match '{}, but pattern is invalid: {why}'", pattern.text())
            }),
        }
    }
    out
}

fn formatted(format: Format, node: &Node, text: &str, path: &Path<'_>) -> Outcome {
    let mut out = Outcome::default();
    if !format.accepts(text) {
        let message =
            format!("{} in body must be of type {}: {}", path.dotted(), node.format, go::quote(text));
        out.error(path, Cause::TypeInvalid, text.into(), message);
    }
    out
}

fn numbers(node: &Node, number: Num, value: &Value, path: &Path<'_>) -> Outcome {
    let mut out = counted();
    range(&mut out, node, number, "Checked", path);
    if let Some(factor) = node.multiple_of {
        let exact = range(&mut out, node, Num::Float(factor), "MultipleOf", path);
        multiple_of(&mut out, number, factor, exact, value, path);
    }
    for (bound, exclusive, is_maximum) in
        [(node.maximum, node.exclusive_maximum, true), (node.minimum, node.exclusive_minimum, false)]
    {
        let Some(bound) = bound else { continue };
        let what = if is_maximum { "Maximum boundary" } else { "Minimum boundary" };
        let exact = range(&mut out, node, Num::Float(bound), what, path);
        let (broken, shown) = exceeds(number, bound, exact, exclusive, is_maximum);
        if broken {
            let than = match (is_maximum, exclusive) {
                (true, false) => "less than or equal to",
                (true, true) => "less than",
                (false, false) => "greater than or equal to",
                (false, true) => "greater than",
            };
            out.invalid(path, value.clone(), |here| format!("{here} in body should be {than} {shown}"));
        }
    }
    out
}

/// Compares as integers where the value and the bound are, and says how the bound is written.
#[allow(clippy::cast_possible_truncation)]
fn exceeds(number: Num, bound: f64, exact: bool, exclusive: bool, is_maximum: bool) -> (bool, String) {
    let ordering = match number {
        Num::Int(int) if exact => int.cmp(&(bound as i64)),
        other => other.as_f64().total_cmp(&bound),
    };
    let shown = match number {
        Num::Int(_) if exact => (bound as i64).to_string(),
        _ => go::float(bound),
    };
    let broken = if is_maximum { ordering.is_gt() } else { ordering.is_lt() };
    (broken || (exclusive && ordering.is_eq()), shown)
}

#[allow(clippy::cast_possible_truncation)]
fn multiple_of(out: &mut Outcome, number: Num, factor: f64, exact: bool, value: &Value, path: &Path<'_>) {
    let (positive, multiple, shown) = match number {
        Num::Int(int) if exact => {
            let factor = factor as i64;
            (factor > 0, factor > 0 && int % factor == 0, Value::from(factor))
        }
        other => {
            let quotient = if factor < 1.0 { 1.0 / factor * other.as_f64() } else { other.as_f64() / factor };
            (factor > 0.0, is_whole(quotient), Value::from(factor))
        }
    };
    let text = go::bad_value(&shown);
    if !positive {
        out.invalid(path, shown, |here| {
            format!("factor MultipleOf declared for {here} must be positive: {text}")
        });
    } else if !multiple {
        out.invalid(path, value.clone(), |here| format!("{here} in body should be a multiple of {text}"));
    }
}

/// One more than the largest integer.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// Checks that a number fits the type and format; true when it does.
#[allow(clippy::cast_possible_truncation)]
fn range(out: &mut Outcome, node: &Node, number: Num, what: &str, path: &Path<'_>) -> bool {
    let (type_name, format) = match node.wanted_types() {
        [one @ ("integer" | "number")] => (*one, node.checked_format()),
        _ => return true,
    };
    let fits = match (type_name, format, number) {
        ("integer", "int32", Num::Int(int)) => i32::try_from(int).is_ok(),
        ("integer", "int32", Num::Float(float)) => {
            float.fract() == 0.0 && i32::try_from(float as i64).is_ok() && float.abs() < 1e10
        }
        ("integer", _, Num::Float(float)) => float.fract() == 0.0 && (-TWO_TO_63..TWO_TO_63).contains(&float),
        ("number", "float", number) => (number.as_f64() as f32).is_finite(),
        _ => true,
    };
    if !fits {
        let format =
            if format.is_empty() { "(default format)".to_owned() } else { format!("with format {format}") };
        out.pathless(format!("{what} value must be of type {type_name} {format} in {}", path.dotted()));
    }
    fits
}

fn array(node: &Node, items: &[Value], path: &Path<'_>, before: Option<&Correlated<'_>>) -> Outcome {
    let mut out = Outcome::default();
    if let Some(schema) = node.items() {
        for (index, item) in items.iter().enumerate() {
            let path = path.index(index);
            out.merge(match before.and_then(|before| before.index(index)) {
                Some(before) => ratchet(schema, item, &path, &before),
                None => validate(schema, item, &path, None),
            });
        }
    }
    let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
    if let Some(least) = node.min_items.filter(|least| size < *least) {
        out.invalid(path, size.into(), |here| format!("{here} in body should have at least {least} items"));
    }
    if let Some(most) = node.max_items.filter(|most| size > *most) {
        out.error(path, Cause::TooMany, size.into(), at_most(most));
    }
    if node.unique_items {
        let mut seen = HashSet::new();
        if !items.iter().all(|item| seen.insert(go::json(item))) {
            out.invalid(path, "".into(), |here| format!("{here} in body shouldn't contain duplicates"));
        }
    }
    out.matches += 1;
    out
}

fn at_most(most: i64) -> String {
    match most {
        ..=-1 => "has too many items".to_owned(),
        1 => "must have at most 1 item".to_owned(),
        _ => format!("must have at most {most} items"),
    }
}

fn enumeration(node: &Node, value: &Value, path: &Path<'_>) -> Outcome {
    let mut out = Outcome::default();
    if node.enumeration.is_empty() || node.enumeration.iter().any(|allowed| is_enumerated(value, allowed)) {
        return out;
    }
    let texts = node.enumeration.iter().map(|allowed| match allowed {
        Value::String(text) => go::quote(text),
        other => go::quote(&go::json(other)),
    });
    let message = format!("supported values: {}", texts.collect::<Vec<_>>().join(", "));
    out.error(path, Cause::NotSupported, value.clone(), message);
    out
}

/// Equal after conversion to the enumerated value's type. Null never is.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::float_cmp)]
fn is_enumerated(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Number(value), Value::Number(allowed)) => match (Num::of(value), Num::of(allowed)) {
            (Num::Int(value), Num::Int(allowed)) => value == allowed,
            (Num::Float(value), Num::Int(allowed)) => value.trunc() as i64 == allowed,
            (value, Num::Float(allowed)) => value.as_f64() == allowed,
        },
        // Go turns an integer into the text of that one character.
        (Value::Number(value), Value::String(allowed)) => {
            let code = value.as_i64().and_then(|code| u32::try_from(code).ok()).and_then(char::from_u32);
            code.is_some_and(|c| allowed.chars().eq([c]))
        }
        (value, allowed) => value == allowed,
    }
}

fn object(
    node: &Node,
    fields: &Map<String, Value>,
    path: &Path<'_>,
    before: Option<&Correlated<'_>>,
) -> Outcome {
    let mut out = Outcome::default();
    let size = i64::try_from(fields.len()).unwrap_or(i64::MAX);
    if let Some(least) = node.min_properties.filter(|least| size < *least) {
        out.invalid(path, size.into(), |here| {
            format!("{here} in body should have at least {least} properties")
        });
    }
    if let Some(most) = node.max_properties.filter(|most| size > *most) {
        out.error(path, Cause::TooMany, size.into(), at_most(most));
    }
    let unknown = fields.iter().filter(|(name, _)| !node.properties.contains_key(*name));
    match &node.additional {
        Some(Additional::Allowed(false)) => {
            for (name, _) in unknown {
                out.invalid(path, name.clone().into(), |here| {
                    format!("{here}.{name} in body is a forbidden property")
                });
            }
        }
        Some(Additional::Schema(values)) => {
            for (name, value) in unknown {
                out.merge(child(values, value, &path.key(name), name, path, before));
            }
        }
        Some(Additional::Allowed(true)) | None => {}
    }
    for (name, property) in &node.properties {
        if let Some(value) = fields.get(name) {
            out.merge(child(property, value, &path.field(name), name, path, before));
        }
    }
    for name in node.required.iter().filter(|name| !fields.contains_key(*name)) {
        let here = path.key(name);
        out.error(&here, Cause::Required, Value::Null, "");
    }
    out
}

fn child(
    node: &Node,
    value: &Value,
    path: &Path<'_>,
    name: &str,
    parent: &Path<'_>,
    before: Option<&Correlated<'_>>,
) -> Outcome {
    // The type of the root is given by the request, so a change of it cannot be seen.
    let type_meta = parent.is_root() && matches!(name, "kind" | "apiVersion");
    match before.and_then(|before| before.key(name)).filter(|_| !type_meta) {
        Some(before) => ratchet(node, value, path, &before),
        None => validate(node, value, path, None),
    }
}
