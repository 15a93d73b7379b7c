//! The only door to the deque library: another deque can be put behind these names.

#[cfg(feature = "demand")]
mod jobs;
// Without the feature, tests and models run parts of it.
#[cfg(any(feature = "demand", test))]
#[cfg_attr(not(feature = "demand"), allow(dead_code))]
pub(crate) mod on_demand;
#[cfg(fork_sim)]
mod simulated;

#[cfg(not(fork_sim))]
pub(crate) use crossbeam_deque::{Injector, Steal, Stealer, Worker as Deque};
#[cfg(fork_sim)]
pub(crate) use simulated::{Deque, Injector, Steal, Stealer};

#[cfg(not(feature = "demand"))]
pub(crate) use self::{Deque as JobDeque, Stealer as JobStealer};
#[cfg(feature = "demand")]
pub(crate) use jobs::{JobDeque, JobStealer};

/// What this file adds to the variant's name.
pub(crate) const MODIFIER: &str = if cfg!(feature = "demand") { "+demand" } else { "" };

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
