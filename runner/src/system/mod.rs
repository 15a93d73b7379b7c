//! The runner's use of the operating system: files that are whole or not there, locks, processes
//! that end, and digests of files.

pub mod digest;
pub mod interrupt;
pub mod lock;
pub mod python;
pub mod subprocess;
#[cfg(test)]
pub(crate) mod testing;
pub mod whole_file;
