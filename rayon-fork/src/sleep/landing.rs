//! Where a woken worker lands: with the feature `spread`, not on the CPU of a waker that goes on running.
//!
//! A waker that is a worker itself has more jobs to run. If the kernel puts the sleeper behind it on the same CPU, the
//! two take turns while another CPU stands idle. On virtual machines that is frequent: Linux takes a CPU that the host
//! has halted for a busy one. So the waker forbids the sleeper its own CPU, and the sleeper lifts that as soon as it
//! runs. In a pool of more workers than CPUs the others are busy, too, so there the kernel decides: elsewhere would be
//! worse, as sweeps showed (`saturate`, `factorial`). Who changes the affinity of a worker's thread just between the two loses that change.

#[cfg(not(all(
    feature = "spread",
    target_os = "linux",
    not(any(miri, fork_loom, fork_sim))
)))]
pub(super) use anywhere::Landing;
#[cfg(all(feature = "spread", target_os = "linux", not(any(miri, fork_loom, fork_sim))))]
pub(super) use apart::Landing;

#[cfg(all(feature = "spread", target_os = "linux", not(any(miri, fork_loom, fork_sim))))]
mod affinity;

/// What this file adds to the variant's name.
pub(crate) const MODIFIER: &str = if cfg!(feature = "spread") { "+spread" } else { "" };

/// The kernel decides; or, on simulated machines, every thread has a core of its own.
#[cfg(not(all(feature = "spread", target_os = "linux", not(any(miri, fork_loom, fork_sim)))))]
mod anywhere {
    /// Nothing.
    pub(in crate::sleep) struct Landing;

    // With the feature there is something to use.
    #[allow(clippy::unused_self)]
    impl Landing {
        /// For a worker of a pool of so many.
        pub(in crate::sleep) fn new(_workers: usize) -> Self {
            Self
        }

        /// The calling worker is about to block.
        #[inline]
        pub(in crate::sleep) fn begin_sleep(&self) {}

        /// The worker is blocked, and the calling thread is about to wake it.
        #[inline]
        pub(in crate::sleep) fn choose(&self) {}

        /// The calling worker was woken.
        #[inline]
        pub(in crate::sleep) fn end_sleep(&self) {}
    }
}

#[cfg(all(feature = "spread", target_os = "linux", not(any(miri, fork_loom, fork_sim))))]
mod apart {
    use super::affinity::{AllowedCpus, ThreadId};
    use crate::sync::{Mutex, cell_of_thread};

    cell_of_thread! {
        /// Whether this thread ever slept as a worker. A thread outside wakes a worker and then waits, which frees its CPU.
        static IS_WORKER: Cell<bool> = false;
    }

    /// A worker's thread, and what it is to be allowed again.
    pub(in crate::sleep) struct Landing {
        /// In the pool.
        workers: usize,
        sleeper: Mutex<Sleeper>,
    }

    struct Sleeper {
        thread: Option<ThreadId>,
        before: Option<AllowedCpus>,
    }

    impl Landing {
        /// For a worker of a pool of so many.
        pub(in crate::sleep) fn new(workers: usize) -> Self {
            Self { workers, sleeper: Mutex::new(Sleeper { thread: None, before: None }) }
        }

        /// The calling worker is about to block.
        pub(in crate::sleep) fn begin_sleep(&self) {
            let mut sleeper = self.sleeper.lock();
            if sleeper.thread.is_none() {
                sleeper.thread = Some(ThreadId::current());
                IS_WORKER.set(true);
            }
        }

        /// The worker is blocked, and the calling thread is about to wake it.
        pub(in crate::sleep) fn choose(&self) {
            if IS_WORKER.get() {
                let mut sleeper = self.sleeper.lock();
                let keep_off = |thread: ThreadId| thread.keep_off_this_cpu(self.workers);
                sleeper.before = sleeper.thread.and_then(keep_off);
            }
        }

        /// The calling worker was woken.
        pub(in crate::sleep) fn end_sleep(&self) {
            let before = self.sleeper.lock().before.take();
            if let Some(before) = before {
                before.allow();
            }
        }
    }
}
