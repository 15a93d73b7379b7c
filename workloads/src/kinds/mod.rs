//! The workloads, one per file or folder.

pub mod barrier_join;
pub mod broadcast_dozing;
pub mod burst;
pub mod fib_join;
pub mod grain;
pub mod idle;
pub mod inject;
pub mod injection_ping_pong;
pub mod install;
pub mod mergesort;
pub mod nqueens;
pub mod packets;
pub mod par_sort;
pub mod quicksort;
pub mod saturate;
pub mod scope_spawn;
pub mod skynet;
pub mod sum;
pub mod ticks;
pub mod tree_sum;
pub mod tsp;
pub mod two_long_tasks;

mod fingerprint;
mod latency;
mod moments;
mod one_number;
mod pacing;
