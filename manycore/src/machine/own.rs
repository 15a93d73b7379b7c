//! A scheduler's own instructions: the time of a call of its interface in addition to the accesses
//! to shared memory that are simulated.

use super::Machine;

/// A call of a pool's interface whose own instructions have a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `join` and `join_context`, with the execution of both closures.
    Join,
    /// The methods and functions called `spawn` and `spawn_fifo`, with the execution of the job.
    Spawn,
}

impl Call {
    /// All, in the order of [`OwnInstructions`].
    pub const ALL: [Self; 2] = [Self::Join, Self::Spawn];

    /// The call with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|call| call.name() == name)
    }

    /// Its name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Spawn => "spawn",
        }
    }
}

/// The time of a branch's own instructions by [`Call`], in picoseconds at the machine's reference
/// frequency. They belong to the branch that runs, so no machine's file has them. A negative time
/// means that the core overlaps accesses of the call whose costs are added one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnInstructions([i64; 2]);

impl OwnInstructions {
    /// The time of `call`.
    #[inline]
    #[must_use]
    pub fn time(&self, call: Call) -> i64 {
        self.0[call as usize]
    }
}

impl Machine {
    /// Sets the cycles of a `call` of the branch that runs, times the cost parameter
    /// `own-instructions`.
    #[expect(clippy::cast_possible_truncation, reason = "cycles are few")]
    pub fn set_own_cycles(&mut self, call: Call, cycles: f64) {
        let picoseconds = cycles * 1e6 / f64::from(self.frequency.reference_mhz);
        self.own_instructions.0[call as usize] =
            (picoseconds * self.costs.own_instructions).round() as i64;
    }
}
