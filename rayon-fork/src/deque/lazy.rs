//! Split deques. In pools whose workers take their newest job first, a job stays private to its
//! worker until another worker is idle. In FIFO pools all jobs are shared.

use super::terms::{Response, TwoWords};
use super::{Deque, Steal, Stealer, on_demand};
use crate::sync::modelled::Fences;

pub(crate) const NAME_PART: &str = "+demand";

pub(crate) enum JobDeque<T> {
    Private(on_demand::Deque<T>),
    Shared(Deque<T>),
}

pub(crate) enum JobStealer<T> {
    Private(on_demand::Stealer<T>),
    Shared(Stealer<T>),
}

/// The index of a pushed job, if its deque has indices.
pub(crate) struct Place(Option<u64>);

impl<T: TwoWords> JobDeque<T> {
    /// Creates a deque of private jobs, whose owner takes the newest job first.
    pub(crate) fn new_lifo(fences: Fences) -> Self {
        Self::Private(on_demand::Deque::new(fences))
    }

    /// Creates a deque of shared jobs, whose owner takes the oldest job first.
    pub(crate) fn new_fifo() -> Self {
        Self::Shared(Deque::new_fifo())
    }

    pub(crate) fn stealer(&self) -> JobStealer<T> {
        match self {
            Self::Private(deque) => JobStealer::Private(deque.stealer()),
            Self::Shared(deque) => JobStealer::Shared(deque.stealer()),
        }
    }

    /// Returns whether a thief can take this deque's jobs only after the owner or a thief has
    /// exposed them.
    #[inline]
    pub(crate) fn is_private(&self) -> bool {
        match self {
            Self::Private(_) => true,
            Self::Shared(_) => false,
        }
    }

    #[inline]
    pub(crate) fn push(&self, job: T) -> Place {
        match self {
            Self::Private(deque) => Place(Some(deque.push(job))),
            Self::Shared(deque) => {
                deque.push(job);
                Place(None)
            }
        }
    }

    #[inline]
    pub(crate) fn pop(&self) -> Option<T> {
        match self {
            Self::Private(deque) => deque.pop(),
            Self::Shared(deque) => deque.pop(),
        }
    }

    #[inline]
    pub(crate) fn try_take_back(&self, place: &Place) -> bool {
        match (self, place) {
            (Self::Private(deque), &Place(Some(index))) => deque.try_take_back(index),
            _ => false,
        }
    }

    /// Frees memory that the deque no longer needs. Crossbeam's deque frees its memory by itself.
    pub(crate) fn give_back(&self) -> bool {
        match self {
            Self::Private(deque) => deque.give_back(),
            Self::Shared(_) => true,
        }
    }

    #[inline]
    pub(crate) fn give_back_if_large(&self) {
        match self {
            Self::Private(deque) => deque.give_back_if_large(),
            Self::Shared(_) => {}
        }
    }

    pub(crate) fn respond(&self) -> Response {
        match self {
            Self::Private(deque) => deque.respond(),
            Self::Shared(_) => Response {
                is_first: false,
                is_unwanted: false,
            },
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Private(deque) => deque.is_empty(),
            Self::Shared(deque) => deque.is_empty(),
        }
    }
}

impl<T: TwoWords> JobStealer<T> {
    #[inline]
    pub(crate) fn steal(&self) -> Steal<T> {
        match self {
            Self::Private(stealer) => stealer.steal(),
            Self::Shared(stealer) => stealer.steal(),
        }
    }

    pub(crate) fn request(&self) {
        match self {
            Self::Private(stealer) => stealer.request(),
            Self::Shared(_) => (),
        }
    }

    pub(crate) fn has_stirred(&self) -> bool {
        match self {
            Self::Private(stealer) => stealer.has_stirred(),
            Self::Shared(_) => true,
        }
    }

    pub(crate) fn expose_for_owner(&self) -> bool {
        match self {
            Self::Private(stealer) => stealer.expose_for_owner(),
            Self::Shared(stealer) => !stealer.is_empty(),
        }
    }

    pub(crate) fn wait_for_exposing(&self) {
        if let Self::Private(stealer) = self {
            stealer.wait_for_exposing();
        }
    }

    /// Returns the number of shared jobs, or 0 if jobs are never private.
    #[inline]
    pub(crate) fn shared_jobs(&self) -> u64 {
        match self {
            Self::Private(stealer) => stealer.shared_jobs(),
            Self::Shared(_) => 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Private(stealer) => stealer.len(),
            Self::Shared(stealer) => stealer.len(),
        }
    }
}
