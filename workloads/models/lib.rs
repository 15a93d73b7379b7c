//! The parts of the workloads that have models: `cargo xtask models` compiles them with
//! `--cfg locks_loom`.
#![cfg(all(test, locks_loom))]
#![expect(dead_code, reason = "models use a part of it")]

#[path = "../src/kinds/packets/anderson.rs"]
mod anderson;
