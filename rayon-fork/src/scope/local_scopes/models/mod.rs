//! Loom models of the units that workers hold: the real [`Reserve`](super::reserve::Reserve) and
//! [`Count`](crate::latch::Count), with workers that turn to a scope and away from it as the real
//! ones do (`README.md`), and twins that do not.
//!
//! Queues are behind a lock: which thread gets a job is explored, how it gets there is the subject
//! of the models of `sleep/`.

mod play;
mod verdicts;
