//! Trials: what the harness makes of a workload, a request and a run; and the program around them.

#[path = "../common/mod.rs"]
mod common;
mod hang;
mod harness;
mod observed;
mod program;
mod refusals;
