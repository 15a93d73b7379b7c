//! The CPU frequency on mock hosts is fixed and put back. Tests have faults at every step, users'
//! tools, and the trials of a sweep.

mod cpus;
mod faults;
mod fix;
mod sweeps;
mod tools;
