//! Packet captures: reading them (pcap and pcapng) and checking the checksums of what is in them.

mod capture;
pub mod synthetic;
mod verify;

pub use capture::{Capture, CaptureError, Frame, Link};
pub use verify::{Fault, Layer, Tally, Verdict, verify};

#[cfg(test)]
mod tests;
