//! A hash of a collection that does not depend on the order. By this hash, a check notices elements
//! that a sort lost.

use crate::random::mix;

/// Two collections with different contents have the same fingerprint with probability 2^-64.
pub(super) fn fingerprint(words: impl Iterator<Item = u64>) -> u64 {
    // Without the mixing, one larger and one smaller element would cancel out in the sum.
    words.fold(0, |sum: u64, word| {
        sum.wrapping_add(mix(word.wrapping_add(1)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_matter_and_contents_do() {
        let of = |words: &[u64]| fingerprint(words.iter().copied());
        assert_eq!(of(&[1, 2, 3, 3]), of(&[3, 1, 3, 2]));
        assert_ne!(of(&[1, 2, 3, 3]), of(&[1, 2, 2, 3]));
        assert_ne!(of(&[1, 4]), of(&[2, 3]));
        assert_ne!(of(&[0]), of(&[]));
    }
}
