//! Costs of cache lines that move from one core to another.
//!
//! There are two measurements, a ping-pong and concurrent additions. For each loop, the time that a
//! simulated machine would take gives an equation. The probe solves the equations for the cost
//! parameters. In one way of a ping-pong, the store takes the line from the reader. The other CPU
//! fetches the line as soon as the store releases the line:
//! `way = transfer × (1 + occupancy) + 3 hits`. When two cores add, each core does a run of
//! additions before the line leaves: `run × add = transfer + run × read-modify-write`. The values
//! that one core has read show the length of a run.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::core_to_core;
use crate::cost::{Cost, Cpu, median_of, on_both, pair};

const ADDITIONS: u32 = 5_000;

/// The largest `run` that a machine's file may have. A longer one means that the threads did not
/// run at the same time.
const LONGEST_RUN: f64 = 1_000.0;

const WINDOWS: u32 = 15;

const PAIRS: usize = 4;

#[derive(Default)]
#[repr(align(128))]
struct Word(AtomicU64);

const BY_PING_PONG: &str = "one way of a ping-pong, solved for the transfer";

pub(crate) fn costs(cpus: &[Cpu], hit: f64, read_modify_write: f64) -> Vec<Cost> {
    let way = |is_so: fn(&Cpu, &Cpu) -> bool| {
        let one = cpus.first()?;
        let others = cpus.iter().skip(1).filter(|other| is_so(one, other));
        let measure = |it: &Cpu| core_to_core::measure([one.number, it.number]);
        median_of(others.take(PAIRS).filter_map(measure))
    };
    let near = way(|one, other| one.cluster == other.cluster);
    let socket = way(|one, other| one.socket == other.socket && one.cluster != other.cluster);
    let far = way(|one, other| one.socket != other.socket);
    let nearest = near.or(socket).or(far);
    let Some((way, (add, run))) = nearest.zip(pair(cpus).and_then(added_by_two)) else {
        return Vec::new();
    };
    let own = 3.0 * hit;
    let transfer = run * (add - read_modify_write);
    if way <= own || transfer <= 0.0 {
        return Vec::new();
    }
    let occupancy = ((way - own) / transfer - 1.0).clamp(0.0, 1.0);
    let of = |key, way: Option<f64>| {
        way.map(|way| Cost::new(key, (way - own) / (1.0 + occupancy), BY_PING_PONG))
    };
    let transfers = [
        of("transfer-cluster-ns", near),
        of("transfer-socket-ns", socket),
        of("transfer-far-ns", far),
    ];
    let occupancy = Cost::new(
        "occupancy",
        occupancy,
        "two CPUs that add to one word, and the ping-pong",
    );
    let run = Cost::new(
        "run",
        run,
        "additions in a row by one of two CPUs that add to one word, from the values that they read",
    );
    transfers
        .into_iter()
        .flatten()
        .chain([occupancy, run])
        .collect()
}

/// Medians of two values while two CPUs add to one word as fast as they can. The first is the time
/// of an addition in nanoseconds. The second is how many additions one CPU makes in a row.
fn added_by_two(cpus: [usize; 2]) -> Option<(f64, f64)> {
    let word = Word::default();
    let start = Barrier::new(2);
    let add = || {
        let mut values = vec![0; (WINDOWS * ADDITIONS) as usize];
        let times = values.chunks_mut(ADDITIONS as usize).map(|values| {
            start.wait();
            let started = Instant::now();
            for value in values {
                // Relaxed: the sum carries no other data.
                *value = word.0.fetch_add(1, Ordering::Relaxed);
            }
            started.elapsed().as_nanos() as f64 / f64::from(2 * ADDITIONS)
        });
        let times: Vec<f64> = times.collect();
        (times, values)
    };
    let ((one, values), (other, _)) = on_both(cpus, add, add)?;
    // The thread that began a window first ran alone for a part of the window, so the slower time
    // counts.
    let slower = one.into_iter().zip(other).map(|(a, b)| a.max(b));
    median_of(slower).zip(run(&values))
}

fn run(values: &[u64]) -> Option<f64> {
    let follows = |one: &u64, next: &u64| one + 1 == *next;
    let runs = values.chunk_by(follows).map(|run| run.len() as f64);
    let run = median_of(runs)?.round();
    (run <= LONGEST_RUN).then_some(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_where_the_other_thread_added() {
        assert_eq!(run(&[0, 1, 2, 5, 6, 7, 9, 12, 13, 14]), Some(3.0));
        assert_eq!(run(&[0, 2, 4]), Some(1.0));
        assert_eq!(run(&[]), None);
    }

    #[test]
    fn threads_that_ran_one_after_the_other_give_no_run() {
        let alone: Vec<u64> = (0..u64::from(ADDITIONS)).collect();
        assert_eq!(run(&alone), None);
    }
}
