//! Builds every branch of `branches.toml` and sweeps it over workloads, threads and frequency modes.
//!
//! The binary is a thin door to [`cli`]; `README.md` describes the method behind it.

/// [`progress::tell`] of what `format!` makes of its arguments.
macro_rules! tell {
    ($($words:tt)*) => { $crate::progress::tell(&format!($($words)*)) };
}

pub mod branch_workspace;
pub mod builds;
pub mod cargo_config;
pub mod catalogue;
pub mod checkout;
pub mod cli;
pub mod commands;
pub mod config;
pub mod digest;
pub mod doctor;
pub mod edits;
pub mod estimate;
pub mod exit;
pub mod experiments;
pub mod first_round;
pub mod frequency;
mod here;
pub mod host;
pub mod id;
pub mod interrupt;
pub mod judgement;
pub mod kit;
pub mod machines;
pub mod manifest;
mod options;
pub mod page;
pub mod pick;
pub mod plan;
pub mod progress;
mod project;
pub mod python;
pub mod record;
pub mod rewriting;
mod schema;
pub mod selection;
pub mod stop;
pub mod subprocess;
pub mod summary;
pub mod sweep;
pub mod sweep_dir;
pub mod table;
#[cfg(test)]
mod testing;
pub mod trial;
pub mod trials_file;
pub mod variant;
mod whole_file;

pub use probes::{affinity, stats};
