//! How a thread that is no worker waits: it has nothing else to do, and blocks.

#[cfg(not(feature = "warm-install"))]
mod blocking;
// Models run it in every build.
#[cfg(any(feature = "warm-install", all(test, fork_loom)))]
#[cfg_attr(not(feature = "warm-install"), allow(dead_code))]
mod warm_install;

use std::sync::Arc;

use super::Latch;

#[cfg(not(feature = "warm-install"))]
pub(crate) use blocking::{LockLatch, Outlook};
#[cfg(feature = "warm-install")]
pub(crate) use warm_install::{LockLatch, Outlook};

/// Whether a thread that waits outside is notified after the latch's lock is free, or before: then
/// it wakes up only to wait for the lock, which its waker holds. With the lock held, an `install`
/// from outside makes as many calls to the kernel as in the published crate; without, about half.
/// To hold it is the default, so that what differs from the published crate is the counters.
const NOTIFY_UNLOCKED: bool = cfg!(feature = "notify-unlocked");

/// What this file adds to the variant's name.
pub(crate) const MODIFIERS: [&str; 2] = [
    if NOTIFY_UNLOCKED {
        "+notify-unlocked"
    } else {
        ""
    },
    if cfg!(feature = "warm-install") {
        "+warm-install"
    } else {
        ""
    },
];

impl Latch for Arc<LockLatch> {
    unsafe fn set(this: *const Self) {
        // SAFETY: alive at the beginning (contract). The clone outlives what the waiter may free.
        let latch = unsafe { Arc::clone(&*this) };
        latch.set_and_notify();
    }
}
