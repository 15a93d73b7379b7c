//! The counterpart of `warm_install.rs` in a build without the feature `warm-install`: the waiting
//! thread blocks at once.

use std::sync::Arc;

use crate::sync::{Condvar, Mutex};

pub(crate) const NAME_PART: &str = "";

pub(crate) struct SpinHistory;

impl SpinHistory {
    pub(crate) const IS_LEARNED: bool = false;

    pub(crate) fn new(_workers: usize) -> Self {
        Self
    }
}

pub(crate) struct LockLatch {
    is_set: Mutex<bool>,
    changed: Condvar,
}

assert_size!(LockLatch: size_of::<Mutex<bool>>() + size_of::<Condvar>());

impl LockLatch {
    pub(crate) fn new_shared() -> Arc<Self> {
        Arc::new(Self {
            is_set: Mutex::new(false),
            changed: Condvar::new(),
        })
    }

    #[inline(never)]
    pub(crate) fn wait(&self, _spin_history: Option<&SpinHistory>) {
        let mut is_set = self.is_set.lock();
        while !*is_set {
            is_set = self.changed.wait(is_set);
        }
    }

    pub(crate) fn set_and_notify(&self) {
        let mut is_set = self.is_set.lock();
        *is_set = true;
        self.changed.notify_all();
    }
}
