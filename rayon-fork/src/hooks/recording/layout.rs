//! The layout of the files that a recorder writes. This is its only description, which the crate
//! `recording` reads, too.
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

/// Names the folder into which a program records itself, if the folder exists and no program has
/// recorded into it before.
pub const FOLDER_VARIABLE: &str = "RAYON_FORK_RECORD";

/// The most bytes of events, of all threads together.
pub const LIMIT_VARIABLE: &str = "RAYON_FORK_RECORD_LIMIT";

/// The number of threads for which parallel iterators should split.
pub const SPLIT_VARIABLE: &str = "RAYON_FORK_RECORD_SPLIT";

/// The fields of the head, all of them whole numbers. They are this layout; the process; the
/// monotonic clock when the recording began, in nanoseconds; ticks in a second. Then comes the cost
/// of an event for the thread that writes it, in thousandths of a tick. The last is the number of
/// threads for which iterators split.
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
        /// An event on a thread. *Frames* nest: a thread opens a frame, and later comes back to
        /// close it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Event {
            $($(#[$doc])* $event = $number,)*
        }

        impl Event {
            /// All events by number, from 1, without gaps.
            pub const ALL: &'static [Self] = &[$(Self::$event),*];
        }
    };
}

events! {
    /// Opens a frame: a `join` offers its second closure, a job, and calls the first.
    Join = 1,
    /// The same by `join_context`, by which parallel iterators split.
    Split = 2,
    /// The first closure has ended, and no thief took the second: it begins here.
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
    /// A job begins that had waited in a queue.
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
    /// The monotonic clock in nanoseconds, for comparison with the thread's time. A thread writes
    /// it every few milliseconds.
    Wall = 18,
    /// At the same moment, the thread's CPU time in nanoseconds.
    Cpu = 19,
    /// At the same moment, the total time in nanoseconds for which the thread could run but had no
    /// CPU.
    Delay = 20,
    /// The number of ticks up to now in which the thread only made room for events.
    Pause = 21,
    /// There was no more room: from here on the thread records nothing.
    Full = 22,
}

/// Returns word 1 of events about a job. It has 35 bits of the job's address, which no two live
/// jobs share. Its other 29 bits are the place of its code, counted from any place that is the same
/// in the whole program.
#[must_use]
#[inline]
pub fn job_word(job: usize, code: usize) -> u64 {
    (job as u64 >> 3) & ((1 << 35) - 1) | (code as u64) << 35
}
