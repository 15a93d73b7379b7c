//! The Internet checksum (RFC 1071) over bytes, in a form that the compiler makes into vector code.

/// The ones'-complement sum of `bytes` as big-endian 16-bit words; an odd last byte is followed by
/// a zero. A block that holds its own checksum adds up to `0xffff`.
#[must_use]
pub fn sum(bytes: &[u8]) -> u16 {
    let (words, rest) = bytes.as_chunks::<4>();
    // A ones'-complement sum may be taken in wider words, and in the machine's byte order: the sum
    // then comes out with its two bytes swapped. 2^32 words of 32 bits fit the 64 bits.
    let mut total: u64 = words
        .iter()
        .map(|word| u64::from(u32::from_ne_bytes(*word)))
        .sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    total += u64::from(u32::from_ne_bytes(last));
    u16::from_be(fold(total))
}

/// The ones'-complement sum of two.
#[must_use]
pub fn add(one: u16, other: u16) -> u16 {
    fold(u64::from(one) + u64::from(other))
}

/// [`sum`], word by word as the RFC says it: for known answers that do not come from the vector
/// code.
#[must_use]
pub fn sum_word_by_word(bytes: &[u8]) -> u16 {
    bytes.chunks(2).fold(0, |total, pair| {
        add(
            total,
            u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]),
        )
    })
}

/// Adds the carries back until there is none.
fn fold(mut total: u64) -> u16 {
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    u16::try_from(total).expect("folded to 16 bits")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_sum_is_that_of_the_example_in_the_rfc() {
        // RFC 1071, section 3.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!((sum(&bytes), sum_word_by_word(&bytes)), (0xddf2, 0xddf2));
    }

    #[test]
    fn nothing_adds_up_to_nothing_and_an_odd_byte_counts_as_the_upper_half() {
        assert_eq!(sum(&[]), 0);
        assert_eq!(sum(&[0x12]), 0x1200);
    }

    proptest! {
        #[test]
        fn both_ways_agree_on_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(sum(&bytes), sum_word_by_word(&bytes));
        }
    }
}
