//! What the deque takes from the machine: the scheduler's pairs of fences, and the standard
//! library.

#[allow(
    clippy::allow_attributes_without_reason,
    reason = "shared with a crate of older Rust"
)]
#[allow(dead_code, reason = "the scheduler needs more of it")]
#[allow(unused_imports, reason = "likewise")]
#[path = "../../rayon-fork/src/sync"]
mod shared {
    pub(crate) mod asymmetric;
    pub(crate) mod fences;
    pub(crate) mod registration;
    pub(crate) mod rounds;

    use super::{machine, modelled};
}

mod machine {
    pub(crate) use std::hint;
    pub(crate) use std::time::Instant;

    pub(crate) use super::shared::asymmetric::{
        prepare_heavy_fences, registers_at_once, try_heavy_fence,
    };
}

pub(crate) mod modelled {
    pub(crate) use std::sync::atomic::{
        AtomicPtr, AtomicU64, AtomicU64 as Unmodelled, AtomicUsize, Ordering, fence,
    };
    /// Nothing, as in the scheduler without its models.
    #[inline]
    pub(crate) fn fence_for_loom() {}

    use std::sync::{MutexGuard, TryLockError};

    pub(crate) use super::shared::asymmetric::{
        light_fence, try_heavy_fence, wait_for_grace_period,
    };
    pub(crate) use super::shared::fences::Fences;

    /// A mutex that takes no notice of panics.
    pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(std::sync::Mutex::new(value))
        }

        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            match self.0.try_lock() {
                Ok(guard) => Some(guard),
                Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            }
        }
    }
}
