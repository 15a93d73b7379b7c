//! The programs of workloads, one per file or folder, and their common code. `build.rs` declares
//! the programs that `workloads.toml` names.

mod fingerprint;
#[cfg(feature = "further")]
mod jobs;
#[cfg(feature = "further")]
pub mod latency;
#[cfg(feature = "further")]
mod one_number;
#[cfg(feature = "further")]
pub mod pacing;
#[cfg(feature = "further")]
mod series;
#[cfg(feature = "further")]
mod sorted;

include!(concat!(env!("OUT_DIR"), "/kinds.rs"));
