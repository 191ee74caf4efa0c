//! Owner references on templates: every class that refers to a template owns it, so that `clusterctl move` finds it
//! and the garbage collector does not take it.
//!
//! Upstream has every class write the whole list of every template it refers to. Here a template's references are
//! written once for all its classes, with what the object was when that was decided as precondition.

use std::time::Duration;

pub mod plan;
pub mod reconcile;

/// The kind, as in metrics and messages.
pub const KIND: &str = "Template";

/// How long a template waits for more owners before its references are written, unless one of them is outdated.
pub const GATHER: Duration = Duration::from_millis(100);
/// How far apart writes to one template are; owners that come in between go out together. A reference that points to
/// an owner that is gone does not wait: until it is re-pointed, the garbage collector may take the template.
pub const PACE: Duration = Duration::from_secs(1);
