//! Jobs that are their worker's alone until somebody is idle, in pools of more than one worker that
//! takes its newest job first; in others they are public.

use super::terms::{Answer, TwoWords};
use super::{Deque, Steal, Stealer, on_demand};
use crate::sync::modelled::Fences;

/// Whether jobs are shared lazily.
pub(crate) const SHARES_LAZILY: bool = true;

/// A worker's jobs, the owner's end.
pub(crate) enum JobDeque<T> {
    /// They are its own until somebody is idle.
    Private(on_demand::Deque<T>),
    Public(Deque<T>),
}

/// The thieves' end.
pub(crate) enum JobStealer<T> {
    Private(on_demand::Stealer<T>),
    Public(Stealer<T>),
}

/// Where a pushed job lies: at an index of its deque, or in one that does not tell.
pub(crate) struct Place(Option<u64>);

impl<T: TwoWords> JobDeque<T> {
    /// A deque whose owner takes the newest job first. With fences its jobs are private.
    pub(crate) fn new_lifo(fences: Option<Fences>) -> Self {
        match fences {
            Some(fences) => Self::Private(on_demand::Deque::new(fences)),
            None => Self::Public(Deque::new_lifo()),
        }
    }

    /// A deque whose owner takes the oldest job first.
    pub(crate) fn new_fifo() -> Self {
        Self::Public(Deque::new_fifo())
    }

    /// An end for thieves.
    pub(crate) fn stealer(&self) -> JobStealer<T> {
        match self {
            Self::Private(deque) => JobStealer::Private(deque.stealer()),
            Self::Public(deque) => JobStealer::Public(deque.stealer()),
        }
    }

    /// Whether others learn of its jobs by an [answer](Self::answer) only.
    #[inline]
    pub(crate) fn is_private(&self) -> bool {
        match self {
            Self::Private(_) => true,
            Self::Public(_) => false,
        }
    }

    /// Adds a job at the owner's end.
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

    /// Takes a job from the owner's end.
    #[inline]
    pub(crate) fn pop(&self) -> Option<T> {
        match self {
            Self::Private(deque) => deque.pop(),
            Self::Public(deque) => deque.pop(),
        }
    }

    /// Takes the job back that lies at `place`, if that needs no look at it: `true` if it is the
    /// newest, and nobody else may take it. The caller knows that it has not come out.
    #[inline]
    pub(crate) fn try_take_back(&self, place: &Place) -> bool {
        match (self, place) {
            (Self::Private(deque), &Place(Some(index))) => deque.try_take_back(index),
            _ => false,
        }
    }

    /// Its owner has nothing to do, and is about to block: gives memory back that only many jobs
    /// need. A public deque does so by itself when jobs are taken.
    /// `false` if the owner should come again before it blocks.
    pub(crate) fn give_back(&self) -> bool {
        match self {
            Self::Private(deque) => deque.give_back(),
            Self::Public(_) => true,
        }
    }

    /// Its owner may not come back for long: gives memory back that only very many jobs need, if none
    /// is left.
    #[inline]
    pub(crate) fn give_back_if_large(&self) {
        match self {
            Self::Private(deque) => deque.give_back_if_large(),
            Self::Public(_) => {}
        }
    }

    /// Somebody asks for jobs.
    pub(crate) fn answer(&self) -> Answer {
        match self {
            Self::Private(deque) => deque.answer(),
            Self::Public(_) => Answer::HasPublic,
        }
    }

    /// Whether no job is in it.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Private(deque) => deque.is_empty(),
            Self::Public(deque) => deque.is_empty(),
        }
    }
}

impl<T: TwoWords> JobStealer<T> {
    /// Takes the oldest job that was made public.
    #[inline]
    pub(crate) fn steal(&self) -> Steal<T> {
        match self {
            Self::Private(stealer) => stealer.steal(),
            Self::Public(stealer) => stealer.steal(),
        }
    }

    /// Asks the owner to show jobs.
    pub(crate) fn ask(&self) {
        match self {
            Self::Private(stealer) => stealer.ask(),
            Self::Public(_) => (),
        }
    }

    /// Whether the owner may answer, having done anything since others last showed jobs in its
    /// stead.
    pub(crate) fn has_stirred(&self) -> bool {
        match self {
            Self::Private(stealer) => stealer.has_stirred(),
            Self::Public(_) => true,
        }
    }

    /// Makes private jobs public if nothing is. `true` if there is something to steal.
    pub(crate) fn expose_for_owner(&self) -> bool {
        match self {
            Self::Private(stealer) => stealer.expose_for_owner(),
            Self::Public(stealer) => !stealer.is_empty(),
        }
    }

    /// How many jobs are in it, public and private.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Private(stealer) => stealer.len(),
            Self::Public(stealer) => stealer.len(),
        }
    }
}
