//! The workloads, one per file or folder.

pub mod fib_join;
pub mod mergesort;
pub mod nqueens;
pub mod packets;
pub mod par_sort;
pub mod quicksort;
pub mod scope_spawn;
pub mod skynet;
pub mod sum;
pub mod tree_sum;
pub mod tsp;

mod fingerprint;
mod one_number;
