//! `par-bridge`: the lines of a text, one after the other, by the facade's bridge from sequential
//! iterators.
//!
//! Where a line ends is only known when it has been read, so the iterator cannot be split. Every
//! thread takes the next line from it, under one lock: the less work a line is, the more they wait
//! for each other.

use std::fmt::Write;

use protocol::{Description, Parameter, Refusal, SizeOverrides};
use rayon::prelude::*;

use crate::kinds::one_number::{OneNumber, Problem};
use crate::kinds::pacing::chain;
use crate::random::Random;
use crate::workload::{Instance, Setup, Workload};

static DESCRIPTION: Description = Description {
    name: "par-bridge",
    summary: "reads a number from each line of a text and works on it, lines bridged from a sequential iterator",
    stresses: "a loop that cannot be split: all threads at one lock, for every item",
    work_unit: "lines",
    input: None,
    lasts: None,
    // The lock is the facade's, which a simulated machine does not see.
    charge: None,
    parameters: &[
        Parameter::whole("lines", "lines of the text", (1, 1 << 28), "500"),
        // 200 ns.
        Parameter::whole(
            "line-steps",
            "work on a line, some 3 ns a step",
            (0, 1 << 32),
            "50",
        ),
    ],
    sizes: &SizeOverrides::all(
        &[],
        &[("lines", "100000")],
        &[("lines", "1000000")],
        &[("lines", "10000000")],
    ),
};

/// The workload `par-bridge`.
#[derive(Clone, Copy, Debug)]
pub struct ParBridge;

impl Workload for ParBridge {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        let (lines, steps) = (
            setup.values.whole("lines"),
            setup.values.whole("line-steps"),
        );
        Ok(Box::new(OneNumber::new(write(setup.seed, lines, steps))))
    }
}

#[derive(Debug)]
struct Text {
    written: String,
    lines: u64,
    steps: u64,
    /// What the numbers give, summed up as they were written.
    known: u64,
}

/// Numbers of any length, so that no line tells where the next one ends.
fn write(seed: u64, lines: u64, steps: u64) -> Text {
    let mut random = Random::new(seed);
    let (mut written, mut known) = (String::new(), 0_u64);
    for _ in 0..lines {
        let number = random.word() >> random.below(64);
        writeln!(written, "{number}").expect("a string has room");
        known = known.wrapping_add(chain(number, steps));
    }
    Text {
        written,
        lines,
        steps,
        known,
    }
}

impl Text {
    fn work(&self, line: &str) -> u64 {
        chain(line.parse().expect("a number was written"), self.steps)
    }
}

impl Problem for Text {
    fn sequential(&self) -> u64 {
        self.written
            .lines()
            .map(|line| self.work(line))
            .fold(0, u64::wrapping_add)
    }

    fn parallel(&self) -> u64 {
        let lines = self.written.lines().par_bridge();
        lines
            .map(|line| self.work(line))
            .reduce(|| 0, u64::wrapping_add)
    }

    fn work_units(&self) -> u64 {
        self.lines
    }

    fn known(&self) -> u64 {
        self.known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::one_number::assert_solves;

    #[test]
    fn every_line_is_worked_on_once() {
        for lines in [1, 2, 3, 1_000] {
            assert_solves(&write(1, lines, 3));
        }
    }

    #[test]
    fn a_line_that_is_lost_or_read_twice_shows() {
        let text = write(2, 50, 1);
        let first = text.written.lines().next().unwrap().to_owned() + "\n";
        let lost = text.written.strip_prefix(&first).unwrap().to_owned();
        for written in [lost, text.written.clone() + &first] {
            assert_ne!(Text { written, ..text }.sequential(), text.known());
        }
    }
}
