//! The result of a probe, and how probes measure.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use crate::affinity::pin_to;
use crate::stats;

/// A measured cost parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// The key of the parameter in a machine's file, which ends in the unit.
    pub key: &'static str,
    /// The value of the parameter, finite and not below 0.
    pub value: f64,
    /// How the parameter was measured.
    pub how: &'static str,
}

impl Cost {
    pub(crate) fn new(key: &'static str, value: f64, how: &'static str) -> Self {
        Self {
            key,
            value: value.max(0.0),
            how,
        }
    }
}

/// A CPU, with the cluster and the socket that it shares with other CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// The kernel's number for the CPU.
    pub number: usize,
    /// The CPU's cluster: CPUs of a cluster share the last cache.
    pub cluster: usize,
    /// The CPU's socket.
    pub socket: usize,
}

/// Runs `body` in a thread on `cpu` and returns its result; `None` if this process may not use that
/// CPU.
pub(crate) fn on<R: Send>(cpu: usize, body: impl FnOnce() -> R + Send) -> Option<R> {
    let run = || pin_to(cpu).then(body);
    thread::scope(|scope| scope.spawn(run).join()).expect("a probe does not panic")
}

/// Runs `one` and `other` in threads on two CPUs, and begins both bodies together. `None` if this
/// process may not use one of the CPUs: if both threads were on one CPU, each response would take a
/// time slice.
pub(crate) fn on_both<A: Send, B: Send>(
    cpus: [usize; 2],
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B + Send,
) -> Option<(A, B)> {
    let (start, are_pinned) = (Barrier::new(2), AtomicBool::new(true));
    let may_start = |cpu| {
        // Relaxed: the barrier orders the store before the load.
        if !pin_to(cpu) {
            are_pinned.store(false, Ordering::Relaxed);
        }
        // This thread waits even if pinning failed, or the other thread would wait for ever.
        start.wait();
        are_pinned.load(Ordering::Relaxed)
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| may_start(cpus[1]).then(other));
        let one = scope.spawn(|| may_start(cpus[0]).then(one));
        one.join().ok()?.zip(other.join().ok()?)
    })
}

pub(crate) fn median_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    stats::median(&mut values.collect::<Vec<f64>>())
}

/// Number of windows of a measurement. The result is the median of the windows, because interrupts
/// lengthen some windows.
const WINDOWS: u32 = 15;

pub(crate) fn each_ns(times: u32, mut body: impl FnMut()) -> f64 {
    let windows = (0..WINDOWS).map(|_| {
        let started = Instant::now();
        for _ in 0..times {
            body();
        }
        started.elapsed().as_nanos() as f64 / f64::from(times)
    });
    median_of(windows).unwrap_or(f64::NAN)
}

pub(crate) fn pair(cpus: &[Cpu]) -> Option<[usize; 2]> {
    let (first, others) = cpus.split_first()?;
    let is_near = |other: &&Cpu| other.cluster == first.cluster;
    let second = others.iter().find(is_near).or(others.first())?;
    Some([first.number, second.number])
}
