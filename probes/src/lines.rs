//! Prices of lines that go from one core to another.
//!
//! Both measurements are solved for the prices, by the time of the same loops on a simulated
//! machine. In one way of a ping-pong, the store takes the line from the reader, and the next
//! reader fetches it as soon as the store lets go: `way = transfer × (1 + occupancy) + 3 hits`.
//! When cores add in turns, each waits until the line is let go: `add = transfer × occupancy +
//! read-modify-write`.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use crate::affinity::pin_to;
use crate::core_to_core;
use crate::price::{Cpu, Price, pair};
use crate::stats::median;

/// Additions of each thread in a window.
const ADDITIONS: u32 = 5_000;

/// Windows in which two threads add.
const WINDOWS: u32 = 15;

/// Most pairs of CPUs of each distance that are measured.
const PAIRS: usize = 4;

/// A word alone on its line, and on the one that CPUs fetch along with it.
#[derive(Default)]
#[repr(align(128))]
struct Word(AtomicU64);

const BY_PING_PONG: &str = "one way of a ping-pong, solved for the transfer";

/// Returns the prices, given the costs of a hit and of a read-modify-write.
pub(crate) fn prices(cpus: &[Cpu], hit: f64, read_modify_write: f64) -> Vec<Price> {
    let way = |is_so: fn(&Cpu, &Cpu) -> bool| {
        let one = cpus.first()?;
        let others = cpus
            .iter()
            .skip(1)
            .filter(|other| is_so(one, other))
            .take(PAIRS);
        let ways = others.filter_map(|it| core_to_core::measure([one.number, it.number]));
        median(&mut ways.collect::<Vec<f64>>())
    };
    let near = way(|one, other| one.cluster == other.cluster);
    let socket = way(|one, other| one.socket == other.socket && one.cluster != other.cluster);
    let far = way(|one, other| one.socket != other.socket);
    let nearest = near.or(socket).or(far);
    let Some((way, add)) = nearest.zip(pair(cpus).and_then(added_by_two)) else {
        return Vec::new();
    };
    let own = 3.0 * hit;
    let held = (add - read_modify_write).clamp(0.0, (way - own).max(0.0) / 2.0);
    let transfer = way - own - held;
    let occupancy = if transfer > 0.0 {
        held / transfer
    } else {
        return Vec::new();
    };
    let of = |key, way: Option<f64>| {
        way.map(|way| Price::new(key, (way - own) / (1.0 + occupancy), BY_PING_PONG))
    };
    let transfers = [
        of("transfer-cluster-ns", near),
        of("transfer-socket-ns", socket),
        of("transfer-far-ns", far),
    ];
    let occupancy = Price::new(
        "occupancy",
        occupancy,
        "two CPUs that add to one word, and the ping-pong",
    );
    transfers.into_iter().flatten().chain([occupancy]).collect()
}

/// Nanoseconds of an addition, of which two CPUs make as many as they can to one word.
fn added_by_two(cpus: [usize; 2]) -> Option<f64> {
    let word = Word::default();
    let start = Barrier::new(2);
    let add = |cpu| {
        let is_pinned = pin_to(cpu);
        let times = (0..WINDOWS).map(|_| {
            start.wait();
            let started = Instant::now();
            for _ in 0..ADDITIONS {
                // Relaxed: the sum carries no other data, and is not read.
                black_box(word.0.fetch_add(1, Ordering::Relaxed));
            }
            started.elapsed().as_nanos() as f64 / f64::from(2 * ADDITIONS)
        });
        let times: Vec<f64> = times.collect();
        is_pinned.then_some(times)
    };
    let (one, other) = thread::scope(|scope| {
        let other = scope.spawn(|| add(cpus[1]));
        (
            scope.spawn(|| add(cpus[0])).join().ok().flatten(),
            other.join().ok().flatten(),
        )
    });
    // The thread that began a window first was alone for some of it; the later thread was not.
    let mut slower: Vec<f64> = one?
        .into_iter()
        .zip(other?)
        .map(|(a, b)| a.max(b))
        .collect();
    median(&mut slower)
}
