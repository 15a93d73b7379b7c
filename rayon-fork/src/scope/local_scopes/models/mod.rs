//! Loom models of the units that workers keep: the real [`Shard`](super::shard::Shard) and
//! [`Count`](crate::latch::Count). Queues are behind a lock, because the models of `sleep/` explore
//! how a job gets to a thread.

mod outcomes;
mod play;
