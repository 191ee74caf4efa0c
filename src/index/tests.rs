//! The promises of the reverse index, one by one. Whole histories against a model are in `model`.

pub(crate) mod fixtures;
mod model;
mod promises;
mod recovery;
