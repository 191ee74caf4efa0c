//! `kapstan dev`, the binary, as somebody uses it: what it says, how it ends, and what kubectl does with it.

mod apply;
mod input;
mod kubectl;
mod once;
mod process;
mod running;
