//! Panics: caught where a job ends, carried to the thread that waits, and fatal inside the
//! scheduler.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

pub(crate) type Payload = Box<dyn Any + Send + 'static>;

/// Runs `body`, and returns its result or the payload of its panic.
///
/// The caller resumes the panic, stores the payload, or hands it to another thread. So a thread
/// that sees state broken by the panic also sees the panic. For this reason `capture` may assert
/// unwind safety.
#[inline]
pub(crate) fn capture<R>(body: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(body))
}

/// Resumes the panic of `payload`. The panic hook does not run a second time.
pub(crate) fn resume(payload: Payload) -> ! {
    resume_unwind(payload)
}

/// Drops the payload of a panic that is not reported to the caller.
///
/// The payload's type is the user's, so its drop may panic, too. This function catches the second
/// panic, because that panic must not replace the first panic, or end the caller's wait. The
/// payload of the second panic is leaked, because its drop may panic in turn.
#[cold]
#[inline(never)]
pub(crate) fn discard(payload: Payload) {
    if let Err(of_its_drop) = capture(|| drop(payload)) {
        std::mem::forget(of_its_drop);
    }
}

/// A guard for a place that must not unwind, because other threads hold pointers into its frames.
/// If unwinding drops the guard, the process aborts. Call [`Fatal::disarm`] where unwinding is safe
/// again. The guard has no size, because jobs nest: its type says which of [`PLACES`] it guards.
pub(crate) struct Fatal<const PLACE: usize>;

const PLACES: [&str; 4] = [
    "a job",
    "the end of a job",
    "a worker's wait",
    "a worker's main loop",
];
pub(crate) const A_JOB: usize = 0;
pub(crate) const THE_END_OF_A_JOB: usize = 1;
pub(crate) const A_WAIT: usize = 2;
pub(crate) const THE_MAIN_LOOP: usize = 3;

impl<const PLACE: usize> Fatal<PLACE> {
    #[inline]
    pub(crate) fn unless_done() -> Self {
        Self
    }

    #[inline]
    pub(crate) fn disarm(self) {
        std::mem::forget(self);
    }
}

impl<const PLACE: usize> Drop for Fatal<PLACE> {
    #[cold]
    fn drop(&mut self) {
        die(PLACES[PLACE]);
    }
}

#[cold]
pub(crate) fn die(place: &str) -> ! {
    eprintln!("rayon-core: panic with nowhere to go in {place}; aborting the process");
    std::process::abort();
}
