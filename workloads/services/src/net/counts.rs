//! Counts of a server's connections, by how they ended.

use std::fmt;

use super::conversation::End;

/// The counts of a server's connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Let in.
    pub(crate) accepted: u64,
    /// Turned away because too many were open, or no thread or descriptor could be had.
    pub(crate) turned_away: u64,
    /// Ended as they should.
    pub(crate) good: u64,
    /// Sent an invalid request, and got an answer that says so.
    pub(crate) malformed: u64,
    /// Took too long.
    pub(crate) too_slow: u64,
    /// Left within a request, or without their answer.
    pub(crate) vanished: u64,
}

impl Counts {
    /// Accepted and not over.
    pub(super) fn open(&self) -> u64 {
        self.accepted - (self.good + self.malformed + self.too_slow + self.vanished)
    }

    pub(super) fn count(&mut self, end: End) {
        *match end {
            End::Good => &mut self.good,
            End::Malformed => &mut self.malformed,
            End::TooSlow => &mut self.too_slow,
            End::Vanished => &mut self.vanished,
            End::TurnedAway => &mut self.turned_away,
        } += 1;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} connections: {} good, {} malformed, {} too slow, {} vanished; {} turned away",
            self.accepted,
            self.good,
            self.malformed,
            self.too_slow,
            self.vanished,
            self.turned_away
        )
    }
}
