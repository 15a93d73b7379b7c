//! The order of jobs of one kind on one worker, where no theft can disturb it.

use std::sync::Barrier;

use rayon_core::{Scope, ScopeFifo, ThreadPool, scope, scope_fifo, spawn, spawn_fifo};

use crate::common::{Log, Occupation, Tally, patiently, pool, rounds};

const JOBS: i32 = 10;

/// The order in which a pool of one runs what `submit` submits on its worker.
fn order(submit: impl FnOnce(&Log<i32>) + Send) -> Vec<i32> {
    order_in(&pool(1), submit)
}

fn order_in(pool: &ThreadPool, submit: impl FnOnce(&Log<i32>) + Send) -> Vec<i32> {
    let log = Log::new();
    pool.install(|| {
        submit(&log);
        while rayon_core::yield_local() == Some(rayon_core::Yield::Executed) {}
    });
    log.take()
}

fn job(log: &Log<i32>, i: i32) -> impl FnOnce() + Send + use<> {
    let log = log.clone();
    move || log.add(i)
}

#[test]
fn spawned_jobs_run_last_in_first_out() {
    patiently("spawned jobs in order", || {
        let ran = order(|log| (0..JOBS).for_each(|i| spawn(job(log, i))));
        assert!(ran.into_iter().eq((0..JOBS).rev()));
    });
}

#[test]
fn fifo_jobs_run_first_in_first_out() {
    patiently("FIFO jobs in order", || {
        let ran = order(|log| (0..JOBS).for_each(|i| spawn_fifo(job(log, i))));
        assert!(ran.into_iter().eq(0..JOBS));
    });
}

#[test]
fn scope_jobs_run_last_in_first_out() {
    patiently("scope jobs in order", || {
        let ran = order(|log| {
            scope(|scope| (0..JOBS).for_each(|i| scope.spawn(move |_| log.add(i))));
        });
        assert!(ran.into_iter().eq((0..JOBS).rev()));
    });
}

#[test]
fn fifo_scope_jobs_run_first_in_first_out() {
    patiently("FIFO scope jobs in order", || {
        let ran = order(|log| {
            scope_fifo(|scope| (0..JOBS).for_each(|i| scope.spawn_fifo(move |_| log.add(i))));
        });
        assert!(ran.into_iter().eq(0..JOBS));
    });
}

#[test]
fn injected_jobs_run_first_in_first_out() {
    patiently("injected jobs in order", || {
        let pool = pool(1);
        let log = Log::new();
        let busy = Occupation::of(&pool);
        for i in 0..JOBS {
            if i % 2 == 0 {
                pool.spawn(job(&log, i));
            } else {
                pool.spawn_fifo(job(&log, i));
            }
        }
        drop(busy);
        pool.install(|| ());
        assert!(log.take().into_iter().eq(0..JOBS));
    });
}

#[test]
fn thieves_take_the_oldest_job() {
    patiently("thefts in order", || {
        let log = Log::new();
        let (pushed, stolen) = (Barrier::new(2), Barrier::new(2));
        pool(2).broadcast(|context| {
            if context.index() == 0 {
                (0..JOBS).for_each(|i| spawn(job(&log, i)));
                pushed.wait();
            } else {
                pushed.wait();
                for _ in 0..JOBS {
                    rayon_core::yield_now();
                }
            }
            stolen.wait();
        });
        assert!(log.take().into_iter().eq(0..JOBS));
    });
}

#[test]
#[expect(deprecated, reason = "the deprecated option is what is tested")]
fn a_breadth_first_pool_runs_the_oldest_own_job_first() {
    patiently("jobs of a breadth-first pool", || {
        let pool = rayon_core::ThreadPoolBuilder::new()
            .num_threads(1)
            .breadth_first()
            .build()
            .unwrap();
        let ran = order_in(&pool, |log| (0..JOBS).for_each(|i| spawn(job(log, i))));
        assert!(ran.into_iter().eq(0..JOBS));
        let ran = order_in(&pool, |log| {
            scope(|scope| (0..JOBS).for_each(|i| scope.spawn(move |_| log.add(i))));
        });
        assert!(ran.into_iter().eq(0..JOBS));
    });
}

#[test]
#[expect(deprecated, reason = "the deprecated option is what is tested")]
fn joins_in_a_breadth_first_pool_come_back() {
    fn fibonacci(n: u32) -> u32 {
        if n < 2 {
            return n;
        }
        let (a, b) = rayon_core::join(|| fibonacci(n - 1), || fibonacci(n - 2));
        a + b
    }
    patiently("joins in breadth-first pools", || {
        for workers in 1..=3 {
            let builder = rayon_core::ThreadPoolBuilder::new().num_threads(workers);
            let pool = builder.breadth_first().build().unwrap();
            assert_eq!(pool.install(|| fibonacci(10)), 55, "{workers} workers");
        }
    });
}

/// Every job of a nest of spawns: ten, each of which spawns ten. Job `i` of group `g` is `10 g +
/// i`.
fn nest(outer_is_fifo: bool, inner_is_fifo: bool) -> Vec<i32> {
    fn submit(is_fifo: bool, job: impl FnOnce() + Send + 'static) {
        if is_fifo { spawn_fifo(job) } else { spawn(job) }
    }
    let log = Log::new();
    let done = Tally::new();
    let pool = pool(1);
    pool.install(|| {
        for group in 0..JOBS {
            let (log, done) = (log.clone(), done.clone());
            submit(outer_is_fifo, move || {
                for i in 0..JOBS {
                    let (log, done) = (log.clone(), done.clone());
                    submit(inner_is_fifo, move || {
                        log.add(10 * group + i);
                        done.add_one();
                    });
                }
            });
        }
    });
    done.wait_for(100);
    log.take()
}

#[test]
fn nested_spawns_run_newest_group_first_and_newest_job_first() {
    patiently("LIFO in LIFO", || {
        assert!(nest(false, false).into_iter().eq((0..100).rev()));
    });
}

#[test]
fn nested_fifo_spawns_run_oldest_group_first_and_oldest_job_first() {
    patiently("FIFO in FIFO", || {
        assert!(nest(true, true).into_iter().eq(0..100));
    });
}

#[test]
fn fifo_spawns_in_spawns_run_newest_group_first_and_oldest_job_first() {
    patiently("FIFO in LIFO", || {
        let expected = (0..10)
            .rev()
            .flat_map(|group| (0..10).map(move |i| 10 * group + i));
        assert!(nest(false, true).into_iter().eq(expected));
    });
}

#[test]
fn spawns_in_fifo_spawns_run_oldest_group_first_and_newest_job_first() {
    patiently("LIFO in FIFO", || {
        let expected = (0..10).flat_map(|group| (0..10).rev().map(move |i| 10 * group + i));
        assert!(nest(true, false).into_iter().eq(expected));
    });
}

#[test]
fn nested_scopes_of_one_kind_run_groups_and_jobs_in_that_order() {
    fn lifo<'s>(scope: &Scope<'s>, group: i32, log: &'s Log<i32>) {
        (0..JOBS).for_each(|i| scope.spawn(move |_| log.add(10 * group + i)));
    }
    fn fifo<'s>(scope: &ScopeFifo<'s>, group: i32, log: &'s Log<i32>) {
        (0..JOBS).for_each(|i| scope.spawn_fifo(move |_| log.add(10 * group + i)));
    }
    patiently("nested scope jobs in order", || {
        let ran = order(|log| {
            scope(|outer| (0..JOBS).for_each(|g| outer.spawn(move |s| lifo(s, g, log))));
        });
        assert!(ran.into_iter().eq((0..100).rev()));
        let ran = order(|log| {
            scope(|outer| (0..JOBS).for_each(|g| outer.spawn(move |_| scope(|s| lifo(s, g, log)))));
        });
        assert!(ran.into_iter().eq((0..100).rev()));
        let ran = order(|log| {
            scope_fifo(|outer| (0..JOBS).for_each(|g| outer.spawn_fifo(move |s| fifo(s, g, log))));
        });
        assert!(ran.into_iter().eq(0..100));
    });
}

#[test]
fn nested_scopes_of_both_kinds_run_groups_in_the_outer_order_and_jobs_in_the_inner() {
    patiently("scopes nested in scopes of the other kind", || {
        let ran = order(|log| {
            scope(|outer| {
                for g in 0..JOBS {
                    outer.spawn(move |_| {
                        scope_fifo(|s| {
                            (0..JOBS).for_each(|i| s.spawn_fifo(move |_| log.add(10 * g + i)));
                        });
                    });
                }
            });
        });
        let expected = (0..10)
            .rev()
            .flat_map(|group| (0..10).map(move |i| 10 * group + i));
        assert!(ran.into_iter().eq(expected));
        let ran = order(|log| {
            scope_fifo(|outer| {
                for g in 0..JOBS {
                    outer.spawn_fifo(move |_| {
                        scope(|s| (0..JOBS).for_each(|i| s.spawn(move |_| log.add(10 * g + i))));
                    });
                }
            });
        });
        let expected = (0..10).flat_map(|group| (0..10).rev().map(move |i| 10 * group + i));
        assert!(ran.into_iter().eq(expected));
    });
}

#[test]
fn the_order_holds_when_queues_grow() {
    patiently("very many spawned jobs in order", || {
        let jobs = i32::try_from(rounds(5000, 100)).unwrap();
        let ran = order(|log| (0..jobs).for_each(|i| spawn(job(log, i))));
        assert!(ran.into_iter().eq((0..jobs).rev()));
        let ran = order(|log| (0..jobs).for_each(|i| spawn_fifo(job(log, i))));
        assert!(ran.into_iter().eq(0..jobs));
    });
}

#[test]
fn jobs_that_a_foreign_thread_puts_into_either_kind_of_scope_run_first_in_first_out() {
    patiently("scope jobs from a foreign thread in order", || {
        let pool = pool(1);
        let log = &Log::new();
        let busy = Occupation::of(&pool);
        pool.in_place_scope(|scope| {
            (0..JOBS).for_each(|i| scope.spawn(move |_| log.add(i)));
            drop(busy);
        });
        assert!(log.take().into_iter().eq(0..JOBS));
        let busy = Occupation::of(&pool);
        pool.in_place_scope_fifo(|scope| {
            (0..JOBS).for_each(|i| scope.spawn_fifo(move |_| log.add(i)));
            drop(busy);
        });
        assert!(log.take().into_iter().eq(0..JOBS));
    });
}
