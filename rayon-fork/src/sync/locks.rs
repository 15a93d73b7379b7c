//! Locks without poisoning.

/// A mutex and a condition variable without poisoning, over a module with the interface of
/// `std::sync`. No thread holds a lock of this crate while it runs user code, and no critical
/// section leaves its data half changed.
macro_rules! unpoisoned_locks {
    ($backend:path, $guard:path) => {
        use $backend as backend;
        pub(crate) use $guard;

        pub(crate) struct Mutex<T>(backend::Mutex<T>);

        impl<T> Mutex<T> {
            pub(crate) fn new(value: T) -> Self {
                Self(backend::Mutex::new(value))
            }

            #[inline]
            pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
                self.0
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
            }

            #[inline]
            pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
                match self.0.try_lock() {
                    Ok(guard) => Some(guard),
                    Err(std::sync::TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                    Err(std::sync::TryLockError::WouldBlock) => None,
                }
            }
        }

        pub(crate) struct Condvar(backend::Condvar);

        impl Condvar {
            pub(crate) fn new() -> Self {
                Self(backend::Condvar::new())
            }

            #[inline]
            pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
                self.0
                    .wait(guard)
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
            }

            #[inline]
            pub(crate) fn notify_all(&self) {
                self.0.notify_all();
            }
        }
    };
}

// The main thread of a browser must not block, so there the locks spin.
#[cfg(not(feature = "web_spin_lock"))]
unpoisoned_locks!(std::sync, std::sync::MutexGuard);
#[cfg(feature = "web_spin_lock")]
unpoisoned_locks!(wasm_sync, std::sync::MutexGuard);

#[cfg(fork_loom)]
pub(super) use unpoisoned_locks;
