//! What an expression may cost at most, before it runs.
//!
//! The estimate decides which rules a CRD may have, so it follows the API server's to the unit.
//! Behaviour: cel-go `checker/cost.go`, `ext/lists.go`, `ext/sets.go`; apiserver
//! `pkg/cel/library/cost.go`; apiextensions-apiserver `pkg/apiserver/schema/cel/compilation.go`.

use std::collections::HashMap;

use super::check::Checked;
use super::decl::{Decl, Shape};
use super::macros::ACCUMULATOR;
use super::syntax::{Expr, Fold, Kind, Literal};
use super::types::{Extra, Type};

/// A number between two others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    min: u64,
    max: u64,
}

impl Range {
    const ZERO: Self = Self::fixed(0);
    const UNKNOWN: Self = Self { min: 0, max: u64::MAX };

    const fn fixed(value: u64) -> Self {
        Self { min: value, max: value }
    }

    fn add(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    fn multiply(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    /// Rounded up.
    fn factor(self, factor: f64) -> Self {
        Self { min: scaled(self.min, factor), max: scaled(self.max, factor) }
    }

    fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)]
fn scaled(value: u64, factor: f64) -> u64 {
    // Above the range the conversion stays at its end.
    (value as f64 * factor).ceil() as u64
}

/// Traversing text, per character.
const TEXT: f64 = 0.1;
/// Running a pattern, per character of it.
const PATTERN: f64 = 0.25;

/// The sizes of the entries of a list or map.
#[derive(Clone, Copy, Debug)]
struct Entry {
    is_list: bool,
    key: Range,
    value: Range,
}

#[derive(Clone, Debug)]
struct Local {
    path: Vec<String>,
    size: Option<Range>,
    entry: Option<Entry>,
}

/// The most that an expression costs, its variables being of a declaration.
pub(crate) fn estimate(checked: &Checked, root: &Decl) -> u64 {
    let mut coster = Coster {
        checked,
        root,
        paths: HashMap::new(),
        sizes: HashMap::new(),
        entries: HashMap::new(),
        locals: HashMap::new(),
    };
    coster.cost(&checked.expr).max
}

struct Coster<'c> {
    checked: &'c Checked,
    root: &'c Decl,
    paths: HashMap<usize, Vec<String>>,
    sizes: HashMap<usize, Range>,
    entries: HashMap<usize, Entry>,
    locals: HashMap<String, Vec<Local>>,
}

/// An argument of a call, as estimates see it.
struct Arg<'c> {
    expr: &'c Expr,
    path: Vec<String>,
    found: &'c Type,
    size: Option<Range>,
}

/// The cost of a call without its arguments, and how large its result is.
struct Call {
    cost: Range,
    size: Option<Range>,
}

impl Call {
    fn fixed(cost: u64) -> Self {
        Self { cost: Range::fixed(cost), size: None }
    }

    fn of(cost: Range) -> Self {
        Self { cost, size: None }
    }

    fn with(cost: Range, size: Range) -> Self {
        Self { cost, size: Some(size) }
    }
}

impl<'c> Coster<'c> {
    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.get(name).and_then(|locals| locals.last())
    }

    fn push(&mut self, name: &str, local: Local) {
        self.locals.entry(name.to_owned()).or_default().push(local);
    }

    fn pop(&mut self, name: &str) {
        if let Some(locals) = self.locals.get_mut(name) {
            locals.pop();
        }
    }

    fn path(&self, expr: &Expr) -> Vec<String> {
        if let Kind::Ident(name) = &expr.kind
            && let Some(local) = self.local(name)
        {
            return local.path.clone();
        }
        self.paths.get(&expr.id).cloned().unwrap_or_default()
    }

    fn cost(&mut self, expr: &'c Expr) -> Range {
        match &expr.kind {
            Kind::Literal(_) => Range::ZERO,
            Kind::Ident(name) | Kind::TypeName(name) => {
                let path = self.local(name).map_or_else(|| vec![name.clone()], |local| local.path.clone());
                self.paths.insert(expr.id, path);
                Range::fixed(1)
            }
            Kind::Select { operand, field, test } => self.select(expr, operand, field, *test),
            Kind::Call { function, target, args } => self.call(expr, function, target.as_deref(), args),
            Kind::List(items) => {
                let mut sum = Range::ZERO;
                let mut size = Range { min: if items.is_empty() { 0 } else { u64::MAX }, max: 0 };
                for (item, _) in items {
                    sum = sum.add(self.cost(item));
                    size = size.union(self.size_or_unknown(item));
                }
                self.entries.insert(expr.id, Entry { is_list: true, key: Range::fixed(1), value: size });
                sum.add(Range::fixed(10))
            }
            Kind::Map(entries) => {
                let mut sum = Range::ZERO;
                let start = Range { min: if entries.is_empty() { 0 } else { u64::MAX }, max: 0 };
                let (mut keys, mut values) = (start, start);
                for (key, value, _) in entries {
                    sum = sum.add(self.cost(key));
                    sum = sum.add(self.cost(value));
                    keys = keys.union(self.size_or_unknown(key));
                    values = values.union(self.size_or_unknown(value));
                }
                self.entries.insert(expr.id, Entry { is_list: false, key: keys, value: values });
                sum.add(Range::fixed(30))
            }
            Kind::Struct { fields, .. } => {
                let mut sum = Range::fixed(40);
                for (_, value) in fields {
                    sum = sum.add(self.cost(value));
                }
                sum
            }
            Kind::Fold(fold) if is_bind(fold) => self.bind(expr, fold),
            Kind::Fold(fold) => self.fold(expr, fold),
        }
    }

    fn select(&mut self, expr: &'c Expr, operand: &'c Expr, field: &str, test: bool) -> Range {
        let sum = self.cost(operand);
        if test {
            // has() is free.
            return sum;
        }
        let mut path = self.path(operand);
        path.push(field.to_owned());
        self.paths.insert(expr.id, path);
        let costs =
            matches!(self.checked.type_of(operand), Type::Map(..) | Type::Object(_) | Type::Kubernetes(_));
        if costs { sum.add(Range::fixed(1)) } else { sum }
    }

    fn call(&mut self, expr: &'c Expr, function: &str, target: Option<&'c Expr>, args: &'c [Expr]) -> Range {
        if let ("dyn", [arg]) = (function, args) {
            let cost = self.cost(arg);
            if let Some(size) = self.compute_size(arg) {
                self.sizes.insert(expr.id, size);
            }
            if let Some(entry) = self.compute_entry(arg) {
                self.entries.insert(expr.id, entry);
            }
            return cost.add(Range::fixed(1));
        }
        let mut costs = Vec::with_capacity(args.len());
        let mut nodes = Vec::with_capacity(args.len());
        for arg in args {
            costs.push(self.cost(arg));
            nodes.push(self.arg(arg));
        }
        let overloads = self.checked.overloads(expr).to_vec();
        if overloads.is_empty() {
            return Range::ZERO;
        }
        let mut sum = Range::ZERO;
        let target = target.map(|target| {
            sum = self.cost(target);
            self.arg(target)
        });
        let mut cost = Range { min: u64::MAX, max: 0 };
        let mut size: Option<Range> = None;
        for overload in overloads {
            let found = self.function(expr, function, overload, target.as_ref(), &nodes, &costs);
            cost = cost.union(found.cost);
            if let Some(found) = found.size {
                size = Some(size.map_or(found, |size| size.union(found)));
            }
            let step = match overload {
                "index_list" => Some("@items"),
                "index_map" => Some("@values"),
                _ => None,
            };
            if let (Some(step), Some(container)) = (step, args.first()) {
                size = self.compute_entry(container).map(|entry| entry.value);
                let mut path = self.path(container);
                path.push(step.to_owned());
                self.paths.insert(expr.id, path);
            }
            if size.is_none() {
                size = self.compute_size(expr);
            }
        }
        if let Some(size) = size {
            self.sizes.insert(expr.id, size);
        }
        sum.add(cost)
    }

    fn push_iteration(&mut self, fold: &Fold) {
        let entry = self.compute_entry(&fold.range);
        let is_list =
            entry.map_or(matches!(self.checked.type_of(&fold.range), Type::List(_)), |entry| entry.is_list);
        let path = self.path(&fold.range);
        let at = |step: &str| path.iter().cloned().chain([step.to_owned()]).collect::<Vec<_>>();
        let (key, value) = (entry.map(|entry| entry.key), entry.map(|entry| entry.value));
        let local = |path, size| Local { path, size, entry: None };
        match &fold.var2 {
            Some(var2) => {
                let (keys, values) =
                    if is_list { (at("@indices"), at("@items")) } else { (at("@keys"), at("@values")) };
                self.push(&fold.var, local(keys, key));
                self.push(var2, local(values, value));
            }
            None if is_list => self.push(&fold.var, local(at("@items"), value)),
            None => self.push(&fold.var, local(at("@keys"), key)),
        }
    }

    fn push_accumulator(&mut self, fold: &Fold) {
        let local = Local {
            path: self.path(&fold.init),
            size: self.compute_size(&fold.init),
            entry: self.compute_entry(&fold.init),
        };
        self.push(&fold.accu, local);
    }

    fn fold(&mut self, expr: &'c Expr, fold: &'c Fold) -> Range {
        let mut sum = self.cost(&fold.range);
        sum = sum.add(self.cost(&fold.init));
        self.push_accumulator(fold);
        self.push_iteration(fold);
        let condition = self.cost(&fold.condition);
        let step = self.cost(&fold.step);
        self.pop(&fold.var);
        if let Some(var2) = &fold.var2 {
            self.pop(var2);
        }
        sum = sum.add(self.cost(&fold.result));
        self.pop(&fold.accu);
        let count = self.size_or_unknown(&fold.range);
        sum = sum.add(count.multiply(step.add(condition)));
        match &fold.init.kind {
            Kind::Literal(_) => {
                if let Some(size) = self.compute_size(&fold.init) {
                    self.sizes.insert(expr.id, size);
                }
            }
            Kind::List(_) | Kind::Map(_) => {
                self.sizes.insert(expr.id, count);
                if let Some(entry) = self.compute_entry(&fold.step) {
                    self.entries.insert(expr.id, entry);
                }
            }
            _ => {}
        }
        sum
    }

    fn bind(&mut self, expr: &'c Expr, fold: &'c Fold) -> Range {
        let mut sum = self.cost(&fold.range);
        sum = sum.add(self.cost(&fold.init));
        self.push_accumulator(fold);
        sum = sum.add(self.cost(&fold.result));
        self.pop(&fold.accu);
        if let Some(size) = self.compute_size(&fold.result) {
            self.sizes.insert(expr.id, size);
        }
        if let Some(entry) = self.compute_entry(&fold.result) {
            self.entries.insert(expr.id, entry);
        }
        sum
    }

    fn arg(&mut self, expr: &'c Expr) -> Arg<'c> {
        let mut path = self.path(expr);
        if path.first().is_some_and(|root| root == ACCUMULATOR) {
            path.clear();
        }
        Arg { expr, path, found: self.checked.type_of(expr), size: self.compute_size(expr) }
    }

    fn compute_size(&mut self, expr: &Expr) -> Option<Range> {
        if let Some(size) = self.sizes.get(&expr.id) {
            return Some(*size);
        }
        if let Some(size) = literal_size(expr) {
            return Some(size);
        }
        if let Some(size) = self.declared_size(&self.path(expr)) {
            self.sizes.insert(expr.id, size);
            return Some(size);
        }
        if is_scalar(self.checked.type_of(expr)) {
            return Some(Range::fixed(1));
        }
        match &expr.kind {
            Kind::Ident(name) => self.local(name).and_then(|local| local.size),
            _ => None,
        }
    }

    fn compute_entry(&self, expr: &Expr) -> Option<Entry> {
        if let Some(entry) = self.entries.get(&expr.id) {
            return Some(*entry);
        }
        match &expr.kind {
            Kind::Ident(name) => self.local(name).and_then(|local| local.entry),
            _ => None,
        }
    }

    fn size_or_unknown(&mut self, expr: &Expr) -> Range {
        self.compute_size(expr).unwrap_or(Range::UNKNOWN)
    }

    /// The size that the schema allows at a path from its root.
    fn declared_size(&self, path: &[String]) -> Option<Range> {
        let mut decl = self.root;
        let (_, steps) = path.split_first()?;
        for step in steps {
            decl = match step.as_str() {
                "@items" | "@values" => decl.element()?,
                // The API server takes the keys of maps for empty.
                "@keys" => return matches!(decl.shape, Shape::Map(_)).then_some(Range::ZERO),
                field => decl.field(field)?,
            };
        }
        Some(Range { min: 0, max: decl.max_elements })
    }

    /// The size of an argument for the functions of Kubernetes.
    fn size(&self, arg: &Arg<'_>) -> Range {
        arg.size.or_else(|| self.declared_size(&arg.path)).unwrap_or(Range::UNKNOWN)
    }

    /// The size and type of the items of a list.
    fn item<'t>(&self, list: &Arg<'t>) -> Option<(Range, &'t Type)> {
        let found = match list.found {
            Type::List(item) | Type::Optional(item) => item,
            Type::Map(key, _) => key,
            _ => return None,
        };
        let mut size = None;
        if !list.path.is_empty() {
            let mut path = list.path.clone();
            path.push("@items".to_owned());
            size = self.declared_size(&path);
        }
        Some((size.unwrap_or(Range::UNKNOWN), found))
    }

    fn function(
        &mut self,
        expr: &Expr,
        function: &str,
        overload: &str,
        target: Option<&Arg<'c>>,
        args: &[Arg<'c>],
        costs: &[Range],
    ) -> Call {
        let sum = costs.iter().fold(Range::ZERO, |sum, cost| sum.add(*cost));
        let found = self
            .list_library(overload, target, args)
            .or_else(|| self.kubernetes(function, overload, target, args));
        if let Some(found) = found {
            return Call { cost: found.cost.add(sum), size: found.size };
        }
        self.standard(expr, overload, target, args, costs, sum)
    }

    fn list_library(&self, overload: &str, target: Option<&Arg<'_>>, args: &[Arg<'_>]) -> Option<Call> {
        let allocating =
            |factor: f64, size: Range| Call::with(size.factor(factor).add(Range::fixed(11)), size);
        let sort = |list: &Arg<'_>, overload: &str| {
            let size = self.size(list);
            let of_text = overload.contains("_string_") || overload.contains("_bytes_");
            allocating(if of_text { 2.1 } else { 2.0 }, size.multiply(size))
        };
        Some(match (overload, target, args) {
            ("list_slice", Some(list), [start, end]) => {
                let end = int_literal(end).unwrap_or(self.size(list).max);
                // Backwards wraps around, there as here.
                allocating(1.0, Range::fixed(end.wrapping_sub(int_literal(start).unwrap_or(0))))
            }
            #[allow(clippy::cast_precision_loss)]
            ("list_flatten_int", Some(list), [depth]) => {
                allocating(int_literal(depth).unwrap_or(u64::MAX) as f64, self.size(list))
            }
            ("lists_range", None, [length]) => {
                allocating(1.0, Range::fixed(int_literal(length).unwrap_or(u64::MAX)))
            }
            ("list_flatten" | "list_reverse", Some(list), []) => allocating(1.0, self.size(list)),
            ("list_distinct", Some(list), []) => {
                let size = self.size(list);
                allocating(2.0, size.multiply(size))
            }
            (sorted, Some(list), []) if sorted.starts_with("list_") && sorted.ends_with("_sort") => {
                sort(list, sorted)
            }
            (sorted, Some(_), [keys]) if sorted.ends_with("_sortByAssociatedKeys") => sort(keys, sorted),
            ("list_sets_contains_list" | "list_sets_intersects_list", _, [a, b]) => {
                Call::of(self.size(a).multiply(self.size(b)).add(Range::fixed(1)))
            }
            ("list_sets_equivalent_list", _, [a, b]) => {
                Call::of(self.size(a).multiply(self.size(b)).factor(2.0).add(Range::fixed(1)))
            }
            _ => return None,
        })
    }

    fn kubernetes(
        &self,
        function: &str,
        overload: &str,
        target: Option<&Arg<'_>>,
        args: &[Arg<'_>],
    ) -> Option<Call> {
        self.texts(function, target, args)
            .or_else(|| self.addresses(function, overload, args))
            .or_else(|| same(function, args))
            .or_else(|| FIXED.contains(&function).then(|| Call::fixed(1)))
    }

    fn texts(&self, function: &str, target: Option<&Arg<'_>>, args: &[Arg<'_>]) -> Option<Call> {
        let text = |size: Range| size.factor(TEXT);
        Some(match (function, target, args) {
            ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", Some(list), _) => {
                self.comparisons(list)
            }
            ("url", _, [arg]) => Call::with(text(self.size(arg)), self.size(arg)),
            ("lowerAscii" | "upperAscii" | "substring" | "trim", Some(target), _) => {
                Call::with(text(self.size(target)), self.size(target))
            }
            ("replace", Some(target), [old, new, ..]) => {
                let size = self.size(target);
                Call::with(size.factor(2.0 * TEXT), replaced(size, self.size(old), self.size(new)))
            }
            ("split", Some(target), rest) => {
                let size = self.size(target);
                let most = rest.get(1).and_then(|limit| signed_literal(limit)).unwrap_or(size.max);
                Call::with(size.factor(2.0 * TEXT), Range { min: 0, max: most })
            }
            ("join", Some(list), rest) => {
                let length = self.size(list);
                let mut size = self.item(list).map_or(Range::ZERO, |(item, _)| length.multiply(item));
                if let Some(separator) = rest.first() {
                    let between =
                        Range { min: length.min.saturating_sub(1), max: length.max.saturating_sub(1) };
                    size = size.add(self.size(separator).multiply(between));
                }
                Call::with(text(size), size)
            }
            ("find" | "findAll", Some(target), [pattern, ..]) => {
                let size = self.size(target);
                let cost = text(size.add(Range::fixed(1))).multiply(self.size(pattern).factor(PATTERN));
                Call::with(cost, Range { min: 0, max: size.max })
            }
            ("quantity" | "isQuantity" | "semver" | "isSemver", _, [arg, ..]) => {
                Call::of(text(self.size(arg)))
            }
            ("validate", _, [arg, ..]) => Call::of(text(self.size(arg)).factor(128.0 * PATTERN)),
            _ => return None,
        })
    }

    /// One for every item, and the traversal of text.
    fn comparisons(&self, list: &Arg<'_>) -> Call {
        let Some((size, found)) = self.item(list) else { return Call::of(self.size(list).factor(TEXT)) };
        let mut item = Range::fixed(1);
        if matches!(found, Type::String | Type::Bytes) {
            item = item.add(size.factor(TEXT));
        }
        Call::of(self.size(list).multiply(item))
    }

    fn addresses(&self, function: &str, overload: &str, args: &[Arg<'_>]) -> Option<Call> {
        Some(match (function, args) {
            ("ip", _) if overload == "cidr_ip" => Call::fixed(1),
            ("cidr" | "isIP" | "isCIDR" | "ip", [arg, ..]) => Call::of(self.size(arg).factor(TEXT)),
            ("ip.isCanonical", [arg]) => Call::of(self.size(arg).factor(2.0 * TEXT)),
            ("containsIP" | "containsCIDR", [arg]) => {
                let address = Range { min: 4, max: 16 };
                let mut cost = address.add(address).factor(TEXT);
                if function == "containsCIDR" {
                    cost = cost.add(address.factor(TEXT)).add(Range::fixed(1));
                }
                if overload.ends_with("_string") {
                    cost = cost.add(self.size(arg).factor(TEXT));
                }
                Call::of(cost)
            }
            _ => return None,
        })
    }

    fn standard(
        &mut self,
        expr: &Expr,
        overload: &str,
        target: Option<&Arg<'_>>,
        args: &[Arg<'_>],
        costs: &[Range],
        sum: Range,
    ) -> Call {
        let size = |arg: &Arg<'_>| arg.size.unwrap_or(Range::UNKNOWN);
        match (overload, target, args) {
            ("string_format", Some(target), _) => Call::of(size(target).factor(TEXT).add(sum)),
            ("string_to_bytes", _, [arg]) => {
                let size = size(arg);
                Call::with(size.factor(TEXT).add(sum), Range { min: size.min, max: size.max.wrapping_mul(4) })
            }
            ("bytes_to_string", _, [arg]) => {
                let size = size(arg);
                Call::with(size.factor(TEXT).add(sum), Range { min: size.min / 4, max: size.max })
            }
            ("strings_quote", _, [arg]) => {
                let size = size(arg);
                let quoted =
                    Range { min: size.min.saturating_add(2), max: size.max.wrapping_mul(2).wrapping_add(2) };
                Call::with(size.factor(TEXT).add(sum), quoted)
            }
            ("starts_with_string" | "ends_with_string", _, [arg]) => {
                Call::of(size(arg).factor(TEXT).add(sum))
            }
            ("in_list", _, [_, list]) => Call::of(size(list).factor(1.0).add(sum)),
            ("matches_string", Some(target), [pattern]) => {
                let text = size(target).add(Range::fixed(1)).factor(TEXT);
                Call::of(text.multiply(size(pattern).factor(PATTERN)).add(sum))
            }
            ("contains_string", Some(target), [part]) => {
                Call::of(size(target).factor(TEXT).multiply(size(part).factor(TEXT)).add(sum))
            }
            ("logical_or" | "logical_and", ..) => match costs {
                [first, second] => Call::of(Range { min: first.min, max: first.add(*second).max }),
                _ => Call::of(sum),
            },
            ("conditional", _, [_, then, otherwise]) => {
                let both = size(then).union(size(otherwise));
                if let (Some(a), Some(b)) =
                    (self.compute_entry(then.expr), self.compute_entry(otherwise.expr))
                {
                    let entry =
                        Entry { is_list: a.is_list, key: a.key.union(b.key), value: a.value.union(b.value) };
                    self.entries.insert(expr.id, entry);
                }
                Call::with(costs[0].add(costs[1].union(costs[2])), both)
            }
            ("add_string" | "add_bytes" | "add_list", _, [first, second]) => {
                let result = size(first).add(size(second));
                if let (Some(a), Some(b)) = (self.compute_entry(first.expr), self.compute_entry(second.expr))
                {
                    let entry =
                        Entry { is_list: a.is_list, key: a.key.union(b.key), value: a.value.union(b.value) };
                    self.entries.insert(expr.id, entry);
                }
                let cost = if overload == "add_list" { Range::fixed(1) } else { result.factor(TEXT) };
                Call::with(cost.add(sum), result)
            }
            (compared, _, [first, second]) if is_comparison_of_sizes(compared) => {
                let most = size(first).max.min(size(second).max);
                Call::of(Range { min: u64::from(most > 0), max: most }.factor(TEXT).add(sum))
            }
            _ => Call::of(Range::fixed(1).add(sum)),
        }
    }
}

/// Functions of Kubernetes that cost one.
const FIXED: [&str; 27] = [
    "masked",
    "prefixLength",
    "family",
    "isUnspecified",
    "isLoopback",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isGlobalUnicast",
    "format.named",
    "sign",
    "asInteger",
    "isInteger",
    "asApproximateFloat",
    "isGreaterThan",
    "isLessThan",
    "compareTo",
    "add",
    "sub",
    "major",
    "minor",
    "patch",
    "getScheme",
    "getHostname",
    "getHost",
    "getPort",
    "getEscapedPath",
    "getQuery",
];

/// Equality of two values of one of Kubernetes' types.
fn same(function: &str, args: &[Arg<'_>]) -> Option<Call> {
    let ("_==_", [first, second]) = (function, args) else { return None };
    if first.found != second.found {
        return None;
    }
    match first.found {
        Type::Kubernetes(Extra::Ip | Extra::Cidr | Extra::Quantity | Extra::Semver) => Some(Call::fixed(1)),
        Type::Kubernetes(Extra::Format) => Some(Call::of(Range { min: 1, max: 64 }.factor(TEXT))),
        Type::Kubernetes(Extra::Url) => {
            let size = Range { min: 1, max: second.size.map_or(1, |size| size.max) };
            Some(Call::of(size.factor(TEXT)))
        }
        _ => None,
    }
}

fn is_comparison_of_sizes(overload: &str) -> bool {
    matches!(
        overload,
        "equals"
            | "not_equals"
            | "less_string"
            | "greater_string"
            | "less_equals_string"
            | "greater_equals_string"
            | "less_bytes"
            | "greater_bytes"
            | "less_equals_bytes"
            | "greater_equals_bytes"
    )
}

fn is_bind(fold: &Fold) -> bool {
    matches!(&fold.range.kind, Kind::List(items) if items.is_empty())
        && matches!(fold.condition.kind, Kind::Literal(Literal::Bool(false)))
        && fold.accu != ACCUMULATOR
}

fn is_scalar(found: &Type) -> bool {
    match found {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
        Type::Optional(inner) => is_scalar(inner),
        _ => false,
    }
}

fn literal_size(expr: &Expr) -> Option<Range> {
    let size = match &expr.kind {
        Kind::Literal(Literal::String(text)) => text.chars().count(),
        Kind::Literal(Literal::Bytes(bytes)) => bytes.len(),
        Kind::Literal(_) => 1,
        Kind::List(items) => items.len(),
        Kind::Map(entries) => entries.len(),
        _ => return None,
    };
    Some(Range::fixed(size as u64))
}

/// The value of an integer literal; below zero counts as zero.
fn int_literal(arg: &Arg<'_>) -> Option<u64> {
    match arg.expr.kind {
        Kind::Literal(Literal::Int(value)) => Some(u64::try_from(value).unwrap_or(0)),
        _ => None,
    }
}

/// The same, below zero being as large as can be.
#[allow(clippy::cast_sign_loss)]
fn signed_literal(arg: &Arg<'_>) -> Option<u64> {
    match arg.expr.kind {
        Kind::Literal(Literal::Int(value)) => Some(value as u64),
        _ => None,
    }
}

/// How large a text can be after a replacement.
fn replaced(size: Range, old: Range, new: Range) -> Range {
    let divided = |a: u64, b: u64| a.div_ceil(b);
    let (mut count, mut kept) = (Range::ZERO, Range::ZERO);
    if old.min == 0 {
        count.max = size.max.saturating_add(1);
        kept.max = size.max;
    } else if new.max <= old.min {
        kept.max = size.max;
    } else {
        count.max = divided(size.max, old.min);
    }
    if old.max == 0 {
        count.min = size.min.saturating_add(1);
        kept.min = size.min;
    } else if old.max <= new.min {
        kept.min = size.min;
    } else {
        count.min = divided(size.min, old.max);
    }
    count.multiply(new).add(kept)
}
