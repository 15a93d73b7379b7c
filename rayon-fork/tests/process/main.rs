//! The behaviour that programs can observe once in the life of a process. It is how the global pool
//! starts, what the environment says, and how the process dies. Most cases are child processes.
#![cfg(not(miri))] // Miri starts no processes.

#[path = "../common/mod.rs"]
mod common;

#[path = "../common/child.rs"]
mod child;

mod abort;
mod environment;
mod global_build;
mod global_start;
mod migrated_from_outside;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod traces;
mod watchdog;
