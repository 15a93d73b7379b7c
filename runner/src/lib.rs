//! Builds every branch of `branches.toml` and sweeps it over workloads, threads and frequency modes.
//!
//! The binary is a thin door to [`cli`]; `README.md` describes the method behind it.

/// [`progress::tell`] of what `format!` makes of its arguments.
macro_rules! tell {
    ($($words:tt)*) => { $crate::progress::tell(&format!($($words)*)) };
}

pub mod branch_workspace;
pub mod builds;
mod cargo_config;
pub mod catalogue;
pub mod checkout;
pub mod cli;
mod commands;
pub mod config;
mod digest;
pub mod doctor;
pub mod edits;
mod estimate;
pub mod exit;
mod experiments;
pub mod frequency;
mod here;
pub mod host;
pub mod id;
pub mod interrupt;
mod judgement;
pub mod kit;
pub mod machines;
mod manifest;
mod options;
mod page;
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
mod variant;
mod whole_file;

use probes::affinity;
pub use probes::stats;
