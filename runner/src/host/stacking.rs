//! Measures how often the kernel puts two working threads on one CPU while another CPU is idle, and
//! how much time this costs.
//!
//! A pool that sleeps between ticks is woken worker by worker: an external thread wakes the first
//! worker, which wakes the second. If the kernel puts the second worker on the CPU of the first,
//! the second waits until the first has done its work. The pool then gains nothing.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::sched_getcpu;
use rustix::time::{ClockId, clock_gettime};

use crate::affinity::pin_to;
use crate::stats::median;

/// Number of ticks without pinning, and also number of ticks with pinning. All ticks and pauses
/// take about a second.
const TICKS: u32 = 120;

/// Pause between ticks: long enough for a CPU to go idle, as in the workload `ticks`.
const PAUSE: Duration = Duration::from_millis(3);

/// CPU time of each of the two threads in a tick. A wake-up takes much less time.
const WORK: Duration = Duration::from_micros(200);

/// The number that the first thread of a tick gets as its waker's CPU. No CPU has this number, so
/// the first thread is never stacked.
const OUTSIDE: usize = usize::MAX;

/// The results of the ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stacking {
    /// Number of ticks of each kind: with and without pinning.
    pub ticks: u32,
    /// Number of ticks without pinning in which both threads were on one CPU.
    pub stacked: u32,
    /// Median time of a tick without pinning, in microseconds.
    pub free_us: f64,
    /// Median time of a tick with each thread pinned to its own CPU, in microseconds.
    pub pinned_us: f64,
}

/// Lets two threads work in ticks, first on the CPUs that the kernel chooses, then on the first two
/// of `cpus`. `None` if this process may not use two CPUs.
pub(crate) fn measure(cpus: &[usize]) -> Option<Stacking> {
    let [first, second, ..] = *cpus else {
        return None;
    };
    let free = ticks(None)?;
    let pinned = ticks(Some([first, second]))?;
    let median_us = |ticks: &[Tick]| {
        let times = ticks.iter().map(|tick| tick.elapsed.as_secs_f64() * 1e6);
        median(&mut times.collect::<Vec<f64>>())
    };
    Some(Stacking {
        ticks: TICKS,
        stacked: free.iter().map(|tick| u32::from(tick.is_stacked)).sum(),
        free_us: median_us(&free)?,
        pinned_us: median_us(&pinned)?,
    })
}

struct Tick {
    elapsed: Duration,
    is_stacked: bool,
}

/// Runs the ticks. In each tick, both threads are woken and work. `None` if a thread could not be
/// pinned.
fn ticks(pins: Option<[usize; 2]>) -> Option<Vec<Tick>> {
    // A thread that wakes the other thread sends it the number of its own CPU.
    let [(wake_first, first_woken), (wake_second, second_woken)] = [channel::<usize>(), channel()];
    let (done, ends) = channel::<Option<bool>>();
    // The closure owns the channels, so the threads end when the closure returns.
    thread::scope(move |scope| {
        let also_done = done.clone();
        let [first, second] = [0, 1].map(|thread| pins.map(|cpus| cpus[thread]));
        scope.spawn(move || tick(first, &first_woken, Some(&wake_second), &done));
        scope.spawn(move || tick(second, &second_woken, None, &also_done));
        (0..TICKS)
            .map(|_| {
                thread::sleep(PAUSE);
                let started = Instant::now();
                wake_first.send(OUTSIDE).ok()?;
                let is_stacked = [ends.recv().ok()??, ends.recv().ok()??].contains(&true);
                Some(Tick {
                    elapsed: started.elapsed(),
                    is_stacked,
                })
            })
            .collect()
    })
}

/// The body of a thread. A woken thread wakes the `next` thread, if there is one, and works. A
/// thread is stacked if it runs on the CPU that its waker had at the wake-up.
fn tick(
    pin: Option<usize>,
    woken: &Receiver<usize>,
    next: Option<&Sender<usize>>,
    done: &Sender<Option<bool>>,
) {
    let is_placed = pin.is_none_or(pin_to);
    for waker in woken {
        let here = sched_getcpu();
        // Sending cannot fail, because the other thread exists until this one ends.
        let _ = next.map(|next| next.send(here));
        work();
        let _ = done.send(is_placed.then_some(here == waker));
    }
}

/// Keeps the calling thread busy for [`WORK`] of its own CPU time, however often the kernel
/// interrupts it.
fn work() {
    let now = || clock_gettime(ClockId::ThreadCPUTime);
    let elapsed_ns = |since: rustix::time::Timespec| {
        let now = now();
        (now.tv_sec - since.tv_sec) * 1_000_000_000 + (now.tv_nsec - since.tv_nsec)
    };
    let started = now();
    while elapsed_ns(started) < i64::try_from(WORK.as_nanos()).unwrap_or(i64::MAX) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::allowed_cpus;

    #[test]
    fn two_threads_on_one_cpu_are_stacked_in_every_tick_and_on_two_in_none() {
        let [here, there, ..] = allowed_cpus()[..] else {
            return;
        };
        let stacked = |pins| {
            let ticks = ticks(Some(pins)).unwrap();
            ticks.iter().filter(|tick| tick.is_stacked).count()
        };
        assert_eq!(stacked([here, here]), TICKS as usize);
        assert_eq!(stacked([here, there]), 0);
    }

    #[test]
    fn a_cpu_that_may_not_be_used_gives_none_and_no_hang() {
        let here = allowed_cpus()[0];
        for cpus in [&[here][..], &[here, usize::MAX], &[usize::MAX, here]] {
            assert_eq!(measure(cpus), None);
        }
    }
}
