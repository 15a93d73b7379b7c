//! How a thread that is no worker waits for a latch.

#[cfg_attr(
    not(any(feature = "warm-install", fork_loom)),
    path = "outside/warm_install_off.rs"
)]
mod warm_install;

use std::sync::Arc;

use super::Latch;

pub(crate) use warm_install::{LockLatch, NAME_PART, SpinHistory};

impl Latch for Arc<LockLatch> {
    unsafe fn set(this: *const Self) {
        // SAFETY: the latch is alive at the beginning (contract). After that, the clone keeps the
        // latch alive.
        let latch = unsafe { Arc::clone(&*this) };
        latch.set_and_notify();
    }
}
