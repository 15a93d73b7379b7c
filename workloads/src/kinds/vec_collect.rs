//! `vec-collect`: a parallel loop whose results become one vector.
//!
//! When the length is known beforehand, every task writes into its place; when items are filtered
//! out, pieces must be gathered and moved: the two ways in which the facade collects.

use protocol::{Description, Parameter, Refusal, SizeOverrides};
use rayon::prelude::*;

use crate::random::mix;
use crate::workload::{Instance, Mismatch, Setup, Workload};

static DESCRIPTION: Description = Description {
    name: "vec-collect",
    summary: "collects computed words into a vector, all of them or those that pass a filter",
    stresses: "memory bandwidth and page faults; gathering of pieces if filtered",
    work_unit: "words",
    input: None,
    lasts: None,
    charge: None,
    parameters: &[
        Parameter::whole("words", "words computed", (1, 1 << 30), "4000"),
        Parameter::one_of(
            "items",
            "keep all words, or the odd ones, whose places are not known beforehand",
            &["all", "odd"],
            "all",
        ),
    ],
    sizes: &SizeOverrides::all(
        &[],
        &[("words", "6000000")],
        &[("words", "60000000")],
        &[("words", "200000000")],
    ),
};

/// The workload `vec-collect`.
#[derive(Clone, Copy, Debug)]
pub struct VecCollect;

impl Workload for VecCollect {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        Ok(Box::new(Words {
            count: setup.values.whole("words"),
            seed: setup.seed,
            only_odd: setup.values.word("items") == "odd",
            collected: None,
        }))
    }
}

struct Words {
    count: u64,
    seed: u64,
    only_odd: bool,
    collected: Option<Vec<u64>>,
}

impl Words {
    /// The word at an index: one after the other in the order of a bijection's values.
    fn word(&self) -> impl Fn(u64) -> u64 + Copy + Send + Sync + use<> {
        let seed = self.seed;
        move |index| mix(index ^ seed)
    }
}

fn is_odd(word: u64) -> bool {
    word & 1 == 1
}

impl Instance for Words {
    fn reset(&mut self) {
        self.collected = None;
    }

    fn run_sequential(&mut self) -> u64 {
        let words = (0..self.count).map(self.word());
        self.collected = Some(if self.only_odd {
            words.filter(|&word| is_odd(word)).collect()
        } else {
            words.collect()
        });
        self.count
    }

    fn run_parallel(&mut self) -> u64 {
        let count = usize::try_from(self.count).expect("declared to fit");
        let word = self.word();
        // Over `usize`, whose ranges know their length: places can be assigned.
        let words = (0..count)
            .into_par_iter()
            .map(move |index| word(index as u64));
        self.collected = Some(if self.only_odd {
            words.filter(|&word| is_odd(word)).collect()
        } else {
            words.collect()
        });
        self.count
    }

    /// Walks along both, without a second vector.
    fn check(&mut self) -> Result<String, Mismatch> {
        let word = self.word();
        let mut expected = (0..self.count)
            .map(word)
            .filter(|&word| !self.only_odd || is_odd(word));
        let collected = self.collected.as_deref().unwrap_or_default();
        let fault = collected
            .iter()
            .position(|word| expected.next() != Some(*word));
        let missing = expected.count();
        let right = format!("{} words in their places", collected.len() + missing);
        let actual = match (fault, missing) {
            (None, 0) => right.clone(),
            (None, _) => format!("{missing} words are missing at the end"),
            (Some(index), _) => format!("another word at index {index}"),
        };
        Mismatch::unless_equal(&right, &actual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_additional_and_exchanged_words_are_rejected() {
        for only_odd in [false, true] {
            let mut words = Words {
                count: 100,
                seed: 1,
                only_odd,
                collected: None,
            };
            assert!(words.check().is_err(), "never collected");
            words.run_sequential();
            let good = words.collected.clone().unwrap();
            assert!(words.check().is_ok());
            let mut check = |change: fn(&mut Vec<u64>)| {
                let mut changed = good.clone();
                change(&mut changed);
                words.collected = Some(changed);
                words.check().map_err(|mismatch| mismatch.actual)
            };
            assert_eq!(
                check(|v| v.truncate(v.len() - 1)).unwrap_err(),
                "1 words are missing at the end"
            );
            assert_eq!(
                check(|v| v.swap(3, 4)).unwrap_err(),
                "another word at index 3"
            );
            assert!(check(|v| v.push(5)).is_err());
        }
    }
}
