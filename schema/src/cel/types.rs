//! Types of CEL, and when one may stand for another.
//!
//! Behaviour: cel-go `checker/types.go`.

use std::fmt;
use std::sync::Arc;

use super::decl::Object;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    /// Any; checked when it runs.
    Dyn,
    /// Of an expression that was refused already.
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Duration,
    Timestamp,
    List(Arc<Type>),
    Map(Arc<Type>, Arc<Type>),
    Object(Arc<Object>),
    /// The type of types.
    Meta,
    Optional(Arc<Type>),
    /// One of the types that Kubernetes adds.
    Kubernetes(Extra),
    /// To be found out.
    Param(usize),
}

/// The types that Kubernetes adds to CEL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extra {
    Url,
    Quantity,
    Ip,
    Cidr,
    Format,
    Semver,
}

impl Extra {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Url => "kubernetes.URL",
            Self::Quantity => "kubernetes.Quantity",
            Self::Ip => "net.IP",
            Self::Cidr => "net.CIDR",
            Self::Format => "kubernetes.NamedFormat",
            Self::Semver => "kubernetes.Semver",
        }
    }
}

impl Type {
    pub(crate) fn list(item: Self) -> Self {
        Self::List(Arc::new(item))
    }

    pub(crate) fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new(key), Arc::new(value))
    }

    pub(crate) fn optional(inner: Self) -> Self {
        Self::Optional(Arc::new(inner))
    }

    /// The name without what is in it.
    pub(crate) fn plain_name(&self) -> &str {
        match self {
            Self::Dyn | Self::Param(_) => "dyn",
            Self::Error => "!error!",
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Duration => "google.protobuf.Duration",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::List(_) => "list",
            Self::Map(..) => "map",
            Self::Object(object) => &object.name,
            Self::Meta => "type",
            Self::Optional(_) => "optional_type",
            Self::Kubernetes(extra) => extra.name(),
        }
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// Null may stand for it.
    fn is_nullable(&self) -> bool {
        matches!(
            self,
            Self::Null
                | Self::Optional(_)
                | Self::Object(_)
                | Self::Kubernetes(_)
                | Self::Duration
                | Self::Timestamp
        )
    }
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Dyn => "dyn",
            Self::Error => "!error!",
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Duration => "duration",
            Self::Timestamp => "timestamp",
            Self::Meta => "type",
            Self::Kubernetes(extra) => extra.name(),
            Self::Object(object) => &object.name,
            Self::List(item) => return write!(formatter, "list({item})"),
            Self::Map(key, value) => return write!(formatter, "map({key}, {value})"),
            Self::Optional(inner) => return write!(formatter, "optional_type({inner})"),
            Self::Param(id) => return write!(formatter, "_var{id}"),
        };
        formatter.write_str(name)
    }
}

/// What is known of the types to be found out.
#[derive(Debug, Default)]
pub(crate) struct Solver {
    bound: Vec<Option<Type>>,
    /// Earlier bindings, to go back when an attempt fails.
    trail: Vec<(usize, Option<Type>)>,
}

impl Solver {
    pub(crate) fn fresh(&mut self) -> Type {
        self.bound.push(None);
        Type::Param(self.bound.len() - 1)
    }

    fn bind(&mut self, id: usize, to: Type) {
        let before = self.bound[id].replace(to);
        self.trail.push((id, before));
    }

    fn attempt(&mut self, tried: impl FnOnce(&mut Self) -> bool) -> bool {
        let mark = self.trail.len();
        if tried(self) {
            return true;
        }
        for (id, before) in self.trail.drain(mark..).rev() {
            self.bound[id] = before;
        }
        false
    }

    /// True when a value of the second type may stand where the first is wanted; remembers what that
    /// says about types to be found out.
    pub(crate) fn assignable(&mut self, first: &Type, second: &Type) -> bool {
        self.attempt(|solver| solver.unify(first, second))
    }

    /// The same for all of two lists at once.
    pub(crate) fn all_assignable(&mut self, first: &[Type], second: &[Type]) -> bool {
        first.len() == second.len()
            && self
                .attempt(|solver| first.iter().zip(second).all(|(first, second)| solver.unify(first, second)))
    }

    fn unify(&mut self, first: &Type, second: &Type) -> bool {
        if let Type::Param(id) = second {
            match self.substitutes(first, *id) {
                (true, _) => return true,
                (false, true) => return false,
                (false, false) => {}
            }
        }
        if let Type::Param(id) = first {
            return self.substitutes(second, *id).0;
        }
        if first.is_dyn_or_error() || second.is_dyn_or_error() {
            return true;
        }
        match (first, second) {
            (Type::Null, other) | (other, Type::Null) => other.is_nullable(),
            (Type::List(first), Type::List(second)) | (Type::Optional(first), Type::Optional(second)) => {
                self.unify(first, second)
            }
            (Type::Map(key, value), Type::Map(other_key, other_value)) => {
                self.unify(key, other_key) && self.unify(value, other_value)
            }
            (first, second) => first == second,
        }
    }

    /// Whether a type can be what a parameter stands for, and whether the parameter was known before.
    fn substitutes(&mut self, found: &Type, id: usize) -> (bool, bool) {
        if *found == Type::Param(id) {
            return (true, true);
        }
        if let Some(known) = self.bound[id].clone() {
            if *found == known {
                return (true, true);
            }
            if self.unify(found, &known) {
                let general = most_general(found, &known).clone();
                if !self.occurs(id, &general) {
                    self.bind(id, general);
                }
                return (true, true);
            }
            return (false, true);
        }
        if self.occurs(id, found) {
            return (false, false);
        }
        self.bind(id, found.clone());
        (true, false)
    }

    fn occurs(&self, id: usize, within: &Type) -> bool {
        match within {
            Type::Param(other) if *other == id => true,
            Type::Param(other) => self.bound[*other].as_ref().is_some_and(|known| self.occurs(id, known)),
            Type::List(inner) | Type::Optional(inner) => self.occurs(id, inner),
            Type::Map(key, value) => self.occurs(id, key) || self.occurs(id, value),
            _ => false,
        }
    }

    /// The type with everything known put in; with `finish`, the unknown becomes dyn.
    pub(crate) fn substitute(&self, found: &Type, finish: bool) -> Type {
        match found {
            Type::Param(id) => match &self.bound[*id] {
                Some(known) => self.substitute(known, finish),
                None if finish => Type::Dyn,
                None => found.clone(),
            },
            Type::List(inner) => Type::list(self.substitute(inner, finish)),
            Type::Optional(inner) => Type::optional(self.substitute(inner, finish)),
            Type::Map(key, value) => Type::map(self.substitute(key, finish), self.substitute(value, finish)),
            other => other.clone(),
        }
    }

    /// The type of two values of one list; `None` when they do not go together.
    pub(crate) fn join(&mut self, previous: Option<Type>, current: &Type) -> Option<Type> {
        match previous {
            None => Some(current.clone()),
            Some(previous) if self.assignable(&previous, current) => {
                Some(most_general(&previous, current).clone())
            }
            Some(_) => None,
        }
    }
}

fn most_general<'t>(first: &'t Type, second: &'t Type) -> &'t Type {
    if is_equal_or_less_specific(first, second) { first } else { second }
}

fn is_equal_or_less_specific(first: &Type, second: &Type) -> bool {
    match (first, second) {
        (Type::Dyn | Type::Param(_), _) => true,
        (_, Type::Dyn | Type::Param(_)) => false,
        (Type::List(first), Type::List(second)) | (Type::Optional(first), Type::Optional(second)) => {
            is_equal_or_less_specific(first, second)
        }
        (Type::Map(key, value), Type::Map(other_key, other_value)) => {
            is_equal_or_less_specific(key, other_key) && is_equal_or_less_specific(value, other_value)
        }
        (first, second) => first == second,
    }
}
