//! Functions on text; indices count characters.
//!
//! Behaviour: cel-go `ext/strings.go`, `ext/formatting.go` (in English).

use std::fmt::Write as _;

use crate::cel::value::{Fault, Outcome, Val, show};
use crate::go;

/// The most digits behind the point that a format may ask for.
const MAX_PRECISION: usize = 1000;

fn out_of_range(index: i64) -> Fault {
    Fault::error(format!("index out of range: {index}"))
}

/// Where a character starts, in bytes; the length is a valid index as well.
fn place(text: &str, index: i64) -> Option<usize> {
    let index = usize::try_from(index).ok()?;
    text.char_indices().map(|(place, _)| place).chain([text.len()]).nth(index)
}

pub(crate) fn char_at(text: &str, index: i64) -> Outcome<String> {
    let place = place(text, index).ok_or_else(|| out_of_range(index))?;
    Ok(text[place..].chars().next().map(String::from).unwrap_or_default())
}

fn chars(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
}

pub(crate) fn index_of(text: &str, wanted: &str, from: i64) -> Outcome<i64> {
    if wanted.is_empty() {
        return Ok(from);
    }
    if from < 0 {
        return Err(out_of_range(from));
    }
    let Some(start) = place(text, from) else { return Ok(-1) };
    Ok(text[start..].find(wanted).map_or(-1, |found| chars(&text[..start + found])))
}

pub(crate) fn last_index_of(text: &str, wanted: &str, from: Option<i64>) -> Outcome<i64> {
    let length = chars(text);
    if wanted.is_empty() {
        return Ok(from.unwrap_or(length));
    }
    let from = match from {
        Some(from) if from < 0 => return Err(out_of_range(from)),
        Some(from) if from >= length => return Ok(-1),
        Some(from) => from,
        None => length - 1,
    };
    // The match may start no later than there, so it ends that much later.
    let end = place(text, from.saturating_add(chars(wanted))).unwrap_or(text.len());
    Ok(text[..end].rfind(wanted).map_or(-1, |found| chars(&text[..found])))
}

pub(crate) fn substring(text: &str, start: i64, end: Option<i64>) -> Outcome<String> {
    if let Some(end) = end.filter(|end| start > *end) {
        return Err(Fault::error(format!("invalid substring range. start: {start}, end: {end}")));
    }
    let from = place(text, start).ok_or_else(|| out_of_range(start))?;
    let to = match end {
        Some(end) => place(text, end).ok_or_else(|| out_of_range(end))?,
        None => text.len(),
    };
    Ok(text[from..to].to_owned())
}

/// How long the result of a replacement is, in bytes.
pub(crate) fn replaced_length(text: &str, old: &str, new: &str) -> usize {
    let times = if old.is_empty() { text.len() + 1 } else { text.len() / old.len() };
    text.len().saturating_add(times.saturating_mul(new.len()))
}

pub(crate) fn replace(text: &str, old: &str, new: &str, times: i64) -> String {
    match usize::try_from(times) {
        Ok(times) => text.replacen(old, new, times),
        Err(_) => text.replace(old, new),
    }
}

pub(crate) fn split(text: &str, separator: &str, times: i64) -> Vec<String> {
    let limit = usize::try_from(times).unwrap_or(usize::MAX);
    if limit == 0 {
        return Vec::new();
    }
    if separator.is_empty() {
        let mut out: Vec<String> = text.chars().take(limit).map(String::from).collect();
        if let Some(place) =
            place(text, i64::try_from(limit).unwrap_or(i64::MAX)).filter(|place| *place < text.len())
            && let Some(last) = out.last_mut()
        {
            last.push_str(&text[place..]);
        }
        return out;
    }
    text.splitn(limit, separator).map(str::to_owned).collect()
}

/// `strings.quote`
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A part of a format: text as it is, or a clause that takes an argument.
pub(crate) enum Piece<'p> {
    Text(&'p str),
    Clause { verb: char, precision: Option<usize> },
}

/// Takes a format apart, as far as it can be read.
pub(crate) fn pieces(pattern: &str) -> impl Iterator<Item = Outcome<Piece<'_>>> {
    let mut rest = pattern;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let start = rest.find('%').unwrap_or(rest.len());
        if start > 0 {
            let (text, after) = rest.split_at(start);
            rest = after;
            return Some(Ok(Piece::Text(text)));
        }
        if let Some(after) = rest.strip_prefix("%%") {
            rest = after;
            return Some(Ok(Piece::Text("%")));
        }
        let found = precision(&rest[1..]).and_then(|(precision, after)| {
            let verb = after.chars().next().ok_or_else(|| Fault::error("unexpected end of string"))?;
            Ok((Piece::Clause { verb, precision }, &after[verb.len_utf8()..]))
        });
        match found {
            Ok((piece, after)) => {
                rest = after;
                Some(Ok(piece))
            }
            Err(fault) => {
                rest = "";
                Some(Err(fault))
            }
        }
    })
}

/// `'%s'.format([x])`
pub(crate) fn format(pattern: &str, args: &[Val<'_>]) -> Outcome<String> {
    let mut out = String::new();
    let mut taken = 0;
    for piece in pieces(pattern) {
        match piece? {
            Piece::Text(text) => out.push_str(text),
            Piece::Clause { verb, precision } => {
                let Some(arg) = args.get(taken) else {
                    return Err(Fault::error(format!("index {taken} out of range")));
                };
                taken += 1;
                out.push_str(&clause(verb, precision, arg)?);
            }
        }
    }
    Ok(out)
}

/// What a clause says when it is given something else; `None` when there is no such clause.
pub(crate) fn wants(verb: char) -> Option<&'static str> {
    Some(match verb {
        's' => {
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
        }
        'd' => "decimal clause can only be used on integers",
        'f' => "fixed-point clause can only be used on doubles",
        'e' => "scientific clause can only be used on doubles",
        'b' => "only integers and bools can be formatted as binary",
        'x' | 'X' => "only integers, byte buffers, and strings can be formatted as hex",
        'o' => "octal clause can only be used on integers",
        _ => return None,
    })
}

/// There is no such clause.
pub(crate) fn unrecognized(verb: char) -> String {
    format!("could not parse formatting clause: unrecognized formatting clause \"{verb}\"")
}

fn precision(text: &str) -> Outcome<(Option<usize>, &str)> {
    let Some(after) = text.strip_prefix('.') else { return Ok((None, text)) };
    let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    let wrong = || {
        Fault::error(
            "could not parse formatting clause: error while parsing precision: error while converting precision to integer",
        )
    };
    let precision: usize = after[..end].parse().map_err(|_| wrong())?;
    if precision > MAX_PRECISION { Err(wrong()) } else { Ok((Some(precision), &after[end..])) }
}

fn clause(verb: char, precision: Option<usize>, arg: &Val<'_>) -> Outcome<String> {
    let wants = wants(verb).ok_or_else(|| Fault::Error(unrecognized(verb)))?;
    let text = match (verb, arg) {
        ('s', arg) => shown(arg, false),
        ('d', Val::Int(value)) => Some(value.to_string()),
        ('d', Val::Uint(value)) => Some(value.to_string()),
        ('f', arg) => double(arg).map(|value| fixed(value, precision)),
        ('e', arg) => double(arg).map(|value| scientific(value, precision)),
        ('b', Val::Int(value)) => Some(format!("{}{:b}", sign(*value), value.unsigned_abs())),
        ('b', Val::Uint(value)) => Some(format!("{value:b}")),
        ('b', Val::Bool(value)) => Some(u8::from(*value).to_string()),
        ('x', arg) => hexadecimal(arg),
        ('X', arg) => hexadecimal(arg).map(|text| text.to_ascii_uppercase()),
        ('o', Val::Int(value)) => Some(format!("{}{:o}", sign(*value), value.unsigned_abs())),
        ('o', Val::Uint(value)) => Some(format!("{value:o}")),
        _ => None,
    };
    text.ok_or_else(|| {
        Fault::error(format!("error during formatting: {wants}, was given {}", arg.type_name()))
    })
}

fn sign(value: i64) -> &'static str {
    if value < 0 { "-" } else { "" }
}

fn double(arg: &Val<'_>) -> Option<f64> {
    match arg {
        Val::Double(value) => Some(*value),
        Val::Text(text) => match &**text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

fn special(value: f64) -> Option<String> {
    match value {
        value if value.is_nan() => Some("NaN".to_owned()),
        value if value.is_infinite() => Some(if value > 0.0 { "∞" } else { "-∞" }.to_owned()),
        _ => None,
    }
}

/// With commas between thousands, as English writes numbers.
fn fixed(value: f64, precision: Option<usize>) -> String {
    if let Some(text) = special(value) {
        return text;
    }
    let text = format!("{value:.*}", precision.unwrap_or(6));
    let (whole, fraction) =
        text.split_once('.').map_or((text.as_str(), None), |(whole, fraction)| (whole, Some(fraction)));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut out = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// `1.234568 × 10⁰³`, as English writes it.
fn scientific(value: f64, precision: Option<usize>) -> String {
    if let Some(text) = special(value) {
        return text;
    }
    let text = format!("{value:.*e}", precision.unwrap_or(6));
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(("", exponent), |digits| ("⁻", digits));
    let raised = format!("{digits:0>2}")
        .chars()
        .filter_map(|digit| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit.to_digit(10)? as usize))
        .collect::<String>();
    format!("{mantissa}\u{a0}×\u{a0}10{sign}{raised}")
}

fn hexadecimal(arg: &Val<'_>) -> Option<String> {
    let bytes = |bytes: &[u8]| {
        bytes.iter().fold(String::new(), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        })
    };
    match arg {
        Val::Int(value) => Some(format!("{}{:x}", if *value < 0 { "-" } else { "" }, value.unsigned_abs())),
        Val::Uint(value) => Some(format!("{value:x}")),
        Val::Text(text) => Some(bytes(text.as_bytes())),
        Val::Bytes(value) => Some(bytes(value)),
        _ => None,
    }
}

/// A value as `%s` writes it; inside a list or map as a literal.
fn shown(value: &Val<'_>, inside: bool) -> Option<String> {
    Some(match value {
        Val::Text(text) if inside => go::quote(text),
        Val::Text(text) => (**text).to_owned(),
        Val::Bytes(bytes) => {
            let text = String::from_utf8_lossy(bytes).into_owned();
            if inside { format!("b{}", go::quote(&text)) } else { text }
        }
        Val::Null => "null".to_owned(),
        Val::Bool(_) | Val::Int(_) | Val::Uint(_) => show(value),
        Val::Double(double) if inside && double.is_finite() => format!("{double:.6}"),
        Val::Double(double) => go::float(*double),
        Val::Duration(nanos) if inside => format!("duration({})", go::quote(&duration(*nanos))),
        Val::Duration(nanos) => duration(*nanos),
        Val::Timestamp(moment) if inside => format!("timestamp({})", go::quote(&moment.text())),
        Val::Timestamp(moment) => moment.text(),
        Val::Type(name) if inside => format!("type({name})"),
        Val::Type(name) => (**name).to_owned(),
        Val::List(list) => {
            let items: Option<Vec<_>> = list.iter().map(|item| shown(&item.ok()?, true)).collect();
            format!("[{}]", items?.join(", "))
        }
        Val::Map(map) => {
            let mut entries = Vec::new();
            for key in map.keys() {
                let value = map.find(&key).ok()??;
                let name = shown(&key, true)?;
                entries.push(format!("{name}:{}", shown(&value, true)?));
            }
            entries.sort();
            format!("{{{}}}", entries.join(", "))
        }
        _ => return None,
    })
}

/// A duration as `string()` writes it: seconds.
pub(crate) fn duration(nanos: i64) -> String {
    let (seconds, rest) = (nanos / 1_000_000_000, (nanos % 1_000_000_000).unsigned_abs());
    let sign = if nanos < 0 && seconds == 0 { "-" } else { "" };
    let mut text = format!("{sign}{seconds}.{rest:09}");
    text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    text + "s"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_count_characters() {
        assert_eq!(char_at("tacé", 3), Ok("é".to_owned()));
        assert_eq!(char_at("tac", 3), Ok(String::new()));
        assert_eq!(char_at("tac", 4), Err(out_of_range(4)));
        assert_eq!(index_of("ééa", "a", 0), Ok(2));
        assert_eq!(index_of("aa", "a", 1), Ok(1));
        assert_eq!(index_of("aa", "a", 5), Ok(-1));
        assert_eq!(last_index_of("abab", "ab", None), Ok(2));
        assert_eq!(last_index_of("abab", "ab", Some(1)), Ok(0));
        assert_eq!(substring("tacocat", 4, None), Ok("cat".to_owned()));
        assert_eq!(substring("tacocat", 0, Some(4)), Ok("taco".to_owned()));
        assert!(substring("a", 1, Some(0)).is_err());
    }

    #[test]
    fn text_is_split_and_replaced_as_in_go() {
        assert_eq!(split("abc", "", -1), ["a", "b", "c"]);
        assert_eq!(split("abc", "", 2), ["a", "bc"]);
        assert_eq!(split("a,b,c", ",", 2), ["a", "b,c"]);
        assert_eq!(split("a,b", ",", 0), <[&str; 0]>::default());
        assert_eq!(replace("aaa", "a", "b", 2), "bba");
        assert_eq!(replace("ab", "", "-", -1), "-a-b-");
    }

    #[test]
    fn values_are_formatted() {
        let args = [Val::text("x"), Val::Int(-255), Val::Double(1234.5), Val::Uint(10)];
        assert_eq!(format("%s %x %.2f %b %%", &args), Ok("x -ff 1,234.50 1010 %".to_owned()));
        assert!(format("%d", &[]).is_err());
        assert!(format("%", &args).is_err());
        assert!(format("%z", &args).is_err());
        assert!(format("%.99999f", &[Val::Double(1.0)]).is_err());
        assert_eq!(duration(1_500_000_000), "1.5s");
        assert_eq!(duration(-500_000_000), "-0.5s");
    }
}
