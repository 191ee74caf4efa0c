//! The functions and operators that have all their arguments.
//!
//! Behaviour: cel-go `common/types`, `common/stdlib`, `ext`; apiserver `pkg/cel/library`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use regex::Regex;

use super::library::{formats, net, quantity::Quantity, semver::Semver, strings};
use super::time::{self, Moment};
use super::value::{Entries, Fault, List, Map, Meter, Outcome, Val, compare, equal, show};
use crate::format::go_duration;
use crate::go::{self, url::Url};

/// The longest text that a function may make, in bytes.
pub(crate) const MAX_TEXT: usize = 8 << 20;
/// What compiling one pattern counts for, and each byte of it.
const PATTERN_WORK: (usize, usize) = (100_000, 500);

thread_local! {
    /// Patterns seen last: most are literals and come again with every item.
    static PATTERNS: RefCell<HashMap<String, Result<Regex, String>>> = RefCell::default();
}

/// How many patterns are kept.
const MAX_PATTERNS: usize = 256;

/// A pattern, compiled before if it came lately.
pub(crate) fn pattern(text: &str, meter: &mut Meter) -> Outcome<Regex> {
    if let Some(known) = PATTERNS.with_borrow(|patterns| patterns.get(text).cloned()) {
        return known.map_err(Fault::Error);
    }
    meter.work(PATTERN_WORK.0.saturating_add(text.len().saturating_mul(PATTERN_WORK.1)))?;
    let compiled = go::regex::compile(text);
    PATTERNS.with_borrow_mut(|patterns| {
        if patterns.len() >= MAX_PATTERNS {
            patterns.clear();
        }
        patterns.insert(text.to_owned(), compiled.clone());
    });
    compiled.map_err(Fault::Error)
}

/// Every function that has all its arguments.
pub(crate) fn apply<'a>(function: &str, args: &[Val<'a>], meter: &mut Meter) -> Outcome<Val<'a>> {
    let found = operators(function, args, meter)
        .or_else(|| conversions(function, args))
        .or_else(|| texts(function, args, meter))
        .or_else(|| lists(function, args, meter))
        .or_else(|| times(function, args))
        .or_else(|| optionals(function, args))
        .or_else(|| kubernetes(function, args));
    found.unwrap_or_else(|| Err(Fault::no_such_overload()))
}

type Applied<'a> = Option<Outcome<Val<'a>>>;

fn overflow(kind: &str) -> Fault {
    Fault::error(format!("{kind} overflow"))
}

fn operators<'a>(function: &str, args: &[Val<'a>], meter: &mut Meter) -> Applied<'a> {
    Some(match (function, args) {
        ("_==_", [first, second]) => equal(first, second, meter).map(Val::Bool),
        ("_!=_", [first, second]) => equal(first, second, meter).map(|equal| Val::Bool(!equal)),
        ("_<_" | "_<=_" | "_>_" | "_>=_", [first, second]) => compare(first, second).map(|ordering| {
            Val::Bool(ordering.is_some_and(|ordering| match function {
                "_<_" => ordering.is_lt(),
                "_<=_" => ordering.is_le(),
                "_>_" => ordering.is_gt(),
                _ => ordering.is_ge(),
            }))
        }),
        ("!_", [Val::Bool(value)]) => Ok(Val::Bool(!value)),
        ("_[_]" | "_[?_]", [container, index]) => index_of(function, container, index),
        ("@in", [item, Val::List(list)]) => contains(list, item, meter).map(Val::Bool),
        ("@in", [key, Val::Map(map)]) => map.find(key).map(|found| Val::Bool(found.is_some())),
        ("_+_", [Val::List(first), Val::List(second)]) => first.concat(second, meter).map(Val::List),
        ("_+_", [Val::Text(first), Val::Text(second)]) => {
            if first.len() + second.len() > MAX_TEXT {
                Err(Fault::Cost)
            } else {
                Ok(Val::text(format!("{}{}", &**first, &**second)))
            }
        }
        ("_+_", [Val::Bytes(first), Val::Bytes(second)]) => {
            Ok(Val::Bytes(Rc::new([first.as_slice(), second].concat())))
        }
        ("cel.@mapInsert", [Val::Map(map), name, value]) => {
            map.clone().insert(name, value.clone(), meter).map(Val::Map)
        }
        ("dyn", [value]) => Ok(value.clone()),
        ("type", [value]) => Ok(Val::Type(value.type_name().into())),
        ("size", [value @ (Val::Text(_) | Val::Bytes(_) | Val::List(_) | Val::Map(_))]) => {
            Ok(Val::Int(i64::try_from(value.size()).unwrap_or(i64::MAX)))
        }
        _ => return arithmetic(function, args),
    })
}

fn arithmetic<'a>(function: &str, args: &[Val<'a>]) -> Applied<'a> {
    let int = |value: Option<i64>| value.map(Val::Int).ok_or_else(|| overflow("integer"));
    let uint = |value: Option<u64>| value.map(Val::Uint).ok_or_else(|| overflow("unsigned integer"));
    let duration = |value: Option<i64>| value.map(Val::Duration).ok_or_else(|| overflow("duration"));
    let moment = |value: Option<Moment>| value.map(Val::Timestamp).ok_or_else(|| overflow("timestamp"));
    Some(match (function, args) {
        ("_/_", [Val::Int(_), Val::Int(0)] | [Val::Uint(_), Val::Uint(0)]) => {
            Err(Fault::error("division by zero"))
        }
        ("_%_", [Val::Int(_), Val::Int(0)] | [Val::Uint(_), Val::Uint(0)]) => {
            Err(Fault::error("modulus by zero"))
        }
        ("_+_", [Val::Int(a), Val::Int(b)]) => int(a.checked_add(*b)),
        ("_-_", [Val::Int(a), Val::Int(b)]) => int(a.checked_sub(*b)),
        ("_*_", [Val::Int(a), Val::Int(b)]) => int(a.checked_mul(*b)),
        ("_/_", [Val::Int(a), Val::Int(b)]) => int(a.checked_div(*b)),
        ("_%_", [Val::Int(a), Val::Int(b)]) => int(a.checked_rem(*b)),
        ("-_", [Val::Int(a)]) => int(a.checked_neg()),
        ("_+_", [Val::Uint(a), Val::Uint(b)]) => uint(a.checked_add(*b)),
        ("_-_", [Val::Uint(a), Val::Uint(b)]) => uint(a.checked_sub(*b)),
        ("_*_", [Val::Uint(a), Val::Uint(b)]) => uint(a.checked_mul(*b)),
        ("_/_", [Val::Uint(a), Val::Uint(b)]) => uint(a.checked_div(*b)),
        ("_%_", [Val::Uint(a), Val::Uint(b)]) => uint(a.checked_rem(*b)),
        ("_+_", [Val::Double(a), Val::Double(b)]) => Ok(Val::Double(a + b)),
        ("_-_", [Val::Double(a), Val::Double(b)]) => Ok(Val::Double(a - b)),
        ("_*_", [Val::Double(a), Val::Double(b)]) => Ok(Val::Double(a * b)),
        ("_/_", [Val::Double(a), Val::Double(b)]) => Ok(Val::Double(a / b)),
        ("-_", [Val::Double(a)]) => Ok(Val::Double(-a)),
        ("_+_", [Val::Duration(a), Val::Duration(b)]) => duration(a.checked_add(*b)),
        ("_-_", [Val::Duration(a), Val::Duration(b)]) => duration(a.checked_sub(*b)),
        ("_+_", [Val::Timestamp(a), Val::Duration(b)] | [Val::Duration(b), Val::Timestamp(a)]) => {
            moment(a.plus(*b))
        }
        ("_-_", [Val::Timestamp(a), Val::Duration(b)]) => moment(b.checked_neg().and_then(|b| a.plus(b))),
        ("_-_", [Val::Timestamp(a), Val::Timestamp(b)]) => {
            duration(i64::try_from(a.nanoseconds() - b.nanoseconds()).ok())
        }
        _ => return None,
    })
}

/// `container[index]`, `container[?index]`, and both through an optional.
#[allow(clippy::cast_possible_truncation, clippy::float_cmp)]
fn index_of<'a>(function: &str, container: &Val<'a>, index: &Val<'_>) -> Outcome<Val<'a>> {
    let optional = function == "_[?_]" || matches!(container, Val::Optional(_));
    let found = match container {
        Val::Optional(None) => Ok(None),
        Val::Optional(Some(inner)) => lookup(inner, index),
        other => lookup(other, index),
    }?;
    match found {
        found if optional => Ok(Val::Optional(found.map(Rc::new))),
        Some(found) => Ok(found),
        None if matches!(container, Val::List(_)) => {
            Err(Fault::error(format!("index out of bounds: {}", show(index))))
        }
        None => Err(Fault::error(format!("no such key: {}", show(index)))),
    }
}

#[allow(clippy::cast_possible_truncation, clippy::float_cmp)]
fn lookup<'a>(container: &Val<'a>, index: &Val<'_>) -> Outcome<Option<Val<'a>>> {
    match (container, index) {
        (Val::List(list), index) => {
            let place = match index {
                Val::Int(index) => usize::try_from(*index).ok(),
                Val::Uint(index) => usize::try_from(*index).ok(),
                Val::Double(index) if index.trunc() == *index => usize::try_from(*index as i64).ok(),
                _ => return Err(Fault::error(format!("unsupported index value: {}", show(index)))),
            };
            place.and_then(|place| list.get(place)).transpose()
        }
        (Val::Map(map), index) => map.find(index),
        _ => Err(Fault::no_such_overload()),
    }
}

fn contains(list: &List<'_>, item: &Val<'_>, meter: &mut Meter) -> Outcome<bool> {
    let mut failed = None;
    for known in list.iter() {
        match known.and_then(|known| equal(&known, item, meter)) {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(Fault::Cost) => return Err(Fault::Cost),
            Err(fault) => drop(failed.get_or_insert(fault)),
        }
    }
    failed.map_or(Ok(false), Err)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)]
fn conversions<'a>(function: &str, args: &[Val<'a>]) -> Applied<'a> {
    let [arg] = args else { return None };
    let wrong =
        |to: &str| Fault::error(format!("type conversion error from '{}' to '{to}'", arg.type_name()));
    let range = || Fault::error("range error converting to int");
    Some(match (function, arg) {
        ("bool", Val::Bool(_))
        | ("int", Val::Int(_))
        | ("uint", Val::Uint(_))
        | ("double", Val::Double(_))
        | ("string", Val::Text(_))
        | ("bytes", Val::Bytes(_))
        | ("duration", Val::Duration(_))
        | ("timestamp", Val::Timestamp(_)) => Ok(arg.clone()),
        ("bool", Val::Text(text)) => match &**text {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Val::Bool(false)),
            _ => Err(wrong("bool")),
        },
        ("int", Val::Uint(value)) => i64::try_from(*value).map(Val::Int).map_err(|_| overflow("integer")),
        ("int", Val::Double(value)) if value.abs() < 9_223_372_036_854_775_808.0 => {
            Ok(Val::Int(*value as i64))
        }
        ("int", Val::Double(_)) => Err(overflow("integer")),
        ("int", Val::Text(text)) => text.parse().map(Val::Int).map_err(|_| wrong("int")),
        ("int", Val::Timestamp(moment)) => Ok(Val::Int(moment.seconds)),
        ("int", Val::Duration(nanos)) => Ok(Val::Int(*nanos)),
        ("uint", Val::Int(value)) => {
            u64::try_from(*value).map(Val::Uint).map_err(|_| overflow("unsigned integer"))
        }
        ("uint", Val::Double(value)) if (0.0..1.844_674_407_370_955_2e19).contains(value) => {
            Ok(Val::Uint(*value as u64))
        }
        ("uint", Val::Double(_)) => Err(overflow("unsigned integer")),
        ("uint", Val::Text(text)) => text.parse().map(Val::Uint).map_err(|_| wrong("uint")),
        ("double", Val::Int(value)) => Ok(Val::Double(*value as f64)),
        ("double", Val::Uint(value)) => Ok(Val::Double(*value as f64)),
        ("double", Val::Text(text)) => text.parse().map(Val::Double).map_err(|_| wrong("double")),
        ("string", Val::Bool(_) | Val::Int(_) | Val::Uint(_) | Val::Double(_)) => Ok(Val::text(show(arg))),
        ("string", Val::Bytes(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Val::text(text)),
            Err(_) => Err(Fault::error("invalid UTF-8 in bytes, cannot convert to string")),
        },
        ("string", Val::Duration(nanos)) => Ok(Val::text(strings::duration(*nanos))),
        ("string", Val::Timestamp(moment)) => Ok(Val::text(moment.text())),
        ("string", Val::Ip(address)) => Ok(Val::text(address.to_string())),
        ("string", Val::Cidr(cidr)) => Ok(Val::text(format!("{}/{}", cidr.address, cidr.bits))),
        ("bytes", Val::Text(text)) => Ok(Val::Bytes(Rc::new(text.as_bytes().to_vec()))),
        ("duration", Val::Text(text)) => {
            go_duration(text).map(Val::Duration).ok_or_else(|| wrong("google.protobuf.Duration"))
        }
        ("duration", Val::Int(nanos)) => Ok(Val::Duration(*nanos)),
        ("timestamp", Val::Text(text)) => {
            time::parse(text).map(Val::Timestamp).ok_or_else(|| wrong("google.protobuf.Timestamp"))
        }
        ("timestamp", Val::Int(seconds)) => Moment::new(*seconds, 0).map(Val::Timestamp).ok_or_else(range),
        _ => return None,
    })
}

fn texts<'a>(function: &str, args: &[Val<'a>], meter: &mut Meter) -> Applied<'a> {
    let int = |value: Outcome<i64>| value.map(Val::Int);
    let text = |value: Outcome<String>| value.map(Val::text);
    let list = |items: Vec<String>| Ok(Val::List(List::own(items.into_iter().map(Val::text).collect())));
    Some(match (function, args) {
        ("contains", [Val::Text(a), Val::Text(b)]) => Ok(Val::Bool(a.contains(&**b))),
        ("startsWith", [Val::Text(a), Val::Text(b)]) => Ok(Val::Bool(a.starts_with(&**b))),
        ("endsWith", [Val::Text(a), Val::Text(b)]) => Ok(Val::Bool(a.ends_with(&**b))),
        ("matches", [Val::Text(a), Val::Text(b)]) => {
            pattern(b, meter).map(|regex| Val::Bool(regex.is_match(a)))
        }
        ("find", [Val::Text(a), Val::Text(b)]) => pattern(b, meter)
            .map_err(illegal)
            .map(|regex| Val::text(regex.find(a).map(|found| found.as_str()).unwrap_or_default())),
        ("findAll", [Val::Text(a), Val::Text(b), rest @ ..]) => match pattern(b, meter).map_err(illegal) {
            Ok(regex) => {
                let most = match rest {
                    [Val::Int(most)] => usize::try_from(*most).unwrap_or(usize::MAX),
                    _ => usize::MAX,
                };
                list(regex.find_iter(a).take(most).map(|found| found.as_str().to_owned()).collect())
            }
            Err(fault) => Err(fault),
        },
        ("charAt", [Val::Text(a), Val::Int(index)]) => text(strings::char_at(a, *index)),
        ("indexOf", [Val::Text(a), Val::Text(b)]) => int(strings::index_of(a, b, 0)),
        ("indexOf", [Val::Text(a), Val::Text(b), Val::Int(from)]) => int(strings::index_of(a, b, *from)),
        ("lastIndexOf", [Val::Text(a), Val::Text(b)]) => int(strings::last_index_of(a, b, None)),
        ("lastIndexOf", [Val::Text(a), Val::Text(b), Val::Int(from)]) => {
            int(strings::last_index_of(a, b, Some(*from)))
        }
        ("lowerAscii", [Val::Text(a)]) => Ok(Val::text(a.to_ascii_lowercase())),
        ("upperAscii", [Val::Text(a)]) => Ok(Val::text(a.to_ascii_uppercase())),
        ("trim", [Val::Text(a)]) => Ok(Val::text(a.trim())),
        ("replace", [Val::Text(a), Val::Text(b), Val::Text(c)]) => {
            Ok(Val::text(strings::replace(a, b, c, -1)))
        }
        ("replace", [Val::Text(a), Val::Text(b), Val::Text(c), Val::Int(times)]) => {
            Ok(Val::text(strings::replace(a, b, c, *times)))
        }
        ("split", [Val::Text(a), Val::Text(b)]) => list(strings::split(a, b, -1)),
        ("split", [Val::Text(a), Val::Text(b), Val::Int(times)]) => list(strings::split(a, b, *times)),
        ("substring", [Val::Text(a), Val::Int(start)]) => text(strings::substring(a, *start, None)),
        ("substring", [Val::Text(a), Val::Int(start), Val::Int(end)]) => {
            text(strings::substring(a, *start, Some(*end)))
        }
        ("strings.quote", [Val::Text(a)]) => Ok(Val::text(strings::quote(a))),
        ("format", [Val::Text(a), Val::List(list)]) => {
            list.iter().collect::<Outcome<Vec<_>>>().and_then(|args| text(strings::format(a, &args)))
        }
        ("join", [Val::List(items)]) => text(join(items, "")),
        ("join", [Val::List(items), Val::Text(separator)]) => text(join(items, separator)),
        _ => return None,
    })
}

fn illegal(fault: Fault) -> Fault {
    match fault {
        Fault::Error(why) => Fault::error(format!("Illegal regex: {why}")),
        Fault::Cost => Fault::Cost,
    }
}

fn join(items: &List<'_>, separator: &str) -> Outcome<String> {
    let mut out = Vec::with_capacity(items.len());
    for item in items.iter() {
        match item? {
            Val::Text(text) => out.push(text),
            other => return Err(Fault::error(format!("join: invalid input: {}", show(&other)))),
        }
    }
    Ok(out.iter().map(|text| &**text).collect::<Vec<_>>().join(separator))
}

fn lists<'a>(function: &str, args: &[Val<'a>], meter: &mut Meter) -> Applied<'a> {
    let own = |items: Vec<Val<'a>>| Val::List(List::own(items));
    Some(match (function, args) {
        ("lists.range", [Val::Int(length)]) => Ok(own((0..(*length).max(0)).map(Val::Int).collect())),
        ("isSorted", [Val::List(list)]) => is_sorted(list).map(Val::Bool),
        ("sum", [Val::List(list)]) => sum(list),
        ("max" | "min", [Val::List(list)]) => extreme(function, list),
        ("indexOf", [Val::List(list), item]) => position(list, item, false, meter),
        ("lastIndexOf", [Val::List(list), item]) => position(list, item, true, meter),
        ("slice", [Val::List(list), Val::Int(start), Val::Int(end)]) => slice(list, *start, *end).map(own),
        ("flatten", [Val::List(list)]) => flatten(list, 1, meter).map(own),
        ("flatten", [Val::List(list), Val::Int(depth)]) => match depth {
            ..0 => Err(Fault::error("level must be non-negative")),
            depth => flatten(list, *depth, meter).map(own),
        },
        ("sort", [Val::List(list)]) => sort(list, list).map(own),
        ("@sortByAssociatedKeys", [Val::List(list), Val::List(keys)]) => sort(list, keys).map(own),
        ("reverse", [Val::List(list)]) => {
            list.iter().collect::<Outcome<Vec<_>>>().map(|items| own(items.into_iter().rev().collect()))
        }
        ("distinct", [Val::List(list)]) => distinct(list, meter).map(own),
        ("first", [Val::List(list)]) => {
            list.get(0).transpose().map(|found| Val::Optional(found.map(Rc::new)))
        }
        ("last", [Val::List(list)]) => {
            let end = list.len().checked_sub(1).and_then(|end| list.get(end));
            end.transpose().map(|found| Val::Optional(found.map(Rc::new)))
        }
        ("sets.contains", [Val::List(list), Val::List(sub)]) => all_in(sub, list, meter).map(Val::Bool),
        ("sets.equivalent", [Val::List(a), Val::List(b)]) => match all_in(b, a, meter) {
            Ok(true) => all_in(a, b, meter).map(Val::Bool),
            other => other.map(Val::Bool),
        },
        ("sets.intersects", [Val::List(a), Val::List(b)]) => intersects(a, b, meter).map(Val::Bool),
        _ => return None,
    })
}

fn all_in(sub: &List<'_>, list: &List<'_>, meter: &mut Meter) -> Outcome<bool> {
    for item in sub.iter() {
        if !contains(list, &item?, meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn intersects(first: &List<'_>, second: &List<'_>, meter: &mut Meter) -> Outcome<bool> {
    for item in first.iter() {
        if contains(second, &item?, meter)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_sorted(list: &List<'_>) -> Outcome<bool> {
    let mut previous: Option<Val<'_>> = None;
    for item in list.iter() {
        let item = item?;
        if let Some(previous) = &previous
            && compare(previous, &item)?.is_some_and(std::cmp::Ordering::is_gt)
        {
            return Ok(false);
        }
        previous = Some(item);
    }
    Ok(true)
}

fn sum<'a>(list: &List<'a>) -> Outcome<Val<'a>> {
    let mut total: Option<Val<'a>> = None;
    for item in list.iter() {
        let item = item?;
        total = Some(match total {
            None => item,
            Some(total) => {
                arithmetic("_+_", &[total, item]).unwrap_or_else(|| Err(Fault::no_such_overload()))?
            }
        });
    }
    Ok(total.unwrap_or(Val::Int(0)))
}

fn extreme<'a>(function: &str, list: &List<'a>) -> Outcome<Val<'a>> {
    let mut best: Option<Val<'a>> = None;
    for item in list.iter() {
        let item = item?;
        let better = match &best {
            None => true,
            Some(best) => compare(best, &item)?
                .is_some_and(|ordering| if function == "min" { ordering.is_gt() } else { ordering.is_lt() }),
        };
        if better {
            best = Some(item);
        }
    }
    best.ok_or_else(|| Fault::error(format!("{function} called on empty list")))
}

fn position<'a>(list: &List<'_>, item: &Val<'_>, from_end: bool, meter: &mut Meter) -> Outcome<Val<'a>> {
    let mut found = -1;
    for (index, known) in (0i64..).zip(list.iter()) {
        if equal(&known?, item, meter)? {
            found = index;
            if !from_end {
                break;
            }
        }
    }
    Ok(Val::Int(found))
}

fn slice<'a>(list: &List<'a>, start: i64, end: i64) -> Outcome<Vec<Val<'a>>> {
    let wrong = |why: &str| Err(Fault::error(format!("cannot slice({start}, {end}), {why}")));
    let (Ok(from), Ok(to)) = (usize::try_from(start), usize::try_from(end)) else {
        return wrong("negative indexes not supported");
    };
    if from > to {
        return wrong("start index must be less than or equal to end index");
    }
    if to > list.len() {
        return wrong(&format!("list is length {}", list.len()));
    }
    (from..to).filter_map(|index| list.get(index)).collect()
}

fn flatten<'a>(list: &List<'a>, depth: i64, meter: &mut Meter) -> Outcome<Vec<Val<'a>>> {
    meter.work(list.len())?;
    let mut out = Vec::new();
    for item in list.iter() {
        match item? {
            Val::List(nested) if depth > 0 => out.extend(flatten(&nested, depth - 1, meter)?),
            item => out.push(item),
        }
    }
    Ok(out)
}

fn sort<'a>(list: &List<'a>, keys: &List<'_>) -> Outcome<Vec<Val<'a>>> {
    if list.len() != keys.len() {
        return Err(Fault::error(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} elements respectively",
            list.len(),
            keys.len()
        )));
    }
    let items: Vec<_> = list.iter().collect::<Outcome<_>>()?;
    let keys: Vec<_> = keys.iter().collect::<Outcome<_>>()?;
    if let Some(first) = keys.first() {
        if keys.iter().any(|key| key.type_name() != first.type_name()) {
            return Err(Fault::error("list elements must have the same type"));
        }
        compare(first, first).map_err(|_| Fault::error("list elements must be comparable"))?;
    }
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by(|a, b| compare(&keys[*a], &keys[*b]).ok().flatten().unwrap_or(std::cmp::Ordering::Equal));
    Ok(order.into_iter().map(|index| items[index].clone()).collect())
}

fn distinct<'a>(list: &List<'a>, meter: &mut Meter) -> Outcome<Vec<Val<'a>>> {
    let mut out: Vec<Val<'a>> = Vec::new();
    'items: for item in list.iter() {
        let item = item?;
        for known in &out {
            if equal(&item, known, meter)? {
                continue 'items;
            }
        }
        out.push(item);
    }
    Ok(out)
}

fn times<'a>(function: &str, args: &[Val<'a>]) -> Applied<'a> {
    let int = |value: i64| Some(Ok(Val::Int(value)));
    if let [Val::Duration(nanos)] = args {
        return match function {
            "getHours" => int(nanos / 3_600_000_000_000),
            "getMinutes" => int(nanos / 60_000_000_000),
            "getSeconds" => int(nanos / 1_000_000_000),
            "getMilliseconds" => int(nanos / 1_000_000),
            _ => None,
        };
    }
    let (moment, zone) = match args {
        [Val::Timestamp(moment)] => (moment, Some(0)),
        [Val::Timestamp(moment), Val::Text(zone)] => (moment, time::zone(zone)),
        _ => return None,
    };
    let Some(zone) = zone else {
        return Some(Err(Fault::error(
            "unknown time zone: only UTC and offsets such as +02:00 are supported",
        )));
    };
    let at = moment.calendar(zone);
    int(match function {
        "getFullYear" => at.year,
        "getMonth" => at.month - 1,
        "getDayOfYear" => at.day_of_year,
        "getDayOfMonth" => at.day - 1,
        "getDate" => at.day,
        "getDayOfWeek" => at.day_of_week,
        "getHours" => at.hour,
        "getMinutes" => at.minute,
        "getSeconds" => at.second,
        "getMilliseconds" => i64::from(moment.nanos / 1_000_000),
        _ => return None,
    })
}

fn optionals<'a>(function: &str, args: &[Val<'a>]) -> Applied<'a> {
    Some(match (function, args) {
        ("optional.none", []) => Ok(Val::Optional(None)),
        ("optional.of", [value]) => Ok(Val::Optional(Some(Rc::new(value.clone())))),
        ("optional.ofNonZeroValue", [value]) => {
            Ok(Val::Optional((!value.is_zero()).then(|| Rc::new(value.clone()))))
        }
        ("hasValue", [Val::Optional(inner)]) => Ok(Val::Bool(inner.is_some())),
        ("value", [Val::Optional(inner)]) => match inner {
            Some(inner) => Ok((**inner).clone()),
            None => Err(Fault::error("optional.none() dereference")),
        },
        ("optional.unwrap" | "unwrapOpt", [Val::List(list)]) => {
            let mut out = Vec::new();
            for item in list.iter() {
                match item {
                    Ok(Val::Optional(inner)) => out.extend(inner.map(|inner| (*inner).clone())),
                    Ok(other) => {
                        return Some(Err(Fault::error(format!("value {} is not optional", show(&other)))));
                    }
                    Err(fault) => return Some(Err(fault)),
                }
            }
            Ok(Val::List(List::own(out)))
        }
        _ => return None,
    })
}

fn kubernetes<'a>(function: &str, args: &[Val<'a>]) -> Applied<'a> {
    let failed = |why: String| Fault::Error(why);
    Some(match (function, args) {
        ("url", [Val::Text(text)]) => match Url::parse(text) {
            Ok(url) => Ok(Val::Url(Rc::new(url))),
            Err(why) => Err(Fault::error(format!(
                "URL parse error during conversion from string: parse {}: {why}",
                go::quote(text)
            ))),
        },
        ("isURL", [Val::Text(text)]) => Ok(Val::Bool(Url::parse(text).is_ok())),
        ("quantity", [Val::Text(text)]) => {
            Quantity::parse(text).map(|found| Val::Quantity(Rc::new(found))).map_err(failed)
        }
        ("isQuantity", [Val::Text(text)]) => Ok(Val::Bool(Quantity::parse(text).is_ok())),
        ("format.named", [Val::Text(name)]) => {
            Ok(Val::Optional(formats::named(name).map(|format| Rc::new(Val::Format(format)))))
        }
        ("validate", [Val::Format(format), Val::Text(text)]) => {
            let problems: Vec<_> = format.check(text).into_iter().map(Val::text).collect();
            Ok(Val::Optional((!problems.is_empty()).then(|| Rc::new(Val::List(List::own(problems))))))
        }
        ("semver", [Val::Text(text)] | [Val::Text(text), Val::Bool(false)]) => {
            Semver::parse(text).map(|found| Val::Semver(Rc::new(found))).map_err(failed)
        }
        ("semver", [Val::Text(text), Val::Bool(true)]) => {
            Semver::parse_tolerant(text).map(|found| Val::Semver(Rc::new(found))).map_err(failed)
        }
        ("isSemver", [Val::Text(text)] | [Val::Text(text), Val::Bool(false)]) => {
            Ok(Val::Bool(Semver::parse(text).is_ok()))
        }
        ("isSemver", [Val::Text(text), Val::Bool(true)]) => {
            Ok(Val::Bool(Semver::parse_tolerant(text).is_ok()))
        }
        (name, []) => {
            return name
                .strip_prefix("format.")
                .and_then(formats::named)
                .map(|format| Ok(Val::Format(format)));
        }
        _ => {
            return urls(function, args)
                .or_else(|| addresses(function, args))
                .or_else(|| quantities(function, args))
                .or_else(|| versions(function, args));
        }
    })
}

fn addresses<'a>(function: &str, args: &[Val<'a>]) -> Applied<'a> {
    let failed = |why: String| Fault::Error(why);
    Some(match (function, args) {
        ("ip", [Val::Text(text)]) => net::parse_ip(text).map(Val::Ip).map_err(failed),
        ("ip", [Val::Cidr(cidr)]) => Ok(Val::Ip(cidr.address)),
        ("isIP", [Val::Text(text)]) => Ok(Val::Bool(net::parse_ip(text).is_ok())),
        ("ip.isCanonical", [Val::Text(text)]) => {
            net::parse_ip(text).map(|address| Val::Bool(address.to_string() == **text)).map_err(failed)
        }
        ("family", [Val::Ip(address)]) => Ok(Val::Int(if address.is_ipv4() { 4 } else { 6 })),
        (test, [Val::Ip(address)]) => return net::test(test, *address).map(|found| Ok(Val::Bool(found))),
        ("cidr", [Val::Text(text)]) => net::parse_cidr(text).map(Val::Cidr).map_err(failed),
        ("isCIDR", [Val::Text(text)]) => Ok(Val::Bool(net::parse_cidr(text).is_ok())),
        ("containsIP", [Val::Cidr(cidr), Val::Ip(address)]) => Ok(Val::Bool(cidr.contains(*address))),
        ("containsIP", [Val::Cidr(cidr), Val::Text(text)]) => {
            net::parse_ip(text).map(|address| Val::Bool(cidr.contains(address))).map_err(failed)
        }
        ("containsCIDR", [Val::Cidr(cidr), Val::Cidr(other)]) => Ok(Val::Bool(cidr.contains_cidr(*other))),
        ("containsCIDR", [Val::Cidr(cidr), Val::Text(text)]) => {
            net::parse_cidr(text).map(|other| Val::Bool(cidr.contains_cidr(other))).map_err(failed)
        }
        ("prefixLength", [Val::Cidr(cidr)]) => Ok(Val::Int(cidr.bits.into())),
        ("masked", [Val::Cidr(cidr)]) => Ok(Val::Cidr(cidr.masked())),
        _ => return None,
    })
}

fn urls<'a>(function: &str, args: &[Val<'a>]) -> Applied<'a> {
    let [Val::Url(url)] = args else { return None };
    Some(Ok(match function {
        "getScheme" => Val::text(url.scheme.as_str()),
        "getHost" => Val::text(url.host.as_str()),
        "getHostname" => Val::text(url.hostname()),
        "getPort" => Val::text(url.port()),
        "getEscapedPath" => Val::text(url.escaped_path.as_str()),
        "getQuery" => {
            let mut entries = Entries::default();
            for (name, values) in url.query() {
                let values = values.into_iter().map(Val::text).collect();
                if let Err(fault) = entries.insert(&Val::text(name), Val::List(List::own(values))) {
                    return Some(Err(fault));
                }
            }
            Val::Map(Map::own(entries))
        }
        _ => return None,
    }))
}

fn quantities<'a>(function: &str, args: &[Val<'a>]) -> Applied<'a> {
    let own = |quantity: Quantity| Val::Quantity(Rc::new(quantity));
    Some(Ok(match (function, args) {
        ("sign", [Val::Quantity(a)]) => Val::Int(a.sign()),
        ("isInteger", [Val::Quantity(a)]) => Val::Bool(a.as_int().is_some()),
        ("asInteger", [Val::Quantity(a)]) => match a.as_int() {
            Some(int) => Val::Int(int),
            None => return Some(Err(Fault::error("cannot convert value to integer"))),
        },
        ("asApproximateFloat", [Val::Quantity(a)]) => Val::Double(a.as_float()),
        ("isGreaterThan", [Val::Quantity(a), Val::Quantity(b)]) => Val::Bool(a.compare(b).is_gt()),
        ("isLessThan", [Val::Quantity(a), Val::Quantity(b)]) => Val::Bool(a.compare(b).is_lt()),
        ("compareTo", [Val::Quantity(a), Val::Quantity(b)]) => Val::Int(a.compare(b) as i64),
        ("add", [Val::Quantity(a), Val::Quantity(b)]) => own(a.add(b)),
        ("add", [Val::Quantity(a), Val::Int(b)]) => own(a.add(&Quantity::of_int(*b))),
        ("sub", [Val::Quantity(a), Val::Quantity(b)]) => own(a.subtract(b)),
        ("sub", [Val::Quantity(a), Val::Int(b)]) => own(a.subtract(&Quantity::of_int(*b))),
        _ => return None,
    }))
}

fn versions<'a>(function: &str, args: &[Val<'a>]) -> Applied<'a> {
    let int = |value: u64| Val::Int(i64::try_from(value).unwrap_or(i64::MAX));
    Some(Ok(match (function, args) {
        ("major", [Val::Semver(a)]) => int(a.major),
        ("minor", [Val::Semver(a)]) => int(a.minor),
        ("patch", [Val::Semver(a)]) => int(a.patch),
        ("isGreaterThan", [Val::Semver(a), Val::Semver(b)]) => Val::Bool(a.compare(b).is_gt()),
        ("isLessThan", [Val::Semver(a), Val::Semver(b)]) => Val::Bool(a.compare(b).is_lt()),
        ("compareTo", [Val::Semver(a), Val::Semver(b)]) => Val::Int(a.compare(b) as i64),
        _ => return None,
    }))
}
