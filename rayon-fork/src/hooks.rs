//! The hooks by which the scheduler reports what it does. Each hook is one line.
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

macro_rules! events {
    ($($(#[$doc:meta])* $event:ident = $name:literal,)*) => {
        /// Something that a thread did. The events have the order in which their counts are
        /// reported. `instrument/README.md` says which thread counts each event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(
            not(feature = "instrument"),
            // Without the feature, no code constructs some of the events, because hooks with names
            // of their own count them.
            allow(dead_code)
        )]
        pub(crate) enum Event {
            $($(#[$doc])* $event,)*
        }

        #[cfg(feature = "instrument")]
        impl Event {
            pub(crate) const NAMES: &'static [&'static str] = &[$($name),*];
        }
    };
}

events! {
    Push = "pushes",
    /// A thread called a closure that had waited in a queue.
    JobExecuted = "jobs_executed",
    StealTried = "steals_tried",
    StealWon = "steals_won",
    Search = "searches",
    Sleep = "sleeps",
    WakeSent = "wakes_sent",
    /// A worker that was woken became sleepy again before its search ended.
    SpuriousWake = "wakes_in_vain",
}

macro_rules! words {
    ($($(#[$doc:meta])* $word:ident = $name:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Word {
            $($(#[$doc])* $word,)*
        }

        #[cfg(feature = "instrument")]
        impl Word {
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
    Packed = "packed_word",
    Sleeping = "sleeping",
    Inactive = "inactive",
    Events = "events",
}
