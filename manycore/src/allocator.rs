//! A heap whose addresses do not depend on the host, and whose calls have a cost.
//!
//! A program's costs depend on which objects share a line. In this heap, an object's address
//! follows from the program's earlier allocations. Each thread has an arena, and a cache of free
//! objects of each size class, from which the thread allocates first. An object goes into the cache
//! of the thread that frees the object. If that cache is full, the object goes back into the arena
//! it came from, and taking the lock of that arena costs an access.

use std::alloc::{GlobalAlloc, Layout, System};

use crate::engine;
use crate::heap::{CHUNK, LARGEST, chunk_of, class_of, count};

/// The allocator of a program on a simulated machine: `#[global_allocator] static HEAP: Heap =
/// Heap;`. The system's allocator serves allocations outside a simulation, and those of the
/// simulator itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heap;

/// Whether the running code gets objects from the heap of the run. While a simulated thread panics,
/// all threads get objects from the system's allocator. Otherwise the panicking thread would give
/// up its turn inside the panic hook, and a second thread's panic would end the process.
fn is_simulated() -> bool {
    engine::is_thread() && !std::thread::panicking()
}

// SAFETY: objects of one class lie apart from one another in chunks of their own. Objects are as
// long as their class says, and aligned to 16, or to their size if that is a power of two. An
// object whose size or alignment exceeds `LARGEST` gets chunks of its own, aligned to `CHUNK`. The
// system's allocator serves alignments above `CHUNK`. The heap gives an object out again only after
// the program freed it. No code here unwinds, except at a failed assertion, which ends the process.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !is_simulated() || layout.align() > CHUNK {
            // SAFETY: the caller has the obligations of a caller of `System.alloc`.
            return unsafe { System.alloc(layout) };
        }
        engine::allocation();
        // Objects whose size is a power of two are aligned to their size.
        let bytes = if layout.align() > 16 {
            layout.size().max(layout.align()).next_power_of_two()
        } else {
            layout.size()
        };
        if bytes > LARGEST {
            return engine::on_heap(|heap, thread| heap.take_large(thread, bytes));
        }
        let class = class_of(bytes);
        let lock = engine::on_heap(|heap, thread| heap.lock_to_take(thread, class));
        if let Some(lock) = lock {
            engine::read_modify_write(lock);
        }
        engine::on_heap(|heap, thread| heap.take(thread, class))
    }

    unsafe fn dealloc(&self, object: *mut u8, layout: Layout) {
        if chunk_of(object).is_none() {
            // SAFETY: the caller has the obligations of a caller of `System.dealloc`, and every
            // object outside the region is from the system's allocator.
            return unsafe { System.dealloc(object, layout) };
        }
        let chunk = count(object, false);
        if !is_simulated() {
            return;
        }
        engine::allocation();
        if layout.size().max(layout.align()) > LARGEST {
            return engine::on_heap(|heap, _| heap.give_back_large(chunk, object));
        }
        if let Some(lock) = engine::on_heap(|heap, thread| heap.give_back(thread, chunk, object)) {
            engine::read_modify_write(lock);
            engine::on_heap(|heap, _| heap.give_back_to_arena(chunk, object));
        }
    }
}
