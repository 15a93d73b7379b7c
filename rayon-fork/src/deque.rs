//! The only door to the deque library: another deque can be put behind these names.

pub(crate) use crossbeam_deque::{Injector, Stealer, Worker as Deque};

use crossbeam_deque::Steal;

/// What became of one attempt to take a job from a queue that others take from too.
pub(crate) enum Taken<T> {
    /// The attempt got a job.
    Job(T),
    /// The queue had nothing.
    Nothing,
    /// Somebody else was quicker; there may be more.
    Contended,
}

impl<T> From<Steal<T>> for Taken<T> {
    #[inline]
    fn from(steal: Steal<T>) -> Self {
        match steal {
            Steal::Success(job) => Taken::Job(job),
            Steal::Empty => Taken::Nothing,
            Steal::Retry => Taken::Contended,
        }
    }
}

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
