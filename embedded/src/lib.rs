#![doc = include_str!("../README.md")]

pub mod apply;
mod audit;
mod client;
mod clock;
mod core;
mod faults;
mod gc;
mod kinds;
mod listener;
mod load;
mod names;
mod openapi;
mod protobuf;
mod registry;
mod rest;
mod server;
mod status;
mod store;
pub mod strategic;

pub use audit::{Audit, AuditEvent, AuditLevel, AuditMark};
pub use faults::{Fault, Faults};
pub use gc::HaltedControllers;
pub use listener::{ListenError, Listener};
pub use load::LoadError;
pub use server::{Builder, Server};
