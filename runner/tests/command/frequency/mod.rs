//! The CPU frequency on mock hosts: fixed and put back, with faults at every step, with the
//! tools that users have, and around the trials of a sweep.

mod cpus;
mod faults;
mod fix;
mod sweeps;
mod tools;
