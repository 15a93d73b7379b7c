//! Cache lines: the cores that have them, and the end of each transfer.

use std::collections::VecDeque;
use std::panic::Location;

use rustc_hash::FxHashMap;

use crate::machine::{Distance, Picoseconds, Topology};

pub(crate) const LINE_BYTES: usize = 64;

const NOBODY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Load,
    Store,
    ReadModifyWrite,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    core: usize,
    done: Picoseconds,
    free_at: Picoseconds,
    ticket: u64,
}

impl Turn {
    fn delay(&mut self, by: Picoseconds) {
        self.done += by;
        self.free_at += by;
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// The core that has the line alone, or [`NOBODY`] if the line is shared or in no cache.
    owner: u32,
    /// The time at which the next core at the end of the queue can begin its transfer.
    pub(crate) free_at: Picoseconds,
    pub(crate) written_at: Option<&'static Location<'static>>,
    /// The turns in the order in which cores get the line. First come turns that are over, the last
    /// of which belongs to the core that has the line; then all cores that wait. The queue stays
    /// empty if the cost parameter `run` is 1, so that cores get the line in the order of requests.
    turns: VecDeque<Turn>,
    tickets: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Miss {
    /// The nearest holder for a read, the farthest for a write; `None` if the line is in no cache.
    pub(crate) from: Option<Distance>,
    pub(crate) losers: u64,
    /// Whether no other core can have the line during the occupied part of the transfer. Cores that
    /// read from sharers or from memory do not wait for one another.
    pub(crate) is_exclusive: bool,
}

#[derive(Debug)]
pub(crate) struct Lines {
    numbers: FxHashMap<usize, u32>,
    all: Vec<Line>,
    /// For each line, a bit for each core: whether the core has the line.
    holders: Vec<u64>,
    words: usize,
    /// For each core, the cores of its cluster, and the cores of its socket.
    neighbours: Vec<[Vec<u64>; 2]>,
}

impl Lines {
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
            holders: Vec::new(),
            words,
            neighbours: neighbours.collect(),
        }
    }

    #[inline]
    pub(crate) fn number(&mut self, address: usize) -> usize {
        let next = self.all.len();
        let number = *self.numbers.entry(address / LINE_BYTES).or_insert_with(|| {
            self.all.push(Line {
                owner: NOBODY,
                free_at: 0,
                written_at: None,
                turns: VecDeque::new(),
                tickets: 0,
            });
            self.holders.resize((next + 1) * self.words, 0);
            u32::try_from(next).expect("fewer than 2^32 lines")
        });
        number as usize
    }

    #[inline]
    pub(crate) fn line(&mut self, number: usize) -> &mut Line {
        &mut self.all[number]
    }

    #[inline]
    pub(crate) fn miss(&self, number: usize, core: usize, access: Access) -> Option<Miss> {
        let owner = self.all[number].owner;
        let holders = &self.holders[number * self.words..][..self.words];
        let is_holder = has(holders, core);
        let is_load = access == Access::Load;
        if owner as usize == core || (is_load && is_holder) {
            return None;
        }
        let ones = holders.iter().map(|word| u64::from(word.count_ones()));
        let others = ones.sum::<u64>() - u64::from(is_holder);
        let is_cached = others > 0 || is_holder;
        let from = is_cached.then(|| self.distance(core, holders, is_load));
        Some(Miss {
            from,
            losers: if is_load { 0 } else { others },
            is_exclusive: !is_load || owner != NOBODY,
        })
    }

    fn distance(&self, core: usize, holders: &[u64], is_nearest: bool) -> Distance {
        let [cluster, socket] = &self.neighbours[core];
        let pairs = |mask| holders.iter().zip::<&Vec<u64>>(mask);
        let are_in = |mask| {
            if is_nearest {
                pairs(mask).any(|(holders, mask)| holders & mask != 0)
            } else {
                pairs(mask).all(|(holders, mask)| holders & !mask == 0)
            }
        };
        let is_own = || {
            let mut words = holders.iter().enumerate();
            words.all(|(i, word)| *word == if core / 64 == i { 1 << (core % 64) } else { 0 })
        };
        if !are_in(socket) {
            Distance::Far
        } else if !are_in(cluster) {
            Distance::Socket
        } else if is_nearest || !is_own() {
            Distance::Cluster
        } else {
            Distance::Own
        }
    }

    fn are_near(&self, one: usize, other: usize) -> bool {
        has(&self.neighbours[one][0], other)
    }

    /// The position in line `number`'s turns at which `core` may go before earlier requests; `None`
    /// if `core` goes last. The second value is whether the line is then in the core's own cache.
    fn place(&self, number: usize, core: usize, run: usize) -> Option<(usize, bool)> {
        let turns = &self.all[number].turns;
        let mut operations = 0;
        let mut cores = 0;
        let mut of_cluster = None;
        for (i, turn) in turns.iter().enumerate() {
            let before = i.checked_sub(1).map(|i| turns[i].core);
            let is_same = before == Some(turn.core);
            let is_next = before.is_some_and(|before| self.are_near(before, turn.core));
            operations = if is_same { operations + 1 } else { 1 };
            cores = match (is_same, is_next) {
                (true, _) => cores,
                (false, true) => cores + 1,
                (false, false) => 1,
            };
            let after = turns.get(i + 1)?.core;
            if turn.core == core && after != core && operations < run {
                return Some((i + 1, true));
            }
            let is_last = self.are_near(core, turn.core) && !self.are_near(core, after);
            // Behind its own operations, `core` would only extend their sequence, which `run`
            // limits.
            if is_last && turn.core != core && cores < run && of_cluster.is_none() {
                of_cluster = Some((i + 1, false));
            }
            if i + 2 == turns.len() {
                break;
            }
        }
        of_cluster
    }

    /// Removes turns that are over. Keeps the turn of the core that now has the line. While other
    /// cores wait, also keeps the turns of cores of the same cluster directly before that turn.
    fn forget(&mut self, number: usize, now: Picoseconds) {
        let turns = &self.all[number].turns;
        let Some(holder) = turns.iter().rposition(|turn| turn.done <= now) else {
            return;
        };
        let over = if holder + 1 == turns.len() {
            holder
        } else {
            let is_near = |i: &usize| self.are_near(turns[*i].core, turns[holder].core);
            (0..holder).rev().find(|i| !is_near(i)).map_or(0, |i| i + 1)
        };
        self.all[number].turns.drain(..over);
    }

    /// Gives `core` line `number` before earlier requests, if [`Self::place`] finds a position.
    /// Returns the time when the core has the line, and the ticket of the core's turn. `time` is
    /// the duration of a transfer in the core's cluster. During the part `kept` of the transfer, no
    /// other core can have the line. `held` is how long the core's operation keeps the line.
    pub(crate) fn squeeze_in(
        &mut self,
        number: usize,
        core: usize,
        run: usize,
        now: Picoseconds,
        (time, kept, held): (Picoseconds, Picoseconds, Picoseconds),
    ) -> Option<(Picoseconds, u64)> {
        self.forget(number, now);
        let (place, is_own) = self.place(number, core, run)?;
        let line = &mut self.all[number];
        let (time, kept) = if is_own { (0, 0) } else { (time, kept) };
        let start = now.max(line.turns[place - 1].free_at);
        let delay = kept + held;
        line.turns
            .iter_mut()
            .skip(place)
            .for_each(|turn| turn.delay(delay));
        line.free_at += delay;
        line.tickets += 1;
        let turn = Turn {
            core,
            done: start + time,
            free_at: start + delay,
            ticket: line.tickets,
        };
        line.turns.insert(place, turn);
        Some((turn.done, turn.ticket))
    }

    pub(crate) fn line_up(&mut self, number: usize, core: usize, done: Picoseconds) -> u64 {
        let line = &mut self.all[number];
        if line.turns.is_empty() && line.owner != NOBODY {
            line.turns.push_back(Turn {
                core: line.owner as usize,
                done: 0,
                free_at: 0,
                ticket: 0,
            });
        }
        line.tickets += 1;
        line.turns.push_back(Turn {
            core,
            done,
            free_at: line.free_at,
            ticket: line.tickets,
        });
        line.tickets
    }

    /// Returns the time when `core` will have line `number`, and the ticket of the core's turn.
    /// `None` if the line is not on its way to `core`, or if another core requested it later.
    pub(crate) fn on_its_way(
        &self,
        number: usize,
        core: usize,
        now: Picoseconds,
    ) -> Option<(Picoseconds, u64)> {
        let last = self.all[number].turns.back()?;
        (last.core == core && last.done > now).then_some((last.done, last.ticket))
    }

    #[inline]
    pub(crate) fn keep(&mut self, number: usize, free_at: Picoseconds) {
        let line = &mut self.all[number];
        line.free_at = free_at;
        if let Some(last) = line.turns.back_mut() {
            last.free_at = free_at;
        }
    }

    /// The time when the core with this ticket has line `number`; `None` if the ticket's turn is
    /// over and was removed.
    pub(crate) fn turn(&self, number: usize, ticket: u64) -> Option<Picoseconds> {
        let turns = &self.all[number].turns;
        turns
            .iter()
            .find(|turn| turn.ticket == ticket)
            .map(|turn| turn.done)
    }

    /// Removes all lines from the caches of `core`, which is idle. Later accesses take lines that no
    /// other core has from memory.
    pub(crate) fn empty(&mut self, core: usize) {
        let bit = 1 << (core % 64);
        for holders in self.holders.chunks_exact_mut(self.words) {
            holders[core / 64] &= !bit;
        }
        for line in &mut self.all {
            if line.owner as usize == core {
                line.owner = NOBODY;
                // The turns that are over end with the turn of the core that has the line.
                line.turns.clear();
            }
        }
    }

    #[inline]
    pub(crate) fn give(&mut self, number: usize, core: usize, access: Access) {
        let holders = &mut self.holders[number * self.words..][..self.words];
        self.all[number].owner = if access == Access::Load {
            NOBODY
        } else {
            holders.fill(0);
            u32::try_from(core).expect("a core's number is small")
        };
        holders[core / 64] |= 1 << (core % 64);
    }
}

fn has(bits: &[u64], i: usize) -> bool {
    bits[i / 64] >> (i % 64) & 1 == 1
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
            .expect("the core does not have the line")
            .from
    }

    #[test]
    fn emptied_caches_leave_copies_of_other_cores_and_send_the_rest_to_memory() {
        let mut lines = lines();
        let [own, shared] = [0, 64].map(|address| lines.number(address));
        lines.give(own, 0, Access::Store);
        lines.give(shared, 0, Access::Store);
        lines.give(shared, 1, Access::Load);
        lines.empty(0);
        let from = [own, shared].map(|line| lines.miss(line, 0, Access::Load).unwrap().from);
        assert_eq!(from, [None, Some(Distance::Cluster)]);
        assert!(lines.miss(shared, 1, Access::Load).is_none());
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
        // A core that shares the line must invalidate the other copies before it writes.
        let miss = lines.miss(line, 4, Access::Store).unwrap();
        assert_eq!((miss.from, miss.losers), (Some(Distance::Far), 1));
    }
}
