//! A drop-in replacement for `rayon-core`, on which the `rayon` facade runs unmodified. Cargo
//! features choose how the fork counts sleeping and searching workers. The README of this package
//! says what differs from the published crate, and how to choose a variant.
//!
//! A pool consists of threads, its *workers*, and of the jobs that wait for them. A worker offers
//! work that may run in parallel, and runs that work itself unless an idle worker steals it. There
//! are four ways to offer work:
//!
//! | work                                     | way             | who waits            |
//! |------------------------------------------|-----------------|----------------------|
//! | two closures                             | [`join`]        | the caller           |
//! | any number of closures, which may borrow | [`scope()`]     | the end of the scope |
//! | closures that may outlive the caller     | [`spawn()`]     | no thread            |
//! | one closure, once on every worker        | [`broadcast()`] | the caller           |
//!
//! ```
//! let mut numbers = [3, 1, 2];
//! let (sum, longest) = rayon_core::join(
//!     || numbers.iter().sum::<i32>(),
//!     || ["ape", "bear"].iter().map(|name| name.len()).max(),
//! );
//! assert_eq!((sum, longest), (6, Some(4)));
//! rayon_core::scope(|scope| {
//!     for number in &mut numbers {
//!         scope.spawn(move |_| *number *= 10);
//!     }
//! });
//! assert_eq!(numbers, [30, 10, 20]);
//! ```
//!
//! On a worker, these functions use the worker's own pool. On any other thread they use the global
//! pool, which starts when it is first needed. [`ThreadPoolBuilder`] builds further pools, and
//! [`ThreadPool::install`] runs work in them. A worker that must wait runs other jobs meanwhile.
//! `src/sleep/README.md` explains how a worker without work goes to sleep.

// As in the published crate, these functions have no `#[must_use]`, so programs compile alike on
// both.
#![allow(clippy::must_use_candidate, clippy::return_self_not_must_use)]

/// Asserts the size of a type in bytes, on 64-bit targets. Sizes matter because jobs and latches
/// lie in users' stack frames, and many threads read a pool's shared state.
macro_rules! assert_size {
    ($type:ty: $bytes:expr) => {
        #[cfg(all(
            target_pointer_width = "64",
            not(fork_loom),
            not(feature = "instrument")
        ))]
        const _: () = assert!(
            size_of::<$type>() == $bytes,
            concat!(stringify!($type), " has another size")
        );
    };
}

macro_rules! debug_or_loom_assert {
    ($($claim:tt)*) => {
        if cfg!(any(debug_assertions, fork_loom)) {
            assert!($($claim)*);
        }
    };
}

mod broadcast;
mod builder;
mod configuration;
mod core_latch;
mod current;
mod deque;
mod error;
mod hooks;
#[cfg(feature = "instrument")]
pub mod instrument;
mod job;
mod join;
mod latch;
mod name;
mod registry;
mod rng;
mod scope;
mod sleep;
mod spawn;
mod sync;
mod thread_builder;
mod thread_count;
mod thread_pool;
mod unwind;

pub use broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub use builder::ThreadPoolBuilder;
#[allow(deprecated)]
pub use configuration::{Configuration, initialize};
pub use current::{
    Yield, current_num_threads, current_thread_has_pending_tasks, current_thread_index,
    max_num_threads, yield_local, yield_now,
};
pub use error::ThreadPoolBuildError;
pub use join::{FnContext, join, join_context};
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use spawn::{spawn, spawn_fifo};
pub use thread_builder::ThreadBuilder;
pub use thread_pool::ThreadPool;

use name::Name;

/// Returns the name of the compiled variant, for example `split+no-jec+cache-padded`. A measuring
/// program calls this function to prove which variant it measures. The published crate has no such
/// function.
#[doc(hidden)]
pub fn rayon_fork_variant() -> &'static str {
    const NAME: Name = Name::join(
        sleep::VARIANT,
        &[join::NAME_PART, latch::NAME_PART, deque::NAME_PART],
    );
    NAME.as_str()
}
