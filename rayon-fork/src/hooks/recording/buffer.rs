//! The buffers of events: each thread has a mapped file, which survives the process.
//!
//! Writing an event takes a thread-local read, a read of the clock, a comparison and three stores.
//! It needs no lock and no atomic addition. [`write_slowly`] does all other work. A thread calls
//! that function when its space is used up, every few milliseconds, and in a child of `fork`. For a
//! child, the kernel wipes the thread's record of its file.

use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::ptr::{self, NonNull};
use std::{env, io};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous};
use rustix::time::{ClockId, clock_gettime};

use super::layout::{
    Event, FOLDER_VARIABLE, LIMIT_VARIABLE, MARK, SPLIT_VARIABLE, TIME_BITS, VERSION,
};
use crate::sync::{AtomicPtr, AtomicUsize, Ordering, cell_of_thread, thread};

/// Bytes of an event.
const EVENT: usize = 16;

/// The bytes by which a thread extends its file. A guess: an extension takes some 30 us, and the
/// last one of each thread stays partly empty.
const ROOM: usize = 256 << 10;

/// The most bytes of all threads together, unless the environment sets another limit.
const LIMIT: usize = 256 << 20;

/// The bytes reserved at the end of a piece, for the events of [`write_slowly`].
const KEPT: usize = 8 * EVENT;

/// The time in which the number of ticks in a second is measured.
const CALIBRATION_NS: u64 = 2_000_000;

/// How often a thread compares clocks.
const COMPARED_EVERY_MS: u64 = 2;

/// The number of events in one measurement of their cost, and the number of such measurements. The
/// smallest result is used.
const MEASURED: usize = 1000;
const MEASUREMENTS: usize = 8;

/// A thread's record of its file, on a separate page.
struct Buffer {
    /// The address of the next event, and the end of the space. Both are null in a child of `fork`,
    /// and if nothing is recorded.
    next: Cell<*mut [u64; 2]>,
    end: Cell<*mut [u64; 2]>,
    /// Ticks when the recording began.
    began: Cell<u64>,
    /// When the clocks are compared next, in ticks since the recording began.
    due: Cell<u64>,
    file: Cell<*mut ThreadFile>,
}

struct ThreadFile {
    file: File,
    /// The bytes of the mapping, which begins at `base`, and of its usable part so far.
    base: *mut u8,
    mapped: usize,
    room: usize,
    /// The kernel's file that says how long the thread had no CPU.
    delays: Option<File>,
}

/// The buffer of a thread that records nothing.
struct Nothing(Buffer);

// SAFETY: no thread writes to it. There is no room in it, and `write_slowly` gives a thread a
// buffer of its own, or none.
unsafe impl Sync for Nothing {}

static NOTHING: Nothing = Nothing(Buffer {
    next: Cell::new(ptr::null_mut()),
    end: Cell::new(ptr::null_mut()),
    began: Cell::new(0),
    due: Cell::new(0),
    file: Cell::new(ptr::null_mut()),
});

cell_of_thread! {
    /// The buffer of this thread; null before its first event.
    static BUFFER: Cell<*const Buffer> = ptr::null();
}

/// The state that all threads of the process share.
struct Recording {
    folder: PathBuf,
    /// The identifier of the recorded process: a child of `fork` has another one.
    process: u32,
    began: u64,
    ticks_per_ms: u64,
    limit: usize,
    split: usize,
    /// The bytes of all threads so far.
    used: AtomicUsize,
    threads: AtomicUsize,
}

/// Null until a thread has begun the recording; never freed.
static RECORDING: AtomicPtr<Option<Recording>> = AtomicPtr::new(ptr::null_mut());

/// The process in which a thread begins the recording, or 0.
static BEGINS: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of threads that a pool of `real` workers reports. Parallel iterators split
/// into pieces for that many.
pub(crate) fn threads_to_split_for(real: usize) -> usize {
    recording().map_or(real, |recording| recording.split.max(real))
}

fn recording() -> Option<&'static Recording> {
    loop {
        // ORDERING: Acquire, pairs with the store below: the recording was written before.
        let recording = RECORDING.load(Ordering::Acquire);
        // SAFETY: the pointer is null, or from a box that is never freed; threads may share its
        // contents.
        if let Some(recording) = unsafe { recording.as_ref() } {
            return recording.as_ref();
        }
        let process = std::process::id() as usize;
        // Relaxed: other threads read the pointer.
        match BEGINS.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                let begun = Box::into_raw(Box::new(Recording::begin()));
                // ORDERING: Release, pairs with the load above.
                RECORDING.store(begun, Ordering::Release);
            }
            // Another thread begins the recording. There is no lock: a child of `fork` would wait
            // for a thread that it does not have.
            Err(begins) if begins == process => thread::yield_now(),
            Err(_) => return None,
        }
    }
}

/// Reads the clock. The read is cheap. The processor may move it over some ten instructions.
#[cfg(target_arch = "x86_64")]
#[inline]
fn ticks() -> u64 {
    // SAFETY: every such processor has it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    // Neither is negative.
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// `event` happened on the calling thread, now.
#[inline]
pub(super) fn write(event: Event, word: u64) {
    // SAFETY: the pointer is null, or leads to a buffer of this thread that is never freed.
    if let Some(buffer) = unsafe { BUFFER.get().as_ref() } {
        let now = ticks().wrapping_sub(buffer.began.get());
        if buffer.next.get() < buffer.end.get() && now < buffer.due.get() {
            // SAFETY: there is room.
            unsafe { buffer.put(event, now, word) };
            return;
        }
    }
    write_slowly(event, word);
}

impl Buffer {
    /// # Safety
    ///
    /// There is room.
    #[inline]
    unsafe fn put(&self, event: Event, now: u64, word: u64) {
        let next = self.next.get();
        // SAFETY: the caller's promise; the mapping belongs to this thread alone. The stores are
        // volatile. The process may be killed between any two instructions, and an event without
        // its second word must not be seen.
        unsafe {
            ptr::addr_of_mut!((*next)[1]).write_volatile(word);
            ptr::addr_of_mut!((*next)[0]).write_volatile((event as u64) << TIME_BITS | now);
            self.next.set(next.add(1));
        }
    }

    /// Returns the ticks since the recording began.
    fn now(&self) -> u64 {
        ticks().wrapping_sub(self.began.get()) & ((1 << TIME_BITS) - 1)
    }

    fn stop(&self) {
        self.next.set(ptr::null_mut());
        self.end.set(ptr::null_mut());
    }
}

#[cold]
#[inline(never)]
fn write_slowly(event: Event, word: u64) {
    let Some(recording) = recording() else {
        BUFFER.set(&NOTHING.0);
        return;
    };
    // SAFETY: as in `write`.
    let buffer = unsafe { BUFFER.get().as_ref() }.unwrap_or_else(|| {
        let is_ours = recording.process == std::process::id();
        let made = is_ours.then(|| recording.add_thread()).and_then(Result::ok);
        let buffer = made.unwrap_or(&NOTHING.0);
        BUFFER.set(buffer);
        buffer
    });
    if buffer.next.get().is_null() {
        return;
    }
    let begun = buffer.now();
    // SAFETY: a buffer with room has a file, and only its thread comes here.
    let file = unsafe { &mut *buffer.file.get() };
    // SAFETY: some room is kept back until a piece is used up. Then either there is another piece,
    // or this is the last event.
    unsafe {
        if begun >= buffer.due.get() {
            buffer.put(Event::Wall, begun, nanoseconds(ClockId::Monotonic));
            buffer.put(Event::Cpu, begun, nanoseconds(ClockId::ThreadCPUTime));
            buffer.put(Event::Delay, begun, file.delay().unwrap_or(0));
            buffer
                .due
                .set(begun + recording.ticks_per_ms * COMPARED_EVERY_MS);
        }
        if buffer.next.get() >= buffer.end.get() && !recording.extend(buffer, file) {
            buffer.put(Event::Full, begun, 0);
            buffer.stop();
            return;
        }
        let now = buffer.now();
        buffer.put(Event::Pause, now, now - begun);
        buffer.put(event, now, word);
    }
}

impl Recording {
    /// Begins the recording. Returns `None` if the environment names no folder, another process
    /// records into it, or it cannot be written.
    fn begin() -> Option<Self> {
        // The text must be in the program's file, where the runner looks for it.
        std::hint::black_box(MARK);
        let folder = PathBuf::from(env::var_os(FOLDER_VARIABLE)?);
        let number = |name| env::var(name).ok().and_then(|text| text.parse().ok());
        let head = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(folder.join("head"));
        let Ok(mut head) = head else {
            // Records for the reader of the folder that there was another process.
            drop(File::create(
                folder.join(format!("other-{}", std::process::id())),
            ));
            return None;
        };
        let (began_ns, began) = (nanoseconds(ClockId::Monotonic), ticks());
        let passed = loop {
            let passed = nanoseconds(ClockId::Monotonic) - began_ns;
            if passed >= CALIBRATION_NS {
                break passed;
            }
        };
        let ticks_per_s =
            u128::from(ticks().wrapping_sub(began)) * 1_000_000_000 / u128::from(passed);
        let mut recording = Self {
            folder,
            process: std::process::id(),
            began,
            ticks_per_ms: u64::try_from(ticks_per_s / 1000).unwrap_or(1),
            limit: number(LIMIT_VARIABLE).unwrap_or(LIMIT),
            split: number(SPLIT_VARIABLE).unwrap_or(0),
            used: AtomicUsize::new(0),
            threads: AtomicUsize::new(0),
        };
        let event_milliticks = recording.cost_of_an_event().unwrap_or(0);
        let fields = [
            ("version", u128::from(VERSION)),
            ("process", u128::from(recording.process)),
            ("began_ns", u128::from(began_ns)),
            ("ticks_per_s", ticks_per_s),
            ("event_milliticks", u128::from(event_milliticks)),
            ("split", recording.split as u128),
        ];
        for (name, value) in fields {
            writeln!(head, "{name}={value}").ok()?;
        }
        Some(recording)
    }

    /// Returns the cost of an event in thousandths of a tick, measured in a file that is deleted.
    fn cost_of_an_event(&mut self) -> io::Result<u64> {
        let buffer = self.add_thread()?;
        let (first, before) = (buffer.next.get(), BUFFER.get());
        buffer.due.set(u64::MAX);
        BUFFER.set(buffer);
        let mut least = u64::MAX;
        for _ in 0..MEASUREMENTS {
            buffer.next.set(first);
            let begun = ticks();
            for _ in 0..MEASURED {
                write(Event::Search, 0);
            }
            least = least.min(ticks().wrapping_sub(begun));
        }
        BUFFER.set(before);
        fs::remove_file(self.folder.join("thread-0"))?;
        self.threads = AtomicUsize::new(0);
        self.used = AtomicUsize::new(0);
        Ok(least * 1000 / MEASURED as u64)
    }

    /// Adds a file for the calling thread.
    fn add_thread(&self) -> io::Result<&'static Buffer> {
        // Relaxed, as all here: a number that no other thread has.
        let number = self.threads.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("thread-{number}"));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)?;
        // A sparse file: parts that no thread writes take no space. No thread needs more than the
        // limit of all threads.
        let mapped = self.limit.min(1 << 40).next_multiple_of(ROOM) + ROOM;
        file.set_len(mapped as u64)?;
        // SAFETY: these are fresh mappings, which no other code knows yet, and which stay for ever.
        // A child of `fork` sees zeros in the second.
        let (base, page) = unsafe {
            let both = ProtFlags::READ | ProtFlags::WRITE;
            let base = mmap(ptr::null_mut(), mapped, both, MapFlags::SHARED, &file, 0)?;
            let page = mmap_anonymous(
                ptr::null_mut(),
                size_of::<Buffer>(),
                both,
                MapFlags::PRIVATE,
            )?;
            madvise(page, size_of::<Buffer>(), Advice::LinuxWipeOnFork)?;
            (base, page)
        };
        let delays = File::open("/proc/thread-self/schedstat").ok();
        let file = ThreadFile {
            file,
            base: base.cast(),
            mapped,
            room: 0,
            delays,
        };
        let buffer = Buffer {
            next: Cell::new(base.cast()),
            end: Cell::new(base.cast()),
            began: Cell::new(self.began),
            due: Cell::new(0),
            file: Cell::new(Box::into_raw(Box::new(file))),
        };
        let page: NonNull<Buffer> = NonNull::new(page.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: a page is large enough and aligned. It stays for ever, and only this thread gets
        // it.
        let (buffer, file) = unsafe {
            page.write(buffer);
            (page.as_ref(), &mut *page.as_ref().file.get())
        };
        if self.extend(buffer, file) {
            Ok(buffer)
        } else {
            Err(io::ErrorKind::OutOfMemory.into())
        }
    }

    /// Extends the space for events. Returns `false` at the limit of all threads together.
    fn extend(&self, buffer: &Buffer, file: &mut ThreadFile) -> bool {
        let is_within = self.used.fetch_add(ROOM, Ordering::Relaxed) + ROOM <= self.limit
            && file.room + ROOM < file.mapped;
        if !is_within {
            return false;
        }
        // A full disk would end the program at its first touch of a page.
        if fallocate(
            &file.file,
            FallocateFlags::empty(),
            file.room as u64,
            ROOM as u64,
        )
        .is_err()
        {
            return false;
        }
        // SAFETY: this is within the mapping. Its pages are touched here, so that events need not
        // wait for the kernel. If the kernel is too old for that, they do.
        unsafe {
            let room = file.base.add(file.room);
            let _ = madvise(room.cast(), ROOM, Advice::LinuxPopulateWrite);
            buffer.end.set(room.add(ROOM - KEPT).cast());
        }
        file.room += ROOM;
        true
    }
}

impl ThreadFile {
    /// Returns the second number of the kernel's file, in nanoseconds.
    fn delay(&mut self) -> Option<u64> {
        let mut text = [0; 80];
        let delays = self.delays.as_mut()?;
        delays.seek(SeekFrom::Start(0)).ok()?;
        let length = delays.read(&mut text).ok()?;
        std::str::from_utf8(&text[..length])
            .ok()?
            .split(' ')
            .nth(1)?
            .parse()
            .ok()
    }
}
