//! Jobs for tests and models of the deque.

use std::ptr;

use crate::deque::TwoWords;

/// A job whose two words both hold its number, so that words of two jobs are detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbered(pub(crate) usize);

impl TwoWords for Numbered {
    fn into_words(self) -> [*mut (); 2] {
        [ptr::without_provenance_mut(self.0); 2]
    }

    unsafe fn from_words([one, other]: [*mut (); 2]) -> Self {
        assert_eq!(one, other, "words of two jobs");
        Self(one.addr())
    }
}
