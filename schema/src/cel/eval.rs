//! Runs a checked expression and counts what it costs.
//!
//! Behaviour: cel-go `interpreter`; costs as in `interpreter/runtimecost.go` and apiserver
//! `pkg/cel/library/cost.go`.

use std::rc::Rc;

use super::apply::{MAX_TEXT, apply, pattern};
use super::charge::cost;
use super::check::{self, Checked};
use super::library::strings;
use super::macros::ACCUMULATOR;
use super::syntax::{Expr, Fold, Kind, Literal};
use super::value::{Entries, Fault, List, Map, Meter, Outcome, Text, Val};

/// Runs an expression with its variables.
pub(crate) fn run<'a>(
    checked: &'a Checked,
    variables: Vec<(&'a str, Val<'a>)>,
    meter: &mut Meter,
) -> Outcome<Val<'a>> {
    let scope = variables.into_iter().map(|(name, value)| (name, Ok(value))).collect();
    Eval { checked, scope, meter }.expr(&checked.expr)
}

/// Evaluates what is constant, as the API server does when it makes a program of an expression.
pub(crate) fn instantiate(checked: &Checked, expr: &Expr) -> Outcome<()> {
    let mut failed = Ok(());
    check::children(expr, &mut |child| {
        if failed.is_ok() {
            failed = instantiate(checked, child);
        }
    });
    failed?;
    let Kind::Call { function, target, args } = &expr.kind else { return Ok(()) };
    if checked.is_constant(expr) && check::is_conversion(function) {
        let mut meter = Meter::new(u64::MAX);
        return Eval { checked, scope: Vec::new(), meter: &mut meter }.expr(expr).map(|_| ());
    }
    if matches!(function.as_str(), "matches" | "find" | "findAll") {
        let pattern = target.as_deref().into_iter().chain(args).nth(1);
        if let Some(Kind::Literal(Literal::String(text))) = pattern.map(|pattern| &pattern.kind) {
            return pattern_of_literal(text);
        }
    }
    Ok(())
}

fn pattern_of_literal(text: &str) -> Outcome<()> {
    pattern(text, &mut Meter::new(u64::MAX)).map(|_| ())
}

struct Eval<'a, 'm> {
    checked: &'a Checked,
    /// A variable may be a failure; it fails what uses it.
    scope: Vec<(&'a str, Outcome<Val<'a>>)>,
    meter: &'m mut Meter,
}

impl<'a> Eval<'a, '_> {
    fn expr(&mut self, expr: &'a Expr) -> Outcome<Val<'a>> {
        if !self.checked.is_constant(expr) {
            return self.evaluate(expr);
        }
        let cost = self.meter.cost;
        let value = self.evaluate(expr);
        self.meter.cost = cost;
        value
    }

    fn evaluate(&mut self, expr: &'a Expr) -> Outcome<Val<'a>> {
        match &expr.kind {
            Kind::Literal(literal) => Ok(constant(literal)),
            Kind::TypeName(name) => Ok(Val::Type(name.as_str().into())),
            Kind::Ident(name) => {
                self.meter.charge(1)?;
                let found = self.scope.iter().rev().find(|(known, _)| *known == name);
                match found {
                    Some((_, value)) => value.clone(),
                    None => Err(Fault::error(format!("no such attribute(s): {name}"))),
                }
            }
            Kind::Select { operand, field, test } => self.select(operand, field, *test),
            Kind::Call { function, target, args } => self.call(expr, function, target.as_deref(), args),
            Kind::List(items) => self.list(items),
            Kind::Map(entries) => self.map(entries),
            Kind::Struct { name, .. } => Err(Fault::error(format!("unknown type: {name}"))),
            Kind::Fold(fold) => self.fold(fold),
        }
    }

    fn select(&mut self, operand: &'a Expr, field: &'a str, test: bool) -> Outcome<Val<'a>> {
        let operand = self.expr(operand)?;
        if test {
            return match operand {
                Val::Optional(None) => Ok(Val::Bool(false)),
                Val::Optional(Some(inner)) => Ok(Val::Bool(find(&inner, field)?.is_some())),
                other => Ok(Val::Bool(find(&other, field)?.is_some())),
            };
        }
        self.meter.charge(1)?;
        if let Val::Optional(inner) = &operand {
            let found = inner.as_deref().map(|inner| find(inner, field)).transpose()?.flatten();
            return Ok(Val::Optional(found.map(Rc::new)));
        }
        find(&operand, field)?.ok_or_else(|| Fault::error(format!("no such key: {field}")))
    }

    fn optional_select(&mut self, operand: &'a Expr, field: &Expr) -> Outcome<Val<'a>> {
        let Kind::Literal(Literal::String(field)) = &field.kind else {
            return Err(Fault::no_such_overload());
        };
        let operand = self.expr(operand)?;
        self.meter.charge(1)?;
        let found = match &operand {
            Val::Optional(None) => None,
            Val::Optional(Some(inner)) => find(inner, field)?,
            other => find(other, field)?,
        };
        Ok(Val::Optional(found.map(Rc::new)))
    }

    fn list(&mut self, items: &'a [(Expr, bool)]) -> Outcome<Val<'a>> {
        let mut out = Vec::with_capacity(items.len());
        for (item, optional) in items {
            match self.expr(item)? {
                Val::Optional(inner) if *optional => out.extend(inner.map(|inner| (*inner).clone())),
                value => out.push(value),
            }
        }
        self.meter.charge(10)?;
        Ok(Val::List(List::own(out)))
    }

    fn map(&mut self, entries: &'a [(Expr, Expr, bool)]) -> Outcome<Val<'a>> {
        let mut out = Entries::default();
        for (name, value, optional) in entries {
            let name = self.expr(name)?;
            let value = match self.expr(value)? {
                Val::Optional(None) if *optional => continue,
                Val::Optional(Some(inner)) if *optional => (*inner).clone(),
                value => value,
            };
            out.set(name, value)?;
        }
        self.meter.charge(30)?;
        Ok(Val::Map(Map::own(out)))
    }

    fn fold(&mut self, fold: &'a Fold) -> Outcome<Val<'a>> {
        let range = self.expr(&fold.range)?;
        let init = self.failing(&fold.init)?;
        let outside = self.scope.len();
        self.scope.push((&fold.accu, init));
        let result = self.iterate(fold, &range, outside).and_then(|()| self.expr(&fold.result));
        self.scope.truncate(outside);
        result
    }

    /// A value that may be a failure; only running out of budget is one at once.
    fn failing(&mut self, expr: &'a Expr) -> Outcome<Outcome<Val<'a>>> {
        match self.expr(expr) {
            Err(Fault::Cost) => Err(Fault::Cost),
            other => Ok(other),
        }
    }

    fn iterate(&mut self, fold: &'a Fold, range: &Val<'a>, accu: usize) -> Outcome<()> {
        match range {
            Val::List(list) => {
                for (index, item) in (0i64..).zip(list.iter()) {
                    let variables =
                        if fold.var2.is_some() { (Ok(Val::Int(index)), Some(item)) } else { (item, None) };
                    if !self.step(fold, variables, accu)? {
                        break;
                    }
                }
            }
            Val::Map(map) => {
                for key in map.keys() {
                    let value = fold.var2.as_ref().and_then(|_| map.find(&key).transpose());
                    if !self.step(fold, (Ok(key), value), accu)? {
                        break;
                    }
                }
            }
            other => {
                return Err(Fault::error(format!("got '{}', expected iterable type", other.type_name())));
            }
        }
        Ok(())
    }

    /// One round of a fold; false when it was the last.
    fn step(
        &mut self,
        fold: &'a Fold,
        (first, second): (Outcome<Val<'a>>, Option<Outcome<Val<'a>>>),
        accu: usize,
    ) -> Outcome<bool> {
        self.meter.work(1)?;
        let inside = self.scope.len();
        self.scope.push((&fold.var, first));
        if let (Some(var2), Some(second)) = (&fold.var2, second) {
            self.scope.push((var2, second));
        }
        // A condition that fails does not end it.
        let goes_on = !matches!(self.failing(&fold.condition)?, Ok(Val::Bool(false)));
        if goes_on {
            self.scope[accu].1 = self.failing(&fold.step)?;
        }
        self.scope.truncate(inside);
        Ok(goes_on)
    }

    fn call(
        &mut self,
        expr: &'a Expr,
        function: &'a str,
        target: Option<&'a Expr>,
        args: &'a [Expr],
    ) -> Outcome<Val<'a>> {
        match (function, args) {
            ("_&&_", [first, second]) => return self.logical(first, second, false),
            ("_||_", [first, second]) => return self.logical(first, second, true),
            ("_?_:_", [condition, then, otherwise]) => {
                return match self.expr(condition)? {
                    Val::Bool(true) => self.expr(then),
                    Val::Bool(false) => self.expr(otherwise),
                    _ => Err(Fault::no_such_overload()),
                };
            }
            ("@not_strictly_false", [arg]) => {
                let value = self.expr(arg);
                self.meter.charge(1)?;
                return match value {
                    Ok(Val::Bool(false)) => Ok(Val::Bool(false)),
                    Err(Fault::Cost) => Err(Fault::Cost),
                    _ => Ok(Val::Bool(true)),
                };
            }
            ("_?._", [operand, field]) => return self.optional_select(operand, field),
            ("or" | "orValue", [arg]) if target.is_some() => {
                if let Some(target) = target {
                    return self.or(function, target, arg);
                }
            }
            ("_+_" | "cel.@mapInsert", [first, rest @ ..]) if is_accumulator(first) => {
                return self.accumulate(function, rest);
            }
            _ => {}
        }
        let mut values = Vec::with_capacity(args.len() + 1);
        for arg in target.into_iter().chain(args) {
            values.push(self.expr(arg)?);
        }
        self.before(function, &values)?;
        let result = apply(function, &values, self.meter);
        let overload = match self.checked.overloads(expr) {
            [one] => one,
            _ => "",
        };
        if overload == "in_list" && args.get(1).is_some_and(|list| self.checked.is_constant(list)) {
            // The API server looks it up in a set made beforehand.
            return result;
        }
        let cost = cost(function, overload, &values, result.as_ref().ok());
        self.meter.charge(cost)?;
        result
    }

    /// Adds to the accumulator of a fold in place.
    fn accumulate(&mut self, function: &str, args: &'a [Expr]) -> Outcome<Val<'a>> {
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(self.expr(arg)?);
        }
        self.meter.charge(2)?;
        let accu = self.scope.iter_mut().rev().find(|(name, _)| *name == ACCUMULATOR);
        let accu = accu.map_or(Ok(Val::Null), |(_, value)| std::mem::replace(value, Ok(Val::Null)))?;
        match (accu, values.as_slice()) {
            (Val::List(mut list), [Val::List(items)]) => {
                for item in items.iter() {
                    list = list.push(item?, self.meter)?;
                }
                Ok(Val::List(list))
            }
            (Val::Map(map), [name, value]) => map.insert(name, value.clone(), self.meter).map(Val::Map),
            (Val::Map(mut map), [Val::Map(entries)]) => {
                for name in entries.keys() {
                    if let Some(value) = entries.find(&name)? {
                        map = map.insert(&name, value, self.meter)?;
                    }
                }
                Ok(Val::Map(map))
            }
            (accu, _) => {
                values.insert(0, accu);
                apply(function, &values, self.meter)
            }
        }
    }

    fn logical(&mut self, first: &'a Expr, second: &'a Expr, decisive: bool) -> Outcome<Val<'a>> {
        let left = self.expr(first);
        match &left {
            Ok(Val::Bool(value)) if *value == decisive => return left,
            Err(Fault::Cost) => return left,
            _ => {}
        }
        let right = self.expr(second);
        match (&left, &right) {
            (_, Ok(Val::Bool(value))) if *value == decisive => right,
            (Ok(Val::Bool(_)), Ok(Val::Bool(_)) | Err(_)) | (_, Err(Fault::Cost)) => right,
            (Err(_), _) => left,
            _ => Err(Fault::no_such_overload()),
        }
    }

    fn or(&mut self, function: &str, target: &'a Expr, arg: &'a Expr) -> Outcome<Val<'a>> {
        let target = self.expr(target)?;
        self.meter.charge(1)?;
        match (function, target) {
            ("or", target @ Val::Optional(Some(_))) => Ok(target),
            ("orValue", Val::Optional(Some(inner))) => Ok((*inner).clone()),
            (_, Val::Optional(None)) => self.expr(arg),
            _ => Err(Fault::no_such_overload()),
        }
    }

    /// Charges what must be known before a function runs, because it could run too long or make too much.
    fn before(&mut self, function: &str, values: &[Val<'_>]) -> Outcome<()> {
        match (function, values) {
            ("distinct", [list]) => self.meter.work(saturate(list.size().saturating_mul(list.size()))),
            ("sort" | "@sortByAssociatedKeys", [list, ..]) => {
                self.meter.work(saturate(list.size().saturating_mul(20)))
            }
            ("sets.contains" | "sets.intersects" | "sets.equivalent", [first, second]) => {
                self.meter.work(saturate(first.size().saturating_mul(second.size())))
            }
            ("lists.range", [Val::Int(length)]) => self.meter.work(usize::try_from(*length).unwrap_or(0)),
            ("replace", [Val::Text(text), Val::Text(old), Val::Text(new), ..]) => {
                if strings::replaced_length(text, old, new) > MAX_TEXT { Err(Fault::Cost) } else { Ok(()) }
            }
            ("join", [Val::List(list), rest @ ..]) => {
                let separator = rest.first().map_or(0, Val::size);
                let mut total = separator.saturating_mul(list.len() as u64);
                for item in list.iter() {
                    total = total.saturating_add(item?.size());
                }
                if total > MAX_TEXT as u64 { Err(Fault::Cost) } else { self.meter.work(list.len()) }
            }
            (_, values) => {
                let bytes = values.iter().map(|value| match value {
                    Val::Text(text) => text.len(),
                    Val::Bytes(bytes) => bytes.len(),
                    Val::List(list) => list.len() * 8,
                    _ => 0,
                });
                self.meter.work(bytes.sum::<usize>() / 8)
            }
        }
    }
}

fn saturate(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn is_accumulator(expr: &Expr) -> bool {
    matches!(&expr.kind, Kind::Ident(name) if name == ACCUMULATOR)
}

fn constant(literal: &Literal) -> Val<'_> {
    match literal {
        Literal::Null => Val::Null,
        Literal::Bool(value) => Val::Bool(*value),
        Literal::Int(value) => Val::Int(*value),
        Literal::Uint(value) => Val::Uint(*value),
        Literal::Double(value) => Val::Double(*value),
        Literal::String(text) => Val::Text(Text::Borrowed(text)),
        Literal::Bytes(bytes) => Val::Bytes(Rc::new(bytes.clone())),
    }
}

/// A field or an entry with a text key.
fn find<'a>(value: &Val<'a>, field: &str) -> Outcome<Option<Val<'a>>> {
    match value {
        Val::Map(map) => map.find(&Val::text(field)),
        other => Err(Fault::error(format!(
            "unsupported index type '{}' in attribute '{field}'",
            other.type_name()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::cel::decl::decl;
    use crate::cel::syntax::{Env, parse};
    use crate::cel::value::from_json;
    use crate::parse as schema;

    /// Runs an expression that no estimate has let through.
    fn evaluate(source: &str) -> Result<bool, Fault> {
        let (node, _) = schema::parse(
            &json!({"type": "object", "properties": {
                "n": {"type": "array", "items": {"type": "integer"}},
                "s": {"type": "array", "items": {"type": "string"}},
                "t": {"type": "string"},
            }}),
            "",
        );
        let own = decl(&node, false, "self").unwrap().cel_type();
        let checked = check::check(parse(source, Env::ALL).unwrap(), Env::ALL, &[("self", own)]).unwrap();
        let value = json!({
            "n": (0..5000).collect::<Vec<_>>(),
            "s": (0..5000).map(|index| format!("(a{{{index}}}|b)*c")).collect::<Vec<_>>(),
            "t": "ab".repeat(100_000),
        });
        let mut meter = Meter::new(1_000_000);
        let value = from_json(&value, &node, false)?;
        match run(&checked, vec![("self", value)], &mut meter)? {
            Val::Bool(value) => Ok(value),
            _ => Err(Fault::no_such_overload()),
        }
    }

    #[rstest]
    #[case::nested_loops("self.n.all(x, self.n.all(y, x + y >= 0))")]
    #[case::comparing_large_values("self.n.all(x, self == self)")]
    #[case::doubling_lists(
        "[self.n].map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).size() > 0"
    )]
    #[case::doubling_text(
        "self.n.map(x, self.t).map(t, t + t + t + t + t + t + t + t + t + t + t + t + t + t + t + t).size() > 0"
    )]
    #[case::replacing_nothing("self.t.replace('', self.t).size() > 0")]
    #[case::joining("self.n.map(x, self.t).join(self.t).size() > 0")]
    #[case::many_patterns("self.s.all(p, !'x'.matches(p))")]
    #[case::endless_range("lists.range(9223372036854775807).size() > 0")]
    #[case::distinct("self.n.distinct().size() > 0")]
    #[case::sets("sets.equivalent(self.n, self.n)")]
    #[case::searching("self.n.all(x, x in self.n)")]
    #[case::splitting("self.n.all(x, self.t.split('').size() > 0)")]
    #[case::maps("self.n.all(x, self.n.transformMap(i, v, v).size() > 0)")]
    #[case::sorting("self.n.all(x, self.n.sort().size() > 0)")]
    fn bombs_run_out_of_budget(#[case] source: &str) {
        let start = Instant::now();
        assert_eq!(evaluate(source), Err(Fault::Cost));
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    }
}
