//! A run that can never end.

use std::fmt;
use std::panic::Location;

use crate::machine::Picoseconds;

/// No thread can continue: each waits for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Every blocked thread.
    pub threads: Vec<StuckThread>,
}

/// A thread that is blocked for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckThread {
    /// The core on which it ran.
    pub core: usize,
    /// Its name.
    pub thread: Option<String>,
    /// The place where it blocks.
    pub at: &'static Location<'static>,
    /// Since when, in picoseconds of the machine's time.
    pub since: Picoseconds,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "deadlock: every thread is blocked")?;
        for StuckThread {
            core,
            thread,
            at,
            since,
        } in &self.threads
        {
            let name = thread.as_deref().unwrap_or("unnamed");
            let since = *since as f64 / 1e6;
            write!(
                f,
                "\n  core {core:>4}  {name:<20} since {since:.3} µs at {at}"
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for Stuck {}
