//! The door onto a simulated machine: what `manycore` has in place of the standard library.

#[cfg(feature = "instrument")]
pub(crate) use manycore::atomic::AtomicBool;
#[allow(unused_imports)]
pub(crate) use manycore::atomic::AtomicU64;
pub(crate) use manycore::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
pub(crate) use manycore::lock::OnceLock;
pub(crate) use manycore::thread::yield_now;
pub(crate) use manycore::time::Instant;

pub(crate) mod hint {
    pub(crate) use manycore::spin_loop;
}

pub(crate) mod thread {
    use std::io;
    use std::num::NonZeroUsize;

    pub(crate) use manycore::thread::{Builder, scope};

    /// Cores of the machine.
    pub(crate) fn available_parallelism() -> io::Result<NonZeroUsize> {
        let cores = manycore::cores().and_then(NonZeroUsize::new);
        cores.ok_or_else(|| io::Error::other("no simulation runs"))
    }
}

/// Cores in the place of CPUs.
#[cfg(feature = "instrument")]
pub(crate) mod cpus {
    /// The machine knows them.
    pub(crate) const ARE_CPUS_KNOWN: bool = true;

    /// The core of the calling thread.
    pub(crate) fn current_cpu() -> Option<usize> {
        manycore::current_core()
    }

    /// All cores of the machine.
    pub(crate) fn usable_cpus() -> Vec<usize> {
        (0..manycore::cores().unwrap_or(0)).collect()
    }
}

/// Nothing to prepare.
// It fails where the kernel is asked.
#[allow(clippy::unnecessary_wraps)]
pub(crate) fn prepare_heavy_fences() -> std::io::Result<()> {
    Ok(())
}

/// The side of a pair that is executed often: free where a variant is selected that needs it so, else a full fence.
#[track_caller]
pub(crate) fn light_fence() {
    if !cfg!(feature = "membarrier") {
        fence(Ordering::SeqCst);
    }
}

/// The side of a pair that is executed seldom.
#[track_caller]
pub(crate) fn heavy_fence() {
    if cfg!(feature = "membarrier") {
        manycore::heavy_fence();
    } else {
        fence(Ordering::SeqCst);
    }
}

/// Pairs of fences, registered from the start.
#[derive(Clone, Copy)]
#[allow(dead_code)]
pub(crate) struct Fences;

#[allow(dead_code)]
impl Fences {
    /// The only ones.
    pub(crate) fn cheapest() -> Self {
        Self
    }

    /// For people: who fences.
    pub(crate) fn name(self) -> &'static str {
        "simulated"
    }

    /// The side of a pair that is executed often.
    #[track_caller]
    pub(crate) fn light(self) {
        light_fence();
    }

    /// The side of a pair that is executed seldom.
    #[track_caller]
    pub(crate) fn heavy(self) {
        heavy_fence();
    }
}

/// What costs something beside accesses to what is declared here.
pub(crate) mod price {
    /// The calling thread reads what is there, which another thread may have written.
    #[track_caller]
    pub(crate) fn reads<T>(place: *const T) {
        manycore::touch(place as usize, size_of::<T>(), false);
    }

    /// The calling thread writes what is there, which another thread may read.
    #[track_caller]
    pub(crate) fn writes<T>(place: *const T) {
        manycore::touch(place as usize, size_of::<T>(), true);
    }

    /// Whether the calling worker searches from now on.
    pub(crate) fn set_searching(is_searching: bool) {
        manycore::set_searching(is_searching);
    }

    /// The state of a random generator, by the seed of the run.
    #[allow(clippy::unnecessary_wraps)]
    pub(crate) fn random_state() -> Option<u64> {
        Some(manycore::random() | 1)
    }
}
