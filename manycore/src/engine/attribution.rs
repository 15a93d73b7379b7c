//! Attributes time to threads and kinds of activity, and to lines of source.

use std::collections::BTreeMap;
use std::panic::Location;

use rustc_hash::FxHashMap;

use crate::machine::Picoseconds;

macro_rules! spendings {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal,)*) => {
        /// An activity on which a thread spends time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Spending {
            $($(#[doc = $doc])* $variant,)*
        }

        impl Spending {
            /// All activities, in the order in which reports list them.
            pub const ALL: [Self; 7] = [$(Self::$variant),*];

            /// The activity's name in records.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

spendings! {
    /// Work whose cost the program adds ([`crate::work`]).
    Work = "work",
    /// Outside a search: accesses without their transfers, fences, spin hints of locks,
    /// allocations, and own instructions of calls.
    Jobs = "jobs",
    /// The same as `Jobs`, and spin hints, in a search for work. A search lasts from a spin hint or
    /// a yield until the program adds the cost of work.
    Search = "search",
    /// Waiting for lines, and for stores to leave the buffer.
    Lines = "lines",
    /// System calls, interrupts by heavy sides of asymmetric fences, and switches from one thread
    /// to the next on a core.
    System = "system",
    /// From the start, a wake-up or the loss of the core until the thread runs, including the wait
    /// for a core that another thread has.
    Waking = "waking",
    /// Blocked, or sleeping for a time.
    Asleep = "asleep",
}

/// The time spent on each activity, in the order of [`Spending::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent([Picoseconds; 7]);

impl Spent {
    /// Time spent on `spending`.
    #[must_use]
    pub fn on(&self, spending: Spending) -> Picoseconds {
        self.0[spending as usize]
    }

    /// All time in which the thread ran on a core.
    #[must_use]
    pub fn cpu(&self) -> Picoseconds {
        let not = self.on(Spending::Asleep) + self.on(Spending::Waking);
        self.0.iter().sum::<Picoseconds>() - not
    }

    #[inline]
    pub(crate) fn add(&mut self, spending: Spending, time: Picoseconds) {
        self.0[spending as usize] += time;
    }

    /// Returns the time spent since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] - earlier.0[i]))
    }
}

/// The thing for which a line of source waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitedFor {
    /// A cache line, and the source line that last wrote it. `None` if no source line wrote it, or
    /// if the thread waited for its own buffered stores.
    Line(Option<&'static Location<'static>>),
    /// A lock. The wait lasts from the system call that blocks the thread until that call returns.
    Lock,
    /// The line's own system call to wake other threads, even if it wakes none.
    Wake,
}

/// A line of source that waited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The place in the source.
    pub at: &'static Location<'static>,
    /// The thing for which the line of source waited.
    pub on: WaitedFor,
    /// How often the line of source waited: the number of transfers and of waits for buffered
    /// stores, or of system calls.
    pub times: u64,
    /// The duration of the waits, summed over all threads. For a cache line, the duration includes
    /// queueing and the transfer; it is 0 for a store that goes into the buffer.
    pub waited: Picoseconds,
}

/// The identity of a place. A place can have several addresses; `Waits::sorted` merges them.
fn address(place: &'static Location<'static>) -> usize {
    std::ptr::from_ref(place) as usize
}

impl WaitedFor {
    fn key(self) -> usize {
        match self {
            Self::Line(None) => 0,
            Self::Lock => 1,
            Self::Wake => 2,
            Self::Line(Some(place)) => address(place),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Waits {
    pairs: FxHashMap<(usize, usize), Wait>,
}

impl Waits {
    #[inline]
    pub(crate) fn add(
        &mut self,
        at: &'static Location<'static>,
        on: WaitedFor,
        waited: Picoseconds,
    ) {
        let new = Wait {
            at,
            on,
            times: 0,
            waited: 0,
        };
        let wait = self.pairs.entry((address(at), on.key())).or_insert(new);
        wait.times += 1;
        wait.waited += waited;
    }

    pub(crate) fn lengthen(
        &mut self,
        at: &'static Location<'static>,
        on: WaitedFor,
        more: Picoseconds,
    ) {
        if let Some(wait) = self.pairs.get_mut(&(address(at), on.key())) {
            wait.waited += more;
        }
    }

    pub(crate) fn sorted(&self) -> Vec<Wait> {
        let name = |place: &Location<'static>| (place.file(), place.line(), place.column());
        let what = |on: WaitedFor| match on {
            WaitedFor::Line(place) => (0, place.map(name)),
            WaitedFor::Lock => (1, None),
            WaitedFor::Wake => (2, None),
        };
        // A place has several addresses if its code was compiled more than once.
        let mut by_name = BTreeMap::new();
        for wait in self.pairs.values() {
            let same = by_name
                .entry((name(wait.at), what(wait.on)))
                .or_insert(Wait {
                    times: 0,
                    waited: 0,
                    ..wait.clone()
                });
            same.times += wait.times;
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
