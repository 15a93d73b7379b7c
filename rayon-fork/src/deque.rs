//! The only door to the deque library: another deque can be put behind these names.

// Compiled into every build that can, but used by those that offer jobs on demand.
#[cfg(target_has_atomic = "64")]
#[allow(dead_code)]
pub(crate) mod deal;
#[cfg(target_has_atomic = "64")]
#[allow(dead_code)]
pub(crate) mod jobs;
#[cfg(target_has_atomic = "64")]
#[allow(dead_code)]
pub(crate) mod on_demand;

pub(crate) use crossbeam_deque::{Injector, Steal, Stealer, Worker as Deque};

/// Repeats `attempt` for as long as it is contended.
#[inline]
pub(crate) fn settle<T>(mut attempt: impl FnMut() -> Steal<T>) -> Option<T> {
    loop {
        match attempt() {
            Steal::Success(job) => return Some(job),
            Steal::Empty => return None,
            Steal::Retry => crate::sync::hint::spin_loop(),
        }
    }
}
