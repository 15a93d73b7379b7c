//! The counterpart of `lazy.rs` in a build whose jobs are all shared. The types here have the same
//! names, and wrap crossbeam's deque.

use super::terms::{Response, TwoWords};
use super::{Deque, Steal, Stealer};
use crate::sync::modelled::Fences;

/// This file's part of the variant's name. A build with the feature `demand` uses this file if the
/// target lacks 64-bit atomics.
pub(crate) const NAME_PART: &str = if cfg!(feature = "demand") {
    "+demand-is-missing-here"
} else {
    ""
};

pub(crate) struct JobDeque<T>(Deque<T>);

pub(crate) struct JobStealer<T>(Stealer<T>);

pub(crate) struct Place;

// The same functions in `lazy.rs` use `self`.
#[allow(clippy::unused_self)]
impl<T: TwoWords> JobDeque<T> {
    pub(crate) fn new_lifo(_fences: Fences) -> Self {
        Self(Deque::new_lifo())
    }

    pub(crate) fn new_fifo() -> Self {
        Self(Deque::new_fifo())
    }

    pub(crate) fn stealer(&self) -> JobStealer<T> {
        JobStealer(self.0.stealer())
    }

    #[inline]
    pub(crate) fn is_private(&self) -> bool {
        false
    }

    #[inline]
    pub(crate) fn push(&self, job: T) -> Place {
        self.0.push(job);
        Place
    }

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

    pub(crate) fn respond(&self) -> Response {
        Response {
            is_first: false,
            is_unwanted: false,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[allow(clippy::unused_self)]
impl<T: TwoWords> JobStealer<T> {
    #[inline]
    pub(crate) fn steal(&self) -> Steal<T> {
        self.0.steal()
    }

    pub(crate) fn request(&self) {}

    pub(crate) fn has_stirred(&self) -> bool {
        true
    }

    pub(crate) fn expose_for_owner(&self) -> bool {
        !self.0.is_empty()
    }

    pub(crate) fn wait_for_exposing(&self) {}

    #[inline]
    pub(crate) fn shared_jobs(&self) -> u64 {
        0
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
