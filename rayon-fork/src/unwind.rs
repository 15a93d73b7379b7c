//! Panics: caught where a job ends, carried to the thread that waits for it, and fatal inside the
//! scheduler.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What a panic carried.
pub(crate) type Payload = Box<dyn Any + Send + 'static>;

/// Runs `body`; a panic becomes an `Err` with its payload.
///
/// The caller resumes, stores or hands over the payload, so nobody sees state that the panic broke
/// without also seeing the panic: that is why unwind safety may be asserted here.
#[inline]
pub(crate) fn capture<R>(body: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(body))
}

/// Goes on with a captured panic. The panic hook does not run a second time.
pub(crate) fn resume(payload: Payload) -> ! {
    resume_unwind(payload)
}

/// Drops a panic that loses against another one, or against a result that nobody takes any more.
///
/// The payload is a user's, so its drop may panic, too. That panic ends here: the hook has reported
/// it, as it has reported the one that loses, and neither may take the place of the panic that the
/// caller keeps, or end the wait that the caller is in. What the second panic carries is leaked,
/// since its drop may panic in turn.
#[cold]
#[inline(never)]
pub(crate) fn discard(payload: Payload) {
    if let Err(of_its_drop) = capture(|| drop(payload)) {
        std::mem::forget(of_its_drop);
    }
}

/// Ends the process if it is dropped by unwinding out of a place that must not unwind.
///
/// Other threads hold pointers into the frames of such places, so unwinding would leave those
/// dangling. [`Fatal::disarm`] at the end of the place.
///
/// Without a size, as jobs nest: which of [`PLACES`] it is, is in its type.
pub(crate) struct Fatal<const PLACE: usize>;

/// Places that must not unwind, as people read them.
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

/// Reports on standard error and aborts the process.
#[cold]
pub(crate) fn die(place: &str) -> ! {
    eprintln!("rayon-core: panic with nowhere to go in {place}; aborting the process");
    std::process::abort();
}
