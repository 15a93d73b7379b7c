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
    pub mod bfs;
    pub mod broadcast_dozing;
    pub mod burst;
    pub mod cholesky;
    pub mod crowded;
    pub mod decode;
    pub mod factorial;
    pub mod fib_join;
    pub mod find;
    pub mod grain;
    pub mod idle;
    pub mod inject;
    pub mod injection_ping_pong;
    pub mod install;
    pub mod life;
    pub mod long_leaf;
    pub mod map_collect;
    pub mod matmul;
    pub mod mergesort;
    pub mod nbody;
    pub mod nested_pools;
    pub mod nqueens;
    pub mod par_bridge;
    pub mod par_sort;
    pub mod pcap_verify;
    pub mod pools;
    pub mod pythagoras;
    pub mod regions;
    pub mod replay;
    pub mod saturate;
    pub mod scope_spawn;
    pub mod sieve;
    pub mod skynet;
    pub mod sort_strings;
    pub mod str_split;
    pub mod sum;
    pub mod sumcheck;
    pub mod ticks;
    pub mod tree_sum;
    pub mod two_long_tasks;
    pub mod uts;
    pub mod vec_collect;
    pub mod wavefront;

    pub(crate) mod batch;
    pub mod latency;
    pub(crate) mod moments;
    pub(crate) mod one_number;
    pub mod pacing;
    pub(crate) mod sorted;
}
#[cfg(feature = "further")]
pub use further::*;
