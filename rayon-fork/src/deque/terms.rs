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

/// How an owner responded to a steal request.
#[cfg_attr(not(target_has_atomic = "64"), allow(dead_code))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    /// Whether no job was shared before, and now at least one is. If not, there was a shared job
    /// already, or a thief has just taken one or is about to expose one.
    pub(crate) is_first: bool,
    /// Whether no thief came for the last shared jobs.
    pub(crate) is_unwanted: bool,
}
