//! Results that the model must give: limits by theory, and what counting gives.

mod hardware_threads;
mod limits;
mod schedule;

/// Decides which objects share a line.
#[global_allocator]
static HEAP: manycore::Heap = manycore::Heap;
