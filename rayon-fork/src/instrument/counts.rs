//! Event counts of each worker, at one moment or between two moments.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

use crate::ThreadPool;
use crate::hooks::{ACCESSES, Event, KINDS, Record, Word};
use crate::sleep;

/// The number of events of each kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EventCounts {
    kinds: [u64; KINDS],
}

impl EventCounts {
    /// Returns the name and count of every kind of event that this build's variant can have, in a
    /// fixed order.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let events = Event::NAMES.iter().copied();
        let accesses = Word::NAMES.iter().flatten().copied();
        let is_known = |kind: usize| match kind.checked_sub(Event::NAMES.len()) {
            Some(access) => sleep::uses_word(Word::ALL[access / ACCESSES]),
            None => true,
        };
        let kinds = events.chain(accesses).zip(self.kinds).enumerate();
        kinds
            .filter(move |&(kind, _)| is_known(kind))
            .map(|(_, named)| named)
    }

    /// Returns the count called `name`, or `None` if this build's variant does not have that count.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.named()
            .find(|&(known, _)| known == name)
            .map(|(_, count)| count)
    }

    /// Returns the events since `earlier`, an earlier count of the same threads.
    ///
    /// # Panics
    ///
    /// Panics if a count of `earlier` is larger.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let difference = |kind: usize| self.kinds[kind].checked_sub(earlier.kinds[kind]);
        let kinds = std::array::from_fn(|kind| {
            difference(kind).expect("a later count of the same threads is no smaller")
        });
        Self { kinds }
    }
}

impl Default for EventCounts {
    fn default() -> Self {
        Self { kinds: [0; KINDS] }
    }
}

impl fmt::Debug for EventCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut counts = f.debug_struct("EventCounts");
        for (name, count) in self.named() {
            counts.field(name, &count);
        }
        counts.finish()
    }
}

impl Add for EventCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            kinds: std::array::from_fn(|kind| self.kinds[kind] + other.kinds[kind]),
        }
    }
}

impl Sum for EventCounts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), Add::add)
    }
}

/// The events of one pool, by all threads, from its beginning or between two moments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The counts of each worker.
    pub workers: Vec<EventCounts>,
    /// The counts of all threads that are no workers of this pool, added up. These threads include
    /// workers of other pools.
    pub outside: EventCounts,
}

impl Snapshot {
    /// Returns the events since `earlier`, a snapshot of the same pool.
    ///
    /// # Panics
    ///
    /// Panics if `earlier` is a later snapshot, or one of another pool, as far as that can be
    /// detected.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        assert_eq!(
            self.workers.len(),
            earlier.workers.len(),
            "snapshots of two different pools"
        );
        let workers = self.workers.iter().zip(&earlier.workers);
        Self {
            workers: workers.map(|(now, then)| now.since(then)).collect(),
            outside: self.outside.since(&earlier.outside),
        }
    }

    /// Returns the counts of all threads, added up.
    #[must_use]
    pub fn total(&self) -> EventCounts {
        self.workers.iter().copied().sum::<EventCounts>() + self.outside
    }
}

/// Returns the events of `pool` so far. This function stops no thread, so while the pool works, the
/// counts are of slightly different moments. Workers without a job still search, and then sleep.
pub fn snapshot(pool: &ThreadPool) -> Snapshot {
    let records = pool.registry().records();
    let counts = |record: &Record| EventCounts {
        kinds: record.counts(),
    };
    Snapshot {
        workers: records.workers().map(counts).collect(),
        outside: counts(records.outside()),
    }
}
