//! The embedded server against the real one: the same requests, the same answers.

mod builtin;
mod custom;
mod follow;
mod hostile;
mod kinds;
mod kubectl;
mod options;
mod owners;
mod recorded;
mod server;
mod unsupported;
mod versions;
mod world;
