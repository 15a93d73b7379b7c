//! The workloads, one per file or folder.

pub mod fib_join;
pub mod mergesort;
pub mod packets;
pub mod quicksort;
pub mod tsp;

mod fingerprint;
