//! Detects that the host's thread has stopped inside the code of a simulated thread.

use std::cell::Cell;
use std::io::{self, Write};
use std::panic::Location;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Exit code of a process whose simulation has stalled. The line of standard error that begins with
/// `error: ` names the place.
pub const STALLED: i32 = 4;

#[derive(Debug, Default)]
pub(crate) struct Progress {
    turns: AtomicU64,
    /// The place in the source of the last access, a `&'static Location`.
    at: AtomicPtr<Location<'static>>,
}

impl Progress {
    #[inline]
    pub(crate) fn turn(&self, turns: u64) {
        // Relaxed: the watcher may see the number late.
        self.turns.store(turns, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn access(&self, at: &'static Location<'static>) {
        self.at
            .store(ptr::from_ref(at).cast_mut(), Ordering::Relaxed);
    }
}

thread_local! {
    /// The progress of the simulation that is about to begin on this thread.
    static NEXT: Cell<Option<Arc<Progress>>> = const { Cell::new(None) };
}

pub(crate) fn progress() -> Arc<Progress> {
    NEXT.take().unwrap_or_default()
}

pub(crate) struct Watch {
    over: Option<Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

/// How often the watcher looks for progress before it ends the process. The watcher looks several
/// times, so that it does not end a process that was stopped for a while, or got no CPU.
const LOOKS: u32 = 10;

/// Ends the process if the simulation that begins on this thread takes no turn for as long as
/// `limit`.
pub(crate) fn watch(limit: Duration) -> Watch {
    let progress = Arc::new(Progress::default());
    NEXT.set(Some(Arc::clone(&progress)));
    let (over, is_over) = channel();
    let name = thread::current().name().unwrap_or("unnamed").to_owned();
    let thread = thread::spawn(move || {
        let (mut turns, mut looks) = (u64::MAX, 0);
        while is_over.recv_timeout(limit / LOOKS) == Err(RecvTimeoutError::Timeout) {
            let now = progress.turns.load(Ordering::Relaxed);
            looks = if now == turns { looks + 1 } else { 0 };
            if looks == LOOKS {
                give_up(&name, limit, &progress);
            }
            turns = now;
        }
    });
    Watch {
        over: Some(over),
        thread: Some(thread),
    }
}

fn give_up(thread: &str, limit: Duration, progress: &Progress) -> ! {
    let at = progress.at.load(Ordering::Relaxed);
    // SAFETY: the pointer is null, or a `&'static Location` that `Progress::access` stored.
    let at = unsafe { at.as_ref() };
    let at = at.map_or_else(|| "there was none".to_owned(), ToString::to_string);
    let text = format!(
        "error: the simulation on thread `{thread}` is stalled: for {} s no thread has begun a turn; the last access to \
         shared memory: {at}\n\
         The cause may be that the program holds a lock of the standard library during such an access: use a lock of \
         `manycore`, or free the lock before the access. Or a thread keeps its turn for longer than that.\n",
        limit.as_secs_f64()
    );
    // A test harness keeps the text of `eprintln!` until the end of a test, and a test that stalls
    // never ends.
    drop(io::stderr().write_all(text.as_bytes()));
    std::process::exit(STALLED);
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
