//! The primitives of the sleep protocol in a model: loom's, with the same names as in
//! `modelled.rs`.

#[cfg(test)]
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU64};
pub(crate) use loom::sync::atomic::{AtomicUsize, Ordering};
/// For hints, which order nothing. It is not loom's, because it must not add schedules.
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

/// Begins one execution, before it spawns threads. `are_fences_events` says whether loom
/// explores the order of fences as events.
///
/// By default loom runs a fence in one piece with the access before it. So it misses failures that
/// need another thread in between. As an event, each fence touches one common word, relaxed. That
/// finds those failures, but adds so many schedules that loom no longer reaches others. So models
/// are run both ways.
#[cfg(test)]
pub(crate) fn begin_execution(are_fences_events: bool) {
    // All threads of a model take turns on one thread of the system.
    ARE_FENCES_EVENTS.set(are_fences_events);
    // The first touch creates the word. If another thread did that, it would order that thread
    // before all others.
    fence(Ordering::SeqCst);
}

/// A fence, which is also an event if the model says so.
pub(crate) fn fence(ordering: Ordering) {
    if ARE_FENCES_EVENTS.get() {
        FENCES.fetch_add(1, Ordering::Relaxed);
    }
    loom::sync::atomic::fence(ordering);
}

/// Creates the word below, for the same reason as in [`begin_execution`]. Only this does so: in
/// models that do not use the word, it would change the course of loom's bounded search.
// The version that calls the kernel may fail.
#[allow(clippy::unnecessary_wraps)]
pub(crate) fn prepare_heavy_fences() -> std::io::Result<()> {
    light_fence();
    Ok(())
}

/// One side of an ordered pair: a step on a word that only such pairs use. So it orders nothing
/// with any fence but its partner. (It also orders other light fences, which the real one does
/// not.)
pub(crate) fn light_fence() {
    // ORDERING: AcqRel. One of two steps is first, and the thread of the other sees what came
    // before it. That is what `sync/asymmetric.rs` promises of a pair.
    ASYMMETRIC_FENCES.fetch_add(1, Ordering::AcqRel);
}

/// The other side, which is also an ordinary fence.
pub(crate) fn heavy_fence() {
    fence(Ordering::SeqCst);
    // ORDERING: AcqRel, as in `light_fence`.
    ASYMMETRIC_FENCES.fetch_add(1, Ordering::AcqRel);
}

/// As `heavy_fence`.
pub(crate) fn try_heavy_fence() -> bool {
    heavy_fence();
    true
}

/// Every thread's stores become visible, by assumption.
pub(crate) fn wait_for_grace_period() {
    heavy_fence();
}

/// Pairs of fences, as above.
#[cfg(test)]
#[derive(Clone, Copy)]
pub(crate) struct Fences {
    /// If false, `heavy` is only a local fence (a planted mistake).
    is_heavy: bool,
}

#[cfg(test)]
impl Fences {
    /// Creates the fences before the threads of a model start, for the reason in
    /// [`begin_execution`].
    pub(crate) fn cheapest() -> Self {
        light_fence();
        Self { is_heavy: true }
    }

    /// For pools that do not use them: they are no step of a model.
    pub(crate) fn full() -> Self {
        Self { is_heavy: false }
    }

    /// As `full`.
    pub(crate) fn alone() -> Self {
        Self::full()
    }

    /// As `cheapest`.
    pub(crate) fn cheapest_in_time() -> Self {
        Self::cheapest()
    }

    /// A model's fences are there from the start.
    pub(crate) fn is_register_called_for(self) -> bool {
        false
    }

    /// Nothing to do.
    pub(crate) fn register(self) {}

    /// For people.
    pub(crate) fn name(self) -> &'static str {
        "modelled"
    }

    /// Mistake: no thread fences for others.
    pub(crate) fn without_heavy_ones() -> Self {
        Self {
            is_heavy: false,
            ..Self::cheapest()
        }
    }

    /// The side of a pair that threads execute often.
    pub(crate) fn light(self) {
        light_fence();
    }

    /// The side of a pair that threads execute seldom.
    pub(crate) fn heavy(self) {
        if self.is_heavy {
            heavy_fence();
        } else {
            fence(Ordering::SeqCst);
        }
    }
}

/// Stands in for a `SeqCst` access. Loom treats those as acquire and release accesses, but it
/// does model this fence.
pub(crate) fn fence_for_loom() {
    // ORDERING: SeqCst fence. On a real machine the first access is a locked one, or both
    // accesses are loads. There this fence orders nothing that the machine does not order
    // anyway.
    fence(Ordering::SeqCst);
}

/// Does nothing. Loom would make another thread run first, and so skip the schedules in which
/// none does. No loop of the protocol needs the yield to end.
pub(crate) fn yield_now() {}
