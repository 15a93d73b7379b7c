//! The CPU frequency on made-up hosts: fixed and put back, with faults at every step, with the tools that
//! users have, and around the trials of a sweep.

#[path = "../common/mod.rs"]
mod common;
mod cpus;
mod faults;
mod fix;
#[path = "../common/namespace.rs"]
mod namespace;
mod sweeps;
mod tools;
