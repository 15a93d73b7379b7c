//! Tests the harness, which runs a workload as a request says, and the program that uses the
//! harness.

#[path = "../common/mod.rs"]
mod common;
mod hang;
mod harness;
mod observed;
mod program;
mod refusals;
