//! The only door to the deque library: another deque can be put behind these names.

// Jobs are shared lazily with the feature `demand`, where there are atomics of 64 bits; else they
// are public.
#[cfg_attr(
    not(all(feature = "demand", target_has_atomic = "64")),
    path = "deque/lazy_off.rs"
)]
mod lazy;
// Compiled into every build that can, but used where jobs are shared lazily.
#[cfg(target_has_atomic = "64")]
#[allow(dead_code)]
pub(crate) mod on_demand;

pub(crate) use crossbeam_deque::{Injector, Steal, Stealer, Worker as Deque};
pub(crate) use lazy::{JobDeque, JobStealer, Place, SHARES_LAZILY};

/// Repeats `attempt` for as long as it is contended.
#[inline]
pub(crate) fn settle<T>(mut attempt: impl FnMut() -> Steal<T>) -> Option<T> {
    loop {
        match attempt() {
            Steal::Success(job) => return Some(job),
            Steal::Empty => return None,
            Steal::Retry => crate::sync::hint::spin_loop(),
        }
    }
}

/// What this file adds to the variant's name.
pub(crate) const MODIFIER: &str = match (cfg!(feature = "demand"), SHARES_LAZILY) {
    (true, true) => "+demand",
    (true, false) => "+demand-is-missing-here",
    (false, _) => "",
};

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

#[cfg(all(test, not(fork_loom)))]
mod tests {
    use super::{Steal, settle};

    #[test]
    fn a_contended_attempt_is_made_again() {
        let mut outcomes = [Steal::Retry, Steal::Retry, Steal::Success(22)].into_iter();
        assert_eq!(settle(|| outcomes.next().unwrap()), Some(22));
        assert_eq!(settle(|| Steal::<i32>::Empty), None);
    }
}
