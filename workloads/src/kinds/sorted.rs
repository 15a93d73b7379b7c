//! Checks the results of sorts.

use crate::kinds::fingerprint::fingerprint;
use crate::workload::Mismatch;

/// The expected result of a sort of words. The upper half of a word is its key, the lower half its
/// position in the input. So the result of a stable sort is ascending in the whole word.
#[derive(Debug)]
pub(super) struct Sorted {
    /// The first words of the text of a right answer.
    said: &'static str,
    fingerprint: u64,
    pub(super) is_stable: bool,
}

impl Sorted {
    pub(super) fn of(
        said: &'static str,
        words: impl Iterator<Item = u64>,
        is_stable: bool,
    ) -> Self {
        Self {
            said,
            fingerprint: fingerprint(words),
            is_stable,
        }
    }

    pub(super) fn check(
        &self,
        words: impl Iterator<Item = u64> + Clone,
    ) -> Result<String, Mismatch> {
        let are_in_order = |low: u64, high: u64| {
            if self.is_stable {
                low < high
            } else {
                low >> 32 <= high >> 32
            }
        };
        let contents = |fingerprint| format!("contents {fingerprint:016x}");
        let expected = format!("{}, {}", self.said, contents(self.fingerprint));
        let actual = contents(fingerprint(words.clone()));
        let mut pairs = words.clone().zip(words.skip(1));
        let actual = match pairs.position(|(low, high)| !are_in_order(low, high)) {
            None => format!("{}, {actual}", self.said),
            Some(index) => format!("unsorted or unstable at index {index}, {actual}"),
        };
        Mismatch::unless_equal(&expected, &actual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [u64; 3] = [2 << 32, 1 << 32 | 1, 1 << 32 | 2];

    fn is_accepted(is_stable: bool, words: [u64; 3]) -> bool {
        Sorted::of("sorted", WORDS.into_iter(), is_stable)
            .check(words.into_iter())
            .is_ok()
    }

    #[test]
    fn only_the_stable_sort_must_keep_the_order_of_equal_keys() {
        let [two, one, other_one] = WORDS;
        assert!(is_accepted(true, [one, other_one, two]));
        assert!(!is_accepted(true, [other_one, one, two]));
        assert!(is_accepted(false, [other_one, one, two]));
    }

    #[test]
    fn unsorted_and_incomplete_answers_are_rejected() {
        let [two, one, other_one] = WORDS;
        for is_stable in [true, false] {
            assert!(!is_accepted(is_stable, [one, two, other_one]), "unsorted");
            assert!(
                !is_accepted(is_stable, [one, other_one, 9 << 32]),
                "replaced"
            );
        }
    }
}
