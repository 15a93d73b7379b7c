//! Cache lines: the cores that have them, and until when they are on their way.

use std::panic::Location;

use rustc_hash::FxHashMap;

use crate::machine::{Distance, Picoseconds, Topology};

/// Bytes of a line.
pub(crate) const LINE_BYTES: usize = 64;

/// No core.
const NOBODY: u32 = u32::MAX;

/// A core's access to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Load,
    Store,
    ReadModifyWrite,
}

/// One line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// The core that has it alone, or [`NOBODY`] if it is shared or in no cache.
    owner: u32,
    /// Whether any core has it.
    is_cached: bool,
    /// When the next core can have it: those that wait get it in the order in which they asked.
    pub(crate) free_at: Picoseconds,
    /// Where it was last written.
    pub(crate) written_at: Option<&'static Location<'static>>,
}

/// From where a core gets a line that it does not have as it needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Miss {
    /// The nearest holder of a line that is read, the farthest of one that is written; `None` if it
    /// is in no cache.
    pub(crate) from: Option<Distance>,
    /// Other cores that lose it.
    pub(crate) losers: u64,
    /// Whether no other core can have it meanwhile. Cores that read from sharers do not wait for
    /// one another.
    pub(crate) is_exclusive: bool,
}

/// All lines that were touched.
#[derive(Debug)]
pub(crate) struct Lines {
    numbers: FxHashMap<usize, u32>,
    all: Vec<Line>,
    /// Sharers of each line, a bit for each core.
    sharers: Vec<u64>,
    /// Words of bits for a line.
    words: usize,
    /// For each core, the cores of its cluster, and those of its socket.
    neighbours: Vec<[Vec<u64>; 2]>,
}

impl Lines {
    /// No lines yet, of a machine with these cores: siblings have theirs together.
    pub(crate) fn new(topology: &Topology) -> Self {
        let cores = topology.cores();
        let words = cores.div_ceil(64);
        let mask = |core: usize, within: Distance| {
            let mut mask = vec![0_u64; words];
            for other in (0..cores).filter(|&other| topology.distance(core, other) <= within) {
                mask[other / 64] |= 1 << (other % 64);
            }
            mask
        };
        let neighbours =
            (0..cores).map(|core| [mask(core, Distance::Cluster), mask(core, Distance::Socket)]);
        Self {
            numbers: FxHashMap::default(),
            all: Vec::new(),
            sharers: Vec::new(),
            words,
            neighbours: neighbours.collect(),
        }
    }

    /// The number of the line at `address`.
    #[inline]
    pub(crate) fn number(&mut self, address: usize) -> usize {
        let next = self.all.len();
        let number = *self.numbers.entry(address / LINE_BYTES).or_insert_with(|| {
            self.all.push(Line {
                owner: NOBODY,
                is_cached: false,
                free_at: 0,
                written_at: None,
            });
            self.sharers.resize((next + 1) * self.words, 0);
            u32::try_from(next).expect("fewer than 2^32 lines")
        });
        number as usize
    }

    /// Line `number`.
    #[inline]
    pub(crate) fn line(&mut self, number: usize) -> &mut Line {
        &mut self.all[number]
    }

    /// Returns the transfer that `core` needs for `access`; `None` if it has the line as it needs
    /// it.
    #[inline]
    pub(crate) fn miss(&self, number: usize, core: usize, access: Access) -> Option<Miss> {
        let line = &self.all[number];
        if line.owner as usize == core {
            return None;
        }
        if line.owner != NOBODY {
            let owner = [line.owner as usize];
            let from = self.farthest(core, |word| {
                if owner[0] / 64 == word {
                    1 << (owner[0] % 64)
                } else {
                    0
                }
            });
            let losers = u64::from(access != Access::Load);
            return Some(Miss {
                from: Some(from),
                losers,
                is_exclusive: true,
            });
        }
        let sharers = &self.sharers[number * self.words..][..self.words];
        let is_sharer = sharers[core / 64] >> (core % 64) & 1 == 1;
        if access == Access::Load {
            if is_sharer {
                return None;
            }
            let from = line.is_cached.then(|| self.nearest(core, sharers));
            return Some(Miss {
                from,
                losers: 0,
                is_exclusive: false,
            });
        }
        if !line.is_cached {
            return Some(Miss {
                from: None,
                losers: 0,
                is_exclusive: true,
            });
        }
        let holders: u64 = sharers
            .iter()
            .map(|word| u64::from(word.count_ones()))
            .sum();
        let losers = holders - u64::from(is_sharer);
        let from = self.farthest(core, |word| sharers[word]);
        Some(Miss {
            from: Some(from),
            losers,
            is_exclusive: true,
        })
    }

    fn farthest(&self, core: usize, holders: impl Fn(usize) -> u64) -> Distance {
        let [cluster, socket] = &self.neighbours[core];
        let is_beyond = |mask: &[u64]| (0..self.words).any(|word| holders(word) & !mask[word] != 0);
        if is_beyond(socket) {
            Distance::Far
        } else if is_beyond(cluster) {
            Distance::Socket
        } else if (0..self.words).any(|word| {
            let own = if core / 64 == word {
                1 << (core % 64)
            } else {
                0
            };
            holders(word) & !own != 0
        }) {
            Distance::Cluster
        } else {
            Distance::Own
        }
    }

    fn nearest(&self, core: usize, holders: &[u64]) -> Distance {
        let [cluster, socket] = &self.neighbours[core];
        let meets = |mask: &[u64]| {
            holders
                .iter()
                .zip(mask)
                .any(|(holders, mask)| holders & mask != 0)
        };
        if meets(cluster) {
            Distance::Cluster
        } else if meets(socket) {
            Distance::Socket
        } else {
            Distance::Far
        }
    }

    /// From now on `core` has the line: alone if it writes, beside the others if it reads.
    #[inline]
    pub(crate) fn give(&mut self, number: usize, core: usize, access: Access) {
        let line = &mut self.all[number];
        let sharers = &mut self.sharers[number * self.words..][..self.words];
        if access == Access::Load {
            if line.owner != NOBODY {
                let owner = line.owner as usize;
                sharers[owner / 64] |= 1 << (owner % 64);
                line.owner = NOBODY;
            }
            sharers[core / 64] |= 1 << (core % 64);
        } else {
            sharers.fill(0);
            line.owner = u32::try_from(core).expect("a core's number is small");
        }
        line.is_cached = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Lines {
        let topology = Topology {
            sockets: 2,
            clusters_per_socket: 2,
            cores_per_cluster: 2,
            hardware_threads: 1,
        };
        Lines::new(&topology)
    }

    fn from(lines: &Lines, core: usize, access: Access) -> Option<Distance> {
        lines
            .miss(0, core, access)
            .expect("the core does not have it")
            .from
    }

    #[test]
    fn a_line_in_no_cache_comes_from_memory_and_is_then_the_readers() {
        let mut lines = lines();
        let line = lines.number(640);
        assert_eq!(from(&lines, 3, Access::Load), None);
        lines.give(line, 3, Access::Load);
        assert_eq!(lines.miss(line, 3, Access::Load), None);
    }

    #[test]
    fn a_reader_gets_it_from_the_nearest_holder_and_a_writer_waits_for_the_farthest() {
        let mut lines = lines();
        let line = lines.number(0);
        lines.give(line, 0, Access::Store);
        assert_eq!(from(&lines, 1, Access::Load), Some(Distance::Cluster));
        assert_eq!(
            from(&lines, 4, Access::ReadModifyWrite),
            Some(Distance::Far)
        );
        lines.give(line, 4, Access::Load);
        assert_eq!(from(&lines, 5, Access::Load), Some(Distance::Cluster));
        let miss = lines.miss(line, 1, Access::Store).unwrap();
        assert_eq!((miss.from, miss.losers), (Some(Distance::Far), 2));
        // A sharer that writes still has to tell the others.
        let miss = lines.miss(line, 4, Access::Store).unwrap();
        assert_eq!((miss.from, miss.losers), (Some(Distance::Far), 1));
    }

    #[test]
    fn two_addresses_share_a_line_if_they_are_within_64_bytes_from_its_beginning() {
        let mut lines = lines();
        assert_eq!(lines.number(128), lines.number(191));
        assert_ne!(lines.number(128), lines.number(192));
    }
}
