//! What the tests of reconcilers, calls and resync share.

pub(crate) mod fixtures;
