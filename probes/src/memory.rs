//! Costs of memory that no cache has: the latency of a line, and the bytes in a second.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use crate::affinity::pin_to;
use crate::cost::{Cost, Cpu, median_of, on};

/// Words of the buffer: 256 MiB, more than most processors cache for one core.
const WORDS: usize = 32 << 20;

const LINE: usize = 8;

const STEPS: usize = 50_000;
const WINDOWS: usize = 9;

const READINGS: usize = 3;

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
    let mut costs = Vec::new();
    if let Some(fetched) = on(first.number, || fetched_ns(&buffer)) {
        costs.push(Cost::new(
            "memory-ns",
            fetched,
            "reads of the lines of 256 MiB in random order",
        ));
    }
    let socket: Vec<usize> = cpus
        .iter()
        .filter(|cpu| cpu.socket == first.socket)
        .map(|cpu| cpu.number)
        .collect();
    if let Some(rate) = gigabytes_per_second(&buffer, &socket[..1]) {
        costs.push(Cost::new(
            "core-gigabytes-per-second",
            rate,
            "one core sums up 256 MiB",
        ));
    }
    if let Some(rate) = gigabytes_per_second(&buffer, &socket) {
        let how = "all cores of a socket sum up 256 MiB, each from a different start";
        costs.push(Cost::new("socket-gigabytes-per-second", rate, how));
    }
    costs
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

fn gigabytes_per_second(buffer: &[usize], cpus: &[usize]) -> Option<f64> {
    let start = Barrier::new(cpus.len());
    let read = |place: usize| {
        let is_pinned = pin_to(cpus[place]);
        let (end, begin) = buffer.split_at(buffer.len() / cpus.len() * place);
        let times = (0..READINGS).map(|_| {
            start.wait();
            let started = Instant::now();
            black_box(sum(begin).wrapping_add(sum(end)));
            started.elapsed().as_nanos() as f64
        });
        let times: Vec<f64> = times.collect();
        is_pinned.then_some(times)
    };
    let times: Vec<Vec<f64>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..cpus.len())
            .map(|place| scope.spawn(move || read(place)))
            .collect();
        threads
            .into_iter()
            .map(|it| it.join().ok().flatten())
            .collect::<Option<_>>()
    })?;
    let slowest = |round: usize| times.iter().map(|of| of[round]).fold(0.0, f64::max);
    let bytes = (size_of_val(buffer) * cpus.len()) as f64;
    median_of((0..READINGS).map(|round| bytes / slowest(round)))
}

fn sum(words: &[usize]) -> usize {
    words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
}
