//! Packet captures: reads them (pcap and pcapng), and checks the checksums of their packets.

mod capture;
pub mod synthetic;
mod verify;

pub use capture::{Capture, CaptureError, Frame, Link};
pub use verify::{CheckResult, Fault, Layer, Tally, verify};

#[cfg(test)]
mod tests;
