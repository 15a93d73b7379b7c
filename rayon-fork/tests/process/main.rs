//! Tests of behaviour that a process can show only once.
#![cfg(not(miri))] // Miri starts no processes.

mod abort;
mod child;
#[path = "../common/mod.rs"]
mod common;
mod environment;
mod global_build;
mod migrated_from_external_threads;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod traces;
mod watchdog;
