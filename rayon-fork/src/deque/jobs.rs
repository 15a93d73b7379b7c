//! A worker's jobs where they are offered on demand: private until somebody is idle, or in a pool whose workers take
//! the oldest job first, in the deque that other builds have.

use super::on_demand::{self, TwoWords};
use super::{Deque, Steal, Stealer};
use crate::sync::modelled::Fences;

/// The owner's end.
pub(crate) enum JobDeque<T> {
    OnDemand(on_demand::Deque<T>),
    Fifo(Deque<T>),
}

/// The thieves' end.
pub(crate) enum JobStealer<T> {
    OnDemand(on_demand::Stealer<T>),
    Fifo(Stealer<T>),
}

impl<T: TwoWords> JobDeque<T> {
    /// A deque whose owner takes the newest job first.
    pub(crate) fn new_lifo(fences: Fences) -> Self {
        Self::OnDemand(on_demand::Deque::new(fences))
    }

    /// A deque whose owner takes the oldest job first.
    pub(crate) fn new_fifo() -> Self {
        Self::Fifo(Deque::new_fifo())
    }

    /// An end for thieves.
    pub(crate) fn stealer(&self) -> JobStealer<T> {
        match self {
            Self::OnDemand(deque) => JobStealer::OnDemand(deque.stealer()),
            Self::Fifo(deque) => JobStealer::Fifo(deque.stealer()),
        }
    }

    /// Takes a job from the owner's end.
    #[inline]
    pub(crate) fn pop(&self) -> Option<T> {
        match self {
            Self::OnDemand(deque) => deque.pop(),
            Self::Fifo(deque) => deque.pop(),
        }
    }

    /// Whether no job is in it.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::OnDemand(deque) => deque.is_empty(),
            Self::Fifo(deque) => deque.is_empty(),
        }
    }
}

impl<T: TwoWords> JobStealer<T> {
    /// Takes the oldest job that was made public.
    #[inline]
    pub(crate) fn steal(&self) -> Steal<T> {
        match self {
            Self::OnDemand(stealer) => stealer.steal(),
            Self::Fifo(stealer) => stealer.steal(),
        }
    }

    /// Asks the owner to show jobs.
    pub(crate) fn ask(&self) {
        if let Self::OnDemand(stealer) = self {
            stealer.ask();
        }
    }

    /// Whether the owner may answer, having done anything since others last showed jobs in its stead.
    pub(crate) fn has_stirred(&self) -> bool {
        match self {
            Self::OnDemand(stealer) => stealer.has_stirred(),
            Self::Fifo(_) => true,
        }
    }

    /// Makes private jobs public if nothing is. `true` if there is something to steal.
    pub(crate) fn expose_for_owner(&self) -> bool {
        match self {
            Self::OnDemand(stealer) => stealer.expose_for_owner(),
            Self::Fifo(stealer) => !stealer.is_empty(),
        }
    }

    /// Whether no job is in it, be it public or private.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::OnDemand(stealer) => stealer.is_empty(),
            Self::Fifo(stealer) => stealer.is_empty(),
        }
    }

    /// How many jobs are in it, public and private.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::OnDemand(stealer) => stealer.len(),
            Self::Fifo(stealer) => stealer.len(),
        }
    }
}
