//! One slot per worker, in which the worker blocks and other threads wake it.
//!
//! | state  | the worker                         | counted in S | its waker                       |
//! |--------|------------------------------------|--------------|---------------------------------|
//! | awake  | runs                               | no           | leaves it alone                 |
//! | armed  | registered, scans the queues again | yes          | claims it, so it will not block |
//! | parked | is blocked                         | yes          | claims it and signals it        |
//! | woken  | is about to run                    | no           | leaves it alone                 |
//!
//! The state changes only under the slot's lock, and S changes with it. So S is exact whenever no
//! lock is held. "Armed" exists only in variants that scan without the lock (README, section 7),
//! "woken" only in variants whose workers spin.

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
    /// A waker found the slot parked, at this time.
    Woken(Instant),
}

/// How a worker blocks and is woken. This is a trait, because the models also run slots with a
/// planted mistake.
pub(crate) trait ParkingSlot: Send + Sync {
    fn new() -> Self;

    /// Under the lock, runs `commit`. If `commit` returns `true`, blocks the worker until a waker
    /// claims it. `commit` registers the worker as a sleeper, or returns `false`. Returns how long
    /// the wake-up took, if the slot measures this time.
    fn park_if(&self, commit: impl FnOnce() -> bool) -> Option<Duration>;

    /// Under the lock, runs `commit`, as [`park_if`](Self::park_if) does. If `commit` returns
    /// `true`, arms the slot.
    fn try_arm(&self, commit: impl FnOnce() -> bool) -> bool;

    /// Ends a successful [`try_arm`](Self::try_arm): blocks, unless a waker claimed the worker.
    /// Returns the same value as [`park_if`](Self::park_if).
    fn park_unless_claimed(&self) -> Option<Duration>;

    /// Ends a successful [`try_arm`](Self::try_arm) without blocking. Under the lock, runs
    /// `unregister`, unless a waker did so already.
    fn disarm(&self, unregister: impl FnOnce());

    /// If the worker is armed or parked, lets the worker continue, runs `unregister` under the
    /// lock, and returns `true`.
    fn wake(&self, unregister: impl FnOnce()) -> bool;
}

pub(crate) struct Slot {
    pub(super) state: Mutex<State>,
    pub(super) unparked: Condvar,
}

assert_size!(
    Slot: (size_of::<Mutex<State>>() + size_of::<Condvar>()).next_multiple_of(align_of::<Slot>())
);

impl Slot {
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
        // The waker unregisters the worker, because the sleeper's thread may take long to run. The
        // waker does this under the lock: otherwise the worker could continue while it still counts
        // as asleep.
        unregister();
        true
    }
}

/// Shows the state, or `Locked` if another thread holds the lock. So printing never blocks.
impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Printing runs code of the user's writer, so it begins after the lock is released.
        let state = self.state.try_lock().map(|state| *state);
        f.write_str(match state {
            Some(State::Awake) => "Awake",
            Some(State::Armed) => "Armed",
            Some(State::Parked) => "Parked",
            Some(State::Woken(_)) => "Woken",
            None => "Locked",
        })
    }
}
