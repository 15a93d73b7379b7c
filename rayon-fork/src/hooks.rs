//! The hooks by which the scheduler reports what it does, one line each.
//!
//! With the feature `instrument` these lines count events. Without `instrument`, functions of the
//! same names leave no compiled code. The test `hooks_leave_no_code` deletes these lines and
//! compares the compiled code.

#[cfg_attr(not(feature = "instrument"), path = "hooks/counting_off.rs")]
mod counting;

#[cfg(feature = "instrument")]
pub(crate) use counting::{ACCESSES, KINDS, Record};
pub(crate) use counting::{
    Here, Records, become_sleepy, changed, claimed, count, count_if, end_search, loaded,
    tried_to_exchange,
};

/// Defines [`Event`], and the names under which its values are reported.
macro_rules! events {
    ($($(#[$doc:meta])* $event:ident = $name:literal,)*) => {
        /// Something that a thread did. The events have the order in which their counts are
        /// reported. `instrument/README.md` says which thread counts each event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(
            not(feature = "instrument"),
            // Without the feature, some events are not constructed, because hooks with their own
            // names count them.
            allow(dead_code)
        )]
        pub(crate) enum Event {
            $($(#[$doc])* $event,)*
        }

        #[cfg(feature = "instrument")]
        impl Event {
            /// The names under which events are reported, by the number of the event.
            pub(crate) const NAMES: &'static [&'static str] = &[$($name),*];
        }
    };
}

events! {
    /// A worker put a job on its own deque.
    Push = "pushes",
    /// A thread called a closure that had waited in a queue.
    JobExecuted = "jobs_executed",
    /// A worker tried to steal from one other worker.
    StealTried = "steals_tried",
    /// A worker stole a job.
    StealWon = "steals_won",
    /// A worker began to search.
    Search = "searches",
    /// A worker blocked.
    Sleep = "sleeps",
    /// A thread woke a worker that slept.
    WakeSent = "wakes_sent",
    /// A worker that was woken became sleepy again without having run a job.
    SpuriousWake = "wakes_in_vain",
}

/// Defines [`Word`], and the names under which accesses to its values are reported.
macro_rules! words {
    ($($(#[$doc:meta])* $word:ident = $name:literal,)*) => {
        /// A word of the sleep counters, of any counter layout.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Word {
            $($(#[$doc])* $word,)*
        }

        #[cfg(feature = "instrument")]
        impl Word {
            /// All words, by number.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$word),*];
            /// For each word, the names of its accesses: loads, read-modify-writes, failed
            /// exchanges.
            pub(crate) const NAMES: &'static [[&'static str; 3]] = &[$([
                concat!($name, "_loads"),
                concat!($name, "_rmws"),
                concat!($name, "_cas_failures"),
            ]),*];
        }
    };
}

words! {
    /// All three counters in one word.
    Packed = "packed_word",
    /// Sleepers alone.
    Sleeping = "sleeping",
    /// Inactive workers alone.
    Inactive = "inactive",
    /// Events alone.
    Events = "events",
}
