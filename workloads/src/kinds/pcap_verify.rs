//! `pcap-verify`: checks the checksums of all packets in a capture.
//!
//! The program is the realistic counterpart of `packets`: short, uneven pieces of work over memory
//! that is only read.

use protocol::Refusal;
use rayon::prelude::*;

use crate::pcap::{Capture, Tally, synthetic};
use crate::workload::{Instance, Mismatch, Setup};

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let (capture, expected) = if let Some(path) = setup.input {
        let capture = Capture::read(path)?;
        let expected = capture.tally();
        (capture, expected)
    } else {
        let (bytes, expected) = synthetic::capture(setup.seed, setup.values.count("packets"));
        let capture = Capture::parse(bytes).expect("synthetic captures are sound");
        (capture, expected)
    };
    Ok(Box::new(Verification {
        capture,
        passes: setup.values.whole("passes"),
        expected,
        found: None,
    }))
}

struct Verification {
    capture: Capture,
    passes: u64,
    expected: Tally,
    /// The tally of all passes of a run together.
    found: Option<Tally>,
}

impl Verification {
    fn run(&mut self, pass: impl Fn(&Capture) -> Tally) -> u64 {
        let mut found = Tally::default();
        for _ in 0..self.passes {
            found = found.plus(pass(&self.capture));
        }
        self.found.insert(found).packets()
    }
}

impl Instance for Verification {
    fn reset(&mut self) {
        self.found = None;
    }

    fn run_sequential(&mut self) -> u64 {
        self.run(Capture::tally)
    }

    fn run_parallel(&mut self) -> u64 {
        self.run(|capture| {
            let packets = capture.packets.par_iter();
            packets
                .fold(Tally::default, |mut tally, packet| {
                    tally.count(capture.check(packet));
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
    use crate::pcap::CheckResult;

    #[test]
    fn a_packet_counted_too_often_is_rejected() {
        let (bytes, expected) = synthetic::capture(1, 100);
        let mut verification = Verification {
            capture: Capture::parse(bytes).unwrap(),
            passes: 2,
            expected,
            found: None,
        };
        assert_eq!(verification.run_sequential(), 200);
        assert!(verification.check().is_ok());
        verification
            .found
            .as_mut()
            .unwrap()
            .count(CheckResult::Wrong);
        assert!(verification.check().is_err());
    }
}
