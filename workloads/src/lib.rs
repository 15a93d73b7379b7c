//! Programs that load a work-stealing pool, each with a sequential twin and a checked answer.
pub mod protocol;
