//! Loom models of the units that workers hold: the real [`Reserve`](super::reserve::Reserve) and
//! [`Count`](crate::latch::Count). Their workers turn to a scope and away from it as the real ones
//! do (`README.md`); those of the mutants do not.
//!
//! Queues are behind a lock. The models explore which thread gets a job. How the job gets there is
//! the subject of the models of `sleep/`.

mod play;
mod verdicts;
