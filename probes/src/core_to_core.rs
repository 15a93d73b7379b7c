//! The distance of two CPUs: the transfer time of a cache line from one to the other.
//!
//! A hypervisor may move two virtual CPUs from two threads of one core to two sockets, and back. A
//! move can make a pool several times faster or slower, and only this distance shows the move in
//! the guest.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use crate::cost::{median_of, on_both};

/// Round trips of one window. A window takes some 40 µs, less than a time slice, so that the kernel
/// interrupts few windows.
const ROUND_TRIPS: u32 = 100;

/// Number of windows of a measurement. The result is the median of the windows, because interrupts
/// lengthen some windows.
const WINDOWS: u32 = 11;

#[repr(align(128))]
struct Line(AtomicU32);

/// The time in which a cache line moves from one CPU to the other, in nanoseconds. `None` if this
/// process may not use one of the CPUs.
///
/// Two threads, one on each CPU, respond to each other by writing the next number into one line.
#[must_use]
pub fn measure(cpus: [usize; 2]) -> Option<f64> {
    let line = Line(AtomicU32::new(0));
    // Relaxed, here and below: the number in the line carries no other data. A thread that waits
    // for a number reads the line until the number is there.
    let wait_for = |number| {
        while line.0.load(Ordering::Relaxed) != number {
            std::hint::spin_loop();
        }
    };
    let asks = || {
        let windows = (0..WINDOWS).map(|window| {
            let first = window * ROUND_TRIPS;
            let started = Instant::now();
            for trip in first..first + ROUND_TRIPS {
                line.0.store(2 * trip + 1, Ordering::Relaxed);
                wait_for(2 * trip + 2);
            }
            started.elapsed().as_nanos() as f64 / f64::from(2 * ROUND_TRIPS)
        });
        median_of(windows)
    };
    let responds = || {
        for trip in 0..WINDOWS * ROUND_TRIPS {
            wait_for(2 * trip + 1);
            line.0.store(2 * trip + 2, Ordering::Relaxed);
        }
    };
    on_both(cpus, asks, responds)?.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::allowed_cpus;

    #[test]
    fn a_line_takes_longer_than_a_cycle_and_a_cpu_that_may_not_be_used_gives_none() {
        let cpus = allowed_cpus();
        assert_eq!(measure([cpus[0], usize::MAX]), None);
        assert_eq!(measure([usize::MAX, cpus[0]]), None);
        if let [here, there, ..] = cpus[..] {
            let ns = measure([here, there]).unwrap();
            assert!(ns > 1.0, "{ns}");
        }
    }
}
