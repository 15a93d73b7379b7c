//! Pairs of fences for those who can do without the kernel's.

use super::machine::{prepare_heavy_fences, registers_at_once, try_heavy_fence};
use super::registration::Registration;
use super::rounds::Rounds;

/// What this process has registered.
static PROCESS: Registration = Registration::new();

/// The heavy fences of this process that the kernel serves.
static ROUNDS: Rounds = Rounds::new();

/// Whether heavy fences are the kernel's. Elsewhere one is an instruction, and to wait for
/// another's would take longer.
const BY_KERNEL: bool = cfg!(all(target_os = "linux", not(miri)));

/// The asymmetric ones as soon as they are to be had. Decided when the program runs: until the
/// kernel has registered the process, and where it refuses, both are full.
#[derive(Clone, Copy)]
pub(crate) struct Fences {
    registration: &'static Registration,
}

impl Fences {
    /// The cheapest that there are, for tests of deques, which have no worker that registers.
    #[cfg(test)]
    pub(crate) fn cheapest() -> Self {
        let fences = Self::cheapest_in_time();
        if fences.is_register_called_for() {
            fences.register();
        }
        fences
    }

    /// The cheapest that there are, without a wait: if the kernel would take milliseconds, the
    /// process is registered when a thread that has the time calls [`register`](Self::register).
    pub(crate) fn cheapest_in_time() -> Self {
        let fences = Self {
            registration: &PROCESS,
        };
        if fences.is_register_called_for() && registers_at_once() {
            fences.register();
        }
        fences
    }

    /// For the deque of a pool's only worker: no other thread takes its jobs or sleeps beside them,
    /// so the light side, which orders nothing there, is free. Nobody makes the heavy one.
    pub(crate) fn alone() -> Self {
        static ALONE: Registration = Registration::unneeded();
        Self {
            registration: &ALONE,
        }
    }

    /// Full ones, as where the kernel refuses.
    pub(crate) fn full() -> Self {
        static REFUSED: Registration = Registration::refused();
        Self {
            registration: &REFUSED,
        }
    }

    /// Whether both sides are full fences for want of a call of [`register`](Self::register).
    pub(crate) fn is_register_called_for(self) -> bool {
        self.registration.is_open()
    }

    /// Asks the kernel to register the process, which may take milliseconds. May be called again,
    /// and by several threads.
    pub(crate) fn register(self) {
        match prepare_heavy_fences() {
            Ok(()) => self.registration.complete(),
            Err(_) => self.registration.decline(),
        }
    }

    /// For people: by whom the side that is executed often is spared its fence, if it is.
    pub(crate) fn name(self) -> &'static str {
        if BY_KERNEL && self.registration.are_light_ones_free() {
            "membarrier"
        } else {
            "full"
        }
    }

    /// The side of a pair that is executed often.
    #[inline]
    pub(crate) fn light(self) {
        self.registration.light();
    }

    /// The side of a pair that is executed seldom.
    pub(crate) fn heavy(self) {
        if BY_KERNEL {
            self.registration.heavy_by(|| ROUNDS.join(try_heavy_fence));
        } else {
            self.registration.heavy();
        }
    }
}
