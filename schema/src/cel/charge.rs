//! What a call really costs, once its result is there.
//!
//! Behaviour: cel-go `interpreter/runtimecost.go`, apiserver `pkg/cel/library/cost.go`.

use super::value::Val;

/// What a call costs, once its result is there.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)]
pub(crate) fn cost(function: &str, overload: &str, args: &[Val<'_>], result: Option<&Val<'_>>) -> u64 {
    let size = |index: usize| args.get(index).map_or(1, Val::size);
    let part = |size: u64, factor: f64| (size as f64 * factor).ceil() as u64;
    let text = |index: usize| part(size(index), 0.1);
    let list = |factor: f64, size: u64| (size as f64 * factor) as u64 + 11;
    match (function, args.first()) {
        ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", Some(first)) => traversal(first),
        (
            "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "cidr" | "isIP" | "isCIDR"
            | "quantity" | "isQuantity" | "semver" | "isSemver" | "startsWith" | "endsWith" | "strings.quote"
            | "format",
            Some(_),
        ) => text(0),
        ("replace" | "split" | "ip.isCanonical", Some(_)) => part(size(0), 0.2),
        ("join", _) => part(result.map_or(0, Val::size), 0.2),
        ("find" | "findAll" | "matches", Some(_)) => {
            part(size(0) + 1, 0.1).saturating_mul(part(size(1), 0.25))
        }
        ("containsIP", Some(_)) => {
            part(size(0) * 2, 0.1) + if matches!(args.get(1), Some(Val::Text(_))) { text(1) } else { 0 }
        }
        ("containsCIDR", Some(_)) => {
            part(size(0) * 2, 0.1)
                + text(0)
                + 1
                + if matches!(args.get(1), Some(Val::Text(_))) { text(1) } else { 0 }
        }
        ("validate", Some(Val::Format(format))) => {
            part(size(1) + 1, 0.1).saturating_mul(part(format.regex_size, 0.25))
        }
        (
            "_==_",
            Some(
                Val::Quantity(_) | Val::Ip(_) | Val::Cidr(_) | Val::Format(_) | Val::Url(_) | Val::Semver(_),
            ),
        ) => 1,
        ("_==_" | "_!=_", Some(_)) => part(size(0).min(size(1)), 0.1),
        ("_<_" | "_<=_" | "_>_" | "_>=_", Some(Val::Text(_) | Val::Bytes(_))) => {
            part(size(0).min(size(1)), 0.1)
        }
        ("@in", Some(_)) if matches!(args.get(1), Some(Val::List(_))) => size(1),
        ("_+_", Some(Val::Text(_) | Val::Bytes(_))) => part(size(0) + size(1), 0.1),
        ("contains", Some(_)) => text(0).saturating_mul(text(1)),
        ("slice" | "reverse" | "lists.range", Some(_)) => list(1.0, result.map_or(0, Val::size)),
        ("flatten", Some(_)) => match args.get(1) {
            Some(Val::Int(depth)) => list(*depth as f64, size(0)),
            _ => list(1.0, size(0)),
        },
        ("distinct" | "sort", Some(first)) => self_compare(first),
        ("@sortByAssociatedKeys", Some(_)) => args.get(1).map_or(1, self_compare),
        ("sets.contains" | "sets.intersects", Some(_)) => size(0).saturating_mul(size(1)).saturating_add(1),
        ("sets.equivalent", Some(_)) => size(0).saturating_mul(size(1)).saturating_mul(2).saturating_add(1),
        _ if is_traversal(overload) => text(0),
        _ => 1,
    }
}

/// Overloads that go through a text once, of functions that do not always.
fn is_traversal(overload: &str) -> bool {
    matches!(overload, "string_to_bytes" | "bytes_to_string" | "string_to_ip")
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)]
fn self_compare(list: &Val<'_>) -> u64 {
    let size = list.size();
    let of_text =
        matches!(list, Val::List(list) if matches!(list.get(0), Some(Ok(Val::Text(_) | Val::Bytes(_)))));
    let factor = if of_text { 2.1 } else { 2.0 };
    (size.saturating_mul(size) as f64 * factor) as u64 + 11
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)]
fn traversal(value: &Val<'_>) -> u64 {
    match value {
        Val::Text(text) => (text.len() as f64 * 0.1) as u64,
        Val::Bytes(bytes) => (bytes.len() as f64 * 0.1) as u64,
        Val::List(list) => list.iter().map(|item| item.map_or(1, |item| traversal(&item))).sum(),
        Val::Map(map) => {
            let entry = |key: Val<'_>| {
                traversal(&key) + map.find(&key).ok().flatten().map_or(1, |value| traversal(&value))
            };
            map.keys().into_iter().map(entry).sum()
        }
        _ => 1,
    }
}
