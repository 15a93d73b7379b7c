//! A run that can never end.

use std::fmt;
use std::panic::Location;

use crate::machine::Picoseconds;

/// No core can go on: each waits for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Every core that is blocked.
    pub cores: Vec<StuckCore>,
}

/// A core that is blocked for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckCore {
    /// Its number.
    pub core: usize,
    /// The name of its thread.
    pub thread: Option<String>,
    /// Where it blocks.
    pub at: &'static Location<'static>,
    /// Since when, in picoseconds of the machine's time.
    pub since: Picoseconds,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "deadlock: every thread is blocked")?;
        for core in &self.cores {
            let name = core.thread.as_deref().unwrap_or("unnamed");
            let since = core.since as f64 / 1e6;
            write!(f, "\n  core {:>4}  {name:<20} since {since:.3} µs at {}", core.core, core.at)?;
        }
        Ok(())
    }
}

impl std::error::Error for Stuck {}
