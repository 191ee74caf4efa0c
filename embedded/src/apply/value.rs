//! Comparing JSON values and writing them the ways Go does.
//!
//! Behaviour: structured-merge-diff `value` for order and equality, `fmt` for the texts of messages.

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::{Number, Value};

/// The place of a value's kind in the order.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

/// A total order of JSON values; numbers are compared by what they count.
pub(super) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => compare_all(a.iter(), b.iter(), compare),
        (Value::Object(a), Value::Object(b)) => {
            compare_all(a.iter(), b.iter(), |(x, v), (y, w)| x.cmp(y).then_with(|| compare(v, w)))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

fn compare_all<T>(
    a: impl Iterator<Item = T>,
    mut b: impl Iterator<Item = T>,
    by: impl Fn(T, T) -> Ordering,
) -> Ordering {
    for x in a {
        match b.next().map(|y| by(x, y)) {
            Some(Ordering::Equal) => {}
            Some(unequal) => return unequal,
            None => return Ordering::Greater,
        }
    }
    b.next().map_or(Ordering::Equal, |_| Ordering::Less)
}

fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.as_f64().unwrap_or_default().total_cmp(&b.as_f64().unwrap_or_default()),
    }
}

/// Whether two values are the same to the API server: `1` is `1.0`, and `null` is not `{}`.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    compare(a, b) == Ordering::Equal
}

/// JSON on one line, as Go's encoder writes it: `<`, `>` and `&` are escaped.
pub(super) fn go_json(value: &Value) -> String {
    match value {
        Value::String(text) => go_json_text(text),
        Value::Number(number) => go_number(number),
        Value::Array(items) => format!("[{}]", joined(items.iter().map(go_json), ",")),
        Value::Object(fields) => {
            let fields =
                fields.iter().map(|(name, field)| format!("{}:{}", go_json_text(name), go_json(field)));
            format!("{{{}}}", joined(fields, ","))
        }
        Value::Bool(_) | Value::Null => value.to_string(),
    }
}

/// A JSON string as Go's encoder writes it.
pub(super) fn go_json_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..'\u{20}' => {
                // Writing into a String cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A number as Go prints it: a whole float has no fraction.
fn go_number(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e21 => format!("{float:.0}"),
        _ => number.to_string(),
    }
}

/// A value as field paths show it: strings quoted.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => go_number(number),
        Value::String(text) => quote(text),
        Value::Array(items) => format!("[{}]", joined(items.iter().map(text), ",")),
        Value::Object(fields) => {
            joined(fields.iter().map(|(name, field)| format!("{name}={}", text(field))), "")
        }
    }
}

/// Go's `%q`.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            c if c.is_ascii_control() => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Go's `%v`.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => go_number(number),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", joined(items.iter().map(plain), " ")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, field)| format!("{name}:{}", plain(field)));
            format!("map[{}]", joined(fields, " "))
        }
    }
}

/// Go's `%#v`.
pub(super) fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => go_number(number),
        Value::String(text) => quote(text),
        Value::Array(items) => format!("[]interface {{}}{{{}}}", joined(items.iter().map(syntax), ", ")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, field)| format!("{}:{}", quote(name), syntax(field)));
            format!("map[string]interface {{}}{{{}}}", joined(fields, ", "))
        }
    }
}

/// Go's `%T`.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn joined(parts: impl Iterator<Item = String>, separator: &str) -> String {
    parts.collect::<Vec<_>>().join(separator)
}
