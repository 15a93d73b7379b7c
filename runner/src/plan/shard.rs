//! Cuts a plan into parts for identical machines: by block, since branches are compared inside
//! blocks.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::{Kind, Plan};

/// One of the parts of a plan that is split over machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shard {
    /// Number of the part, from 1 on.
    pub number: u32,
    /// Count of all parts.
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
            Some(Self {
                number: number.parse().ok()?,
                of: of.parse().ok()?,
            })
        });
        parsed
            .filter(|shard| (1..=shard.of).contains(&shard.number))
            .ok_or_else(|| "write NUMBER/COUNT, for example 1/4 to 4/4".to_owned())
    }
}

impl Plan {
    /// Returns the part that a shard runs; without a shard, the whole plan.
    ///
    /// Every block is in exactly one part, and the parts' sizes differ by at most one block. Blocks
    /// that differ only in replicate rotate through the parts, so that each part has its share of
    /// every configuration.
    #[must_use]
    pub fn part(mut self, shard: Option<Shard>) -> Self {
        let Some(shard) = shard else { return self };
        let mut blocks: Vec<_> = self
            .blocks
            .iter()
            .map(|block| {
                let name = usize::from(self.names_of(block)[0]);
                let is_counted = self.names[name].is_counted;
                let Kind {
                    load,
                    program,
                    threads,
                } = self.kinds[block.kind as usize];
                (
                    (is_counted, load, program, threads, block.condition),
                    block.replicate,
                    block.number,
                )
            })
            .collect();
        blocks.sort_unstable();
        let own: HashSet<u32> = blocks
            .into_iter()
            .map(|(.., number)| number)
            .skip(shard.number as usize - 1)
            .step_by(shard.of as usize)
            .collect();
        self.blocks.retain(|block| own.contains(&block.number));
        self
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet, HashMap};

    use super::super::tests::{asked, identities};
    use super::super::{Instrument, SweepRequest, Trial, order};
    use super::*;
    use crate::system::digest::Id;

    fn parts(asked: &SweepRequest, of: u32) -> Vec<Plan> {
        let whole = order(asked, &counted_identities());
        (1..=of)
            .map(|number| whole.clone().part(Some(Shard { number, of })))
            .collect()
    }

    fn counted_identities() -> BTreeMap<String, String> {
        let mut all = identities();
        all.insert("packed-instrumented".to_owned(), String::new());
        all
    }

    fn counting() -> SweepRequest {
        let name = "packed-instrumented".to_owned();
        SweepRequest {
            instrument: Some(Instrument {
                branches: vec![name],
                trials: 2,
            }),
            ..asked()
        }
    }

    #[test]
    fn every_trial_is_in_exactly_one_shard_and_keeps_its_place() {
        for of in [1, 2, 3, 7] {
            let asked = counting();
            let whole = order(&asked, &counted_identities());
            let parts = parts(&asked, of);
            let mut together: Vec<Trial<'_>> = parts.iter().flat_map(Plan::trials).collect();
            together.sort_by_key(|trial| (trial.block, trial.position));
            assert_eq!(together, whole.trials().collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_block_is_split() {
        let mut seen = BTreeSet::new();
        for part in parts(&counting(), 3) {
            let blocks: BTreeSet<usize> = part.trials().map(|trial| trial.block).collect();
            assert_eq!(blocks.len(), part.blocks());
            assert!(seen.is_disjoint(&blocks));
            seen.extend(blocks);
        }
    }

    #[test]
    fn shards_are_balanced_as_a_whole_and_in_every_configuration() {
        let parts = parts(&asked(), 3);
        let blocks = parts.iter().map(Plan::blocks);
        assert!(blocks.clone().max().unwrap() - blocks.min().unwrap() <= 1);
        let mut shares: HashMap<Id, [usize; 3]> = HashMap::new();
        for (index, part) in parts.iter().enumerate() {
            for trial in part.trials() {
                shares.entry(trial.cell).or_default()[index] += 1;
            }
        }
        for share in shares.values() {
            assert!(
                share.iter().max().unwrap() - share.iter().min().unwrap() <= 1,
                "{share:?}"
            );
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
