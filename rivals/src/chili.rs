//! The rival [chili](https://docs.rs/chili): a thread sends each worker a heartbeat every 100 us. A
//! worker that has received a heartbeat moves its oldest job to a place where other workers find
//! it.
//!
//! Chili's functions take a scope as a parameter, and rayon's do not. So each thread keeps its
//! current scope in a thread-local, where every `join` finds it.

use std::arch::asm;
use std::cell::Cell;
use std::mem;
use std::num::NonZero;
use std::process;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use crate::FnContext;
use crate::missing::missing;
use crate::pool::global;

pub(crate) const NAME: &str = "chili";

/// Chili names no limit; this guess is beyond any sensible request.
pub(crate) const MAX_THREADS: usize = 1 << 16;

/// The facts about its pool that a job needs on any thread. These facts live as long as the
/// program, because jobs hold references to them.
struct About {
    threads: usize,
}

static NOWHERE: About = About { threads: 0 };

thread_local! {
    /// The scope that the thread works in; null outside of pools.
    static SCOPE: Cell<*mut chili::Scope<'static>> = const { Cell::new(ptr::null_mut()) };
    /// The pool of the scope in `SCOPE`.
    static ABOUT: Cell<&'static About> = const { Cell::new(&NOWHERE) };
}

fn is_outside() -> bool {
    SCOPE.get().is_null()
}

pub(crate) struct Pool {
    pool: chili::ThreadPool,
    about: &'static About,
}

impl Pool {
    /// Starts a pool of `threads` threads. As in chili, the thread that calls `install` is one of
    /// them.
    pub(crate) fn start(threads: usize) -> Self {
        let pool = chili::ThreadPool::with_config(chili::Config {
            thread_count: NonZero::new(threads),
            ..chili::Config::default()
        });
        Self {
            pool,
            about: Box::leak(Box::new(About { threads })),
        }
    }

    pub(crate) fn enter<R>(&self, op: impl FnOnce() -> R) -> R {
        if ptr::eq(ABOUT.get(), self.about) {
            return op();
        }
        // `Restore` also resets the thread-locals when `op` panics.
        let _restore = Restore {
            scope: SCOPE.get(),
            about: ABOUT.get(),
        };
        let mut scope = self.pool.scope();
        SCOPE.set(ptr::from_mut(&mut scope).cast());
        ABOUT.set(self.about);
        op()
    }

    #[expect(clippy::unused_self, reason = "other rivals have it")]
    pub(crate) fn run_on_each(&self, _share: &(dyn Fn(usize) + Sync)) {
        missing("broadcast")
    }
}

struct Restore {
    scope: *mut chili::Scope<'static>,
    about: &'static About,
}

impl Drop for Restore {
    fn drop(&mut self) {
        SCOPE.set(self.scope);
        ABOUT.set(self.about);
    }
}

pub(crate) fn current_num_threads() -> Option<usize> {
    (!is_outside()).then(|| ABOUT.get().threads)
}

/// Ends the process when a closure of `join` panics: chili would continue with a job whose frame is
/// gone.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        eprintln!("a closure of `join` panicked, which chili does not survive");
        process::abort();
    }
}

pub(crate) fn with_current<R>(_body: impl FnOnce(Option<&Pool>) -> R) -> R {
    missing("broadcast")
}

#[inline]
pub(crate) fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    fork(oper_a, |_| oper_b())
}

/// Like [`join`](crate::join()), but each closure learns whether it moved to another thread.
#[inline]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    fork(
        || oper_a(FnContext::new(false)),
        |migrated| oper_b(FnContext::new(migrated)),
    )
}

/// Runs both closures. The second closure learns whether it runs on another thread.
#[inline]
fn fork<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let home = SCOPE.get();
    if home.is_null() {
        return global().enter(|| fork(oper_a, oper_b));
    }
    let (address, about) = (home.addr(), ABOUT.get());
    let guard = AbortOnUnwind;
    // SAFETY: the pointer is to a scope further up on this stack: `enter` opened the scope, or
    // chili passed it to the closure that runs now. No other code uses the scope before that
    // closure continues: the closures below use the scopes that chili derives from this scope.
    let scope = unsafe { &mut *home };
    // Chili calls the second closure on this thread and offers the first closure to other threads;
    // rayon does the opposite.
    let (b, a) = scope.join(
        move |scope| {
            let scope: *mut chili::Scope<'static> = ptr::from_mut(scope).cast();
            // A thread has one scope per pool, so a different scope means a different thread.
            let migrated = scope.addr() != address;
            if migrated {
                SCOPE.set(scope);
                ABOUT.set(about);
            } else {
                set_again(scope);
            }
            oper_b(migrated)
        },
        move |scope| {
            set_again(ptr::from_mut(scope).cast());
            oper_a()
        },
    );
    mem::forget(guard);
    set_again(home);
    (a, b)
}

/// Makes the compiler assume that `SCOPE.set(scope)` ran, but stores nothing. The cell must already
/// have the address `scope`.
///
/// Three real stores would lengthen a small join of chili by half. Without any store, the compiler
/// could assume that only chili's function has the borrow. It could then keep fields of the scope
/// in registers while a closure changes them.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "a call would cost as much as this saves"
)]
fn set_again(scope: *mut chili::Scope<'static>) {
    // SAFETY: the assembly has no instruction, and `SCOPE.set(scope)` would write the bytes that
    // the cell already has. The compiler must assume that the assembly stored the pointer.
    unsafe { asm!("/* {0} */", in(reg) scope, options(nostack, preserves_flags)) }
}

type Job<'scope> = Box<dyn FnOnce(&Scope<'scope>) + Send + 'scope>;

/// Jobs that wait for the end of a scope. Chili has no such jobs, so this adapter keeps them. It
/// then runs the first half and the second half of the jobs in a join, and so on recursively.
pub struct Scope<'scope> {
    jobs: Mutex<Vec<Option<Job<'scope>>>>,
}

impl<'scope> Scope<'scope> {
    /// Runs `body` when the closure that opened the scope has returned.
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let job: Job<'scope> = Box::new(body);
        self.jobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Some(job));
    }

    fn run(&self, jobs: &mut [Option<Job<'scope>>]) {
        match jobs {
            [] => {}
            [job] => job.take().into_iter().for_each(|job| job(self)),
            _ => {
                let (first, second) = jobs.split_at_mut(jobs.len() / 2);
                join(|| self.run(first), || self.run(second));
            }
        }
    }
}

/// Runs `op` with a scope, and then all jobs that `op` and those jobs have spawned in the scope.
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    if is_outside() {
        return global().enter(|| in_place_scope(op));
    }
    let scope = Scope {
        jobs: Mutex::default(),
    };
    let result = op(&scope);
    loop {
        let mut jobs = mem::take(&mut *scope.jobs.lock().unwrap_or_else(PoisonError::into_inner));
        if jobs.is_empty() {
            return result;
        }
        scope.run(&mut jobs);
    }
}
