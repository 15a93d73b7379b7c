//! The locks of queues: three from libraries, and the lock of Anderson. A waiting thread sleeps or
//! yields the processor, because a sweep also runs more threads than there are CPUs.

use std::sync::{Mutex, PoisonError, TryLockError};

use super::anderson::Anderson;

/// Test-and-set: all waiting threads read one word, and write to it when the lock is free.
pub(super) type Tas<T> = spin::mutex::SpinMutex<T, spin::Yield>;

/// The queue lock of Mellor-Crummey and Scott (1991). Each waiting thread spins on its own word.
pub(super) type Mcs<T> = mcslock::raw::yields::backoff::Mutex<T>;

/// At most `threads` threads use the lock at a time.
pub(super) trait Lock<T>: Send + Sync {
    fn new(value: T, threads: usize) -> Self;

    fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R;

    /// Works on the value only if the lock is free at once.
    fn try_with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R>;
}

/// The standard library's lock, which puts waiting threads to sleep. This code ignores poisoning,
/// because a panic ends the trial.
impl<T: Send> Lock<T> for Mutex<T> {
    fn new(value: T, _: usize) -> Self {
        Self::new(value)
    }

    fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        work(&mut self.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn try_with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        match self.try_lock() {
            Ok(mut value) => Some(work(&mut value)),
            Err(TryLockError::Poisoned(poisoned)) => Some(work(&mut poisoned.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl<T: Send> Lock<T> for Tas<T> {
    fn new(value: T, _: usize) -> Self {
        Self::new(value)
    }

    fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        work(&mut self.lock())
    }

    fn try_with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.try_lock().map(|mut value| work(&mut value))
    }
}

impl<T: Send> Lock<T> for Mcs<T> {
    fn new(value: T, _: usize) -> Self {
        Self::new(value)
    }

    fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        self.lock_then(work)
    }

    fn try_with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.try_lock_then(|value| value.map(work))
    }
}

impl<T: Send> Lock<T> for Anderson<T> {
    fn new(value: T, threads: usize) -> Self {
        Self::new(value, threads)
    }

    fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        self.with(work)
    }

    fn try_with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.try_with(work)
    }
}
