//! Pairs of fences for those who can do without the kernel's.

use super::machine::{Ordering, fence, heavy_fence, light_fence, prepare_heavy_fences};

/// The asymmetric ones where they are to be had. Decided when the program runs: where the kernel refuses, both are full.
#[derive(Clone, Copy)]
pub(crate) struct Fences {
    are_asymmetric: bool,
}

impl Fences {
    /// The cheapest that there are.
    pub(crate) fn cheapest() -> Self {
        Self { are_asymmetric: prepare_heavy_fences().is_ok() }
    }

    /// Full ones, as where the kernel refuses.
    #[cfg(test)]
    pub(crate) fn full() -> Self {
        Self { are_asymmetric: false }
    }

    /// For people: by whom the side that is executed often is spared its fence, if it is.
    pub(crate) fn name(self) -> &'static str {
        let has_membarrier = cfg!(all(target_os = "linux", not(miri)));
        if self.are_asymmetric && has_membarrier { "membarrier" } else { "full" }
    }

    /// The side of a pair that is executed often.
    #[inline]
    #[cfg_attr(fork_sim, track_caller)]
    pub(crate) fn light(self) {
        if self.are_asymmetric {
            light_fence();
        } else {
            // ORDERING: SeqCst fence, pairs with that in `heavy`.
            fence(Ordering::SeqCst);
        }
    }

    /// The side of a pair that is executed seldom.
    #[cfg_attr(fork_sim, track_caller)]
    pub(crate) fn heavy(self) {
        if self.are_asymmetric {
            heavy_fence();
        } else {
            // ORDERING: SeqCst fence, pairs with that in `light`, and with any other.
            fence(Ordering::SeqCst);
        }
    }
}
