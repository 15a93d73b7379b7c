//! Tests that the CPU frequency on mock hosts is fixed and restored. The tests cover faults at
//! every step, users' tools, and the trials of a sweep.

mod cpus;
mod faults;
mod fix;
mod sweeps;
mod tools;
