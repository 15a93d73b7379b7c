//! Test-and-set: one word, which every waiting thread keeps writing.

use std::sync::atomic::Ordering::Release;

use super::Lock;
use super::sync::{AtomicBool, Patience, test_and_set};

/// `true` while a thread is inside.
pub(in super::super) struct Tas(AtomicBool);

// SAFETY: the flag turns from `false` to `true` in one step, so only the thread that turned it
// enters. The next can enter only after that one has stored `false` again, and the pair of Release
// and Acquire shows it everything written before.
unsafe impl Lock for Tas {
    fn new(_: usize) -> Self {
        Self(AtomicBool::new(false))
    }

    fn hold<R>(&self, section: impl FnOnce() -> R) -> R {
        let patience = Patience::new();
        // ORDERING: Acquire inside, pairs with the Release in `Held::drop`: this thread sees what
        // the last holder wrote. Otherwise it could take a packet that was taken already.
        while test_and_set(&self.0) {
            patience.wait();
        }
        let _held = Held(self);
        section()
    }

    fn try_hold<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        (!test_and_set(&self.0)).then(|| {
            let _held = Held(self);
            section()
        })
    }
}

/// Lets go when it is dropped, by a panic too.
struct Held<'a>(&'a Tas);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // ORDERING: Release, pairs with the Acquire in `test_and_set`; see `hold`.
        self.0.0.store(false, Release);
    }
}
