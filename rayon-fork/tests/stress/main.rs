//! Tests with random and repeated work, and idle gaps in which workers fall asleep. No job may be
//! lost, run twice or hang.
//!
//! `FORK_STRESS_SECONDS` sets the time of the random test, and `FORK_STRESS_FACTOR` multiplies the
//! rounds of the other tests. `FORK_STRESS_SEED` repeats the random choices of a run, but not its
//! schedule.

#[path = "../common/mod.rs"]
mod common;

mod random;
mod second_job;

use std::any::type_name;
use std::env;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use rayon_core::{Scope, join, scope, scope_fifo};

use common::{Count, TIME_LIMIT, pool, rounds, spawn_in_turn_and_wait, within_or};

fn number_from(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable}: {text:?} is no whole number; give one")),
    )
}

fn factor() -> u32 {
    number_from("FORK_STRESS_FACTOR").map_or(1, |factor| factor.try_into().unwrap())
}

fn repeated(natively: usize, under_miri: usize) -> usize {
    rounds(natively, under_miri) * usize::try_from(factor()).unwrap()
}

fn in_time<R, F: FnOnce() -> R>(body: F) -> R {
    within_or(TIME_LIMIT * factor(), type_name::<F>(), String::new, body)
}

/// Prints the seed, so that a failed test shows it.
fn seed() -> u64 {
    let seed = number_from("FORK_STRESS_SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("FORK_STRESS_SEED={seed}");
    seed
}

fn idle_gap(rng: &mut Rng, longest: Duration) {
    let gap = longest.mul_f64(rng.f64());
    if cfg!(miri) || rng.bool() {
        thread::sleep(gap);
    } else {
        // Spin, because a sleep takes at least as long as the kernel's timer slack.
        let start = Instant::now();
        while start.elapsed() < gap {
            std::hint::spin_loop();
        }
    }
}

const SHORT: Duration = Duration::from_micros(200);

fn grow<'s>(scope: &Scope<'s>, jobs: usize, count: &'s Count) {
    if let Some(rest) = jobs.checked_sub(1) {
        let by_job = rest / 2;
        scope.spawn(move |scope| {
            grow(scope, by_job, count);
            count.add(1);
        });
        (by_job..rest).for_each(|_| scope.spawn(|_| count.add(1)));
    }
}

/// How long the first half of a join waits before it assumes that no worker will steal the second
/// half.
const UNTIL_ALONE: Duration = Duration::from_secs(if cfg!(miri) { 60 } else { 15 });

/// Returns whether sleepers of this variant never miss a job that a worker pushes. In rare cases,
/// sleepers of other variants miss such a job (`src/sleep/README.md`, section 9).
fn covers_internal_jobs() -> bool {
    let is_fenced = |part: &str| ["no-jec", "demand"].contains(&part) || part.ends_with("-fence");
    rayon_core::rayon_fork_variant().split('+').any(is_fenced)
}

#[test]
fn the_halves_of_a_join_meet_whatever_the_other_worker_was_doing() {
    let mut rng = Rng::with_seed(seed());
    let rounds = repeated(2000, 5);
    // In a variant that does not cover internal jobs a worker may miss a job, but in fewer than 1
    // of 100 000 joins. Only a broken wake-up reaches this limit.
    let most_missed = (rounds / 500).max(1);
    let done = AtomicUsize::new(0);
    let state = || format!("After {} of {rounds} rounds", done.load(Ordering::Relaxed));
    let arrived = AtomicUsize::new(0);
    let may_be_missed = !covers_internal_jobs();
    let (mut slow, mut missed) = (0, 0);
    within_or(TIME_LIMIT * factor(), "joins that meet", state, || {
        pool(2).install(|| {
            for round in 1..=rounds {
                idle_gap(&mut rng, SHORT);
                let start = Instant::now();
                let half = || {
                    arrived.fetch_add(1, Ordering::Relaxed);
                    while arrived.load(Ordering::Relaxed) < 2 * round {
                        if may_be_missed && start.elapsed() > UNTIL_ALONE {
                            return false;
                        }
                        thread::yield_now();
                    }
                    true
                };
                let have_met = join(half, half) == (true, true);
                missed += usize::from(!have_met);
                slow += usize::from(start.elapsed() > Duration::from_millis(10));
                done.fetch_add(1, Ordering::Relaxed);
            }
        });
    });
    println!(
        "{slow} of {rounds} joins took more than 10 ms; in {missed} no worker stole the second half"
    );
    assert!(
        missed <= most_missed,
        "no worker stole the second half in {missed} of {rounds} joins"
    );
    assert_eq!(done.into_inner(), rounds);
}

#[test]
fn a_spawned_job_reaches_a_worker_and_answers() {
    let mut rng = Rng::with_seed(seed());
    in_time(|| {
        for workers in 1..=3 {
            let pool = pool(workers);
            let (sender, receiver) = mpsc::channel();
            for i in 0..repeated(500, 3) {
                idle_gap(&mut rng, SHORT / 2);
                let sender = sender.clone();
                pool.spawn(move || sender.send(i).unwrap());
                assert_eq!(receiver.recv(), Ok(i));
            }
        }
    });
}

#[test]
fn each_of_many_jobs_runs_although_it_waits_for_the_one_before() {
    // In variants that do not cover internal jobs, a push may wake no sleeper.
    if !covers_internal_jobs() {
        return;
    }
    let mut rng = Rng::with_seed(seed());
    in_time(|| {
        for workers in 2..=4 {
            let pool = pool(workers);
            for _ in 0..repeated(100, 2) {
                idle_gap(&mut rng, SHORT);
                let jobs = rng.usize(1..150);
                pool.install(|| spawn_in_turn_and_wait(jobs));
            }
        }
    });
}

#[test]
fn scopes_end_whatever_their_thieves_were_doing() {
    let mut rng = Rng::with_seed(seed());
    in_time(|| {
        let pool = pool(3);
        pool.install(|| {
            let count = Count::new();
            for _ in 0..repeated(1000, 3) {
                idle_gap(&mut rng, SHORT / 4);
                scope(|scope| grow(scope, 5, &count));
                scope_fifo(|scope| scope.spawn_fifo(|_| count.add(1)));
                assert_eq!(count.take(), 6);
            }
        });
    });
}
