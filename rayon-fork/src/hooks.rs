//! Where the scheduler says what it does, in one line each.
//!
//! With the feature `instrument` these lines count, and with `record` they record a program.
//! Without, every function here is empty and every type has size zero, and nothing is left of them
//! in compiled code: the test `hooks_leave_no_code` deletes the lines and compares.

/// Defines [`Event`], and the names under which its values are reported.
macro_rules! events {
    ($($(#[$doc:meta])* $event:ident = $name:literal,)*) => {
        /// Something that a thread did, in the order in which counts are reported. Who counts it,
        /// and which sums hold, is in `instrument/README.md`.
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
            /// As reported, by number.
            pub(crate) const NAMES: &'static [&'static str] = &[$($name),*];
        }
    };
}

events! {
    /// A worker put a job on its own deque.
    Push = "pushes",
    /// A worker took a job from its own deque.
    Pop = "pops",
    /// A closure was called that had waited in a queue.
    JobExecuted = "jobs_executed",
    /// A thread that is no worker of the pool put a job into its injector.
    Injection = "injections",
    /// A worker took a job from the injector.
    InjectorTake = "injector_takes",
    /// A worker took its share of a broadcast.
    BroadcastTaken = "broadcasts_taken",
    /// A worker asked the deque of one other worker for a job.
    StealTried = "steals_tried",
    /// It got one.
    StealWon = "steals_won",
    /// It must ask again, because others were at the deque.
    StealContended = "steals_contended",
    /// A worker began to search.
    Search = "searches",
    /// A worker looked everywhere, and found nothing.
    SearchRound = "search_rounds",
    /// A worker yielded to the operating system after that.
    Yield = "yields",
    /// A worker only paused after that: it had just begun to search, or a yield was dear lately.
    Pause = "pauses",
    /// A worker became sleepy.
    Doze = "dozes",
    /// A worker blocked.
    Sleep = "sleeps",
    /// A worker was about to block, and did not.
    SleepCancelled = "sleeps_cancelled",
    /// Somebody announced a job that was put into a queue.
    Announcement = "announcements",
    /// Somebody locked a worker's slot to wake it if it sleeps.
    WakeTried = "wakes_tried",
    /// It slept, and was woken.
    WakeSent = "wakes_sent",
    /// A worker that was woken became sleepy again without having run a job.
    WakeInVain = "wakes_in_vain",
    /// A worker that had blocked ran again on a CPU where another worker was, while one had none.
    WakeStacked = "wakes_stacked",
    /// A full fence stood between a push and its announcement.
    PushFence = "push_fences",
    /// A worker that was about to block, or to make jobs of another one public, made all CPUs of
    /// the process fence.
    HeavyFence = "heavy_fences",
    /// A worker made private jobs of its own public, since somebody was idle.
    Exposure = "exposures",
    /// A worker made private jobs of another one public.
    ExposureForOwner = "exposures_for_owner",
    /// A worker that stopped searching woke another one in its stead.
    WakePassedOn = "wakes_passed_on",
    /// A worker that searched with few others went on for longer than others do.
    Linger = "lingers",
    /// And then found a job, or had no need of one any more.
    LingerWorthIt = "lingers_worth_it",
}

/// Defines [`Word`], and the names under which accesses to its values are reported.
macro_rules! words {
    ($($(#[$doc:meta])* $word:ident = $name:literal,)*) => {
        /// A word of the sleep counters, of any packing.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Word {
            $($(#[$doc])* $word,)*
        }

        #[cfg(feature = "instrument")]
        impl Word {
            /// All there are, by number.
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

#[cfg(feature = "instrument")]
pub(crate) use crate::instrument::hooks::*;
#[cfg(all(feature = "record", target_os = "linux"))]
pub(crate) use crate::record::*;
#[cfg(not(feature = "instrument"))]
pub(crate) use nothing::*;
#[cfg(not(all(feature = "record", target_os = "linux")))]
pub(crate) use unrecorded::*;

/// The hooks of a build that does not count.
#[cfg(not(feature = "instrument"))]
mod nothing {
    use std::marker::PhantomData;

    use super::{Event, Word};

    /// The calling thread did that.
    #[inline]
    pub(crate) fn count(_event: Event) {}

    /// The calling thread did that, if so.
    #[inline]
    pub(crate) fn count_if(_happened: bool, _event: Event) {}

    /// The calling thread loaded that word.
    #[inline]
    pub(crate) fn loaded(_word: Word) {}

    /// The calling thread added to that word or subtracted from it.
    #[inline]
    pub(crate) fn changed(_word: Word) {}

    /// The calling thread tried to exchange the value of that word.
    #[inline]
    pub(crate) fn tried_to_exchange(_word: Word, _succeeded: bool) {}

    /// The calling worker begins to search.
    #[inline]
    pub(crate) fn begin_search() {}

    /// The calling worker has work again.
    #[inline]
    pub(crate) fn end_search() {}

    /// The calling worker became sleepy.
    #[inline]
    pub(crate) fn become_sleepy() {}

    /// The calling worker blocks now.
    #[inline]
    pub(crate) fn begin_sleep() {}

    /// The calling worker was woken, and runs.
    #[inline]
    pub(crate) fn end_sleep() {}

    /// The calling worker was woken before it had blocked.
    #[inline]
    pub(crate) fn claimed() {}

    /// The calling worker tries to sleep for as long as this lives.
    pub(crate) struct SleepAttempt;

    impl SleepAttempt {
        #[inline]
        pub(crate) fn begin() -> Self {
            Self
        }
    }

    /// What is recorded of one pool.
    pub(crate) struct Records;

    // Where records are, these methods need them.
    #[allow(clippy::unused_self)]
    impl Records {
        #[inline]
        pub(crate) fn new(_workers: usize) -> Self {
            Self
        }

        /// What the calling thread does is the doing of this pool's worker `index`.
        #[inline]
        pub(crate) fn occupy(&self, _index: usize) -> Here<'_> {
            Here(PhantomData)
        }

        /// What the calling thread does is done to this pool: from outside, unless it is one of the
        /// pool's workers.
        #[inline]
        pub(crate) fn visit(&self) -> Here<'_> {
            Here(PhantomData)
        }
    }

    /// Says to whom the calling thread's doings are ascribed, until it is dropped.
    pub(crate) struct Here<'r>(PhantomData<&'r Records>);
}

/// The hooks of a build that does not record.
#[cfg(not(all(feature = "record", target_os = "linux")))]
mod unrecorded {
    use crate::job::JobRef;

    /// Something that the calling thread has begun lasts until this is dropped.
    pub(crate) struct Frame;

    /// A join begins whose second closure is `job`.
    #[inline]
    pub(crate) fn open_join(_job: &JobRef, _splits: bool) -> Frame {
        Frame
    }

    /// The calling thread waits for a job that it put into a pool.
    #[inline]
    pub(crate) fn open_install(_job: &JobRef) -> Frame {
        Frame
    }

    /// A scope begins.
    #[inline]
    pub(crate) fn open_scope<S>(_scope: *const S) -> Frame {
        Frame
    }

    /// A broadcast begins.
    #[inline]
    pub(crate) fn open_broadcast<S>(_shares: *const S) -> Frame {
        Frame
    }

    /// The second closure of a join was taken back, and begins.
    #[inline]
    pub(crate) fn second_begins() {}

    /// The calling thread waits for jobs of others before it closes its innermost frame.
    #[inline]
    pub(crate) fn await_others() {}

    /// A job was made for which `scope` waits, or nobody.
    #[inline]
    pub(crate) fn spawned<S>(_job: &JobRef, _scope: *const S) {}

    /// A job begins that was taken from a queue.
    #[inline]
    pub(crate) fn job_begins<J>(_job: *const J) {}

    /// It ended.
    #[inline]
    pub(crate) fn job_ended() {}

    /// The calling thread is worker `index` now.
    #[inline]
    pub(crate) fn is_worker(_index: usize) {}

    /// The calling worker looks for a job.
    #[inline]
    pub(crate) fn searches() {}

    /// It looks no longer.
    #[inline]
    pub(crate) fn found() {}

    /// The calling worker blocks.
    #[inline]
    pub(crate) fn sleeps() {}

    /// It runs again.
    #[inline]
    pub(crate) fn woke() {}

    /// What a pool of so many workers says to those who divide work among them.
    #[inline]
    pub(crate) fn threads_to_split_for(real: usize) -> usize {
        real
    }
}
