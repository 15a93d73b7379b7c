//! A sharded reference count: a worker keeps units of a scope's count, so that it seldom writes the
//! count. `README.md` says when a worker may keep units, and why no scope ends early or late.

use std::cell::Cell;
use std::ptr;

/// The units that a worker fetches when it has none left. A guess.
const FETCHED: usize = if cfg!(fork_loom) { 2 } else { 64 };

/// The count of a scope, in units. The scope ends when no unit is left.
pub(crate) trait Counted {
    fn add(&self, units: usize);

    /// Returns whether there are exactly this many units. If so, everything that other threads did
    /// before they took units off is visible.
    fn is(&self, units: usize) -> bool;

    /// Takes units off, and ends the scope if none is left.
    ///
    /// # Safety
    ///
    /// The caller has these units, so the scope is open. The scope may be freed when this function
    /// returns.
    unsafe fn take_off(this: *const Self, units: usize);
}

/// The units of one scope that one worker keeps.
pub(crate) struct Shard<C> {
    /// The worker's current scope, or null. This is the scope of the job that the worker runs or
    /// just ran, or the scope for which the worker waits. A worker without units must not follow
    /// this pointer.
    scope: Cell<*const C>,
    units: Cell<usize>,
}

impl<C: Counted> Shard<C> {
    pub(crate) fn new() -> Self {
        Self {
            scope: Cell::new(ptr::null()),
            units: Cell::new(0),
        }
    }

    /// Counts a job that the worker spawns. `is_own` says that this worker waits for the scope.
    ///
    /// A unit that the worker does not use must not delay the end of the scope. After a job of the
    /// scope, the worker returns such units, and the scope's owner subtracts its own units. In any
    /// other job, unused units could delay the end of the scope, so a spawn there adds one to the
    /// count.
    #[inline]
    pub(crate) fn count_job(&self, scope: &C, is_own: impl FnOnce() -> bool) {
        if !ptr::eq(self.scope.get(), scope) {
            if !is_own() {
                return scope.add(1);
            }
            self.switch_to(scope);
        }
        match self.units.get() {
            0 => {
                scope.add(FETCHED);
                self.units.set(FETCHED - 1);
            }
            units => self.units.set(units - 1),
        }
    }

    #[inline]
    pub(crate) fn begin_job(&self, scope: *const C) {
        if !ptr::eq(self.scope.get(), scope) {
            self.switch_to(scope);
        }
    }

    #[inline]
    pub(crate) fn end_job(&self, scope: *const C) {
        // Jobs that ran within this job may have made the worker return its units.
        self.begin_job(scope);
        self.units.set(self.units.get() + 1);
    }

    #[inline]
    pub(crate) fn completes(&self, scope: &C) -> bool {
        let units = if ptr::eq(self.scope.get(), scope) {
            self.units.get()
        } else {
            0
        };
        // If this worker has no units, another thread takes off the last unit, and may still be
        // setting the latch.
        units > 0 && scope.is(units)
    }

    /// Call this when the worker has waited for `scope`, and the scope has ended. Drops the
    /// worker's units without touching the count.
    #[inline]
    pub(crate) fn forget(&self, scope: &C) {
        if ptr::eq(self.scope.get(), scope) {
            self.scope.set(ptr::null());
            self.units.set(0);
        }
    }

    #[inline]
    pub(crate) fn scope(&self) -> *const C {
        self.scope.get()
    }

    /// Call this when a job that ran inside another one has ended. `scope` was the current scope
    /// when that job began.
    #[inline]
    pub(crate) fn go_back(&self, scope: *const C) {
        // If both jobs are of one scope, the outer job keeps that scope open.
        if self.scope.get() != scope {
            self.return_units();
        }
    }

    #[inline]
    pub(crate) fn return_units(&self) -> bool {
        let scope = self.scope.replace(ptr::null());
        let units = self.units.replace(0);
        if units == 0 {
            return false;
        }
        // SAFETY: the count includes these units, and this shard no longer holds them.
        unsafe { give_back(scope, units) };
        true
    }

    #[cold]
    #[inline(never)]
    fn switch_to(&self, scope: *const C) {
        self.return_units();
        self.scope.set(scope);
    }
}

/// Not inlined: jobs nest, and the caller's frame need not hold the code that ends a scope.
#[inline(never)]
unsafe fn give_back<C: Counted>(scope: *const C, units: usize) {
    // SAFETY: the caller upholds the contract of this function.
    unsafe { C::take_off(scope, units) };
}
