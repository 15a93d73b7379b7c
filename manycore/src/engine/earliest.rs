//! Finds the earliest thread by a tournament tree of keys. A key consists of a clock and a thread's
//! number.

use crate::machine::Picoseconds;

const THREAD_BITS: u32 = 13;

pub(crate) const MOST_THREADS: usize = 1 << THREAD_BITS;

pub(crate) const NEVER: u64 = u64::MAX;

pub(crate) const LATEST: Picoseconds = (1 << (u64::BITS - THREAD_BITS)) - 2;

/// The clock is in the upper bits, so that at equal clocks the smaller thread number goes first.
pub(crate) fn key(clock: Picoseconds, thread: usize) -> u64 {
    debug_assert!(
        clock < 1 << (u64::BITS - THREAD_BITS),
        "a run lasts less than 38 minutes of simulated time"
    );
    clock << THREAD_BITS | thread as u64
}

pub(crate) fn thread_of(key: u64) -> usize {
    (key & ((1 << THREAD_BITS) - 1)) as usize
}

/// A complete binary tree whose leaves are the threads' keys. Each other node is the smaller of its
/// two children.
#[derive(Debug)]
pub(crate) struct Earliest {
    /// The root is at 1, the children of `i` at `2 * i` and `2 * i + 1`.
    nodes: Vec<u64>,
    leaves: usize,
}

impl Earliest {
    pub(crate) fn new(threads: usize) -> Self {
        let leaves = threads.next_power_of_two().max(2);
        Self {
            nodes: vec![NEVER; 2 * leaves],
            leaves,
        }
    }

    #[inline]
    pub(crate) fn min(&self) -> u64 {
        self.nodes[1]
    }

    #[inline]
    pub(crate) fn set(&mut self, thread: usize, key: u64) {
        if thread >= self.leaves {
            self.grow(thread + 1);
        }
        let mut node = self.leaves + thread;
        let mut smallest = key;
        self.nodes[node] = key;
        while node > 1 {
            smallest = smallest.min(self.nodes[node ^ 1]);
            node /= 2;
            self.nodes[node] = smallest;
        }
    }

    #[cold]
    fn grow(&mut self, threads: usize) {
        let mut larger = Self::new(threads);
        for (thread, key) in self.nodes[self.leaves..].iter().enumerate() {
            larger.set(thread, *key);
        }
        *self = larger;
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
            let mut tournament = Earliest::new(5);
            let mut keys = [NEVER; 37];
            for (thread, clock) in steps {
                keys[thread] = clock.map_or(NEVER, |clock| key(clock, thread));
                tournament.set(thread, keys[thread]);
                prop_assert_eq!(tournament.min(), keys.iter().copied().min().unwrap());
            }
        }
    }

    #[test]
    fn ties_go_to_the_smaller_number() {
        assert!(key(5, 3) < key(5, 4) && key(5, 4) < key(6, 0));
        assert_eq!(thread_of(key(123_456, 8191)), 8191);
    }
}
