//! Pairs of fences for those who can do without the kernel's.

use super::machine::{OnceLock, prepare_heavy_fences, registers_at_once, thread, try_heavy_fence};
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
    /// The cheapest that there are. The kernel may still be about to register the process when this
    /// returns.
    pub(crate) fn cheapest() -> Self {
        static ASKED: OnceLock<()> = OnceLock::new();
        ASKED.get_or_init(|| {
            if registers_at_once() {
                register();
            } else {
                // Without a thread for it, fences stay full.
                let _ = thread::Builder::new()
                    .name("rayon fences".to_owned())
                    .spawn(register);
            }
        });
        Self {
            registration: &PROCESS,
        }
    }

    /// Full ones, as where the kernel refuses.
    // Where nobody has the choice, for tests.
    #[allow(dead_code)]
    pub(crate) fn full() -> Self {
        static NOTHING: Registration = Registration::new();
        Self {
            registration: &NOTHING,
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

/// Asks the kernel, which may take a while, or refuse.
fn register() {
    if prepare_heavy_fences().is_ok() {
        PROCESS.complete();
    }
}
