//! Pairs of asymmetric fences that also work where the kernel refuses `membarrier`.

use std::time::Duration;

use crossbeam_utils::CachePadded;

use super::cost::Cost;
use super::machine::{Instant, prepare_heavy_fences, registers_at_once, try_heavy_fence};
use super::registration::Registration;
use super::rounds::Rounds;

static PROCESS: Registration = Registration::new();

static ROUNDS: Rounds = Rounds::new();

/// The cost of a heavy side by the kernel. Has a cache line of its own, because pushes read the state
/// of the process's registration. The numbers are guesses; virtual machines need the longest times.
static HEAVY: CachePadded<Cost> = CachePadded::new(Cost::new(
    Duration::from_micros(3),
    Duration::from_nanos(500)..=Duration::from_micros(50),
));

/// Whether the kernel executes the heavy side. If not, the heavy side is an instruction, and
/// cheaper than waiting for another thread's fence.
const BY_KERNEL: bool = cfg!(all(target_os = "linux", not(miri)));

/// A pair of fences. Except in [`alone`](Self::alone), both sides are full fences until the kernel
/// has registered the process, and where the kernel refuses to register it.
#[derive(Clone, Copy)]
pub(crate) struct Fences {
    registration: &'static Registration,
}

impl Fences {
    /// Registers the process, for tests of deques, which have no worker that does so.
    #[cfg(test)]
    pub(crate) fn cheapest() -> Self {
        let fences = Self::cheapest_in_time();
        if fences.is_register_called_for() {
            fences.register();
        }
        fences
    }

    /// Returns the cheapest pair that needs no wait. If registering would take milliseconds, a
    /// worker that is about to block calls [`register`](Self::register) later.
    pub(crate) fn cheapest_in_time() -> Self {
        let fences = Self {
            registration: &PROCESS,
        };
        if fences.is_register_called_for() && registers_at_once() {
            fences.register();
        }
        fences
    }

    /// Returns the pair for the deque of a pool's only worker. On Linux its light side is free. The
    /// light side need not order anything, because no other thread takes that worker's jobs, or
    /// executes the heavy side.
    pub(crate) fn alone() -> Self {
        static ALONE: Registration = Registration::unneeded();
        Self {
            registration: &ALONE,
        }
    }

    pub(crate) fn full() -> Self {
        static REFUSED: Registration = Registration::refused();
        Self {
            registration: &REFUSED,
        }
    }

    #[cfg(test)]
    pub(crate) fn unregistered() -> Self {
        static OPEN: Registration = Registration::new();
        Self {
            registration: &OPEN,
        }
    }

    /// Returns whether no call of [`register`](Self::register) has ended yet. Until then the light
    /// side is a full fence.
    pub(crate) fn is_register_called_for(self) -> bool {
        self.registration.is_open()
    }

    /// Asks the kernel to register the process, which may take milliseconds. Several threads may
    /// call this.
    pub(crate) fn register(self) {
        match prepare_heavy_fences() {
            Ok(()) => self.registration.complete(),
            Err(_) => self.registration.decline(),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        if self.is_heavy_by_kernel() {
            "membarrier"
        } else {
            "full"
        }
    }

    #[inline]
    pub(crate) fn light(self) {
        self.registration.light();
    }

    pub(crate) fn heavy(self) {
        if BY_KERNEL {
            let began = self.is_heavy_by_kernel().then(Instant::now);
            self.registration.heavy_by(|| ROUNDS.join(try_heavy_fence));
            if let Some(began) = began {
                HEAVY.took(began.elapsed());
            }
        } else {
            self.registration.heavy();
        }
    }

    /// Returns what the heavy side costs its caller and the threads that it interrupts; None if it
    /// interrupts no thread.
    pub(crate) fn cost_of_heavy(self) -> Option<Duration> {
        self.is_heavy_by_kernel().then(|| HEAVY.get())
    }

    fn is_heavy_by_kernel(self) -> bool {
        BY_KERNEL && self.registration.are_light_ones_free()
    }
}
