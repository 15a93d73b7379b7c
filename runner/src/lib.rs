//! Builds every branch of `branches.toml`, and sweeps the branches over workloads, threads and
//! frequency modes.
//!
//! The binary only calls [`cli`]; `README.md` describes the method.

// `println!` and `eprintln!` panic on a full disk and on a closed pipe; the functions of [`text`]
// return an error or print nothing.
#![warn(clippy::print_stdout, clippy::print_stderr)]

macro_rules! tell {
    ($($words:tt)*) => { $crate::text::words::tell(&format!($($words)*)) };
}

pub mod build;
mod bundle;
pub mod cli;
mod commands;
pub mod config;
pub mod exit;
pub mod host;
mod options;
pub mod plan;
pub mod record;
pub mod run;
pub mod stop;
pub mod system;
pub mod text;

use probes::affinity;
pub use probes::stats;
