//! The parts of workloads and services that have models: `cargo xtask models` compiles them with
//! `--cfg locks_loom`.
#![cfg(all(test, locks_loom))]
#![expect(dead_code, reason = "models use a part of it")]

#[path = "../src/kinds/packets/locks/mod.rs"]
mod locks;

#[path = "../services/src/queue"]
mod queue {
    mod models;
    mod parking;
}

#[path = "../services/src/net"]
mod net {
    mod turns;
    mod turns_models;
}
