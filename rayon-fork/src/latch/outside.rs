//! How a thread that is no worker waits: it has no other work, and blocks.

#[cfg(not(feature = "warm-install"))]
mod blocking;
// Every build runs it in models.
#[cfg(any(feature = "warm-install", all(test, fork_loom)))]
#[cfg_attr(not(feature = "warm-install"), allow(dead_code))]
mod warm_install;

use std::sync::Arc;

use super::Latch;

#[cfg(not(feature = "warm-install"))]
pub(crate) use blocking::{LockLatch, Outlook};
#[cfg(feature = "warm-install")]
pub(crate) use warm_install::{LockLatch, Outlook};

/// This file's part of the variant's name.
pub(crate) const MODIFIER: &str = if cfg!(feature = "warm-install") {
    "+warm-install"
} else {
    ""
};

impl Latch for Arc<LockLatch> {
    unsafe fn set(this: *const Self) {
        // SAFETY: the latch is alive at the beginning (contract). The clone outlives the latch that
        // the waiting thread may free.
        let latch = unsafe { Arc::clone(&*this) };
        latch.set_and_notify();
    }
}
