//! Numbers by which a run finds its own values of the program's statics and thread-locals.

use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) struct Number(AtomicUsize);

static GIVEN: AtomicUsize = AtomicUsize::new(0);

impl Number {
    pub(crate) const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    pub(crate) fn get(&self) -> usize {
        // Relaxed, here and below: the number carries no other data between threads of the host.
        // The compare-exchange lets only one thread assign the number.
        let number = self.0.load(Ordering::Relaxed);
        if number != 0 {
            return number;
        }
        let new = GIVEN.fetch_add(1, Ordering::Relaxed) + 1;
        match self
            .0
            .compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed)
        {
            Ok(_) => new,
            Err(number) => number,
        }
    }
}
