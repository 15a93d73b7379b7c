//! The hooks by which the scheduler reports what it does, one line each.
//!
//! With the feature `instrument` these lines count events, and with `record` they keep the times of
//! a program's jobs. A feature that is off has an empty twin with the same names, which leaves no
//! compiled code. The test `hooks_leave_no_code` deletes the lines and compares.
//!
//! Jobs and scopes are identified by their addresses, so that nothing here needs the scheduler's
//! types.

#[cfg_attr(not(feature = "instrument"), path = "hooks/counting_off.rs")]
mod counting;
#[cfg_attr(
    not(all(feature = "record", target_os = "linux")),
    path = "hooks/recording_off.rs"
)]
mod recording;

#[cfg(feature = "instrument")]
pub(crate) use counting::{ACCESSES, KINDS, Record};
pub(crate) use counting::{
    Here, Records, SleepAttempt, become_sleepy, changed, claimed, count, count_if, loaded,
    tried_to_exchange,
};
pub(crate) use recording::{
    await_others, is_worker, job_ended, open_broadcast, open_install, open_join, open_scope,
    second_begins, spawned, threads_to_split_for,
};

/// Defines [`Event`], and the names under which its values are reported.
macro_rules! events {
    ($($(#[$doc:meta])* $event:ident = $name:literal,)*) => {
        /// Something that a thread did. The order is that of the reported counts.
        /// `instrument/README.md` says which thread counts each event, and which sums hold.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(
            not(feature = "instrument"),
            // Some are counted by hooks with names of their own.
            allow(dead_code)
        )]
        pub(crate) enum Event {
            $($(#[$doc])* $event,)*
        }

        #[cfg(feature = "instrument")]
        impl Event {
            /// The reported names, by number.
            pub(crate) const NAMES: &'static [&'static str] = &[$($name),*];
        }
    };
}

events! {
    /// A worker put a job on its own deque.
    Push = "pushes",
    /// A worker took a job from its own deque.
    Pop = "pops",
    /// A thread called a closure that had waited in a queue.
    JobExecuted = "jobs_executed",
    /// A thread that is no worker of the pool put a job into its injector.
    Injection = "injections",
    /// A worker took a job from the injector.
    InjectorTake = "injector_takes",
    /// A worker took its share of a broadcast.
    BroadcastTaken = "broadcasts_taken",
    /// A worker asked the deque of one other worker for a job.
    StealTried = "steals_tried",
    /// The worker got one.
    StealWon = "steals_won",
    /// The worker must ask again, because others were at the deque.
    StealContended = "steals_contended",
    /// A worker began to search.
    Search = "searches",
    /// A worker looked everywhere, and found nothing.
    SearchRound = "search_rounds",
    /// A worker yielded to the operating system after that.
    Yield = "yields",
    /// A worker only paused after that: it had just begun to search, or a yield was expensive
    /// lately.
    Pause = "pauses",
    /// A worker became sleepy.
    Doze = "dozes",
    /// A worker blocked.
    Sleep = "sleeps",
    /// A worker was about to block, and did not.
    SleepCancelled = "sleeps_cancelled",
    /// A thread announced a job that was put into a queue.
    Announcement = "announcements",
    /// A thread locked a worker's slot to wake it if it sleeps.
    WakeTried = "wakes_tried",
    /// That worker slept, and was woken.
    WakeSent = "wakes_sent",
    /// A worker that was woken became sleepy again without having run a job.
    WakeInVain = "wakes_in_vain",
    /// A full fence stood between a push and its announcement.
    PushFence = "push_fences",
    /// A worker made all CPUs of the process fence. It was about to block, or to make jobs of
    /// another worker public.
    HeavyFence = "heavy_fences",
    /// A worker made its own private jobs public, because another worker was idle.
    Exposure = "exposures",
    /// A worker made private jobs of another one public.
    ExposureForOwner = "exposures_for_owner",
    /// A worker that stopped searching woke another one to search instead (wake-up propagation).
    WakePassedOn = "wakes_passed_on",
    /// One of the last searching workers lingered.
    Linger = "lingers",
    /// That worker then found a job, or no longer needed one.
    LingerWorthIt = "lingers_worth_it",
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
            /// Names of the accesses to each: loads, read-modify-writes, failed exchanges.
            pub(crate) const NAMES: &'static [[&'static str; 3]] = &[$([
                concat!($name, "_loads"),
                concat!($name, "_rmws"),
                concat!($name, "_cas_failures"),
            ]),*];
        }
    };
}

words! {
    /// Everything in one word.
    Packed = "packed_word",
    /// Sleepers alone.
    Sleeping = "sleeping",
    /// Inactive workers alone.
    Inactive = "inactive",
    /// Events alone.
    Events = "events",
}

/// A job begins that a thread took from a queue.
#[inline]
pub(crate) fn job_begins<J>(job: *const J) {
    count(Event::JobExecuted);
    recording::job_begins(job as usize);
}

/// The calling worker begins to search.
#[inline]
pub(crate) fn begin_search() {
    count(Event::Search);
    recording::begin_search();
}

/// The calling worker has work again.
#[inline]
pub(crate) fn end_search() {
    counting::end_search();
    recording::end_search();
}

/// The calling worker blocks now.
#[inline]
pub(crate) fn begin_sleep() {
    count(Event::Sleep);
    recording::begin_sleep();
}

/// The calling worker was woken, and runs.
#[inline]
pub(crate) fn end_sleep() {
    claimed();
    recording::end_sleep();
}
