//! Rules in CEL (`x-kubernetes-validations`).
//!
//! Text becomes a tree ([`syntax`], [`macros`]), the tree gets types ([`check`], [`types`],
//! [`functions`], from the schema by [`decl`]) and a cost ([`cost`]), and runs over JSON in place
//! ([`eval`], [`apply`], [`charge`], [`value`], [`library`]). [`rules`] does so for every level of a schema.
//!
//! Own code rather than the `cel` crate: the API server refuses rules by their static types and their
//! estimated cost, and stops them by their real cost; the crate (0.15) has neither types nor costs, and
//! its parsers overflow the stack on nested input of a few dozen bytes to a few kilobytes.

mod apply;
mod charge;
mod check;
mod cost;
mod decl;
mod eval;
mod functions;
mod library;
mod macros;
pub(crate) mod rules;
mod syntax;
mod time;
mod types;
mod value;

pub(crate) use syntax::Env;
