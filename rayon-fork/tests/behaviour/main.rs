//! The behaviour of this crate that programs can observe, by subject, in one process. The published
//! crate's own unit tests are not repeated here; `cargo xtask conformance` runs those.
//!
//! Tests of the global pool's start, of the environment and of aborts need processes of their own:
//! see `tests/process`. Miri needs `-Zmiri-ignore-leaks`, since the global pool never ends.

#[path = "../common/mod.rs"]
mod common;

mod broadcast;
mod deprecated;
mod handlers;
mod install;
mod introspection;
mod join;
mod migrated;
mod order;
mod payload_drops;
mod pool;
mod pool_threads;
mod scope;
mod scope_broadcast;
mod scope_ends;
mod scope_in_place;
mod scope_panics;
mod termination;
mod use_current_thread;
mod yields;
