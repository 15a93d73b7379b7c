//! Trials: what the harness makes of a workload, a request and a run; and the program around them.

mod hang;
mod harness;
mod observed;
mod program;
mod refusals;
