//! What owners and thieves of a deque say to each other.

/// What fits into two words, which threads may read while others write them: only together and
/// untouched are they a value.
// Only the deque of lazily shared jobs stores jobs as words.
#[cfg_attr(not(target_has_atomic = "64"), allow(dead_code))]
pub(crate) trait TwoWords {
    /// The value as words.
    fn into_words(self) -> [*mut (); 2];

    /// The value of these words.
    ///
    /// # Safety
    ///
    /// The words are from one call of [`into_words`](Self::into_words), and are given back once.
    unsafe fn from_words(words: [*mut (); 2]) -> Self;
}

/// What an owner can do for those who ask for jobs.
#[cfg_attr(not(target_has_atomic = "64"), allow(dead_code))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// There was nothing public, and now there is.
    Exposed,
    /// There is something public, or a thief has just taken it or is about to make it so.
    HasPublic,
    /// There is something public, and it seems that nobody wants it.
    Unwanted,
}
