//! Reads packet captures, and checks the checksums of their packets.

mod capture;
pub(crate) mod synthetic;
mod verify;

pub(crate) use capture::{Capture, Link};
pub(crate) use verify::{CheckResult, Tally, verify};

#[cfg(test)]
mod tests;
