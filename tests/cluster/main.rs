//! The manager on an API server, with extensions over real TLS. Each test is one function that runs on the embedded
//! server and on the real one.

mod audit;
mod fixtures;
mod gate;
mod hands;
mod network;
mod plane;
mod power;
mod said;
mod server;
mod world;

mod ca_bundle;
mod certificates;
mod classes;
mod extensions;
mod identity;
mod sizes;
mod templates;
mod virtual_time;
mod writes;
