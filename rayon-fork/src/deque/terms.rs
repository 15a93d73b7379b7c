//! The terms by which the owner of a deque and its thieves communicate.

/// A value of two words. A thread may read the words while another thread writes them. Two words
/// are a value only if one call of `into_words` returned both.
// Only the deque of lazily shared jobs stores jobs as words.
#[cfg_attr(not(target_has_atomic = "64"), allow(dead_code))]
pub(crate) trait TwoWords {
    fn into_words(self) -> [*mut (); 2];

    ///
    /// # Safety
    ///
    /// The words are from one call of [`into_words`](Self::into_words), and are passed back once.
    unsafe fn from_words(words: [*mut (); 2]) -> Self;
}

#[cfg_attr(not(target_has_atomic = "64"), allow(dead_code))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Response {
    /// There was no shared job, and now there is one.
    Exposed {
        /// Whether the deque has no other job.
        is_only_job: bool,
    },
    /// There is a shared job, or a thief has just taken one or is about to expose one.
    HasShared,
    /// There is a shared job, and no thief came for the shared jobs before it.
    Unwanted,
}
