//! `sort-strings`: the facade's own parallel sorts, of strings that begin alike.
//!
//! Elements are large to move and slow to compare: each comparison follows two pointers, and reads
//! all that the two have in common. So the same sorts spend less of their time on joins than in
//! `par-sort`, and meet the memory more often.

use std::cmp::Ordering;

use protocol::{Description, Parameter, Refusal, SizeOverrides};
use rayon::prelude::*;

use crate::kinds::sorted::Sorted;
use crate::machine::charge;
use crate::random::Random;
use crate::workload::{Instance, Mismatch, Setup, Workload};

static DESCRIPTION: Description = Description {
    name: "sort-strings",
    summary: "the facade's stable or unstable parallel sort of strings on the heap that share a prefix",
    stresses: "a library's recursive joins over slow comparisons and cache misses",
    work_unit: "strings",
    input: None,
    lasts: None,
    charge: Some("sort-strings"),
    parameters: &[
        // A position has 32 bits, and a key ten digits.
        Parameter::whole("strings", "strings to sort", (1, 1 << 28), "8000"),
        Parameter::whole(
            "prefix",
            "bytes that all strings begin with",
            (0, 1 << 16),
            "20",
        ),
        Parameter::one_of(
            "sort",
            "which of the two sorts",
            &["stable", "unstable"],
            "stable",
        ),
    ],
    sizes: &SizeOverrides::all(
        &[],
        &[("strings", "100000")],
        &[("strings", "600000")],
        &[("strings", "4000000")],
    ),
};

/// What prefixes are cut from.
const PREFIX: &str = "library/floor/room/shelf/";

/// The workload `sort-strings`.
#[derive(Clone, Copy, Debug)]
pub struct SortStrings;

impl Workload for SortStrings {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        let is_stable = setup.values.word("sort") == "stable";
        let strings = write(
            setup.seed,
            setup.values.whole("strings"),
            setup.values.count("prefix"),
        );
        let known = Sorted::of(strings.iter().map(|it| it.word), is_stable);
        Ok(Box::new(Sort { strings, known }))
    }
}

#[derive(Clone)]
struct Entry {
    text: String,
    /// The text's number in the upper half, the position in the input in the lower.
    word: u64,
}

/// Charges of a comparison in the facade's stable sort. In the sequential one, another algorithm
/// with about as many comparisons, it is one. From the times of one thread and of the sequential
/// program. Unstable sorts are near one.
const STABLE_COST: u64 = 2;

impl Entry {
    /// By the text alone.
    fn compare(&self, other: &Self) -> Ordering {
        self.compare_for(1, other)
    }

    fn compare_for(&self, cost: u64, other: &Self) -> Ordering {
        charge(cost);
        self.text.cmp(&other.text)
    }

    fn position(&self) -> u64 {
        self.word & u64::from(u32::MAX)
    }
}

/// Numbers of equally many digits, so that their order is that of the texts.
fn write(seed: u64, strings: u64, prefix: usize) -> Vec<Entry> {
    let prefix: String = PREFIX.chars().cycle().take(prefix).collect();
    let words = Random::new(seed).keys_with_positions(strings);
    words
        .map(|word| Entry {
            text: format!("{prefix}{:010}", word >> 32),
            word,
        })
        .collect()
}

struct Sort {
    strings: Vec<Entry>,
    known: Sorted,
}

impl Instance for Sort {
    /// Leaves every text where it is on the heap, as if each run were the first.
    fn reset(&mut self) {
        self.strings.sort_unstable_by_key(Entry::position);
    }

    fn run_sequential(&mut self) -> u64 {
        if self.known.is_stable {
            self.strings.sort_by(Entry::compare);
        } else {
            self.strings.sort_unstable_by(Entry::compare);
        }
        self.strings.len() as u64
    }

    fn run_parallel(&mut self) -> u64 {
        if self.known.is_stable {
            self.strings
                .par_sort_by(|one, other| one.compare_for(STABLE_COST, other));
        } else {
            self.strings.par_sort_unstable_by(Entry::compare);
        }
        self.strings.len() as u64
    }

    /// By the numbers, which no comparison of the sort has seen.
    fn check(&mut self) -> Result<String, Mismatch> {
        self.known.check(self.strings.iter().map(|it| it.word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_in_the_order_of_their_numbers_whatever_the_prefix() {
        for prefix in [0, 3, 60] {
            let strings = write(1, 300, prefix);
            for (one, other) in strings.iter().zip(&strings[1..]) {
                let by_number = (one.word >> 32).cmp(&(other.word >> 32));
                assert_eq!(
                    one.compare(other),
                    by_number,
                    "{} and {}",
                    one.text,
                    other.text
                );
                assert_eq!(one.text[..prefix], other.text[..prefix]);
            }
        }
    }

    #[test]
    fn an_exchanged_pair_and_a_lost_string_are_rejected_and_a_reset_restores_the_input() {
        let strings = write(1, 100, 5);
        let known = Sorted::of(strings.iter().map(|it| it.word), true);
        let mut sort = Sort {
            strings: strings.clone(),
            known,
        };
        assert!(sort.check().is_err(), "never sorted");
        sort.run_sequential();
        assert!(sort.check().is_ok());
        sort.strings.swap(10, 11);
        assert!(sort.check().is_err(), "exchanged");
        sort.reset();
        let texts =
            |strings: &[Entry]| strings.iter().map(|it| it.text.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&sort.strings), texts(&strings));
        sort.run_sequential();
        sort.strings.pop();
        assert!(sort.check().is_err(), "lost");
    }
}
