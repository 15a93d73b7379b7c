//! Pairs of asymmetric fences that also work without the kernel.

use super::machine::{prepare_heavy_fences, registers_at_once, try_heavy_fence};
use super::registration::Registration;
use super::rounds::Rounds;

/// The state of this process's registration.
static PROCESS: Registration = Registration::new();

/// The heavy fences of this process that the kernel serves.
static ROUNDS: Rounds = Rounds::new();

/// Whether the kernel makes heavy fences. On other systems a heavy fence is an instruction, and
/// waiting for another thread's fence would take longer.
const BY_KERNEL: bool = cfg!(all(target_os = "linux", not(miri)));

/// A pair of fences, asymmetric as soon as possible. The running program decides: both sides are
/// full fences until the kernel has registered the process, and where it refuses.
#[derive(Clone, Copy)]
pub(crate) struct Fences {
    registration: &'static Registration,
}

impl Fences {
    /// Returns the cheapest pair, for tests of deques, which have no worker that registers.
    #[cfg(test)]
    pub(crate) fn cheapest() -> Self {
        let fences = Self::cheapest_in_time();
        if fences.is_register_called_for() {
            fences.register();
        }
        fences
    }

    /// Returns the cheapest pair that needs no wait. If the kernel would take milliseconds, the
    /// process is not registered here. A thread that has the time calls
    /// [`register`](Self::register).
    pub(crate) fn cheapest_in_time() -> Self {
        let fences = Self {
            registration: &PROCESS,
        };
        if fences.is_register_called_for() && registers_at_once() {
            fences.register();
        }
        fences
    }

    /// Returns the pair for the deque of a pool's only worker. No other thread takes its jobs or
    /// sleeps beside them, so the light side, which orders nothing there, is free. No thread
    /// executes the heavy side.
    pub(crate) fn alone() -> Self {
        static ALONE: Registration = Registration::unneeded();
        Self {
            registration: &ALONE,
        }
    }

    /// Returns a pair of full fences, as where the kernel refuses.
    pub(crate) fn full() -> Self {
        static REFUSED: Registration = Registration::refused();
        Self {
            registration: &REFUSED,
        }
    }

    /// Returns the pair of a process that is not registered, and never is.
    #[cfg(test)]
    pub(crate) fn unregistered() -> Self {
        static OPEN: Registration = Registration::new();
        Self {
            registration: &OPEN,
        }
    }

    /// Returns whether both sides are full fences only because no thread has called
    /// [`register`](Self::register).
    pub(crate) fn is_register_called_for(self) -> bool {
        self.registration.is_open()
    }

    /// Asks the kernel to register the process, which may take milliseconds. Several threads may
    /// call this, and more than once.
    pub(crate) fn register(self) {
        match prepare_heavy_fences() {
            Ok(()) => self.registration.complete(),
            Err(_) => self.registration.decline(),
        }
    }

    /// Returns, for people, the mechanism that frees the light side of its fence, or `full`.
    pub(crate) fn name(self) -> &'static str {
        if BY_KERNEL && self.registration.are_light_ones_free() {
            "membarrier"
        } else {
            "full"
        }
    }

    /// The side of a pair that threads execute often.
    #[inline]
    pub(crate) fn light(self) {
        self.registration.light();
    }

    /// The side of a pair that threads execute seldom.
    pub(crate) fn heavy(self) {
        if BY_KERNEL {
            self.registration.heavy_by(|| ROUNDS.join(try_heavy_fence));
        } else {
            self.registration.heavy();
        }
    }
}
