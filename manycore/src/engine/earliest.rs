//! Which core is the earliest: a tournament of keys, each a clock and a core's number.

use crate::machine::Picoseconds;

/// Bits of a key that hold the core's number.
const CORE_BITS: u32 = 11;

/// The key of a core that is not in the tournament.
pub(crate) const NEVER: u64 = u64::MAX;

/// The latest clock that a key holds.
pub(crate) const LATEST: Picoseconds = (1 << (u64::BITS - CORE_BITS)) - 2;

/// Clock before number, so that ties go to the smaller number.
pub(crate) fn key(clock: Picoseconds, core: usize) -> u64 {
    debug_assert!(clock < 1 << (u64::BITS - CORE_BITS), "the clock of a run of hours");
    clock << CORE_BITS | core as u64
}

/// The core of a key.
pub(crate) fn core_of(key: u64) -> usize {
    (key & ((1 << CORE_BITS) - 1)) as usize
}

/// A complete binary tree whose leaves are the cores' keys, and each other node the smaller of its two children.
#[derive(Debug)]
pub(crate) struct Earliest {
    /// The root is at 1, the children of `i` at `2 * i` and `2 * i + 1`.
    nodes: Vec<u64>,
    leaves: usize,
}

impl Earliest {
    /// A tournament for `cores` cores, none of them in it.
    pub(crate) fn new(cores: usize) -> Self {
        let leaves = cores.next_power_of_two().max(2);
        Self { nodes: vec![NEVER; 2 * leaves], leaves }
    }

    /// The smallest key; [`NEVER`] if there is none.
    #[inline]
    pub(crate) fn min(&self) -> u64 {
        self.nodes[1]
    }

    /// Gives `core` a key, or takes it out by [`NEVER`].
    #[inline]
    pub(crate) fn set(&mut self, core: usize, key: u64) {
        let mut node = self.leaves + core;
        let mut smallest = key;
        self.nodes[node] = key;
        while node > 1 {
            smallest = smallest.min(self.nodes[node ^ 1]);
            node /= 2;
            self.nodes[node] = smallest;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_root_is_the_smallest_key(
            steps in prop::collection::vec((0..37_usize, prop::option::of(0..1000_u64)), 1..200)
        ) {
            let mut tournament = Earliest::new(37);
            let mut keys = [NEVER; 37];
            for (core, clock) in steps {
                keys[core] = clock.map_or(NEVER, |clock| key(clock, core));
                tournament.set(core, keys[core]);
                prop_assert_eq!(tournament.min(), keys.iter().copied().min().unwrap());
            }
        }
    }

    #[test]
    fn ties_go_to_the_smaller_number() {
        assert!(key(5, 3) < key(5, 4) && key(5, 4) < key(6, 0));
        assert_eq!(core_of(key(123_456, 1023)), 1023);
    }
}
