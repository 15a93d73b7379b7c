//! Reasons why the runner stops, and the exit code of each for scripts.

use std::io::{Error, ErrorKind};

/// How a command ended. Scripts distinguish the causes by the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The command did everything that the user requested.
    Good,
    /// The sweep ran to its end, but at least one trial failed.
    TrialsFailed,
    /// The command line, or a file that the command reads, is wrong.
    BadInput,
    /// A branch could not be built, or its binary is not as requested.
    BuildFailed,
    /// This machine, or the machine's present state, does not allow the request.
    HostNotFit,
    /// Ctrl-C or a termination signal ended the command.
    Interrupted,
    /// A program that the runner called ended with this exit code, which the runner returns, too.
    PassedOn(u8),
}

impl Exit {
    /// Returns the exit code for the shell.
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

/// An error that has its own exit code.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// Exit 2: the command line, or a file that the command reads, is wrong.
    #[error("{0}")]
    BadInput(String),
    /// Exit 3: the build gave no binary that can be trusted.
    #[error("{0}")]
    BuildFailed(String),
    /// Exit 4: the machine cannot do now what the user requests.
    #[error("{0}")]
    HostNotFit(String),
    /// Exit 130: the user interrupted the command.
    #[error("{0}")]
    Interrupted(String),
}

/// Whether the error says that a path is not a text file. Such a path is a folder or a device, lies
/// below a file, or has other bytes.
pub(crate) fn is_no_file_of_text(error: &Error) -> bool {
    let kinds = [
        ErrorKind::InvalidData,
        ErrorKind::IsADirectory,
        ErrorKind::NotADirectory,
    ];
    kinds.contains(&error.kind())
}

/// Whether a command stopped only because the reader closed its standard output.
#[must_use]
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let is_it = |error: &Error| error.kind() == ErrorKind::BrokenPipe;
    error.downcast_ref::<Error>().is_some_and(is_it)
}
