//! How Go writes and reads things, where the API server's answers show it: quoted text, numbers, JSON,
//! regular expressions, URLs.

pub(crate) mod regex;
pub(crate) mod url;

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// A JSON number as the API server decodes it: whole numbers without a point or exponent that fit are
/// integers, all others are doubles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Num {
    Int(i64),
    Float(f64),
}

impl Num {
    pub(crate) fn of(number: &Number) -> Self {
        match number.as_i64() {
            Some(int) => Self::Int(int),
            None => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }
}

/// Text in double quotes, as `%q` writes it.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if is_printable(c) => out.push(c),
            c => escape(&mut out, u32::from(c)),
        }
    }
    out.push('"');
    out
}

fn escape(out: &mut String, code: u32) {
    let _ = match code {
        0..=0x1f | 0x7f => write!(out, "\\x{code:02x}"),
        0x80..=0xffff => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
}

fn is_printable(c: char) -> bool {
    // Combining marks print in Go; escape_debug writes them as an escape, so let them through by range.
    c == ' '
        || ('\u{300}'..='\u{36f}').contains(&c)
        || c.escape_debug().count() == 1
        || matches!(c, '\'' | '"' | '\\')
}

/// A double, as `%v` writes it.
pub(crate) fn float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if value != 0.0 && !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    }
    format!("{value}")
}

/// A double in JSON, as `encoding/json` writes it.
fn json_float(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{value:e}");
        return match text.split_once('e') {
            Some((mantissa, exponent)) if !exponent.starts_with('-') => format!("{mantissa}e+{exponent}"),
            _ => text,
        };
    }
    format!("{value}")
}

/// How a refused value is shown in an error.
pub(crate) fn bad_value(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number_text(number),
        Value::String(text) => quote(text),
        other => json(other),
    }
}

/// A number, as `%v` writes it.
pub(crate) fn number_text(number: &Number) -> String {
    match Num::of(number) {
        Num::Int(int) => int.to_string(),
        Num::Float(value) => float(value),
    }
}

/// JSON with sorted keys and the escapes of `encoding/json`.
pub(crate) fn json(value: &Value) -> String {
    let mut out = String::new();
    write_json(&mut out, value);
    out
}

fn write_json(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => match Num::of(number) {
            Num::Int(int) => out.push_str(&int.to_string()),
            Num::Float(value) => out.push_str(&json_float(value)),
        },
        Value::String(text) => write_json_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut names: Vec<_> = fields.keys().collect();
            names.sort();
            out.push('{');
            for (index, name) in names.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json_text(out, name);
                out.push(':');
                write_json(out, &fields[name]);
            }
            out.push('}');
        }
    }
}

fn write_json_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_is_quoted_as_in_go() {
        assert_eq!(quote("a\"b\\\n\u{7}\u{1}é😀\u{200b}"), "\"a\\\"b\\\\\\n\\a\\x01é😀\\u200b\"");
    }

    #[test]
    fn doubles_are_written_as_in_go() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (1.5, "1.5"),
            (1e20, "1e+20"),
            (123_456.5, "123456.5"),
            (1_234_567.0, "1.234567e+06"),
            (1e21, "1e+21"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (-2.5e-7, "-2.5e-07"),
        ];
        for (value, text) in cases {
            assert_eq!(float(value), text);
        }
    }

    #[test]
    fn json_has_sorted_keys_and_escapes() {
        assert_eq!(
            json(&json!({"b": "<&>", "a": [1, 1.5, null]})),
            r#"{"a":[1,1.5,null],"b":"\u003c\u0026\u003e"}"#
        );
    }
}
