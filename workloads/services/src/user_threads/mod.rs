//! User-level threads: many stacks on one OS thread, in turn, each for a quantum at a time.
//!
//! A thread gives up the OS thread when it waits ([`Mutex`], [`Condvar`]) or yields
//! ([`Current::yield_now`]). It also does so at a [`Current::safepoint`] if its quantum is used up.
//! There is no interrupt, so work without safepoints is never preempted. Nothing here is shared
//! between OS threads, hence cells instead of atomics. Stacks and the switch between them are
//! `corosensei`'s.

mod condvar;
mod files;
mod mutex;
mod sockets;
#[cfg(test)]
mod tests;
mod waits;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use workloads::kinds::pacing::chain;

pub use condvar::Condvar;
pub use files::{Direction, Files};
pub use mutex::{Mutex, MutexGuard};
pub use waits::UserSocket;

/// Size of each stack. The kernel gives memory only to pages that are touched, so what counts is
/// that a panic's report fits.
const STACK_BYTES: usize = 256 * 1024;

/// Turns after which sockets are polled even if some threads can run. Otherwise busy threads could
/// keep sockets waiting for ever.
const TURNS_BETWEEN_LOOKS: u64 = 32;

/// Threads that are to run, and their order.
pub struct UserThreads {
    shared: Rc<Shared>,
    /// By number; `None` once a thread has ended.
    threads: Vec<Option<Thread>>,
    /// Numbers of threads that have ended, for those that come.
    vacant: Vec<usize>,
}

type Thread = Coroutine<(), Pause, (), DefaultStack>;

/// The code of a thread.
type Body = Box<dyn FnOnce(&Current<'_>)>;

/// Why a thread gave up the OS thread.
enum Pause {
    /// It wants to go on when its turn comes.
    Ready,
    /// Another thread has to wake it.
    Blocked,
}

/// The state that the scheduler and the running thread share.
struct Shared {
    /// Numbers of the threads that can go on, the next one first.
    ready: RefCell<VecDeque<usize>>,
    quantum: Duration,
    /// When the quantum of the running thread ends.
    slice_ends: Cell<Instant>,
    preemptions: Cell<u64>,
    files: RefCell<Option<Files>>,
    /// The outcomes of transfers whose threads have not gone on yet.
    outcomes: RefCell<BTreeMap<usize, files::Outcome>>,
    /// Threads that wait for sockets.
    waiters: RefCell<Vec<sockets::Waiter>>,
    /// Spawned by threads, not yet added.
    newcomers: RefCell<Vec<(DefaultStack, Body)>>,
    /// How often a thread was switched to.
    switches: Cell<u64>,
}

/// The report of a run of the threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How often a thread was switched to.
    pub switches: u64,
    /// How often a safepoint ended a quantum.
    pub preemptions: u64,
}

/// Threads that wait, and no thread that could wake them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("deadlock: user threads {blocked:?} wait, and no other can go on")]
pub struct Deadlock {
    /// Numbers of the threads in the order in which they were spawned; a thread that comes later
    /// can have the number of one that has ended.
    pub blocked: Vec<usize>,
}

impl UserThreads {
    /// No threads yet; each will have `quantum` at a time.
    #[must_use]
    pub fn new(quantum: Duration) -> Self {
        let shared = Shared {
            ready: RefCell::default(),
            quantum,
            slice_ends: Cell::new(Instant::now()),
            preemptions: Cell::new(0),
            files: RefCell::new(None),
            outcomes: RefCell::default(),
            waiters: RefCell::default(),
            newcomers: RefCell::default(),
            switches: Cell::new(0),
        };
        Self {
            shared: Rc::new(shared),
            threads: Vec::new(),
            vacant: Vec::new(),
        }
    }

    /// Lets threads transfer files: [`Current::transfer`].
    pub fn set_files(&mut self, files: Files) {
        *self.shared.files.borrow_mut() = Some(files);
    }

    /// Takes the files that [`UserThreads::set_files`] was given.
    pub fn take_files(&mut self) -> Option<Files> {
        self.shared.files.borrow_mut().take()
    }

    /// Adds a thread, last in the queue. It begins when [`UserThreads::run`] gets to it.
    ///
    /// # Errors
    /// If there is no memory for its stack, or too many mappings.
    pub fn spawn(&mut self, body: impl FnOnce(&Current<'_>) + 'static) -> io::Result<()> {
        self.add(DefaultStack::new(STACK_BYTES)?, Box::new(body));
        Ok(())
    }

    fn add(&mut self, stack: DefaultStack, body: Body) {
        let number = self.vacant.pop().unwrap_or_else(|| {
            self.threads.push(None);
            self.threads.len() - 1
        });
        let shared = Rc::clone(&self.shared);
        let thread = Coroutine::with_stack(stack, move |yielder, ()| {
            body(&Current {
                number,
                yielder,
                shared: &shared,
            });
        });
        self.threads[number] = Some(thread);
        self.shared.wake(number);
    }

    /// Runs all threads to their end, on the calling OS thread.
    ///
    /// # Errors
    /// If they wait for each other. Their stacks are unwound.
    ///
    /// # Panics
    /// If a thread does; the others are unwound when this is dropped.
    pub fn run(&mut self) -> Result<Report, Deadlock> {
        while let Some(number) = self.shared.next() {
            let slot = &mut self.threads[number];
            let thread = slot.as_mut().expect("a thread that has ended is not ready");
            self.shared
                .slice_ends
                .set(Instant::now() + self.shared.quantum);
            self.shared.switches.set(self.shared.switches.get() + 1);
            match thread.resume(()) {
                CoroutineResult::Yield(Pause::Ready) => self.shared.wake(number),
                CoroutineResult::Yield(Pause::Blocked) => {}
                CoroutineResult::Return(()) => {
                    *slot = None;
                    self.vacant.push(number);
                }
            }
            for (stack, body) in self.shared.newcomers.take() {
                self.add(stack, body);
            }
        }
        self.vacant.clear();
        let threads = std::mem::take(&mut self.threads);
        let is_alive = |(number, thread): (usize, &Option<Thread>)| thread.as_ref().map(|_| number);
        let blocked: Vec<usize> = threads.iter().enumerate().filter_map(is_alive).collect();
        if blocked.is_empty() {
            let (switches, preemptions) =
                (self.shared.switches.take(), self.shared.preemptions.take());
            Ok(Report {
                switches,
                preemptions,
            })
        } else {
            drop(threads);
            self.shared.ready.borrow_mut().clear();
            Err(Deadlock { blocked })
        }
    }
}

impl Shared {
    /// The thread whose turn it is; waits for transfers and sockets if that is all that can be
    /// done.
    fn next(&self) -> Option<usize> {
        self.wake_transferred(false);
        if self.ready.borrow().is_empty() {
            // Transfers end by themselves and soon, so sockets may wait for them.
            self.wake_transferred(true);
            self.wake_for_sockets();
        } else if self.switches.get().is_multiple_of(TURNS_BETWEEN_LOOKS) {
            self.wake_for_sockets();
        }
        self.ready.borrow_mut().pop_front()
    }

    /// Wakes every thread whose transfer has ended; waits for one if `may_wait` and some are under
    /// way.
    ///
    /// # Panics
    /// If the kernel refuses to report ended transfers.
    fn wake_transferred(&self, mut may_wait: bool) {
        let mut files = self.files.borrow_mut();
        let Some(files) = files.as_mut() else { return };
        while let Some(done) = files
            .next_done(may_wait)
            .expect("what was submitted can be waited for")
        {
            may_wait = false;
            self.outcomes.borrow_mut().insert(done.thread, done.outcome);
            self.wake(done.thread);
        }
    }

    /// Wakes every thread whose socket may be ready; waits for one if no thread can go on.
    fn wake_for_sockets(&self) {
        while !self.waiters.borrow().is_empty() {
            let may_wait = self.ready.borrow().is_empty();
            let ready = sockets::take_ready(&mut self.waiters.borrow_mut(), may_wait);
            for number in ready {
                self.wake(number);
            }
            if !self.ready.borrow().is_empty() {
                break;
            }
        }
    }

    fn wake(&self, number: usize) {
        self.ready.borrow_mut().push_back(number);
    }
}

/// The running thread, as its body sees it.
pub struct Current<'a> {
    number: usize,
    yielder: &'a Yielder<(), Pause>,
    shared: &'a Shared,
}

impl Current<'_> {
    /// Adds a thread, last in the queue.
    ///
    /// # Errors
    /// As [`UserThreads::spawn`].
    pub fn spawn(&self, body: impl FnOnce(&Current<'_>) + 'static) -> io::Result<()> {
        let stack = DefaultStack::new(STACK_BYTES)?;
        self.shared
            .newcomers
            .borrow_mut()
            .push((stack, Box::new(body)));
        Ok(())
    }

    /// Lets every other thread that can go on have its turn.
    pub fn yield_now(&self) {
        self.yielder.suspend(Pause::Ready);
    }

    /// Lets the others have their turns if this thread's quantum is used up.
    pub fn safepoint(&self) {
        if Instant::now() >= self.shared.slice_ends.get() {
            self.shared
                .preemptions
                .set(self.shared.preemptions.get() + 1);
            self.yield_now();
        }
    }

    /// Waits until another thread wakes this thread.
    fn block(&self) {
        self.yielder.suspend(Pause::Blocked);
    }

    /// Puts a blocked thread last in the queue of threads that can go on.
    fn wake(&self, number: usize) {
        self.shared.wake(number);
    }
}

/// Steps between two safepoints, under a microsecond: reading the clock then takes some 3 % of the
/// time.
const STEPS_BETWEEN_SAFEPOINTS: u64 = 256;

/// The same steps as [`chain`], now and then with a safepoint.
pub(crate) fn chain_with_safepoints(me: &Current<'_>, seed: u64, steps: u64) -> u64 {
    let mut word = seed;
    let mut left = steps;
    while left > 0 {
        let now = left.min(STEPS_BETWEEN_SAFEPOINTS);
        word = chain(word, now);
        left -= now;
        me.safepoint();
    }
    word
}
