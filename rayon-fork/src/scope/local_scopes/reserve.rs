//! Units of a scope's count that a worker holds, so that it need not write the count for each job.
//!
//! When a worker may hold them, and why no scope ends early or late, is in `README.md`.

use std::cell::Cell;
use std::ptr;

/// Units that a worker fetches when it has none left. A guess: with so many a flood of jobs leaves
/// the count alone.
const FETCHED: usize = if cfg!(fork_loom) { 2 } else { 64 };

/// What a scope waits for, in units. The scope ends when there are none.
pub(crate) trait Counted {
    /// More units, by somebody who knows that the scope is open.
    fn add(&self, units: usize);

    /// Whether there are so many units. If so, all that was done before others were taken off is
    /// visible.
    fn is(&self, units: usize) -> bool;

    /// Takes units off, and ends the scope if none is left.
    ///
    /// # Safety
    ///
    /// The caller holds these units, so that the scope is open. It may be freed when this returns.
    unsafe fn take_off(this: *const Self, units: usize);
}

/// What one worker holds: units of one scope. For the worker's own thread alone.
pub(crate) struct Reserve<C> {
    /// The scope whose job the worker runs or just ran, or that the worker itself waits for; null
    /// for none. Not to be followed without units.
    scope: Cell<*const C>,
    units: Cell<usize>,
}

impl<C: Counted> Reserve<C> {
    pub(crate) fn new() -> Self {
        Self {
            scope: Cell::new(ptr::null()),
            units: Cell::new(0),
        }
    }

    /// Counts a job that the worker spawns. `is_own` says that this worker waits for the scope.
    ///
    /// A unit left over must keep nobody waiting: it goes back after a job of the scope, or is
    /// counted by the one who waits. What other jobs spawn has neither, and counts directly.
    #[inline]
    pub(crate) fn count_job(&self, scope: &C, is_own: impl FnOnce() -> bool) {
        if !ptr::eq(self.scope.get(), scope) {
            if !is_own() {
                return scope.add(1);
            }
            self.turn_to(scope);
        }
        match self.units.get() {
            0 => {
                scope.add(FETCHED);
                self.units.set(FETCHED - 1);
            }
            units => self.units.set(units - 1),
        }
    }

    /// The worker turns to a job of `scope`.
    #[inline]
    pub(crate) fn begin_job(&self, scope: *const C) {
        if !ptr::eq(self.scope.get(), scope) {
            self.turn_to(scope);
        }
    }

    /// A job of `scope` has ended, and leaves its unit here.
    #[inline]
    pub(crate) fn end_job(&self, scope: *const C) {
        // Jobs that ran within this one may have turned the worker away.
        self.begin_job(scope);
        self.units.set(self.units.get() + 1);
    }

    /// Whether the worker's units are all of the scope.
    #[inline]
    pub(crate) fn completes(&self, scope: &C) -> bool {
        let units = if ptr::eq(self.scope.get(), scope) {
            self.units.get()
        } else {
            0
        };
        // Where there are none, somebody else took off the last one, and may still be telling us.
        units > 0 && scope.is(units)
    }

    /// The worker has waited for `scope`, which has ended: its units, if any, mean nothing now.
    #[inline]
    pub(crate) fn forget(&self, scope: &C) {
        if ptr::eq(self.scope.get(), scope) {
            self.scope.set(ptr::null());
            self.units.set(0);
        }
    }

    /// The scope that the worker is at, if any: for [`Self::go_back`].
    #[inline]
    pub(crate) fn scope(&self) -> *const C {
        self.scope.get()
    }

    /// A job has ended that ran inside the one that the worker was at, when it was at `scope`.
    #[inline]
    pub(crate) fn go_back(&self, scope: *const C) {
        // If both are of one scope, what goes on keeps it open, and the units keep nobody waiting.
        if self.scope.get() != scope {
            self.turn_away();
        }
    }

    /// The worker turns to something else: gives back what it holds. `true` if it held any.
    #[inline]
    pub(crate) fn turn_away(&self) -> bool {
        let scope = self.scope.replace(ptr::null());
        let units = self.units.replace(0);
        if units == 0 {
            return false;
        }
        // SAFETY: the count includes these units, which are taken off once, as they are no longer
        // here.
        unsafe { give_back(scope, units) };
        true
    }

    #[cold]
    #[inline(never)]
    fn turn_to(&self, scope: *const C) {
        self.turn_away();
        self.scope.set(scope);
    }
}

/// As [`Counted::take_off`].
// Not inlined: jobs nest, and the caller's frame need not hold what ends a scope.
#[inline(never)]
unsafe fn give_back<C: Counted>(scope: *const C, units: usize) {
    // SAFETY: the caller's promise.
    unsafe { C::take_off(scope, units) };
}
