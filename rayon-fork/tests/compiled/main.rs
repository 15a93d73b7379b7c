//! Tests that compile code, and whose results do not depend on the variant.
#![cfg(not(miri))] // Miri starts no processes.

mod hooks;
mod interface;
mod listing;
mod scratch;
