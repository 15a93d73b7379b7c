//! Why the runner stops, and the exit code that tells a script so.

pub mod exit;

/// How a command ended; scripts tell the causes apart by the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything asked for was done.
    Good,
    /// The sweep ran to its end, but at least one trial failed.
    TrialsFailed,
    /// The command line or a file written by hand is wrong.
    BadInput,
    /// A branch could not be built, or its binary is not what was asked for.
    BuildFailed,
    /// This machine, or its state, does not allow what was asked.
    HostNotFit,
    /// Ctrl-C or a termination signal.
    Interrupted,
    /// A program that the runner only passes on to ended with this code.
    PassedOn(u8),
}

impl Exit {
    /// The number given to the shell.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::TrialsFailed => 1,
            Self::BadInput => 2,
            Self::BuildFailed => 3,
            Self::HostNotFit => 4,
            Self::Interrupted => 130,
            Self::PassedOn(code) => code,
        }
    }
}

/// An error that knows its exit code.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// Exit 2: what was asked for does not exist or contradicts itself.
    #[error("{0}")]
    BadInput(String),
    /// Exit 3: no trustworthy binary.
    #[error("{0}")]
    BuildFailed(String),
    /// Exit 4: the machine cannot do it now.
    #[error("{0}")]
    HostNotFit(String),
    /// Exit 130: stopped on request.
    #[error("{0}")]
    Interrupted(String),
}
