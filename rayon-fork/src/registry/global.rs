//! The default pool of the process: built at most once, never ended.

use std::io;
use std::sync::Arc;

use super::{Registry, Worker};
use crate::builder::ThreadPoolBuilder;
use crate::error::ThreadPoolBuildError;
use crate::sync::OnceLock;
use crate::unwind;

/// The inner `None` says that the only attempt to build the pool failed.
static GLOBAL: OnceLock<Option<Arc<Registry>>> = OnceLock::new();

/// Returns the global pool, and builds it with default options if it does not exist.
///
/// # Panics
///
/// Panics if the only attempt to build the global pool failed.
pub(crate) fn global() -> &'static Arc<Registry> {
    if let Some(Some(registry)) = GLOBAL.get() {
        return registry;
    }
    let outcome = build_global(start_default);
    match GLOBAL.get() {
        Some(Some(registry)) => registry,
        _ => panic!(
            "the global thread pool could not be started: {}",
            match outcome {
                Err(error) => error.to_string(),
                Ok(_) => unreachable!("`build_global` returned `Ok`, so the pool exists"),
            }
        ),
    }
}

/// Returns the error "already initialized" if a build was attempted before, even if that build
/// failed.
pub(crate) fn build_global(
    start: impl FnOnce() -> Result<Arc<Registry>, ThreadPoolBuildError>,
) -> Result<&'static Arc<Registry>, ThreadPoolBuildError> {
    let mut failure = Some(Ok(ThreadPoolBuildError::global_already_initialized()));
    let registry = GLOBAL.get_or_init(|| match unwind::capture(start) {
        Ok(Ok(registry)) => {
            failure = None;
            Some(registry)
        }
        Ok(Err(error)) => {
            failure = Some(Ok(error));
            None
        }
        Err(payload) => {
            failure = Some(Err(payload));
            None
        }
    });
    match (failure, registry) {
        (None, Some(registry)) => Ok(registry),
        (Some(Ok(error)), _) => Err(error),
        (Some(Err(payload)), _) => unwind::resume(payload),
        (None, None) => unreachable!("success stores a pool"),
    }
}

/// Starts a pool with default options. If the target has no threads, the calling thread becomes the
/// pool's only worker.
fn start_default() -> Result<Arc<Registry>, ThreadPoolBuildError> {
    let outcome = ThreadPoolBuilder::new().start();
    match outcome {
        Err(error)
            if error.io_kind() == Some(io::ErrorKind::Unsupported)
                && Worker::with_current(|worker| worker.is_none()) =>
        {
            ThreadPoolBuilder::new()
                .num_threads(1)
                .use_current_thread()
                .start()
                .map_err(|_| error)
        }
        outcome => outcome,
    }
}
