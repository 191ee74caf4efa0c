//! A real kube-apiserver and etcd for tests, built from the Go modules that this folder pins.
//!
//! [`ControlPlane::builder`] starts one, [`shared`] keeps one for all the tests of a process. The
//! children are tied to the process that started them: they go when it goes, however it ends.
//!
//! This crate starts programs, hands out identities and reads the audit log. What a test asks of the
//! API server is the test's own business.

mod assets;
mod audit;
mod builder;
mod certs;
mod control_plane;
mod crds;
mod identity;
mod poll;
mod port;
mod process;
mod scratch;
mod shared;
mod sys;

pub use assets::assets;
pub use audit::{AuditEvent, AuditMark, Stage};
pub use builder::Builder;
pub use control_plane::ControlPlane;
pub use identity::Identity;
pub use poll::until;
pub use shared::shared;
