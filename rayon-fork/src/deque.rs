//! The only file that names the deque library, so that another deque can replace it.

// Jobs are shared lazily only where the target has atomics of 64 bits.
#[cfg_attr(
    not(all(feature = "demand", target_has_atomic = "64")),
    path = "deque/lazy_off.rs"
)]
mod lazy;
// Every build for a target with 64-bit atomics compiles this module, but only builds that share
// jobs lazily use it.
#[cfg(target_has_atomic = "64")]
#[allow(dead_code)]
pub(crate) mod on_demand;
mod terms;

pub(crate) use crossbeam_deque::{Injector, Steal, Stealer, Worker as Deque};
pub(crate) use lazy::{JobDeque, JobStealer, NAME_PART, Place};
pub(crate) use terms::{Response, TwoWords};

/// Repeats `attempt` as long as it returns `Steal::Retry`, because another thread interfered.
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
