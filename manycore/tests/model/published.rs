//! Published measurements of contended words, and the model's predictions for the same loops.
//!
//! The prices of each host are fitted to fetch-add on one and two threads; everything else is a
//! prediction.

use std::sync::Arc;

use manycore::atomic::{AtomicU64, Ordering::SeqCst};
use manycore::machine::{Machine, NANOSECOND, Picoseconds};
use manycore::{FrequencyMode, run, thread};

/// Operations of each thread.
const OPERATIONS: u64 = 500;

/// The operation that each thread repeats.
#[derive(Clone, Copy, PartialEq)]
enum Loop {
    FetchAdd,
    /// Load, then compare and exchange until it succeeds.
    CompareExchange,
}

impl Loop {
    fn name(self) -> &'static str {
        match self {
            Self::FetchAdd => "fetch-add",
            Self::CompareExchange => "compare-exchange",
        }
    }

    fn repeat(self, word: &AtomicU64) {
        for _ in 0..OPERATIONS {
            match self {
                Self::FetchAdd => drop(word.fetch_add(1, SeqCst)),
                Self::CompareExchange => loop {
                    let seen = word.load(SeqCst);
                    if word
                        .compare_exchange(seen, seen + 1, SeqCst, SeqCst)
                        .is_ok()
                    {
                        break;
                    }
                },
            }
        }
    }
}

/// A host of which series were published, and its fitted prices in picoseconds.
struct Host {
    name: &'static str,
    read_modify_write: Picoseconds,
    transfer: Picoseconds,
    /// Nanoseconds per operation and thread, by threads.
    published: [(Loop, &'static [(usize, f64)]); 2],
}

/// Source: travisdowns/concurrency-hierarchy-bench, `results/skl` and `results/g2-16`.
static HOSTS: [Host; 2] = [
    Host {
        name: "Skylake",
        read_modify_write: 6_000,
        transfer: 16_000,
        published: [
            (Loop::FetchAdd, &[(1, 7.0), (2, 44.0), (4, 96.0)]),
            (Loop::CompareExchange, &[(1, 12.0), (2, 109.0), (4, 348.0)]),
        ],
    },
    Host {
        name: "Graviton 2",
        read_modify_write: 4_300,
        transfer: 4_200,
        published: [
            (Loop::FetchAdd, &[(1, 5.3), (2, 17.0), (16, 150.0)]),
            (
                Loop::CompareExchange,
                &[(1, 8.4), (2, 52.0), (4, 117.0), (8, 323.0), (16, 639.0)],
            ),
        ],
    },
];

/// Nanoseconds per operation and thread.
fn simulated(host: &Host, operation: Loop, threads: usize) -> f64 {
    let mut machine = Machine::free(threads);
    machine.prices.hit = NANOSECOND;
    machine.prices.read_modify_write = host.read_modify_write;
    machine.prices.set_transfers(host.transfer);
    let body = move || {
        let word = Arc::new(AtomicU64::new(0));
        let threads: Vec<_> = (0..threads)
            .map(|_| Arc::clone(&word))
            .map(|word| thread::spawn(move || operation.repeat(&word)))
            .collect();
        for thread in threads {
            thread.join().expect("it only counts");
        }
    };
    let finished = run(&machine, FrequencyMode::Fixed, 1, body).expect("nobody blocks for ever");
    finished.elapsed as f64 / NANOSECOND as f64 / OPERATIONS as f64
}

pub(crate) fn points() -> Vec<String> {
    let mut lines = Vec::new();
    for host in &HOSTS {
        for (operation, points) in host.published {
            for &(threads, published) in points {
                lines.push(format!(
                    "{{\"host\": \"{}\", \"operation\": \"{}\", \"threads\": {threads}, \"published_ns\": \
                     {published:.1}, \"simulated_ns\": {:.1}, \"is_fitted\": {}}}",
                    host.name,
                    operation.name(),
                    simulated(host, operation, threads),
                    threads <= 2 && operation == Loop::FetchAdd,
                ));
            }
        }
    }
    lines
}
