//! User-level threads: one OS thread runs many stacks in turn, each for at most a quantum.
//!
//! A thread gives up the OS thread when it waits or yields, and at a [`Current::safepoint`] if its
//! quantum is used up. There is no interrupt, so work without safepoints is never preempted. All
//! threads share one OS thread, so the code uses cells instead of atomics. The library `corosensei`
//! provides stacks, and switches between the stacks.

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
use slab::Slab;
use workloads::kinds::pacing::chain;

pub(crate) use files::{Direction, Files};
pub(crate) use mutex::Mutex;
pub(crate) use waits::UserSocket;

/// The kernel allocates only pages that are touched, so a large stack costs nothing. A stack must
/// be large enough for the report of a panic.
const STACK_BYTES: usize = 256 * 1024;

/// After this many switches, the scheduler polls sockets even if some threads can run. Otherwise
/// busy threads could keep sockets waiting for ever.
const TURNS_BETWEEN_LOOKS: u64 = 32;

pub(crate) struct UserThreads {
    shared: Rc<Shared>,
    threads: Slab<Thread>,
}

type Thread = Coroutine<(), Pause, (), DefaultStack>;

type Body = Box<dyn FnOnce(&Current<'_>)>;

enum Pause {
    Ready,
    Blocked,
}

struct Shared {
    ready: RefCell<VecDeque<usize>>,
    quantum: Duration,
    slice_ends: Cell<Instant>,
    preemptions: Cell<u64>,
    files: RefCell<Option<Files>>,
    /// The results of transfers, until their threads run again.
    outcomes: RefCell<BTreeMap<usize, files::Outcome>>,
    waiters: RefCell<Vec<sockets::Waiter>>,
    /// Threads that were spawned, but are not in `threads` yet.
    newcomers: RefCell<Vec<(DefaultStack, Body)>>,
    switches: Cell<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) switches: u64,
    pub(crate) preemptions: u64,
}

impl UserThreads {
    /// Each thread gets `quantum` at a time, and `files` carries out its transfers.
    pub(crate) fn new(quantum: Duration, files: Option<Files>) -> Self {
        let shared = Shared {
            ready: RefCell::default(),
            quantum,
            slice_ends: Cell::new(Instant::now()),
            preemptions: Cell::new(0),
            files: RefCell::new(files),
            outcomes: RefCell::default(),
            waiters: RefCell::default(),
            newcomers: RefCell::default(),
            switches: Cell::new(0),
        };
        Self {
            shared: Rc::new(shared),
            threads: Slab::new(),
        }
    }

    pub(crate) fn take_files(&mut self) -> Option<Files> {
        self.shared.files.take()
    }

    /// Adds a thread at the end of the queue.
    pub(crate) fn spawn(&self, body: impl FnOnce(&Current<'_>) + 'static) -> io::Result<()> {
        self.shared.spawn(Box::new(body))
    }

    pub(crate) fn run(&mut self) -> Report {
        loop {
            for (stack, body) in self.shared.newcomers.take() {
                let vacancy = self.threads.vacant_entry();
                let (number, shared) = (vacancy.key(), Rc::clone(&self.shared));
                vacancy.insert(Coroutine::with_stack(stack, move |yielder, ()| {
                    body(&Current {
                        number,
                        yielder,
                        shared: &shared,
                    });
                }));
                self.shared.wake(number);
            }
            let Some(number) = self.shared.next() else {
                break;
            };
            let slice_ends = Instant::now() + self.shared.quantum;
            self.shared.slice_ends.set(slice_ends);
            self.shared.switches.set(self.shared.switches.get() + 1);
            match self.threads[number].resume(()) {
                CoroutineResult::Yield(Pause::Ready) => self.shared.wake(number),
                CoroutineResult::Yield(Pause::Blocked) => {}
                CoroutineResult::Return(()) => drop(self.threads.remove(number)),
            }
        }
        let blocked = self.threads.len();
        self.threads.clear();
        assert!(
            blocked == 0,
            "deadlock: {blocked} user threads wait for each other"
        );
        Report {
            switches: self.shared.switches.take(),
            preemptions: self.shared.preemptions.take(),
        }
    }
}

impl Shared {
    /// Returns the next thread to run. If no thread is ready, waits for transfers and sockets.
    fn next(&self) -> Option<usize> {
        self.wake_transferred(false);
        if self.ready.borrow().is_empty() {
            // Transfers end soon in any case, so the scheduler first waits for a transfer, and then
            // looks at sockets.
            self.wake_transferred(true);
            self.wake_for_sockets();
        } else if self.switches.get().is_multiple_of(TURNS_BETWEEN_LOOKS) {
            self.wake_for_sockets();
        }
        self.ready.borrow_mut().pop_front()
    }

    /// Makes the threads ready whose transfers have ended. If `may_wait`, and transfers are in
    /// flight, waits until one of them ends.
    fn wake_transferred(&self, mut may_wait: bool) {
        let mut files = self.files.borrow_mut();
        let Some(files) = files.as_mut() else { return };
        while let Some((thread, outcome)) = files
            .next_done(may_wait)
            .expect("the kernel reports submitted transfers")
        {
            may_wait = false;
            self.outcomes.borrow_mut().insert(thread, outcome);
            self.wake(thread);
        }
    }

    /// Makes the threads ready whose sockets are ready. If no thread is ready, waits for a socket.
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

    fn spawn(&self, body: Body) -> io::Result<()> {
        let stack = DefaultStack::new(STACK_BYTES)?;
        self.newcomers.borrow_mut().push((stack, body));
        Ok(())
    }

    fn wake(&self, number: usize) {
        self.ready.borrow_mut().push_back(number);
    }
}

pub(crate) struct Current<'a> {
    number: usize,
    yielder: &'a Yielder<(), Pause>,
    shared: &'a Shared,
}

impl Current<'_> {
    pub(crate) fn spawn(&self, body: impl FnOnce(&Current<'_>) + 'static) -> io::Result<()> {
        self.shared.spawn(Box::new(body))
    }

    pub(crate) fn yield_now(&self) {
        self.yielder.suspend(Pause::Ready);
    }

    /// Yields if this thread's quantum is used up.
    pub(crate) fn safepoint(&self) {
        if Instant::now() >= self.shared.slice_ends.get() {
            self.shared
                .preemptions
                .set(self.shared.preemptions.get() + 1);
            self.yield_now();
        }
    }

    fn block(&self) {
        self.yielder.suspend(Pause::Blocked);
    }
}

/// Number of steps between two safepoints. These steps take under a microsecond, so that reading
/// the clock takes some 3 % of the time.
const STEPS_BETWEEN_SAFEPOINTS: u64 = 256;

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
