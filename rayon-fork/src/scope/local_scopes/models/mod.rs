//! Loom models of the units that workers keep: the real [`Shard`](super::shard::Shard) and
//! [`Count`](crate::latch::Count). Their workers fetch and return units as the real ones do
//! (`README.md`). Each mutant makes one mistake there.
//!
//! Queues are behind a lock. The models explore which thread gets a job. How the job gets there is
//! the subject of the models of `sleep/`.

mod outcomes;
mod play;
