#![doc = include_str!("README.md")]

mod counts;

pub use counts::{EventCounts, Snapshot, snapshot};
