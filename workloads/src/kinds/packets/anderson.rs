//! The array lock of Anderson (1990): an arriving thread draws a ticket and waits at the place of
//! that number. A thread that leaves opens the next place.
//!
//! Two threads never wait at the same place: tickets are served in turn, and there are at least as
//! many places as threads.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crossbeam_utils::CachePadded;

use sync::{AtomicBool, AtomicUsize, UnsafeCell, wait};

pub(super) struct Anderson<T> {
    next_ticket: CachePadded<AtomicUsize>,
    is_open: Box<[CachePadded<AtomicBool>]>,
    value: UnsafeCell<T>,
}

// SAFETY: a shared lock gives out `&mut T` to one thread at a time (see `Held`), and no `&T` beside
// it. So threads pass the value on to each other, which `T: Send` allows.
unsafe impl<T: Send> Sync for Anderson<T> {}

impl<T> Anderson<T> {
    pub(super) fn new(value: T, threads: usize) -> Self {
        // The number of places is a power of two, so that the order of places continues when the
        // tickets wrap around.
        let places = threads.max(1).next_power_of_two();
        let is_open = (0..places).map(|place| CachePadded::new(AtomicBool::new(place == 0)));
        Self {
            next_ticket: CachePadded::new(AtomicUsize::new(0)),
            is_open: is_open.collect(),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for the lock, and releases it even if `work` panics.
    pub(super) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        // ORDERING: AcqRel. In the previous round, the thread at our place shut the place and later
        // left. We see that store, because each draw sees all earlier draws. So we cannot mistake
        // an old opening for ours.
        let ticket = self.next_ticket.fetch_add(1, AcqRel);
        // ORDERING: Acquire, pairs with the Release in `Held::drop`: the writes of the holder
        // before us are visible.
        wait(|| self.place(ticket).load(Acquire));
        Held::new(self, ticket).work(work)
    }

    pub(super) fn try_with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        // ORDERING: Acquire, like the draw in `with`.
        let ticket = self.next_ticket.load(Acquire);
        // ORDERING: Acquire, pairs with the Release in `Held::drop`, as in the loop of `with`.
        if !self.place(ticket).load(Acquire) {
            return None;
        }
        // If our ticket is still the next ticket, no other thread has drawn it. ORDERING: AcqRel as
        // in `with`; Relaxed on failure, because this thread then does not read the value.
        self.next_ticket
            .compare_exchange(ticket, ticket.wrapping_add(1), AcqRel, Relaxed)
            .ok()?;
        Some(Held::new(self, ticket).work(work))
    }

    fn place(&self, ticket: usize) -> &AtomicBool {
        &self.is_open[ticket & (self.is_open.len() - 1)]
    }

    /// A number that changes with each thread that arrives.
    #[cfg(all(test, locks_loom))]
    pub(super) fn comers(&self) -> usize {
        // ORDERING: Acquire: a thread that sees this number arrives after all threads that the
        // number counts.
        self.next_ticket.load(Acquire)
    }
}

/// The right to access the value, which ends when the `Held` is dropped.
///
/// At first only the place of ticket 0 is open. A thread shuts its own place when it enters, and
/// opens the next place when it leaves. So at most one place is open, and no place is open while a
/// thread is inside.
struct Held<'a, T> {
    lock: &'a Anderson<T>,
    ticket: usize,
}

impl<'a, T> Held<'a, T> {
    fn new(lock: &'a Anderson<T>, ticket: usize) -> Self {
        // Relaxed: the next thread at this place sees the store, because each draw sees all earlier
        // draws (see `with`).
        lock.place(ticket).store(false, Relaxed);
        Self { lock, ticket }
    }

    fn work<R>(self, work: impl FnOnce(&mut T) -> R) -> R {
        self.lock.value.with_mut(|value| {
            // SAFETY: there is one `Held` at a time, and each sees the writes of the previous
            // `Held`. So this is the only reference to the value.
            work(unsafe { &mut *value })
        })
    }
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        // ORDERING: Release, pairs with the Acquire of the thread that waits at the next place,
        // which then sees our writes.
        self.lock
            .place(self.ticket.wrapping_add(1))
            .store(true, Release);
    }
}

#[cfg(not(locks_loom))]
mod sync {
    pub(super) use std::sync::atomic::{AtomicBool, AtomicUsize};

    use crossbeam_utils::Backoff;

    pub(super) fn wait(is_over: impl Fn() -> bool) {
        let backoff = Backoff::new();
        while !is_over() {
            backoff.snooze();
        }
    }

    pub(super) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(super) fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        #[inline]
        pub(super) fn with_mut<R>(&self, work: impl FnOnce(*mut T) -> R) -> R {
            work(self.0.get())
        }
    }
}

#[cfg(locks_loom)]
mod sync {
    pub(super) use loom::cell::UnsafeCell;
    pub(super) use loom::sync::atomic::{AtomicBool, AtomicUsize};

    pub(super) fn wait(is_over: impl Fn() -> bool) {
        while !is_over() {
            loom::thread::yield_now();
        }
    }
}

#[cfg(all(test, locks_loom))]
#[path = "models.rs"]
mod models;

#[cfg(all(test, not(locks_loom)))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::*;

    const ROUNDS: usize = if cfg!(miri) { 20 } else { 5_000 };

    #[test]
    fn one_thread_at_a_time_is_inside_whether_it_waited_or_tried() {
        let threads = 6;
        let pair = Anderson::new((0_usize, 0_usize), threads);
        let tried = AtomicUsize::new(0);
        let start = Barrier::new(threads);
        thread::scope(|scope| {
            for number in 0..threads {
                let (pair, tried, start) = (&pair, &tried, &start);
                scope.spawn(move || {
                    start.wait();
                    let count = |pair: &mut (usize, usize)| {
                        assert_eq!(pair.0, pair.1, "another thread is inside");
                        pair.0 += 1;
                        std::hint::black_box(&mut *pair);
                        pair.1 += 1;
                    };
                    for _ in 0..ROUNDS {
                        if number % 2 == 0 {
                            pair.with(count);
                        } else if pair.try_with(count).is_some() {
                            tried.fetch_add(1, Relaxed);
                        }
                    }
                });
            }
        });
        let counted = threads / 2 * ROUNDS + tried.load(Relaxed);
        assert_eq!(pair.with(|pair| *pair), (counted, counted));
    }

    #[test]
    fn a_try_fails_while_a_thread_is_inside_and_succeeds_after_it_even_if_it_panicked() {
        let lock = Anderson::new(0, 2);
        lock.with(|_| {
            thread::scope(|scope| {
                let tried = scope.spawn(|| lock.try_with(|_| ()));
                assert_eq!(tried.join().unwrap(), None, "another thread is inside");
            });
        });
        for _ in 0..20 {
            assert_eq!(lock.try_with(|_| 5), Some(5));
            catch_unwind(AssertUnwindSafe(|| {
                lock.with(|_| -> () { panic!("inside") });
            }))
            .unwrap_err();
        }
        assert_eq!(lock.try_with(|value| *value), Some(0));
    }
}
