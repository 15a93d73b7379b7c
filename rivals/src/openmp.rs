//! The rival OpenMP: `#pragma omp parallel` of the compiler that `cc` finds, usually gcc with
//! libgomp. OpenMP's threads belong to the thread that opens a fork-join region, which runs one of
//! the shares itself. After the region the other threads spin for a while, and then sleep
//! (`OMP_WAIT_POLICY`, `GOMP_SPINCOUNT`).

use std::ffi::{c_int, c_void};

pub(crate) const NAME: &str = "openmp";

unsafe extern "C" {
    /// Calls `share` with `context` and each number below `threads`. Defined in `openmp.c`.
    fn rival_run_on_each(
        threads: c_int,
        share: unsafe extern "C" fn(*const c_void, c_int),
        context: *const c_void,
    );
}

pub(crate) struct Threads(c_int);

impl Threads {
    pub(crate) fn start(threads: usize) -> Self {
        Self(c_int::try_from(threads).expect("a pool has few threads"))
    }

    pub(crate) fn run_on_each(&mut self, share: &(dyn Fn(usize) + Sync)) {
        unsafe extern "C" fn call(context: *const c_void, thread: c_int) {
            // SAFETY: `context` points to the reference `share` below, which lives until the region
            // has ended.
            let share = unsafe { *context.cast::<&(dyn Fn(usize) + Sync)>() };
            share(usize::try_from(thread).expect("threads are numbered from 0"));
        }
        // SAFETY: the function returns when every call of `call` has returned, and `context` has
        // the type that `call` expects.
        unsafe { rival_run_on_each(self.0, call, (&raw const share).cast()) }
    }
}
