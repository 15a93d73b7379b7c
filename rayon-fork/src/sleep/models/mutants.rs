//! Mutants of the counters, of their fences and of slots. Each mutant wraps the real type, and
//! replaces one step by a planted mistake. `OneBitOfEvents` is no mutant: the models must pass with
//! it.

use crate::sleep::counters::dimensions::{Dimensions, Fence};
use crate::sleep::counters::{Packed, SleepCounters, SleepyTicket, Split};
use crate::sleep::parking::{ParkingSlot, Slot, State};
use crate::sync::modelled::{Ordering, fence, fence_for_loom};
use std::marker::PhantomData;
use std::time::Duration;

/// The steps in which a mutant differs from the counters `C`.
pub(super) trait Change<C: SleepCounters>: Send + Sync + 'static {
    fn end_search(real: &C, worker: usize) -> usize {
        real.end_search(worker)
    }

    fn try_begin_sleep(real: &C, worker: usize, ticket: SleepyTicket) -> bool {
        real.try_begin_sleep(worker, ticket)
    }

    fn notify_job(real: &C, queue_was_empty: bool) -> usize {
        real.notify_job(queue_was_empty)
    }

    fn sleeping(real: &C) -> usize {
        real.sleeping()
    }
}

pub(super) struct With<T, C>(C, PhantomData<T>);

impl<T: Change<C>, C: SleepCounters> SleepCounters for With<T, C> {
    const NAME: &'static str = C::NAME;
    type Dimensions = C::Dimensions;
    const COUNTS_SEARCHERS: bool = C::COUNTS_SEARCHERS;

    fn new(workers: usize) -> Self {
        Self(C::new(workers), PhantomData)
    }

    fn begin_search(&self, worker: usize) {
        self.0.begin_search(worker);
    }

    fn end_search(&self, worker: usize) -> usize {
        T::end_search(&self.0, worker)
    }

    fn become_sleepy(&self, worker: usize) -> SleepyTicket {
        self.0.become_sleepy(worker)
    }

    fn try_begin_sleep(&self, worker: usize, ticket: SleepyTicket) -> bool {
        T::try_begin_sleep(&self.0, worker, ticket)
    }

    fn end_sleep(&self, worker: usize) {
        self.0.end_sleep(worker);
    }

    fn notify_job(&self, queue_was_empty: bool) -> usize {
        T::notify_job(&self.0, queue_was_empty)
    }

    fn sleeping(&self) -> usize {
        T::sleeping(&self.0)
    }

    fn inactive(&self) -> usize {
        self.0.inactive()
    }

    fn events(&self) -> usize {
        self.0.events()
    }

    #[cfg(feature = "instrument")]
    fn uses(word: crate::hooks::Word) -> bool {
        C::uses(word)
    }
}

/// Planted mistake: only a push on an empty deque fences. Use this with counters whose fence is
/// [`NoPushFence`].
pub(super) enum FenceWhenEmpty {}

impl<C: SleepCounters> Change<C> for FenceWhenEmpty {
    fn notify_job(real: &C, queue_was_empty: bool) -> usize {
        if queue_was_empty {
            // ORDERING: SeqCst fence, in the place of `Fence::after_push`; the planted mistake is
            // that not every push executes it.
            fence(Ordering::SeqCst);
        }
        real.notify_job(queue_was_empty)
    }
}

/// Planted mistake: a worker that stops searching wakes no sleeper.
pub(super) enum NoPropagation {}

impl<C: SleepCounters> Change<C> for NoPropagation {
    fn end_search(real: &C, worker: usize) -> usize {
        real.end_search(worker);
        0
    }
}

/// Planted mistake: a worker of an oversubscribed pool that stops searching finds no sleeper to
/// wake.
pub(super) enum SeesNoSleepers {}

impl<C: SleepCounters> Change<C> for SeesNoSleepers {
    fn sleeping(_real: &C) -> usize {
        0
    }
}

/// Planted mistake: a worker that stops searching reads S before it lowers I.
pub(super) enum ReadsBeforeLeaving {}

impl<A: Dimensions> Change<Split<A>> for ReadsBeforeLeaving {
    fn end_search(real: &Split<A>, _worker: usize) -> usize {
        // ORDERING: as in the real `end_search`; only the order of the two accesses is wrong.
        let sleeping = real.sleeping.load(Ordering::SeqCst);
        fence_for_loom();
        real.inactive.fetch_sub(1, Ordering::SeqCst);
        sleeping.min(2)
    }
}

/// Planted mistake: a sleeper compares the events with its ticket first, and then registers.
pub(super) enum ReadsBeforeRegistering {}

impl<A: Dimensions> Change<Split<A>> for ReadsBeforeRegistering {
    fn try_begin_sleep(real: &Split<A>, _worker: usize, ticket: SleepyTicket) -> bool {
        // ORDERING: as in the real `try_begin_sleep`; only the order of the two accesses is wrong.
        let has_changed = real.events.load(Ordering::SeqCst) != ticket.0;
        if !has_changed {
            fence_for_loom();
            real.sleeping.fetch_add(1, Ordering::SeqCst);
        }
        !has_changed
    }
}

/// Not a mistake: the events counter has only one bit, so a worker does not notice two
/// notifications. A wider counter that wraps around is never less exact.
pub(super) enum OneBitOfEvents {}

impl<A: Dimensions> Change<Packed<A>> for OneBitOfEvents {
    fn try_begin_sleep(real: &Packed<A>, worker: usize, _ticket: SleepyTicket) -> bool {
        loop {
            let word = real.load();
            if word.has_changed() {
                return false;
            }
            if real.try_begin_sleep(worker, SleepyTicket(word.events())) {
                return true;
            }
        }
    }
}

/// Planted mistake: a push does not fence before its notification.
pub(super) struct NoPushFence<F>(PhantomData<F>);

impl<F: Fence> Fence for NoPushFence<F> {
    const NAME_PART: &'static str = F::NAME_PART;
    const SCANS_BEFORE_SLEEP: bool = F::SCANS_BEFORE_SLEEP;

    fn after_push() {}

    fn after_becoming_sleepy() {
        F::after_becoming_sleepy();
    }

    fn after_registering() {
        F::after_registering();
    }
}

macro_rules! slot_twin {
    ($(#[$doc:meta])* $name:ident, $($changed:item)*) => {
        $(#[$doc])*
        pub(super) struct $name(Slot);

        impl Handover for $name {
            fn real(&self) -> &Slot {
                &self.0
            }
            $($changed)*
        }

        impl ParkingSlot for $name {
            fn new() -> Self {
                Self(Slot::new())
            }

            fn park_if(&self, commit: impl FnOnce() -> bool) -> Option<Duration> {
                self.commit_and_park(commit)
            }

            fn try_arm(&self, commit: impl FnOnce() -> bool) -> bool {
                self.arm(commit)
            }

            fn park_unless_claimed(&self) -> Option<Duration> {
                self.park()
            }

            fn disarm(&self, unregister: impl FnOnce()) {
                self.back_out(unregister);
            }

            fn wake(&self, unregister: impl FnOnce()) -> bool {
                self.wake_up(unregister)
            }
        }
    };
}

/// The steps of a slot that mutants replace. The default implementations have no mistake.
trait Handover {
    fn real(&self) -> &Slot;

    fn arm(&self, commit: impl FnOnce() -> bool) -> bool {
        self.real().try_arm(commit)
    }

    fn park(&self) -> Option<Duration> {
        self.real().park_unless_claimed()
    }

    fn back_out(&self, unregister: impl FnOnce()) {
        self.real().disarm(unregister);
    }

    fn commit_and_park(&self, commit: impl FnOnce() -> bool) -> Option<Duration> {
        self.real().park_if(commit)
    }

    fn wake_up(&self, unregister: impl FnOnce()) -> bool {
        self.real().wake(unregister)
    }
}

slot_twin! {
    /// Planted mistake: a worker blocks even if a waker claimed it while it scanned.
    BlocksThoughClaimed,
    fn park(&self) -> Option<Duration> {
        self.0.block(self.0.state.lock())
    }
}

slot_twin! {
    /// Planted mistake: arms the slot after the critical section that sets the latch to "sleeping".
    ArmsTooLate,
    fn arm(&self, commit: impl FnOnce() -> bool) -> bool {
        let state = self.0.state.lock();
        let is_committed = commit();
        drop(state);
        is_committed && self.0.try_arm(|| true)
    }
}

slot_twin! {
    /// Planted mistake: the waker lets the sleeper continue before it stops counting that sleeper.
    UnregistersTooLate,
    fn wake_up(&self, unregister: impl FnOnce()) -> bool {
        let is_woken = self.0.wake(|| ());
        if is_woken {
            unregister();
        }
        is_woken
    }
}

slot_twin! {
    /// Planted mistake: a sleeper decides to block, and only then takes the lock.
    CommitsWithoutTheLock,
    fn commit_and_park(&self, commit: impl FnOnce() -> bool) -> Option<Duration> {
        commit().then(|| self.0.block(self.0.state.lock()))?
    }
}

slot_twin! {
    /// Planted mistake: a worker unregisters itself although a waker has claimed it during its
    /// scan.
    UnregistersThoughClaimed,
    fn back_out(&self, unregister: impl FnOnce()) {
        let mut state = self.0.state.lock();
        *state = State::Awake;
        unregister();
    }
}
