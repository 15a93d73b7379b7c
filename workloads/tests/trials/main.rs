//! Tests of the harness, which runs a workload as a request says, and of the program around it.

#[path = "../common/mod.rs"]
mod common;
mod hang;
mod harness;
mod observed;
mod program;
mod refusals;
