//! The part of the workloads that has loom models, and the model of a proposal to upstream. `cargo
//! xtask models` compiles these models with `--cfg locks_loom`.
#![cfg(all(test, locks_loom))]

#[path = "../src/kinds/packets/anderson.rs"]
mod anderson;

#[path = "../../findings/idle-pool-burns/model.rs"]
mod models_of_idle_pool_burns;
