//! What Kubernetes and cel-go's extensions add to CEL, a file per kind of value.

pub(crate) mod formats;
pub(crate) mod net;
pub(crate) mod quantity;
pub(crate) mod semver;
pub(crate) mod strings;
