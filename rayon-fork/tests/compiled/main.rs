//! Tests that compile code. No variant changes these.
#![cfg(not(miri))] // Miri starts no processes.

mod hooks;
mod interface;
mod listing;
mod scratch;
