//! A scope ends with its last job, even if the workers that ran its jobs go on with other jobs. In
//! all tests but the last, a worker continues with another job until the scope has ended. A worker
//! that kept the scope open would wait for itself.

use std::sync::mpsc;
use std::thread;

use rayon_core::{Scope, ThreadPool, Yield, join, yield_local, yield_now};

use crate::common::{Count, Tally, UNTIL_ASLEEP, in_time, pool};

/// Returns two handles of one tally: the test counts the end of a scope, and a job waits for it.
fn end() -> (Tally, Tally) {
    let ended = Tally::new();
    (ended.clone(), ended)
}

/// Calls `submit` in a job of a scope. `submit` submits a job that does not belong to the scope.
fn scope_ends_beside(submit: impl Fn(&ThreadPool, Tally) + Sync) {
    in_time(|| {
        let pool = pool(1);
        let (ended, until_ended) = end();
        pool.in_place_scope(|scope| scope.spawn(|_| submit(&pool, until_ended)));
        ended.add_one();
    });
}

#[test]
fn a_scope_ends_though_the_only_worker_goes_on_with_a_detached_job() {
    scope_ends_beside(|pool, ended| pool.spawn(move || ended.wait_for(1)));
}

#[test]
fn a_scope_ends_though_the_only_worker_goes_on_with_a_fifo_job() {
    scope_ends_beside(|pool, ended| pool.spawn_fifo(move || ended.wait_for(1)));
}

#[test]
fn a_scope_ends_though_the_only_worker_goes_on_with_a_share_of_a_broadcast() {
    scope_ends_beside(|pool, ended| pool.spawn_broadcast(move |_| ended.wait_for(1)));
}

#[test]
fn a_scope_ends_though_the_only_worker_goes_on_with_a_job_of_another_scope() {
    in_time(|| {
        let pool = pool(1);
        let (ended, until_ended) = end();
        pool.in_place_scope(|outer| {
            pool.in_place_scope(|scope| {
                scope.spawn(|_| outer.spawn(move |_| until_ended.wait_for(1)));
            });
            ended.add_one();
        });
    });
}

#[test]
fn a_scope_ends_though_its_job_ran_in_a_yield_of_a_job_that_goes_on() {
    for yields in [yield_now, yield_local] {
        in_time(|| {
            let pool = pool(1);
            let (ended, until_ended) = end();
            let (begun, has_begun) = mpsc::channel();
            pool.spawn(move || {
                begun.send(()).unwrap();
                // The first yield runs the injected job, which spawns a job that the second yield
                // runs.
                while yield_now() != Some(Yield::Executed) {}
                assert_eq!(yields(), Some(Yield::Executed));
                until_ended.wait_for(1);
            });
            has_begun.recv().unwrap();
            pool.in_place_scope(|scope| scope.spawn(|scope| scope.spawn(|_| ())));
            ended.add_one();
        });
    }
}

#[test]
fn a_scope_ends_though_its_job_ran_in_a_wait_of_a_job_that_goes_on() {
    in_time(|| {
        let (pool, other) = (pool(1), pool(1));
        let (ended, until_ended) = end();
        let (begun, has_begun) = mpsc::channel();
        let ran = Tally::new();
        let until_run = ran.clone();
        pool.spawn(move || {
            begun.send(()).unwrap();
            other.install(|| until_run.wait_for(1));
            until_ended.wait_for(1);
        });
        has_begun.recv().unwrap();
        pool.in_place_scope(|scope| {
            let ran = &ran;
            scope.spawn(move |_| {
                ran.add_one();
                // When this job ends, the wait for `other` is over, too.
                thread::sleep(UNTIL_ASLEEP);
            });
        });
        ended.add_one();
    });
}

/// The scope that the program hands to a detached job.
struct Lent(*const Scope<'static>);

// SAFETY: scopes are `Sync`.
unsafe impl Send for Lent {}
// SAFETY: scopes are `Sync`.
unsafe impl Sync for Lent {}

impl Lent {
    fn spawn_leaf(&self) {
        // SAFETY: `lend` says how long the scope lives. A reference exists only inside this
        // function, because the borrower continues after the scope's end.
        unsafe { &*self.0 }.spawn(|_| ());
    }
}

/// Runs `borrower` as a detached job of a pool of one worker, and lends it a scope. The first
/// argument of `borrower` spawns a job into the scope and gives the scope back. `borrower`
/// continues until its second argument says that the scope has ended.
fn lend(borrower: impl FnOnce(&(dyn Fn() + Sync), &Tally) + Send + 'static) {
    let pool = pool(1);
    let (ended, until_ended) = end();
    let (lender, lent) = mpsc::channel::<Lent>();
    let (gives_back, is_back) = mpsc::channel();
    pool.spawn(move || {
        let lent = lent.recv().unwrap();
        // The closure of the scope waits for this message, so the scope lives until the message is
        // sent.
        let spawn_and_give_back = || {
            lent.spawn_leaf();
            gives_back.send(()).unwrap();
        };
        borrower(&spawn_and_give_back, &until_ended);
    });
    pool.in_place_scope(|scope| {
        lender.send(Lent(scope)).unwrap();
        is_back.recv().unwrap();
    });
    ended.add_one();
}

#[test]
fn a_scope_ends_though_code_that_spawned_into_it_goes_on() {
    in_time(|| {
        lend(|spawn_and_give_back, until_ended| {
            spawn_and_give_back();
            assert_eq!(yield_local(), Some(Yield::Executed));
            until_ended.wait_for(1);
        });
    });
}

#[test]
fn a_scope_ends_though_its_job_ran_between_the_halves_of_a_join_that_goes_on() {
    in_time(|| {
        lend(|spawn_and_give_back, until_ended| {
            join(spawn_and_give_back, || until_ended.wait_for(1));
        });
    });
}

#[test]
fn a_scope_ends_though_the_only_worker_goes_on_with_the_half_of_a_join() {
    in_time(|| {
        lend(|spawn_and_give_back, until_ended| {
            let other = pool(1);
            let spawns_and_waits = || {
                spawn_and_give_back();
                // Meanwhile the worker runs the scope's job, and then the second half.
                other.install(|| until_ended.wait_for(1));
            };
            join(spawns_and_waits, || until_ended.wait_for(1));
        });
    });
}

#[test]
fn a_scope_ends_after_the_jobs_that_each_part_of_a_tree_of_joins_spawned_into_it() {
    fn tree<'s>(scope: &Scope<'s>, height: u32, count: &'s Count) {
        scope.spawn(move |_| count.add(1));
        if height > 0 {
            join(
                || tree(scope, height - 1, count),
                || tree(scope, height - 1, count),
            );
            scope.spawn(move |_| count.add(1));
        }
    }
    in_time(|| {
        for workers in 1..=3 {
            let (pool, count) = (pool(workers), Count::new());
            pool.scope(|scope| tree(scope, 6, &count));
            assert_eq!(count.get(), 127 + 63, "on {workers} workers");
        }
    });
}
