//! The counterpart of `lazy.rs` in a build whose jobs are all shared: it has the same names, and
//! uses crossbeam's deque.

use super::terms::{Answer, TwoWords};
use super::{Deque, Steal, Stealer};
use crate::sync::modelled::Fences;

/// This file's part of the variant's name. The target may lack atomics of 64 bits.
pub(crate) const NAME_PART: &str = if cfg!(feature = "demand") {
    "+demand-is-missing-here"
} else {
    ""
};

/// A worker's jobs: the owner's end.
pub(crate) struct JobDeque<T>(Deque<T>);

/// The thieves' end.
pub(crate) struct JobStealer<T>(Stealer<T>);

/// The place of a pushed job: this deque has no indices.
pub(crate) struct Place;

// The counterpart with private jobs uses `self` in each of these.
#[allow(clippy::unused_self)]
impl<T: TwoWords> JobDeque<T> {
    /// Creates a deque whose owner takes the newest job first.
    pub(crate) fn new_lifo(_fences: Fences) -> Self {
        Self(Deque::new_lifo())
    }

    /// Creates a deque whose owner takes the oldest job first.
    pub(crate) fn new_fifo() -> Self {
        Self(Deque::new_fifo())
    }

    /// Returns an end for thieves.
    pub(crate) fn stealer(&self) -> JobStealer<T> {
        JobStealer(self.0.stealer())
    }

    #[inline]
    pub(crate) fn is_private(&self) -> bool {
        false
    }

    /// Adds a job at the owner's end.
    #[inline]
    pub(crate) fn push(&self, job: T) -> Place {
        self.0.push(job);
        Place
    }

    /// Takes a job from the owner's end.
    #[inline]
    pub(crate) fn pop(&self) -> Option<T> {
        self.0.pop()
    }

    #[inline]
    pub(crate) fn try_take_back(&self, _place: &Place) -> bool {
        false
    }

    pub(crate) fn give_back(&self) -> bool {
        true
    }

    #[inline]
    pub(crate) fn give_back_if_large(&self) {}

    pub(crate) fn answer(&self) -> Answer {
        Answer::HasPublic
    }

    /// Returns whether the deque has no job.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[allow(clippy::unused_self)]
impl<T: TwoWords> JobStealer<T> {
    /// Takes the oldest job.
    #[inline]
    pub(crate) fn steal(&self) -> Steal<T> {
        self.0.steal()
    }

    pub(crate) fn steal_up_to(&self, _: u64, _: impl FnMut(T)) {}

    pub(crate) fn ask(&self) {}

    pub(crate) fn has_stirred(&self) -> bool {
        true
    }

    /// Returns whether there is a job to steal.
    pub(crate) fn expose_for_owner(&self) -> bool {
        !self.0.is_empty()
    }

    #[inline]
    pub(crate) fn exposed(&self) -> u64 {
        0
    }

    /// Returns the number of jobs.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
