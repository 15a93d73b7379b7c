//! Split deques. In pools whose workers take their newest job first, a job stays private to its
//! worker until another worker is idle. In FIFO pools all jobs are shared.

use super::terms::{Answer, TwoWords};
use super::{Deque, Steal, Stealer, on_demand};
use crate::sync::modelled::Fences;

pub(crate) const NAME_PART: &str = "+demand";

pub(crate) enum JobDeque<T> {
    Private(on_demand::Deque<T>),
    Public(Deque<T>),
}

pub(crate) enum JobStealer<T> {
    Private(on_demand::Stealer<T>),
    Public(Stealer<T>),
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
        Self::Public(Deque::new_fifo())
    }

    pub(crate) fn stealer(&self) -> JobStealer<T> {
        match self {
            Self::Private(deque) => JobStealer::Private(deque.stealer()),
            Self::Public(deque) => JobStealer::Public(deque.stealer()),
        }
    }

    /// Returns whether a thief can take this deque's jobs only after the owner or a thief has
    /// exposed them.
    #[inline]
    pub(crate) fn is_private(&self) -> bool {
        match self {
            Self::Private(_) => true,
            Self::Public(_) => false,
        }
    }

    #[inline]
    pub(crate) fn push(&self, job: T) -> Place {
        match self {
            Self::Private(deque) => Place(Some(deque.push(job))),
            Self::Public(deque) => {
                deque.push(job);
                Place(None)
            }
        }
    }

    #[inline]
    pub(crate) fn pop(&self) -> Option<T> {
        match self {
            Self::Private(deque) => deque.pop(),
            Self::Public(deque) => deque.pop(),
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
            Self::Public(_) => true,
        }
    }

    #[inline]
    pub(crate) fn give_back_if_large(&self) {
        match self {
            Self::Private(deque) => deque.give_back_if_large(),
            Self::Public(_) => {}
        }
    }

    pub(crate) fn answer(&self) -> Answer {
        match self {
            Self::Private(deque) => deque.answer(),
            Self::Public(_) => Answer::HasPublic,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Private(deque) => deque.is_empty(),
            Self::Public(deque) => deque.is_empty(),
        }
    }
}

impl<T: TwoWords> JobStealer<T> {
    #[inline]
    pub(crate) fn steal(&self) -> Steal<T> {
        match self {
            Self::Private(stealer) => stealer.steal(),
            Self::Public(stealer) => stealer.steal(),
        }
    }

    pub(crate) fn steal_up_to(&self, most: u64, take: impl FnMut(T)) {
        match self {
            Self::Private(stealer) => stealer.steal_up_to(most, take),
            Self::Public(_) => (),
        }
    }

    pub(crate) fn ask(&self) {
        match self {
            Self::Private(stealer) => stealer.ask(),
            Self::Public(_) => (),
        }
    }

    pub(crate) fn has_stirred(&self) -> bool {
        match self {
            Self::Private(stealer) => stealer.has_stirred(),
            Self::Public(_) => true,
        }
    }

    pub(crate) fn expose_for_owner(&self) -> bool {
        match self {
            Self::Private(stealer) => stealer.expose_for_owner(),
            Self::Public(stealer) => !stealer.is_empty(),
        }
    }

    /// Returns the number of shared jobs, or 0 if jobs are never private.
    #[inline]
    pub(crate) fn exposed(&self) -> u64 {
        match self {
            Self::Private(stealer) => stealer.public_jobs(),
            Self::Public(_) => 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Private(stealer) => stealer.len(),
            Self::Public(stealer) => stealer.len(),
        }
    }
}
