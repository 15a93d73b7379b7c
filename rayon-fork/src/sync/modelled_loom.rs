//! The primitives of the modelled files: those of loom, with the names in `modelled.rs`.

#[cfg(test)]
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU64};
pub(crate) use loom::sync::atomic::{AtomicUsize, Ordering};
/// An atomic that loom does not see, for hints, which must not add schedules.
#[cfg(test)]
pub(crate) use std::sync::atomic::AtomicU64 as Unmodelled;

super::locks::unpoisoned_locks!(loom::sync, loom::sync::MutexGuard);

loom::lazy_static! {
    static ref FENCES: AtomicUsize = AtomicUsize::new(0);
    static ref ASYMMETRIC_FENCES: AtomicUsize = AtomicUsize::new(0);
}
std::thread_local! {
    static ARE_FENCES_EVENTS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Begins one execution, before it spawns threads.
///
/// By default loom runs a fence in one piece with the access before it, and misses failures that
/// need another thread in between. With `are_fences_events`, each fence touches one common word,
/// relaxed. The common word makes loom find those failures, but adds so many schedules that loom
/// misses other failures. So models run once without and once with `are_fences_events`.
#[cfg(test)]
pub(crate) fn begin_execution(are_fences_events: bool) {
    // A thread-local value serves the whole model, because loom runs all its threads on one thread
    // of the system.
    ARE_FENCES_EVENTS.set(are_fences_events);
    // The first access creates the common word. If a model's thread made the first access, loom
    // would order that thread before all others.
    fence(Ordering::SeqCst);
}

pub(crate) fn fence(ordering: Ordering) {
    if ARE_FENCES_EVENTS.get() {
        FENCES.fetch_add(1, Ordering::Relaxed);
    }
    loom::sync::atomic::fence(ordering);
}

/// Creates the word of asymmetric fences, as [`begin_execution`] does. Models without asymmetric
/// fences do not create the word, which would change loom's bounded search.
#[allow(clippy::unnecessary_wraps)]
pub(crate) fn prepare_heavy_fences() -> std::io::Result<()> {
    light_fence();
    Ok(())
}

/// The light side: a step on a word that only the two sides use. Unlike a real light side, this one
/// is also ordered with other light sides.
pub(crate) fn light_fence() {
    // ORDERING: AcqRel. One of two steps is first, and the thread of the second step sees what came
    // before the first, as `sync/asymmetric.rs` promises.
    ASYMMETRIC_FENCES.fetch_add(1, Ordering::AcqRel);
}

pub(crate) fn heavy_fence() {
    fence(Ordering::SeqCst);
    // ORDERING: AcqRel, as in `light_fence`.
    ASYMMETRIC_FENCES.fetch_add(1, Ordering::AcqRel);
}

pub(crate) fn try_heavy_fence() -> bool {
    heavy_fence();
    true
}

pub(crate) fn wait_for_grace_period() {
    heavy_fence();
}

#[cfg(test)]
#[derive(Clone, Copy)]
pub(crate) struct Fences {
    /// If false, `heavy` is only a local fence (a planted mistake).
    is_heavy: bool,
}

#[cfg(test)]
impl Fences {
    /// Returns fences with a real heavy side. Creates their common word before the threads of a
    /// model start.
    pub(crate) fn cheapest() -> Self {
        light_fence();
        Self { is_heavy: true }
    }

    pub(crate) fn full() -> Self {
        Self { is_heavy: false }
    }

    pub(crate) fn alone() -> Self {
        Self::full()
    }

    pub(crate) fn cheapest_in_time() -> Self {
        Self::cheapest()
    }

    pub(crate) fn cost_of_heavy(self) -> Option<std::time::Duration> {
        None
    }

    pub(crate) fn is_register_called_for(self) -> bool {
        false
    }

    pub(crate) fn register(self) {}

    pub(crate) fn name(self) -> &'static str {
        "modelled"
    }

    /// Planted mistake: the heavy side is only a local fence.
    pub(crate) fn without_heavy_ones() -> Self {
        Self {
            is_heavy: false,
            ..Self::cheapest()
        }
    }

    pub(crate) fn light(self) {
        light_fence();
    }

    pub(crate) fn heavy(self) {
        if self.is_heavy {
            heavy_fence();
        } else {
            fence(Ordering::SeqCst);
        }
    }
}

/// Stands in for a `SeqCst` access, which loom treats as acquire and release.
pub(crate) fn fence_for_loom() {
    // ORDERING: SeqCst fence. On a real machine the accesses before and after this fence are
    // `SeqCst`, and their total order suffices.
    fence(Ordering::SeqCst);
}

/// Does nothing. With a real yield loom would skip schedules in which no other thread runs.
pub(crate) fn yield_now() {}
