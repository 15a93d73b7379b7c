//! What a recorder writes into its files: the one description of it, which the crate `recording`
//! reads, too.
//!
//! A folder holds `head`, a file of lines `name=value` with the fields of [`HEAD`], and a file
//! `thread-N` for each thread. That is a row of events of two words, in the order of time, and
//! zeros behind the last one:
//!
//! | word | bits | content |
//! |---|---|---|
//! | 0 | 56..64 | what happened: an [`Event`]; 0 is the end |
//! | 0 | 0..56 | when: ticks of the clock since the recording began |
//! | 1 | 0..64 | of which job and where in the program ([`job_word`]), or as the event says |

/// Version of this layout, and of the file that is made of it.
pub const VERSION: u32 = 1;

/// A text that is in every program that can record.
pub const MARK: &str = "this program can be recorded, layout 1";

/// Names the folder into which a program records itself, if there is one and nobody has before.
pub const FOLDER_VARIABLE: &str = "RAYON_FORK_RECORD";

/// The most bytes of events, of all threads together.
pub const LIMIT_VARIABLE: &str = "RAYON_FORK_RECORD_LIMIT";

/// For how many threads parallel iterators shall split.
pub const SPLIT_VARIABLE: &str = "RAYON_FORK_RECORD_SPLIT";

/// Fields of the head, all of them whole numbers: this layout; the process; the monotonic clock
/// when the recording began, in nanoseconds; ticks in a second; what an event costs the thread that
/// writes it, in thousandths of a tick; for how many threads iterators split.
pub const HEAD: [&str; 6] = [
    "version",
    "process",
    "began_ns",
    "ticks_per_s",
    "event_milliticks",
    "split",
];

/// Bits of a time.
pub const TIME_BITS: u32 = 56;

macro_rules! events {
    ($($(#[$doc:meta])* $event:ident = $number:literal,)*) => {
        /// What happened on a thread. *Frames* nest: something was opened that the thread comes
        /// back to and closes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Event {
            $($(#[$doc])* $event = $number,)*
        }

        impl Event {
            /// By number, from 1, without gaps.
            pub const ALL: &'static [Self] = &[$(Self::$event),*];
        }
    };
}

events! {
    /// Opens a frame: a `join` offers its second closure, a job, and calls the first.
    Join = 1,
    /// The same by `join_context`, by which parallel iterators split.
    Split = 2,
    /// The first closure has ended, and nobody took the second: it begins here.
    Second = 3,
    /// The innermost frame waits for jobs of others.
    Await = 4,
    /// The innermost frame ended.
    Close = 5,
    /// Opens a frame: the scope at this address.
    Scope = 6,
    /// Opens a frame: a broadcast, of which each share is a job of the scope at this address.
    Broadcast = 7,
    /// Opens a frame: a thread that is no worker of the pool puts a job into it and waits.
    Install = 8,
    /// The scope of the next job that is spawned; 0 is none. Has no time.
    Into = 9,
    /// A job is spawned.
    Spawn = 10,
    /// A job begins that was put into a queue.
    Begin = 11,
    /// The innermost such job of the thread ended.
    End = 12,
    /// The thread is, from now on, the worker of this number.
    Worker = 13,
    /// The worker has no job and searches for one.
    Search = 14,
    /// Its search is over.
    Found = 15,
    /// The worker blocks.
    Sleep = 16,
    /// It runs again.
    Wake = 17,
    /// The monotonic clock in nanoseconds: what the thread's time is compared with, every some
    /// milliseconds.
    Wall = 18,
    /// At the same moment, the thread's CPU time in nanoseconds.
    Cpu = 19,
    /// At the same moment, for how many nanoseconds the thread could run and had no CPU, in all.
    Delay = 20,
    /// For so many ticks up to now the thread did nothing but make room for events.
    Pause = 21,
    /// There was no more room: from now on nothing is recorded.
    Full = 22,
}

/// Word 1 of events about a job: 35 bits of its address, which no two live jobs share, and 29 of
/// the place of its code, counted from any place that is the same in the whole program.
#[must_use]
#[inline]
pub fn job_word(job: usize, code: usize) -> u64 {
    (job as u64 >> 3) & ((1 << 35) - 1) | (code as u64) << 35
}
