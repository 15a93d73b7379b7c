//! Cuts a plan into parts for identical machines. Each block stays whole, since branches are
//! compared inside blocks.

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
    /// Returns the part that `shard` runs; without a shard, returns the whole plan.
    ///
    /// Every block is in exactly one part. Blocks that differ only in replicate rotate through the
    /// parts, so that each part has its share of every configuration.
    #[must_use]
    pub(crate) fn part(mut self, shard: Option<Shard>) -> Self {
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
    use std::collections::HashMap;

    use super::super::tests::{asked, identities};
    use super::super::{Instrument, SweepRequest, Trial, order};
    use super::*;
    use crate::system::digest::Id;

    #[test]
    fn every_block_is_in_one_shard_and_shards_are_balanced_in_every_configuration() {
        let name = "packed-instrumented".to_owned();
        let mut identities = identities();
        identities.insert(name.clone(), String::new());
        let instrument = Instrument {
            branches: vec![name],
            trials: 2,
        };
        let counting = SweepRequest {
            instrument: Some(instrument),
            ..asked()
        };
        for (asked, of) in [(asked(), 3), (counting, 7)] {
            let whole = order(&asked, &identities);
            let part = |number| whole.clone().part(Some(Shard { number, of }));
            let parts: Vec<Plan> = (1..=of).map(part).collect();
            let mut together: Vec<Trial<'_>> = parts.iter().flat_map(Plan::trials).collect();
            together.sort_by_key(|trial| (trial.block, trial.position));
            assert_eq!(together, whole.trials().collect::<Vec<_>>());
            let blocks = parts.iter().map(Plan::blocks);
            assert!(blocks.clone().max().unwrap() - blocks.clone().min().unwrap() <= 1);
            assert_eq!(blocks.sum::<usize>(), whole.blocks(), "no block is split");
            let mut shares: HashMap<Id, Vec<usize>> = HashMap::new();
            for (index, part) in parts.iter().enumerate() {
                for trial in part.trials() {
                    shares
                        .entry(trial.cell)
                        .or_insert_with(|| vec![0; parts.len()])[index] += 1;
                }
            }
            for share in shares.values() {
                let [least, most] = [share.iter().min(), share.iter().max()].map(Option::unwrap);
                assert!(most - least <= 1, "{share:?}");
            }
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
