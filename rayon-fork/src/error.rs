//! Why a pool could not be built.

use std::error::Error;
use std::{fmt, io};

/// The reason why a pool could not be built.
#[derive(Debug)]
pub struct ThreadPoolBuildError {
    kind: Kind,
}

/// `{:?}` shows these names, which are those of the published crate.
#[derive(Debug)]
enum Kind {
    GlobalPoolAlreadyInitialized,
    CurrentThreadAlreadyInPool,
    IOError(io::Error),
}

impl ThreadPoolBuildError {
    pub(crate) fn global_already_initialized() -> Self {
        Self {
            kind: Kind::GlobalPoolAlreadyInitialized,
        }
    }

    pub(crate) fn current_thread_already_in_pool() -> Self {
        Self {
            kind: Kind::CurrentThreadAlreadyInPool,
        }
    }

    pub(crate) fn io(error: io::Error) -> Self {
        Self {
            kind: Kind::IOError(error),
        }
    }

    pub(crate) fn io_kind(&self) -> Option<io::ErrorKind> {
        match &self.kind {
            Kind::IOError(error) => Some(error.kind()),
            _ => None,
        }
    }

    fn text(&self) -> Option<&'static str> {
        match self.kind {
            Kind::GlobalPoolAlreadyInitialized => {
                Some("The global thread pool has already been initialized.")
            }
            Kind::CurrentThreadAlreadyInPool => {
                Some("The current thread is already part of another thread pool.")
            }
            Kind::IOError(_) => None,
        }
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.kind, self.text()) {
            (Kind::IOError(error), _) => error.fmt(f),
            (_, text) => f.write_str(text.unwrap_or_default()),
        }
    }
}

impl Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            Kind::IOError(error) => Some(error),
            _ => None,
        }
    }

    // The old method `description` returns the same text as `Display`.
    #[allow(deprecated)]
    fn description(&self) -> &str {
        match &self.kind {
            Kind::IOError(error) => error.description(),
            _ => self.text().unwrap_or_default(),
        }
    }
}
