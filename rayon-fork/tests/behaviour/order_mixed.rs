//! The order of jobs of two kinds on one worker. Tokens of FIFO jobs share the deque with other
//! jobs: each position is taken newest first, and a token's position runs the *oldest* FIFO job.

use rayon_core::{Scope, ScopeFifo, scope, scope_fifo, spawn, spawn_fifo};

use crate::common::{Log, patiently, pool};

fn spawned_in_turn(spawn_one: fn(&Log<i32>, i32)) -> Vec<i32> {
    let log = Log::new();
    pool(1).install(|| {
        for i in [0, -1, 1, -2, 2, -3, 3] {
            spawn_one(&log, i);
        }
        while rayon_core::yield_local() == Some(rayon_core::Yield::Executed) {}
    });
    log.take()
}

fn job(log: &Log<i32>, i: i32) -> impl FnOnce() + Send + use<> {
    let log = log.clone();
    move || log.add(i)
}

#[test]
fn fifo_jobs_among_spawned_jobs_keep_their_own_order() {
    patiently("FIFO jobs between others", || {
        let ran = spawned_in_turn(|log, i| {
            if i < 0 {
                spawn_fifo(job(log, i));
            } else {
                spawn(job(log, i));
            }
        });
        assert_eq!(ran, [3, -1, 2, -2, 1, -3, 0]);
    });
}

#[test]
fn spawned_jobs_among_fifo_jobs_keep_their_own_order() {
    patiently("jobs between FIFO ones", || {
        let ran = spawned_in_turn(|log, i| {
            if i < 0 {
                spawn(job(log, i));
            } else {
                spawn_fifo(job(log, i));
            }
        });
        assert_eq!(ran, [0, -3, 1, -2, 2, -1, 3]);
    });
}

/// Spawning into either kind of scope.
trait Spawn<'scope> {
    fn put(&self, job: impl FnOnce() + Send + 'scope);
}

impl<'scope> Spawn<'scope> for Scope<'scope> {
    fn put(&self, job: impl FnOnce() + Send + 'scope) {
        self.spawn(|_| job());
    }
}

impl<'scope> Spawn<'scope> for ScopeFifo<'scope> {
    fn put(&self, job: impl FnOnce() + Send + 'scope) {
        self.spawn_fifo(|_| job());
    }
}

fn into_inner_and_outer<'o, 'i>(outer: &impl Spawn<'o>, inner: &impl Spawn<'i>, log: &'o Log<i32>)
where
    'o: 'i,
{
    inner.put(|| log.add(-1));
    outer.put(|| log.add(1));
    inner.put(|| log.add(-2));
    outer.put(|| log.add(2));
    inner.put(|| log.add(-3));
}

/// Runs one of the four nests and returns the order; positive jobs are the outer scope's.
macro_rules! mixed {
    ($outer:ident, $inner:ident) => {{
        let log = Log::new();
        pool(1).$outer(|outer| {
            outer.put(|| log.add(0));
            $inner(|inner| into_inner_and_outer(outer, inner, &log));
            outer.put(|| log.add(3));
        });
        log.take()
    }};
}

#[test]
fn a_scope_in_a_scope() {
    patiently("LIFO in LIFO", || {
        assert_eq!(mixed!(scope, scope), [-3, 2, -2, 1, -1, 3, 0]);
    });
}

#[test]
fn a_fifo_scope_in_a_fifo_scope() {
    patiently("FIFO in FIFO", || {
        assert_eq!(mixed!(scope_fifo, scope_fifo), [-1, 0, -2, 1, -3, 2, 3]);
    });
}

#[test]
fn a_fifo_scope_in_a_scope() {
    patiently("FIFO in LIFO", || {
        assert_eq!(mixed!(scope, scope_fifo), [-1, 2, -2, 1, -3, 3, 0]);
    });
}

#[test]
fn a_scope_in_a_fifo_scope() {
    patiently("LIFO in FIFO", || {
        assert_eq!(mixed!(scope_fifo, scope), [-3, 0, -2, 1, -1, 2, 3]);
    });
}
