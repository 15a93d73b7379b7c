//! The runner's use of the operating system: atomically written files, locks, processes with a time
//! limit, and digests of files.

pub mod digest;
pub mod interrupt;
pub mod lock;
pub mod python;
pub mod subprocess;
#[cfg(test)]
pub(crate) mod testing;
pub mod whole_file;
