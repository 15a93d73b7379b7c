//! One slot per worker, in which the worker blocks and other threads wake it.
//!
//! | state  | the worker                            | counted in S | a waker that finds it       |
//! |--------|---------------------------------------|--------------|-----------------------------|
//! | awake  | runs                                  | no           | leaves it alone             |
//! | armed  | registered, scans the queues again   | yes          | claims it: it may not block |
//! | parked | is blocked                            | yes          | claims it and signals it   |
//! | woken  | is about to run                       | no           | leaves it alone             |
//!
//! The state changes only under the slot's lock. Every change between "awake" or "woken" and the other two
//! changes S with it, so S is exact whenever no lock is held. "Armed" exists only in variants that
//! scan the queues without holding the lock (README, section 7).

use super::history::SPINS;
use crate::hooks::{self, Event};
use crate::sync::Instant;
use crate::sync::modelled::{Condvar, Mutex, MutexGuard};
use std::fmt;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Awake,
    Armed,
    Parked,
    /// Awake as soon as its thread runs: a waker found it parked at that moment.
    Woken(Instant),
}

/// How a worker blocks and is woken.
///
/// The pool uses one implementation, [`Slot`]. It is a trait because the models also run slots with
/// a planted mistake, and mistakes have no place in the code that ships.
pub(crate) trait ParkingSlot: Send + Sync {
    /// Creates a slot whose worker is awake.
    fn new() -> Self;

    /// Under the lock: runs `commit`, and if that returns `true`, blocks the worker until it is
    /// woken. Returns how long the wake-up took, if that is measured.
    ///
    /// `commit` registers the worker as a sleeper, or returns `false` with nothing registered.
    fn park_if(&self, commit: impl FnOnce() -> bool) -> Option<Duration>;

    /// Under the lock: runs `commit`, and if that returns `true`, arms the slot. Returns `true` if
    /// it is armed.
    ///
    /// `commit` registers the worker as a sleeper, or returns `false` with nothing registered.
    fn try_arm(&self, commit: impl FnOnce() -> bool) -> bool;

    /// Ends a successful [`try_arm`](Self::try_arm): blocks until woken, unless a waker claimed the
    /// worker meanwhile. Returns as [`park_if`](Self::park_if).
    fn park_unless_claimed(&self) -> Option<Duration>;

    /// Ends a successful [`try_arm`](Self::try_arm) without blocking, because there is a job to
    /// run. Under the lock: runs `unregister`, unless a waker did so already.
    fn disarm(&self, unregister: impl FnOnce());

    /// If the worker is armed or parked, makes it continue, and runs `unregister` for it under the
    /// lock. Returns `true` if so.
    fn wake(&self, unregister: impl FnOnce()) -> bool;
}

/// The slot that the pool uses: a state under a mutex, and a condition variable.
pub(crate) struct Slot {
    pub(super) state: Mutex<State>,
    pub(super) unparked: Condvar,
}

assert_size!(
    Slot: (size_of::<Mutex<State>>() + size_of::<Condvar>()).next_multiple_of(align_of::<Slot>())
);

impl Slot {
    /// Blocks with `state` released until another thread wakes the worker. Returns how long the
    /// wake-up took, if that is measured.
    pub(super) fn block(&self, mut state: MutexGuard<'_, State>) -> Option<Duration> {
        *state = State::Parked;
        hooks::count(Event::Sleep);
        while *state == State::Parked {
            state = self.unparked.wait(state);
        }
        let took = match *state {
            State::Woken(at) => Some(at.elapsed()),
            _ => None,
        };
        *state = State::Awake;
        drop(state);
        hooks::claimed();
        took
    }
}

impl ParkingSlot for Slot {
    fn new() -> Self {
        Self {
            state: Mutex::new(State::Awake),
            unparked: Condvar::new(),
        }
    }

    fn park_if(&self, commit: impl FnOnce() -> bool) -> Option<Duration> {
        let state = self.state.lock();
        commit().then(|| self.block(state))?
    }

    fn try_arm(&self, commit: impl FnOnce() -> bool) -> bool {
        let mut state = self.state.lock();
        let is_committed = commit();
        if is_committed {
            *state = State::Armed;
        }
        is_committed
    }

    fn park_unless_claimed(&self) -> Option<Duration> {
        let state = self.state.lock();
        if *state == State::Armed {
            return self.block(state);
        }
        hooks::claimed();
        None
    }

    fn disarm(&self, unregister: impl FnOnce()) {
        let mut state = self.state.lock();
        if *state == State::Armed {
            *state = State::Awake;
            unregister();
        }
    }

    fn wake(&self, unregister: impl FnOnce()) -> bool {
        let mut state = self.state.lock();
        match *state {
            State::Awake | State::Woken(_) => return false,
            State::Armed => *state = State::Awake,
            State::Parked => {
                *state = if SPINS {
                    State::Woken(Instant::now())
                } else {
                    State::Awake
                };
                self.unparked.notify_all();
            }
        }
        // The waker unregisters the worker. The sleeper's thread may take long to run, and other
        // threads must at once stop counting it as a sleeper. This happens under the lock, so that
        // the worker cannot continue while it is still counted as asleep.
        unregister();
        true
    }
}

/// Shows the state, or `Locked` while another thread changes it. It never blocks.
impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.state.try_lock() {
            Some(state) => fmt::Debug::fmt(&*state, f),
            None => f.write_str("Locked"),
        }
    }
}
