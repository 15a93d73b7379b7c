//! Where time went: by core and kind, and by line of source.

use std::collections::BTreeMap;
use std::panic::Location;

use rustc_hash::FxHashMap;

use crate::machine::Picoseconds;

/// What a core spends time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spending {
    /// Work that was charged ([`crate::work`]).
    Work,
    /// Accesses that hit, and fences, outside a search.
    Jobs,
    /// The same in a search for work ([`crate::set_searching`]).
    Search,
    /// Waiting for lines, and for stores to leave the buffer.
    Lines,
    /// System calls, and from a wake-up until the core runs.
    System,
    /// Blocked, or sleeping for a time.
    Asleep,
}

impl Spending {
    /// All, in the order in which they are reported.
    pub const ALL: [Self; 6] =
        [Self::Work, Self::Jobs, Self::Search, Self::Lines, Self::System, Self::Asleep];

    /// Its name in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Jobs => "jobs",
            Self::Search => "search",
            Self::Lines => "lines",
            Self::System => "system",
            Self::Asleep => "asleep",
        }
    }
}

/// Time by [`Spending`], in the order of [`Spending::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent([Picoseconds; 6]);

impl Spent {
    /// Time spent on `spending`.
    #[must_use]
    pub fn on(&self, spending: Spending) -> Picoseconds {
        self.0[spending as usize]
    }

    /// All time in which the core was not asleep.
    #[must_use]
    pub fn awake(&self) -> Picoseconds {
        self.0.iter().sum::<Picoseconds>() - self.on(Spending::Asleep)
    }

    #[inline]
    pub(crate) fn add(&mut self, spending: Spending, time: Picoseconds) {
        self.0[spending as usize] += time;
    }

    /// What was spent since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] - earlier.0[i]))
    }
}

/// A line of source that waited for lines of memory which another line of source, or the same, had written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Where the access is.
    pub at: &'static Location<'static>,
    /// Where the line was last written; `None` if it never was.
    pub written_at: Option<&'static Location<'static>>,
    /// How often a line came from elsewhere.
    pub transfers: u64,
    /// How long that took, all cores together: queueing for the line, and the transfer.
    pub waited: Picoseconds,
}

/// Places are compared by their address: the same place has one in a program.
type Place = Option<&'static Location<'static>>;

fn address(place: Place) -> usize {
    place.map_or(0, |place| std::ptr::from_ref(place) as usize)
}

/// Waits by pair of places.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    pairs: FxHashMap<(usize, usize), Wait>,
}

impl Waits {
    #[inline]
    pub(crate) fn add(
        &mut self,
        at: &'static Location<'static>,
        written_at: Place,
        waited: Picoseconds,
    ) {
        let wait = self.pairs.entry((address(Some(at)), address(written_at))).or_insert(Wait {
            at,
            written_at,
            transfers: 0,
            waited: 0,
        });
        wait.transfers += 1;
        wait.waited += waited;
    }

    /// All, the longest first; ties by place.
    pub(crate) fn sorted(&self) -> Vec<Wait> {
        let name = |place: Place| place.map(|it| (it.file(), it.line(), it.column()));
        // A place has several addresses where its code was compiled more than once.
        let mut by_name = BTreeMap::new();
        for wait in self.pairs.values() {
            let same = by_name
                .entry((name(Some(wait.at)), name(wait.written_at)))
                .or_insert(Wait { transfers: 0, waited: 0, ..wait.clone() });
            same.transfers += wait.transfers;
            same.waited += wait.waited;
        }
        let mut waits: Vec<Wait> = by_name.into_values().collect();
        waits.sort_by_key(|wait| std::cmp::Reverse(wait.waited));
        waits
    }

    pub(crate) fn clear(&mut self) {
        self.pairs.clear();
    }
}
