//! Two jobs of which the first waits for the second. One worker sleeps, and another is about to
//! stop searching. The searching worker takes the first job, and must wake the sleeper for the
//! second job.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use rayon_core::ThreadPool;

use crate::common::{TIME_LIMIT, pool, within_or};
use crate::{covers_internal_jobs, factor, repeated, seed};

/// The number of cache lines to which the delaying stores write: 64 MiB, more than most caches
/// hold, so that most of these stores miss.
const COLD_LINES: usize = if cfg!(miri) { 64 } else { 1 << 20 };
/// The number of stores to cold lines that delay the next store in the store buffer.
const COLD_STORES: usize = 60;

#[repr(align(64))]
struct Line(AtomicUsize);

fn spin(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        spin_loop();
    }
}

fn micros(rng: &mut Rng, range: std::ops::Range<u64>) -> Duration {
    Duration::from_micros(if cfg!(miri) { 0 } else { rng.u64(range) })
}

#[test]
fn a_second_job_is_not_left_to_a_sleeper() {
    second_jobs_come_soon(&pool(3));
}

#[test]
#[expect(deprecated, reason = "the deprecated option is what is tested")]
fn a_second_job_of_a_fifo_pool_is_not_left_to_a_sleeper() {
    let builder = rayon_core::ThreadPoolBuilder::new()
        .num_threads(3)
        .breadth_first();
    second_jobs_come_soon(&builder.build().unwrap());
}

fn second_jobs_come_soon(pool: &ThreadPool) {
    // In variants that do not cover internal jobs, a push may wake no sleeper, and the worker that
    // pushed runs the job.
    if !covers_internal_jobs() {
        return;
    }
    let mut rng = Rng::with_seed(seed());
    let rounds = repeated(2_000, 5);
    let lines: Vec<Line> = (0..COLD_LINES).map(|_| Line(AtomicUsize::new(0))).collect();
    let [first_done, second_done] = [(); 2].map(|()| AtomicUsize::new(0));
    let state = || format!("After {first_done:?} of {rounds} rounds, {second_done:?} second jobs");
    within_or(
        TIME_LIMIT * factor(),
        "jobs that wait for the next one",
        state,
        || {
            pool.scope(|scope| {
                let begun = Instant::now();
                // Stop early on an oversubscribed host, where a round takes a hundred times as
                // long.
                let is_time_left = |_: &usize| begun.elapsed() < TIME_LIMIT * factor() / 3;
                for round in (1..=rounds).take_while(is_time_left) {
                    // Meanwhile the worker that ran the second job falls asleep.
                    let lag = micros(&mut rng, 50..400);
                    let (first_done, second_done) = (&first_done, &second_done);
                    let cold: Vec<usize> =
                        (0..COLD_STORES).map(|_| rng.usize(..COLD_LINES)).collect();
                    spin(micros(&mut rng, 0..100));
                    scope.spawn(move |_| {
                        while second_done.load(Ordering::Acquire) < round {
                            thread::yield_now();
                        }
                        spin(lag);
                        first_done.store(round, Ordering::Release);
                    });
                    for line in cold {
                        lines[line].0.store(round, Ordering::Relaxed);
                    }
                    scope.spawn(move |_| second_done.store(round, Ordering::Release));
                    // This thread waits without the pool, as user code may. Frequent yields would
                    // change the timing.
                    while first_done.load(Ordering::Acquire) < round {
                        (0..10_000).for_each(|_| spin_loop());
                        thread::yield_now();
                    }
                }
            });
        },
    );
}
