//! A plan cut into parts for identical machines: by block, since branches are compared inside blocks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Asked, Plan, Trial};

/// One of the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shard {
    /// Which, from 1 on.
    pub number: u32,
    /// Of how many.
    pub of: u32,
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(number, of)| {
            Some(Self { number: number.parse().ok()?, of: of.parse().ok()? })
        });
        parsed
            .filter(|shard| (1..=shard.of).contains(&shard.number))
            .ok_or_else(|| "write NUMBER/COUNT, for example 1/4 to 4/4".to_owned())
    }
}

impl Plan {
    /// The part that a shard runs; all of it without one.
    ///
    /// Every block is in exactly one part, and no part has two blocks more than another. Blocks that differ
    /// only in replicate go to the parts in turn, so that each has its share of every cell.
    #[must_use]
    pub fn part(self, asked: &Asked, shard: Option<Shard>) -> Self {
        let Some(shard) = shard else { return self };
        let kind = |trial: &Trial| {
            let is_counted = asked.is_instrumented(&trial.branch);
            (is_counted, trial.load, trial.program, trial.threads, trial.mode)
        };
        let mut blocks: BTreeMap<_, BTreeMap<u32, usize>> = BTreeMap::new();
        for trial in &self.trials {
            blocks.entry(kind(trial)).or_default().insert(trial.replicate, trial.block);
        }
        let ordered: Vec<usize> = blocks.into_values().flat_map(BTreeMap::into_values).collect();
        let own: std::collections::HashSet<usize> = ordered
            .into_iter()
            .skip(shard.number as usize - 1)
            .step_by(shard.of as usize)
            .collect();
        let blocks = own.len();
        let trials = self.trials.into_iter().filter(|trial| own.contains(&trial.block)).collect();
        Self { trials, blocks }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use super::super::tests::{asked, identities};
    use super::super::{Instrument, order};
    use super::*;

    fn parts(asked: &Asked, of: u32) -> Vec<Plan> {
        let whole = order(asked, &counted_identities());
        (1..=of).map(|number| whole.clone().part(asked, Some(Shard { number, of }))).collect()
    }

    fn counted_identities() -> BTreeMap<String, String> {
        let mut all = identities();
        all.insert("packed-instrumented".to_owned(), String::new());
        all
    }

    fn counting() -> Asked {
        let name = "packed-instrumented".to_owned();
        Asked { instrument: Some(Instrument { branches: vec![name], trials: 2 }), ..asked() }
    }

    #[test]
    fn every_trial_is_in_exactly_one_shard_and_keeps_its_place() {
        for of in [1, 2, 3, 7] {
            let asked = counting();
            let whole = order(&asked, &counted_identities());
            let mut together: Vec<Trial> =
                parts(&asked, of).into_iter().flat_map(|part| part.trials).collect();
            together.sort_by_key(|trial| (trial.block, trial.position));
            assert_eq!(together, whole.trials);
        }
    }

    #[test]
    fn no_block_is_split() {
        let mut seen = BTreeSet::new();
        for part in parts(&counting(), 3) {
            let blocks: BTreeSet<usize> = part.trials.iter().map(|trial| trial.block).collect();
            assert_eq!(blocks.len(), part.blocks);
            assert!(seen.is_disjoint(&blocks));
            seen.extend(blocks);
        }
    }

    #[test]
    fn shards_are_balanced_as_a_whole_and_in_every_cell() {
        let parts = parts(&asked(), 3);
        let blocks = parts.iter().map(|part| part.blocks);
        assert!(blocks.clone().max().unwrap() - blocks.min().unwrap() <= 1);
        let mut shares: HashMap<String, [usize; 3]> = HashMap::new();
        for (index, part) in parts.iter().enumerate() {
            for trial in &part.trials {
                shares.entry(trial.cell.clone()).or_default()[index] += 1;
            }
        }
        for share in shares.values() {
            assert!(share.iter().max().unwrap() - share.iter().min().unwrap() <= 1, "{share:?}");
        }
    }

    #[test]
    fn a_shard_is_written_as_number_and_count() {
        assert_eq!("2/4".parse(), Ok(Shard { number: 2, of: 4 }));
        for wrong in ["0/4", "5/4", "1", "1/0", "a/b", "-1/2"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
