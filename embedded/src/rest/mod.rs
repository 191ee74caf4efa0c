//! The REST interface: requests in, answers out.
//!
//! Behaviour: apiserver `pkg/endpoints`.

mod accept;
mod answer;
mod body;
mod delete;
mod discovery;
mod jsonpath;
mod options;
mod patch;
mod read;
mod request;
mod rules;
mod serve;
mod table;
mod watch;
mod write;

pub(crate) use answer::refusal;
pub(crate) use delete::{delete, is_crd};
pub(crate) use discovery::served;
pub(crate) use jsonpath::JsonPath;
pub(crate) use options::{DeleteOptions, Propagation};
pub(crate) use rules::{FOREGROUND, ORPHAN, finalizers};
pub(crate) use serve::{User, load, router};
pub(crate) use write::is_over;
