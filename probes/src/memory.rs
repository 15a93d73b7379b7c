//! The cost of a read from memory that no cache has.

use std::hint::black_box;
use std::time::Instant;

use crate::cost::{Cost, Cpu, median_of, on};

/// Words of the buffer: 256 MiB, more than most processors cache for one core.
const WORDS: usize = 32 << 20;

const LINE: usize = 8;

const STEPS: usize = 50_000;
const WINDOWS: usize = 9;

pub(crate) fn costs(cpus: &[Cpu]) -> Vec<Cost> {
    let Some(first) = cpus.first() else {
        return Vec::new();
    };
    let lines = WORDS / LINE;
    let mut buffer = vec![0_usize; WORDS];
    // Each line holds the number of the next line to read. The numbers form a single cycle through
    // all lines: a full period of a linear congruence.
    for (line, words) in buffer.chunks_exact_mut(LINE).enumerate() {
        words[0] = (line * 1_664_525 + 1_013_904_223) % lines;
    }
    let fetched = on(first.number, || fetched_ns(&buffer));
    let how = "reads of the lines of 256 MiB in random order";
    fetched
        .map(|it| Cost::new("memory-ns", it, how))
        .into_iter()
        .collect()
}

fn fetched_ns(buffer: &[usize]) -> f64 {
    let mut at = 0;
    let windows = (0..WINDOWS).map(|_| {
        let started = Instant::now();
        for _ in 0..STEPS {
            at = buffer[at * LINE];
        }
        black_box(at);
        started.elapsed().as_nanos() as f64 / STEPS as f64
    });
    median_of(windows).unwrap_or(f64::NAN)
}
