//! The `lock-free` queue: segments of atomic slots from a library, and a way to wait beside it.

use std::time::Duration;

use crossbeam_queue::SegQueue;

use super::TaskQueue;
use super::parking::Parking;

/// See the file's header.
pub(crate) struct LockFree<T> {
    tasks: SegQueue<T>,
    parking: Parking,
    /// A thread that finds it empty looks again after this time, whatever has come meanwhile.
    nap: Option<Duration>,
}

impl<T> LockFree<T> {
    /// With `nap`, new tasks do not wake threads: the mistake of a study, kept for comparison.
    pub(crate) fn new(nap: Option<Duration>) -> Self {
        Self {
            tasks: SegQueue::new(),
            parking: Parking::new(),
            nap,
        }
    }
}

impl<T: Send> TaskQueue<T> for LockFree<T> {
    fn push(&self, task: T) {
        self.tasks.push(task);
        if self.nap.is_none() {
            self.parking.wake_one();
        }
    }

    fn pop(&self) -> Option<T> {
        loop {
            if let Some(task) = self.tasks.pop() {
                return Some(task);
            }
            match self.nap {
                None => return self.parking.wait_for(|| self.tasks.pop()),
                Some(_) if self.parking.is_closed() => return self.tasks.pop(),
                Some(nap) => self.parking.nap(nap),
            }
        }
    }

    fn close(&self) {
        self.parking.close();
    }
}
