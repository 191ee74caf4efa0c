//! The manager on a real API server, with extensions over real TLS.

mod fixtures;
mod world;

mod size_a;
