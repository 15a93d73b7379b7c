//! The atomics, locks and fences of the modelled files: the sleep protocol, latches and the split
//! deque. Models use `modelled_loom.rs` instead of this file.

#[allow(unused_imports)]
pub(crate) use super::fences::Fences;
pub(crate) use super::locks::{Condvar, Mutex, MutexGuard};
#[allow(unused_imports)]
pub(crate) use super::machine::AtomicPtr;
#[cfg(target_has_atomic = "64")]
#[allow(unused_imports)]
pub(crate) use super::machine::{AtomicU64, AtomicU64 as Unmodelled};
pub(crate) use super::machine::{AtomicUsize, Ordering, fence, yield_now};
#[allow(unused_imports)]
pub(crate) use super::machine::{light_fence, try_heavy_fence, wait_for_grace_period};

/// Does nothing: the total order of `SeqCst` accesses suffices on a real machine.
#[inline(always)]
pub(crate) fn fence_for_loom() {}
