//! The embedded server against the real one: the same requests, the same answers.

mod builtin;
mod custom;
mod follow;
mod kinds;
mod kubectl;
mod owners;
mod recorded;
mod server;
mod world;
