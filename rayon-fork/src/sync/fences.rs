//! Pairs of asymmetric fences that also work where the kernel refuses `membarrier`.

use std::time::Duration;

use crossbeam_utils::CachePadded;

use super::cost::Cost;
use super::machine::{Instant, prepare_heavy_fences, registers_at_once, try_heavy_fence};
use super::registration::Registration;
use super::rounds::Rounds;

static PROCESS: Registration = Registration::new();

// Padded, because each heavy side changes it, and pushes read the statics beside it.
static ROUNDS: CachePadded<Rounds> = CachePadded::new(Rounds::new());

/// The cost of a call of the kernel for a heavy side. Padded for the reason given at [`ROUNDS`]. The
/// numbers are guesses.
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
            self.registration
                .heavy_by(|| ROUNDS.join(|| timed(&HEAVY, try_heavy_fence)));
        } else {
            self.registration.heavy();
        }
    }

    /// Returns the cost of the heavy side, for the caller and one thread that it interrupts; None if
    /// it interrupts no thread.
    pub(crate) fn cost_of_heavy(self) -> Option<Duration> {
        self.is_heavy_by_kernel().then(|| HEAVY.get())
    }

    fn is_heavy_by_kernel(self) -> bool {
        BY_KERNEL && self.registration.are_light_ones_free()
    }
}

/// Calls the kernel, and adds the time of the call to `cost` if the kernel served it. The time that a
/// thread waits for another thread's call is not added.
fn timed(cost: &Cost, call: impl FnOnce() -> bool) -> bool {
    let began = Instant::now();
    let is_served = call();
    if is_served {
        cost.took(began.elapsed());
    }
    is_served
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_that_the_kernel_served_count_for_the_cost() {
        let at_first = Duration::from_secs(1);
        let cost = Cost::new(at_first, Duration::ZERO..=at_first);
        assert!(!timed(&cost, || false));
        assert_eq!(cost.get(), 2 * at_first);
        assert!(timed(&cost, || true));
        assert!(cost.get() < 2 * at_first);
    }

    #[test]
    fn fences_have_a_cost_only_if_they_interrupt_threads() {
        assert_eq!(Fences::full().cost_of_heavy(), None);
        assert_eq!(Fences::unregistered().cost_of_heavy(), None);
        let fences = Fences::cheapest();
        let is_by_kernel = fences.name() == "membarrier";
        assert_eq!(fences.cost_of_heavy().is_some(), is_by_kernel);
    }
}
