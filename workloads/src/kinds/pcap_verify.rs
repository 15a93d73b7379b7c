//! `pcap-verify`: checks the checksums of all packets in a capture.
//!
//! It is the realistic counterpart of `packets`: short, uneven pieces of work over memory that is
//! only read.

use protocol::Refusal;
use rayon::prelude::*;

use crate::pcap::{Capture, Tally, synthetic, verify};
use crate::workload::{Instance, Mismatch, Setup};

/// Prepares the workload `pcap-verify`.
///
/// # Errors
/// If the workload cannot run with these parameters.
///
/// # Panics
/// Never: the row bounds the numbers.
pub fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let (capture, expected) = if let Some(path) = setup.input {
        let capture = Capture::read(path)
            .map_err(|error| Refusal::new(format!("input {}: {error}", path.display())))?;
        let expected = tally(&capture);
        (capture, expected)
    } else {
        // The generator of a capture returns the known tally.
        let (bytes, expected) = synthetic::capture(setup.seed, setup.values.count("packets"));
        let capture = Capture::parse(bytes).expect("synthetic captures are sound");
        (capture, expected)
    };
    let passes = setup.values.whole("passes");
    Ok(Box::new(Verification {
        capture,
        passes,
        expected,
        found: None,
    }))
}

struct Verification {
    capture: Capture,
    passes: u64,
    /// The tally of one pass.
    expected: Tally,
    /// The tally of all passes together.
    found: Option<Tally>,
}

fn tally(capture: &Capture) -> Tally {
    let mut tally = Tally::default();
    for frame in capture.frames() {
        tally.count(&verify(frame, capture.bytes_of(frame)));
    }
    tally
}

impl Verification {
    fn run(&mut self, pass: impl Fn(&Capture) -> Tally) -> u64 {
        let mut found = Tally::default();
        for _ in 0..self.passes {
            found = found.plus(pass(&self.capture));
        }
        self.found.insert(found).seen
    }
}

impl Instance for Verification {
    fn reset(&mut self) {
        self.found = None;
    }

    fn run_sequential(&mut self) -> u64 {
        self.run(tally)
    }

    fn run_parallel(&mut self) -> u64 {
        self.run(|capture| {
            let frames = capture.frames().par_iter();
            frames
                .fold(Tally::default, |mut tally, frame| {
                    tally.count(&verify(frame, capture.bytes_of(frame)));
                    tally
                })
                .reduce(Tally::default, Tally::plus)
        })
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let expected = (0..self.passes).fold(Tally::default(), |all, _| all.plus(self.expected));
        let found = self
            .found
            .map_or("nothing".to_owned(), |found| found.to_string());
        Mismatch::unless_equal(&expected.to_string(), &found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_counted_in_the_wrong_place_is_rejected() {
        let (bytes, expected) = synthetic::capture(1, 100);
        let capture = Capture::parse(bytes).unwrap();
        let mut verification = Verification {
            capture,
            passes: 2,
            expected,
            found: None,
        };
        assert!(verification.check().is_err(), "nothing ran");
        assert_eq!(verification.run_sequential(), 200);
        assert!(verification.check().is_ok());
        verification.found.as_mut().unwrap().correct -= 1;
        verification.found.as_mut().unwrap().wrong += 1;
        assert!(verification.check().is_err());
    }
}
