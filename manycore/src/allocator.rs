//! A heap whose addresses do not depend on the host, each call priced.
//!
//! Which objects share a line decides what a program pays, and the host's allocator gives other
//! addresses in each run. Here an object's place follows from what the program allocated before.
//! The rest is as in the allocators that programs have: each thread has an arena and, before it, a
//! cache of free objects of each size. An object that another thread frees goes into that thread's
//! cache. If the cache is full, it goes back into its own arena, whose lock is a line like any.

use std::alloc::{GlobalAlloc, Layout, System};

use crate::engine;
use crate::heap::{CHUNK, LARGEST, chunk_of, class_of, count};

/// The allocator that a program installs to run on a simulated machine: `#[global_allocator] static
/// HEAP: Heap = Heap;`. Outside a simulation, and for the simulation's own needs, it is the
/// system's allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heap;

/// Whether the heap of the run serves the code that runs. Not while a thread panics: another one
/// that then panics, too, would end the process if this one gave its turn away inside the panic
/// hook.
fn is_simulated() -> bool {
    engine::is_thread() && !std::thread::panicking()
}

// SAFETY: objects of one class lie apart from one another in chunks of their own. They are as long
// as the class says, and aligned to 16, or to their size where that is a power of two. An object
// that needs more gets chunks of its own, which are aligned to 64 KiB. An object is given out again
// only after it was freed. Nothing here unwinds but in an assertion that ends the process.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !is_simulated() || layout.align() > CHUNK {
            // SAFETY: the caller's promise, passed on.
            return unsafe { System.alloc(layout) };
        }
        engine::allocation();
        // A size that is a power of two is aligned to itself in its chunk.
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
            engine::lock_line(lock);
        }
        engine::on_heap(|heap, thread| heap.take(thread, class))
    }

    unsafe fn dealloc(&self, object: *mut u8, layout: Layout) {
        if chunk_of(object).is_none() {
            // SAFETY: the caller's promise, passed on: what is not of the region is the system's.
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
            engine::lock_line(lock);
            engine::on_heap(|heap, _| heap.give_back_to_arena(chunk, object));
        }
    }
}
