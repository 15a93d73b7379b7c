//! A few random bits, to choose a victim.

use std::cell::Cell;
use std::hash::{DefaultHasher, Hasher};

use crate::sync::{AtomicUsize, Ordering};

/// xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators,
/// scrambled").
pub(crate) struct XorShift64Star {
    state: Cell<u64>,
}

assert_size!(XorShift64Star: 8);

impl XorShift64Star {
    /// Creates the n-th generator. The state of the n-th generator is the same in every run.
    pub(crate) fn new() -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let state = loop {
            let mut hasher = DefaultHasher::new();
            // Relaxed: each generator only needs a number of its own.
            hasher.write_usize(MADE.fetch_add(1, Ordering::Relaxed));
            match hasher.finish() {
                0 => {} // the one state that xorshift never leaves
                state => break state,
            }
        };
        Self {
            state: Cell::new(state),
        }
    }

    /// Returns a number below `bound`, which is not 0.
    #[inline]
    pub(crate) fn below(&self, bound: usize) -> usize {
        let mut x = self.state.get();
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.state.set(x);
        let scrambled = x.wrapping_mul(0x2545_f491_4f6c_dd1d);
        #[allow(clippy::cast_possible_truncation)]
        let below = (scrambled % bound as u64) as usize;
        below
    }
}

#[cfg(test)]
mod tests {
    use super::XorShift64Star;

    #[test]
    fn every_number_below_the_bound_comes_up() {
        let rng = XorShift64Star::new();
        let mut seen = [false; 7];
        for _ in 0..1000 {
            seen[rng.below(7)] = true;
        }
        assert_eq!(seen, [true; 7]);
    }
}
