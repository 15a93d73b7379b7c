//! Counts what each thread of the tests has on the heap, so that parsers can be held to a bound.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes that this thread has taken and not given back; another thread may give them back.
    static HELD: Cell<usize> = const { Cell::new(0) };
    /// The most there has been of it.
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counted.
struct Counted;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

fn taken(bytes: usize) {
    // A thread that ends may allocate after its counters are gone; no code reads them any more.
    let _ = HELD.try_with(|held| {
        held.set(held.get().wrapping_add(bytes));
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

fn given_back(bytes: usize) {
    let _ = HELD.try_with(|held| held.set(held.get().wrapping_sub(bytes)));
}

// SAFETY: every call goes on to the system's allocator as it came; counting allocates nothing,
// since both counters are constants without destructors.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller keeps the same promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        given_back(layout.size());
        // SAFETY: the caller keeps the same promises.
        unsafe { System.dealloc(place, layout) }
    }
}

/// Returns the result of `work`, and the most bytes that this thread had on the heap meanwhile,
/// beyond those before. `work` may not start threads, nor free what another thread allocated.
pub(crate) fn peak_bytes<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = work();
    (result, PEAK.get() - before)
}

#[test]
fn the_peak_is_the_most_that_was_held_at_once() {
    let (last, peak) = peak_bytes(|| {
        drop(vec![0_u8; 3_000]);
        let mut grown = vec![0_u8; 1_000];
        grown.resize(1_500, 0);
        grown.len()
    });
    assert_eq!(last, 1_500);
    assert!((3_000..4_000).contains(&peak), "{peak}");
}

#[test]
fn a_reservation_that_a_length_field_asked_for_is_seen() {
    let ((), peak) = peak_bytes(|| drop(Vec::<u8>::with_capacity(1 << 20)));
    assert_eq!(peak, 1 << 20);
}
