//! The manager on a real API server, with extensions over real TLS.

mod fixtures;
mod gate;
mod hands;
mod said;
mod world;

mod ca_bundle;
mod certificates;
mod classes;
mod extensions;
mod identity;
mod sizes;
mod templates;
mod writes;
