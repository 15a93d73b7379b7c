//! The crate's interface to atomics, locks, fences and threads. Outside tests, only this file and
//! `sync/` name the standard library's atomics, locks, condition variables, yielding and thread
//! parking. Only `asymmetric.rs` names the kernel's fences.
//!
//! The sleep protocol, latches and the split deque use [`modelled`]. A build with `--cfg fork_loom`
//! takes that module from loom. So the models run the very code that the pool runs. Statics cannot
//! use loom, whose atomics have no `const fn new`.

mod machine;
#[cfg_attr(fork_loom, path = "sync/modelled_loom.rs")]
pub(crate) mod modelled;

#[cfg_attr(fork_loom, allow(dead_code))]
mod locks;

#[cfg(not(fork_loom))]
mod asymmetric;

mod cost;
// Only builds that share jobs lazily use these modules.
#[cfg(not(fork_loom))]
#[allow(dead_code)]
mod fences;
#[allow(dead_code)]
mod registration;
#[allow(dead_code)]
mod rounds;

pub(crate) use cost::Cost;
// With `warm-install`, no file takes `Condvar` from here.
#[allow(unused_imports)]
pub(crate) use locks::{Condvar, Mutex};
#[cfg(feature = "instrument")]
pub(crate) use machine::{AtomicBool, AtomicU64};
pub(crate) use machine::{AtomicPtr, AtomicUsize, Instant, OnceLock, Ordering, hint, thread};

/// Declares a thread-local value, for reads and writes of a whole `Cell`.
macro_rules! cell_of_thread {
    ($(#[$doc:meta])* static $name:ident: Cell<$value:ty> = $first:expr;) => {
        ::std::thread_local! {
            $(#[$doc])*
            static $name: ::std::cell::Cell<$value> = const { ::std::cell::Cell::new($first) };
        }
    };
}
pub(crate) use cell_of_thread;
