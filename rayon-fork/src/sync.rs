//! The interface to the machine. Only this module names the standard library's atomics, locks,
//! condition variables, yielding and thread parking. Only `sync/asymmetric.rs` names the kernel's
//! fences.
//!
//! There are two groups. Most of the crate uses the plain one. `sleep/` and `core_latch.rs` use
//! [`modelled`]. A build with `--cfg fork_loom` takes that from loom, so that the models run the
//! very code that the pool runs. The rest of the crate cannot use loom. Its atomics have no
//! `const fn new`, and statics need one.

#[cfg(not(fork_loom))]
mod asymmetric;
// As `deque::on_demand`.
#[cfg(not(fork_loom))]
#[allow(dead_code)]
mod fences;
// As `fences`.
#[allow(dead_code)]
mod registration;
// As `fences`.
#[allow(dead_code)]
mod rounds;

/// The parts of the standard library and of the kernel that the crate uses.
mod machine {
    #[cfg(not(fork_loom))]
    #[allow(unused_imports)]
    pub(crate) use super::asymmetric::{
        light_fence, prepare_heavy_fences, registers_at_once, try_heavy_fence,
        wait_for_grace_period,
    };
    #[cfg(not(feature = "web_spin_lock"))]
    pub(crate) use std::sync::OnceLock;
    #[cfg(feature = "instrument")]
    pub(crate) use std::sync::atomic::AtomicBool;
    #[cfg(all(target_has_atomic = "64", not(fork_loom)))]
    #[allow(unused_imports)]
    pub(crate) use std::sync::atomic::AtomicU64;
    #[cfg(not(fork_loom))]
    pub(crate) use std::sync::atomic::fence;
    pub(crate) use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
    #[cfg(not(fork_loom))]
    pub(crate) use std::thread::yield_now;
    pub(crate) use std::time::Instant;
    pub(crate) use std::{hint, thread};
    #[cfg(feature = "web_spin_lock")]
    pub(crate) use wasm_sync::OnceLock;
}

#[cfg(feature = "instrument")]
pub(crate) use machine::{AtomicBool, AtomicU64};
pub(crate) use machine::{AtomicPtr, AtomicUsize, Instant, OnceLock, Ordering, hint, thread};

/// Declares a thread-local value, for reads and writes of a whole `Cell`.
macro_rules! cell_of_thread {
    ($(#[$doc:meta])* static $name:ident: Cell<$value:ty> = $first:expr;) => {
        ::std::thread_local! {
            $(#[$doc])*
            static $name: ::std::cell::Cell<$value> = const { ::std::cell::Cell::new($first) };
        }
    };
}
pub(crate) use cell_of_thread;

/// A mutex and a condition variable without poisoning, over those of a module with the interface of
/// `std::sync`.
///
/// No thread holds a lock of this crate while it runs user code, and no critical section leaves its
/// data half changed. So a poisoned lock would only report a second time a panic that is already on
/// its way.
macro_rules! unpoisoned_locks {
    ($backend:path, $guard:path) => {
        use $backend as backend;
        /// Grants access to the data of one [`Mutex`] until dropped.
        pub(crate) use $guard;

        /// A mutex that ignores panics.
        pub(crate) struct Mutex<T>(backend::Mutex<T>);

        impl<T> Mutex<T> {
            /// Creates an unlocked mutex around `value`.
            pub(crate) fn new(value: T) -> Self {
                Self(backend::Mutex::new(value))
            }

            /// Blocks until the mutex is free, and takes it.
            #[inline]
            pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
                self.0
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
            }

            /// Takes the mutex if it is free.
            #[inline]
            pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
                match self.0.try_lock() {
                    Ok(guard) => Some(guard),
                    Err(std::sync::TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                    Err(std::sync::TryLockError::WouldBlock) => None,
                }
            }
        }

        /// A condition variable for guards of [`Mutex`].
        pub(crate) struct Condvar(backend::Condvar);

        impl Condvar {
            /// Creates a condition variable on which no thread waits.
            pub(crate) fn new() -> Self {
                Self(backend::Condvar::new())
            }

            /// Releases the mutex, blocks until notified (or for no reason at all), and takes the
            /// mutex again.
            #[inline]
            pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
                self.0
                    .wait(guard)
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
            }

            /// Wakes every waiting thread.
            #[inline]
            pub(crate) fn notify_all(&self) {
                self.0.notify_all();
            }
        }
    };
}

mod locks {
    // The main thread of a browser must not block, so there the locks spin.
    #[cfg(not(feature = "web_spin_lock"))]
    unpoisoned_locks!(std::sync, std::sync::MutexGuard);
    #[cfg(feature = "web_spin_lock")]
    unpoisoned_locks!(wasm_sync, std::sync::MutexGuard);
}
// With `warm-install`, no file takes `Condvar` from here.
#[allow(unused_imports)]
pub(crate) use locks::{Condvar, Mutex};

/// The primitives of the sleep protocol; under `--cfg fork_loom`, loom's versions.
#[cfg(not(fork_loom))]
pub(crate) mod modelled {
    #[allow(unused_imports)]
    pub(crate) use super::fences::Fences;
    pub(crate) use super::locks::{Condvar, Mutex, MutexGuard};
    #[allow(unused_imports)]
    pub(crate) use super::machine::AtomicPtr;
    #[cfg(target_has_atomic = "64")]
    #[allow(unused_imports)]
    pub(crate) use super::machine::{AtomicU64, AtomicU64 as Unmodelled};
    pub(crate) use super::machine::{AtomicUsize, Ordering, fence, yield_now};
    #[allow(unused_imports)]
    pub(crate) use super::machine::{light_fence, try_heavy_fence, wait_for_grace_period};

    /// Does nothing. The model needs a fence where the machine's total order of `SeqCst` accesses
    /// already suffices.
    #[inline(always)]
    pub(crate) fn fence_for_loom() {}
}

/// The primitives of the sleep protocol; under `--cfg fork_loom`, loom's versions.
#[cfg(fork_loom)]
pub(crate) mod modelled {
    #[cfg(test)]
    pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU64};
    pub(crate) use loom::sync::atomic::{AtomicUsize, Ordering};
    /// For hints, which order nothing. It is not loom's, because it must not add schedules.
    #[cfg(test)]
    pub(crate) use std::sync::atomic::AtomicU64 as Unmodelled;

    unpoisoned_locks!(loom::sync, loom::sync::MutexGuard);

    loom::lazy_static! {
        static ref FENCES: AtomicUsize = AtomicUsize::new(0);
        static ref ASYMMETRIC_FENCES: AtomicUsize = AtomicUsize::new(0);
    }
    std::thread_local! {
        static ARE_FENCES_EVENTS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    }

    /// Begins one execution, before it spawns threads. `are_fences_events` says whether loom
    /// explores the order of fences as events.
    ///
    /// By default loom runs a fence in one piece with the access before it. So it misses failures
    /// that need another thread in between. As an event, each fence touches one common word,
    /// relaxed. That finds those failures, but adds so many schedules that others get out of reach.
    /// So models are run both ways.
    #[cfg(test)]
    pub(crate) fn begin_execution(are_fences_events: bool) {
        // All threads of a model take turns on one thread of the system.
        ARE_FENCES_EVENTS.set(are_fences_events);
        // The first touch creates the word. If another thread did that, it would order that thread
        // before all others.
        fence(Ordering::SeqCst);
    }

    /// A fence, which is also an event if the model wants that.
    pub(crate) fn fence(ordering: Ordering) {
        if ARE_FENCES_EVENTS.get() {
            FENCES.fetch_add(1, Ordering::Relaxed);
        }
        loom::sync::atomic::fence(ordering);
    }

    /// Creates the word below, for the same reason as in [`begin_execution`]. Only this does so: in
    /// models that do not use the word, it would change the course of loom's bounded search.
    // The version that calls the kernel may fail.
    #[allow(clippy::unnecessary_wraps)]
    pub(crate) fn prepare_heavy_fences() -> std::io::Result<()> {
        light_fence();
        Ok(())
    }

    /// One side of an ordered pair: a step on a word that only such pairs use. So it orders nothing
    /// with any fence but its partner. (It also orders other light fences, which the real one does
    /// not.)
    pub(crate) fn light_fence() {
        // ORDERING: AcqRel. One of two steps is first, and the thread of the other sees what came
        // before it. That is what `sync/asymmetric.rs` promises of a pair.
        ASYMMETRIC_FENCES.fetch_add(1, Ordering::AcqRel);
    }

    /// The other side, which is also an ordinary fence.
    pub(crate) fn heavy_fence() {
        fence(Ordering::SeqCst);
        // ORDERING: AcqRel, as in `light_fence`.
        ASYMMETRIC_FENCES.fetch_add(1, Ordering::AcqRel);
    }

    /// As `heavy_fence`.
    pub(crate) fn try_heavy_fence() -> bool {
        heavy_fence();
        true
    }

    /// Every thread's stores become visible, by assumption.
    pub(crate) fn wait_for_grace_period() {
        heavy_fence();
    }

    /// Pairs of fences, as above.
    #[cfg(test)]
    #[derive(Clone, Copy)]
    pub(crate) struct Fences {
        /// If false, `heavy` is only a local fence (a planted mistake).
        is_heavy: bool,
    }

    #[cfg(test)]
    impl Fences {
        /// Creates the fences before the threads of a model start, for the reason in
        /// [`begin_execution`].
        pub(crate) fn cheapest() -> Self {
            light_fence();
            Self { is_heavy: true }
        }

        /// For pools that do not use them: they are no step of a model.
        pub(crate) fn full() -> Self {
            Self { is_heavy: false }
        }

        /// As `full`.
        pub(crate) fn alone() -> Self {
            Self::full()
        }

        /// As `cheapest`.
        pub(crate) fn cheapest_in_time() -> Self {
            Self::cheapest()
        }

        /// A model's fences are there from the start.
        pub(crate) fn is_register_called_for(self) -> bool {
            false
        }

        /// Nothing to do.
        pub(crate) fn register(self) {}

        /// For people.
        pub(crate) fn name(self) -> &'static str {
            "modelled"
        }

        /// Mistake: no thread fences for others.
        pub(crate) fn without_heavy_ones() -> Self {
            Self {
                is_heavy: false,
                ..Self::cheapest()
            }
        }

        /// The side of a pair that threads execute often.
        pub(crate) fn light(self) {
            light_fence();
        }

        /// The side of a pair that threads execute seldom.
        pub(crate) fn heavy(self) {
            if self.is_heavy {
                heavy_fence();
            } else {
                fence(Ordering::SeqCst);
            }
        }
    }

    /// Stands in for a `SeqCst` access. Loom treats those as acquire and release accesses, but it
    /// does model this fence.
    pub(crate) fn fence_for_loom() {
        // ORDERING: SeqCst fence. On a real machine the first access is a locked one, or both
        // accesses are loads. There this fence orders nothing that the machine does not order
        // anyway.
        fence(Ordering::SeqCst);
    }

    /// Does nothing. Loom would make another thread run first, and so skip the schedules in which
    /// none does. No loop of the protocol needs the yield to end.
    pub(crate) fn yield_now() {}
}
