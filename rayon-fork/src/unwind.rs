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
pub(crate) fn discard(payload: Payload) {
    if let Err(of_its_drop) = capture(|| drop(payload)) {
        std::mem::forget(of_its_drop);
    }
}

/// Ends the process if it is dropped by unwinding out of a place that must not unwind.
///
/// Other threads hold pointers into the frames of such places, so unwinding would leave those
/// dangling. [`Fatal::disarm`] at the end of the place.
pub(crate) struct Fatal {
    place: &'static str,
}

impl Fatal {
    #[inline]
    pub(crate) fn unless_done(place: &'static str) -> Self {
        Self { place }
    }

    #[inline]
    pub(crate) fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for Fatal {
    #[cold]
    fn drop(&mut self) {
        die(self.place);
    }
}

/// Reports on standard error and aborts the process.
#[cold]
pub(crate) fn die(place: &str) -> ! {
    eprintln!("rayon-core: panic with nowhere to go in {place}; aborting the process");
    std::process::abort();
}
