//! The workloads, one per file or folder.

pub mod packets;
pub mod quicksort;
pub mod tsp;

mod fingerprint;

/// All but those of the original study, which are what most sweeps run.
#[cfg(feature = "further")]
#[path = "."]
mod further {
    pub mod barrier_join;
    pub mod broadcast_dozing;
    pub mod burst;
    pub mod crowded;
    pub mod decode;
    pub mod fib_join;
    pub mod grain;
    pub mod idle;
    pub mod inject;
    pub mod injection_ping_pong;
    pub mod install;
    pub mod life;
    pub mod map_collect;
    pub mod matmul;
    pub mod mergesort;
    pub mod nbody;
    pub mod nqueens;
    pub mod par_sort;
    pub mod pcap_verify;
    pub mod regions;
    pub mod replay;
    pub mod saturate;
    pub mod scope_spawn;
    pub mod skynet;
    pub mod sum;
    pub mod sumcheck;
    pub mod ticks;
    pub mod tree_sum;
    pub mod two_long_tasks;
    pub mod uts;

    pub(crate) mod batch;
    pub mod latency;
    pub(crate) mod moments;
    pub(crate) mod one_number;
    pub mod pacing;
    pub(crate) mod sorted;
}
#[cfg(feature = "further")]
pub use further::*;
