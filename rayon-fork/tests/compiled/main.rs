//! Tests that compile code: the interface is that of the published crate, so its types refuse the
//! same mistakes; and hooks leave no code. No variant changes these.
#![cfg(not(miri))] // Miri starts no processes.

mod hooks;
mod interface;
mod listing;
mod scratch;
