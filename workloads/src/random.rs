//! Seeded random numbers by `SplitMix64` (Steele, Lea and Flood 2014). This file implements the
//! generator, because a library's generator may change. Inputs must never change: users compare
//! results of different years under one seed.

const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijection of 64-bit words that spreads every input bit over the output.
#[must_use]
pub fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A stream of random words, the same on every machine.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Creates the stream of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 random bits.
    pub fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(INCREMENT);
        mix(self.state)
    }

    /// A whole number below `bound`, uniform up to a bias of `bound / 2^64`.
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "no number lies below 0");
        let product = u128::from(self.word()) * u128::from(bound);
        u64::try_from(product >> 64).expect("the upper half of a 128-bit product has 64 bits")
    }

    /// An index into a slice of this length.
    ///
    /// # Panics
    /// If the slice is empty.
    pub fn index_below(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("below a slice's length")
    }

    /// A number in (0, 1], so that its logarithm is finite.
    pub fn unit(&mut self) -> f64 {
        ((self.word() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Returns the input of a stable sort: each word has a random key in its upper half, and its
    /// position in its lower half. Each key occurs four times on average.
    pub fn keys_with_positions(mut self, words: u64) -> impl Iterator<Item = u64> {
        let keys = words.div_ceil(4);
        (0..words).map(move |position| self.below(keys) << 32 | position)
    }

    /// Puts `items` into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index_below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_split_mix_64() {
        // The first outputs of the reference implementation for seed 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.word(), 6_457_827_717_110_365_317);
        assert_eq!(random.word(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn numbers_below_a_bound_reach_every_value_and_never_the_bound() {
        let mut random = Random::new(1);
        let mut seen = [0_u32; 7];
        for _ in 0..7_000 {
            seen[usize::try_from(random.below(7)).unwrap()] += 1;
        }
        assert!(
            seen.iter().all(|&count| (800..1_200).contains(&count)),
            "{seen:?}"
        );
    }

    #[test]
    fn units_lie_in_the_half_open_interval_and_average_one_half() {
        let mut random = Random::new(2);
        let units: Vec<f64> = (0..10_000).map(|_| random.unit()).collect();
        assert!(units.iter().all(|&unit| unit > 0.0 && unit <= 1.0));
        let mean = units.iter().sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
    }
}
