//! Statics that are written once in each run, with the interface of `std::sync`.
#![expect(
    missing_docs,
    clippy::must_use_candidate,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    reason = "the standard library documents this interface"
)]

use std::cell::OnceCell;
use std::marker::PhantomData;

use crate::atomic::{AtomicBool, Ordering};
use crate::engine;
use crate::lock::Mutex;
use crate::number::Number;

/// A cell that is written once in each run. A run is a program of its own, so its statics hold no
/// value of another run. While a thread writes the cell, other threads that want to write it wait.
pub struct OnceLock<T> {
    number: Number,
    value: PhantomData<T>,
}

#[repr(align(64))]
struct OfRun<T> {
    value: OnceCell<T>,
    lock: Mutex<()>,
    is_set: AtomicBool,
}

// SAFETY: a thread writes the value under the lock before it sets `is_set`, and threads read the
// value only after they have seen `is_set`.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}

impl<T: 'static> OnceLock<T> {
    pub const fn new() -> Self {
        Self {
            number: Number::new(),
            value: PhantomData,
        }
    }

    /// Returns the cell's state in this run; `None` outside a simulation. The state outlives the
    /// run, because references to the state may outlive the run, too.
    fn of_run(&self) -> Option<&'static OfRun<T>> {
        let once = engine::of_run(self.number.get(), || {
            Box::leak(Box::new(OfRun::<T> {
                value: OnceCell::new(),
                lock: Mutex::new(()),
                is_set: AtomicBool::new(false),
            }))
        })?;
        Some(once.downcast_ref().expect("a number belongs to one cell"))
    }

    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        let once = self.of_run()?;
        once.is_set
            .load(Ordering::Acquire)
            .then(|| once.value.get())
            .flatten()
    }

    #[track_caller]
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        let once = self
            .of_run()
            .expect("a static of a simulated program is only used inside its simulation");
        if !once.is_set.load(Ordering::Acquire) {
            let _guard = once.lock.lock();
            once.value.get_or_init(make);
            once.is_set.store(true, Ordering::Release);
        }
        once.value
            .get()
            .expect("the value was set above or earlier")
    }

    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("the closure is called once"));
        value.map_or(Ok(()), Err)
    }
}

/// A step that the program executes once in each run, as it writes a [`OnceLock`] once.
#[derive(Default)]
pub struct Once(OnceLock<()>);

impl Once {
    /// A step that has not run.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    #[track_caller]
    pub fn call_once(&self, step: impl FnOnce()) {
        self.0.get_or_init(step);
    }

    #[track_caller]
    pub fn is_completed(&self) -> bool {
        self.0.get().is_some()
    }
}

impl<T: 'static> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}
