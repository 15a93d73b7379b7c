//! The addresses of a run's objects: chunks, arenas and caches.

use std::collections::BTreeMap;
use std::ptr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

/// Bytes of a chunk. A chunk holds objects of one size class that one thread allocated.
pub(crate) const CHUNK: usize = 64 << 10;

/// Address space for all chunks of a process. The unused part costs nothing.
const REGION: usize = 256 << 30;

/// Objects up to this size share chunks.
pub(crate) const LARGEST: usize = 16 << 10;

/// Number of size classes up to [`LARGEST`]: all multiples of 16 up to 256, then powers of two.
const CLASSES: usize = 16 + 6;

/// How many free objects of one size a thread keeps for itself: as many as in the GNU C library.
const CACHED: usize = 7;

pub(crate) fn class_of(bytes: usize) -> usize {
    if bytes <= 256 {
        bytes.div_ceil(16).max(1) - 1
    } else {
        16 + (bytes.next_power_of_two().trailing_zeros() - 9) as usize
    }
}

fn size_of_class(class: usize) -> usize {
    if class < 16 {
        (class + 1) * 16
    } else {
        512 << (class - 16)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Chunk {
    run: u64,
    thread: usize,
    class: usize,
    live: usize,
    chunks: usize,
}

/// All chunks of the process. The table itself is in the system's memory.
struct Region {
    base: usize,
    chunks: Vec<Chunk>,
    /// Chunks of earlier runs that contain no live object.
    free: Vec<usize>,
    runs: u64,
}

static REGION_OF_PROCESS: OnceLock<Mutex<Region>> = OnceLock::new();

/// The address of the region, or 0 before the region exists. By this address, code recognizes
/// pointers into the region without a lock.
static BASE: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

fn region() -> MutexGuard<'static, Region> {
    let region = REGION_OF_PROCESS.get_or_init(|| {
        // SAFETY: a new mapping at an address that the kernel chooses overlaps nothing.
        let mapped = unsafe {
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            mmap_anonymous(
                ptr::null_mut(),
                REGION,
                protection,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        };
        let base = mapped.expect("there is address space for the simulated heap") as usize;
        let base = base.next_multiple_of(CHUNK);
        BASE.store(base, std::sync::atomic::Ordering::Release);
        Mutex::new(Region {
            base,
            chunks: Vec::new(),
            free: Vec::new(),
            runs: 0,
        })
    });
    region.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn chunk_of(object: *mut u8) -> Option<usize> {
    let base = BASE.load(std::sync::atomic::Ordering::Acquire);
    let offset = (object as usize).checked_sub(base)?;
    (base != 0 && offset < REGION - CHUNK).then_some(offset / CHUNK)
}

pub(crate) fn thread_of(address: usize) -> Option<usize> {
    let number = chunk_of(address as *mut u8)?;
    region().chunks.get(number).map(|chunk| chunk.thread)
}

/// A list of free objects, linked through the objects themselves.
#[derive(Clone, Copy)]
struct FreeList {
    first: *mut u8,
    length: usize,
}

impl FreeList {
    const EMPTY: Self = Self {
        first: ptr::null_mut(),
        length: 0,
    };

    #[expect(clippy::cast_ptr_alignment, reason = "objects are aligned to 16")]
    fn push(&mut self, object: *mut u8) {
        // SAFETY: a free object belongs to this module, has at least 16 bytes, and is aligned to
        // 16.
        unsafe { object.cast::<*mut u8>().write(self.first) };
        self.first = object;
        self.length += 1;
    }

    #[expect(clippy::cast_ptr_alignment, reason = "objects are aligned to 16")]
    fn pop(&mut self) -> Option<*mut u8> {
        let object = self.first;
        if object.is_null() {
            return None;
        }
        // SAFETY: as in `push`, which wrote the pointer that is read here.
        self.first = unsafe { object.cast::<*mut u8>().read() };
        self.length -= 1;
        Some(object)
    }
}

struct ThreadHeap {
    lock: Box<Lock>,
    cached: [FreeList; CLASSES],
    free: [FreeList; CLASSES],
    fresh: [(usize, usize); CLASSES],
}

#[repr(align(128))]
struct Lock;

pub(crate) struct RunHeap {
    run: u64,
    threads: Vec<ThreadHeap>,
    chunks: Vec<usize>,
    large: BTreeMap<usize, Vec<usize>>,
}

impl RunHeap {
    pub(crate) fn new() -> Self {
        let mut region = region();
        region.runs += 1;
        Self {
            run: region.runs,
            threads: Vec::new(),
            chunks: Vec::new(),
            large: BTreeMap::new(),
        }
    }

    pub(crate) fn add_thread(&mut self) {
        self.threads.push(ThreadHeap {
            lock: Box::new(Lock),
            cached: [FreeList::EMPTY; CLASSES],
            free: [FreeList::EMPTY; CLASSES],
            fresh: [(0, 0); CLASSES],
        });
    }

    pub(crate) fn take_large(&mut self, thread: usize, bytes: usize) -> *mut u8 {
        let chunks = bytes.div_ceil(CHUNK);
        let freed = self.large.get_mut(&chunks).and_then(Vec::pop);
        let object = freed.unwrap_or_else(|| self.new_chunks(thread, 0, chunks)) as *mut u8;
        count(object, true);
        object
    }

    fn new_chunks(&mut self, thread: usize, class: usize, chunks: usize) -> usize {
        let mut region = region();
        let chunk = Chunk {
            run: self.run,
            thread,
            class,
            live: 0,
            chunks,
        };
        let reused = if chunks == 1 { region.free.pop() } else { None };
        let number = reused.unwrap_or(region.chunks.len());
        match reused {
            Some(number) => region.chunks[number] = chunk,
            None => region.chunks.extend(std::iter::repeat_n(chunk, chunks)),
        }
        assert!(
            region.chunks.len() < REGION / CHUNK - 1,
            "the simulated heap is full"
        );
        self.chunks.push(number);
        region.base + number * CHUNK
    }

    /// Takes a free object of the thread's cache or arena. The caller handles the arena's lock.
    pub(crate) fn take(&mut self, thread: usize, class: usize) -> *mut u8 {
        let heap = &mut self.threads[thread];
        let object = heap.cached[class].pop().or_else(|| heap.free[class].pop());
        let object = object.unwrap_or_else(|| {
            let size = size_of_class(class);
            if self.threads[thread].fresh[class].0 + size > self.threads[thread].fresh[class].1 {
                let begin = self.new_chunks(thread, class, 1);
                self.threads[thread].fresh[class] = (begin, begin + CHUNK);
            }
            let fresh = &mut self.threads[thread].fresh[class].0;
            let object = *fresh;
            *fresh += size;
            object as *mut u8
        });
        count(object, true);
        object
    }

    /// The lock of `thread`'s arena, if the thread's cache of `class` is empty.
    pub(crate) fn lock_to_take(&self, thread: usize, class: usize) -> Option<usize> {
        let heap = &self.threads[thread];
        (heap.cached[class].length == 0).then(|| ptr::from_ref(&*heap.lock) as usize)
    }

    pub(crate) fn give_back_large(&mut self, chunk: Chunk, object: *mut u8) {
        if self.run == chunk.run {
            self.large
                .entry(chunk.chunks)
                .or_default()
                .push(object as usize);
        }
    }

    /// Returns the lock of the object's arena, if the object goes back into that arena.
    pub(crate) fn give_back(
        &mut self,
        thread: usize,
        chunk: Chunk,
        object: *mut u8,
    ) -> Option<usize> {
        if self.run != chunk.run {
            return None;
        }
        let cached = &mut self.threads[thread].cached[chunk.class];
        if cached.length < CACHED {
            cached.push(object);
            return None;
        }
        Some(ptr::from_ref(&*self.threads[chunk.thread].lock) as usize)
    }

    pub(crate) fn give_back_to_arena(&mut self, chunk: Chunk, object: *mut u8) {
        self.threads[chunk.thread].free[chunk.class].push(object);
    }
}

impl Drop for RunHeap {
    /// Makes chunks without live objects available to later runs, except the chunks of objects
    /// larger than a chunk.
    fn drop(&mut self) {
        let mut region = region();
        for number in std::mem::take(&mut self.chunks) {
            if region.chunks[number].live == 0 && region.chunks[number].chunks == 1 {
                region.free.push(number);
            }
        }
    }
}

/// Adds one to the live objects of the chunk of `object` if the object `lives`, otherwise subtracts
/// one. Returns the chunk.
pub(crate) fn count(object: *mut u8, lives: bool) -> Chunk {
    let number = chunk_of(object).expect("the object is in the region");
    let mut region = region();
    let chunk = &mut region.chunks[number];
    if lives {
        chunk.live += 1;
    } else {
        chunk.live -= 1;
    }
    *chunk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_fits_its_class_and_no_smaller_one() {
        for bytes in 1..=LARGEST {
            let class = class_of(bytes);
            assert!(size_of_class(class) >= bytes, "{bytes}");
            assert!(class == 0 || size_of_class(class - 1) < bytes, "{bytes}");
        }
        assert_eq!(class_of(LARGEST), CLASSES - 1);
    }
}
