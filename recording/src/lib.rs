#![doc = include_str!("../README.md")]

mod clocks;
mod file;
mod folder;
// The layout of the fork's events, described where they are written.
#[allow(dead_code, reason = "names for the writer")]
#[path = "../../rayon-fork/src/hooks/recording/layout.rs"]
pub mod layout;
mod profile;
mod timeline;
mod tree;

mod synthetic;

pub use file::{Head, Recording, Thread};
pub use profile::{Profile, Region};
pub use timeline::write_timeline;
pub use tree::{Iterators, NO_SCOPE, Root, State, Step, Task, ThreadFacts, Tree, Wait, What};

/// Why a recording cannot be used. The message says where it fails, but for the file's name.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read or written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It is no recording, or not of this version.
    #[error("is no recording: {0}")]
    Foreign(String),
    /// It is damaged.
    #[error("is damaged at byte {at} of what is packed in it: {what}; record again")]
    Damaged {
        /// Bytes of content before the damage.
        at: u64,
        /// The fault there.
        what: String,
    },
    /// It is larger than the reader's limit.
    #[error(
        "has {events} events, and at most {most} are read; record less of the program, or set --limit"
    )]
    TooLarge {
        /// How many it has.
        events: u64,
        /// How many it may have.
        most: u64,
    },
    /// The clock did not go on evenly.
    #[error(
        "the clock jumped by {jump_ms:.0} ms on thread {thread}, {at_ms:.0} ms after the beginning (a machine that was suspended \
         or moved?), so no time in it means anything; record again"
    )]
    ClockJumped {
        /// Number of the thread.
        thread: usize,
        /// When, by the clock that jumped.
        at_ms: f64,
        /// How far.
        jump_ms: f64,
    },
    /// Events contradict each other.
    #[error(
        "thread {thread}, event {event}: {what}; the recording is damaged, or its recorder has a fault"
    )]
    Contradiction {
        /// Number of the thread.
        thread: usize,
        /// Its event, from 0.
        event: usize,
        /// The contradiction.
        what: String,
    },
}
