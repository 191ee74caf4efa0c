//! The manager on a real API server, with extensions over real TLS.

mod fixtures;
mod gate;
mod hands;
mod world;

mod classes;
mod sizes;
mod templates;
mod writes;
