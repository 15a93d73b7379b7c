#![doc = include_str!("README.md")]

mod counts;
pub(crate) mod hooks;
mod occupancy;
mod records;
mod timeline;

pub use counts::{EventCounts, Snapshot, snapshot};
pub use timeline::{Span, Timeline, WorkerState, begin_timeline, end_timeline};
