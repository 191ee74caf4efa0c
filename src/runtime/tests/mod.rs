//! What the tests of this folder share.

pub(crate) mod in_process;
