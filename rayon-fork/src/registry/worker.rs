//! One worker: how it finds work, runs it, and waits.

use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

use super::Registry;
use crate::core_latch::CoreLatch;
use crate::deque::{JobDeque, JobStealer, Place, Steal, Stealer, settle};
use crate::hooks::{self, Event, Here};
use crate::job::{JobFifo, JobRef};
use crate::latch::{CountLatch, Latch};
use crate::rng::XorShift64Star;
use crate::sleep::{IdlePeriod, Queues, SearchHistory, job_found};
use crate::sync::cell_of_thread;
use crate::thread_builder::ThreadBuilder;
use crate::unwind::{A_WAIT, Fatal, THE_MAIN_LOOP};

/// The number of workers whose private jobs an unsuccessful search scans. The scan reads a cache
/// line that the victim writes with every push and pop. If jobs are long, victims seldom write. Then
/// the number doubles with each search, from the fourth of an idle period on, once the worker has
/// been idle for as long as exposing costs.
const SCANNED: usize = 1;

/// A thief steals again without a search if its victim has at least this many shared jobs. A guess:
/// joins leave fewer jobs behind, and each may be large.
const MANY_SHARED: u64 = 16;

/// The state of one worker, which only the worker's own thread accesses. A join reads the first
/// fields, and is faster if they lie on few cache lines.
#[repr(C)]
pub(crate) struct Worker {
    pub(super) deque: JobDeque<JobRef>,
    pub(super) registry: Arc<Registry>,
    pub(super) index: usize,
    /// The jobs that only this worker may run.
    broadcasts: Stealer<JobRef>,
    pub(super) rng: XorShift64Star,
    /// The index of the worker from which this worker last stole a shared job, or, since a search
    /// began, this worker's own index.
    victim: Cell<usize>,
    pub(super) history: SearchHistory,
    fifo: JobFifo,
}

assert_size!(Worker: size_of::<JobFifo>()
    + (size_of::<JobDeque<JobRef>>()
        + size_of::<Stealer<JobRef>>()
        + size_of::<SearchHistory>()
        + 32)
    .next_multiple_of(align_of::<JobFifo>()));

cell_of_thread! {
    static CURRENT: Cell<*const Worker> = ptr::null();
}

impl Worker {
    fn new(thread: ThreadBuilder) -> Self {
        Self {
            deque: thread.deque,
            broadcasts: thread.broadcasts,
            fifo: JobFifo::new(),
            index: thread.index,
            rng: XorShift64Star::new(),
            victim: Cell::new(thread.index),
            history: thread.registry.sleep.history(),
            registry: thread.registry,
        }
    }

    #[inline]
    pub(crate) fn with_current<R>(body: impl FnOnce(Option<&Worker>) -> R) -> R {
        // SAFETY: the reference does not leave `body`.
        body(unsafe { Self::current() })
    }

    /// Returns the calling thread's worker. Use this function instead of [`Worker::with_current`]
    /// in code that runs user code. Jobs nest, and a closure around a job would take stack on every
    /// level.
    ///
    /// # Safety
    ///
    /// The reference is not used after the caller's function has returned.
    #[inline]
    pub(crate) unsafe fn current<'a>() -> Option<&'a Worker> {
        // SAFETY: the pointer is null or leads to a `Worker`. This thread's `Occupied` guard, which
        // ends further down the stack than the caller's function, keeps that worker alive. For an
        // adopted thread, the leaked box keeps the worker alive.
        unsafe { CURRENT.get().as_ref() }
    }

    /// Does the same as [`Worker::current`] from inside a job, where the thread is always a worker.
    ///
    /// # Safety
    ///
    /// The reference is not used after the caller's function has returned.
    #[inline]
    pub(crate) unsafe fn running<'a>() -> &'a Worker {
        // SAFETY: the caller upholds the contract of this function.
        unsafe { Self::current() }.expect("jobs run on workers")
    }

    #[inline]
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    #[inline]
    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    #[inline]
    pub(crate) fn is_in(&self, registry: &Registry) -> bool {
        ptr::eq(Arc::as_ptr(&self.registry), registry)
    }

    pub(crate) fn has_local_jobs(&self) -> bool {
        !self.deque.is_empty()
    }

    /// Puts `job` on the worker's own deque. If the deque keeps jobs private, and no steal request
    /// is set, there is no further step. Otherwise the push may expose jobs, and may wake a
    /// sleeper.
    #[inline]
    pub(crate) fn push(&self, job: JobRef) -> Place {
        hooks::count(Event::Push);
        let sleep = &self.registry.sleep;
        if self.deque.is_private() {
            let place = self.deque.push(job);
            if sleep.wants_jobs() {
                self.respond();
            }
            return place;
        }
        let queue_was_empty = self.deque.is_empty();
        let place = self.deque.push(job);
        sleep.job_pushed(queue_was_empty);
        place
    }

    // Not inlined: every frame that joins or spawns contains a push.
    #[cold]
    #[inline(never)]
    fn respond(&self) {
        self.registry.sleep.respond(self.deque.respond());
    }

    /// Adds `job` to the worker's FIFO, and puts a token for it on the worker's own deque.
    ///
    /// # Safety
    ///
    /// The pool does not end before the job was executed, so that the worker outlives the token.
    pub(crate) unsafe fn push_fifo(&self, job: JobRef) {
        // SAFETY: the worker, and the FIFO in it, lives until the pool ends.
        self.push(unsafe { self.fifo.push(job) });
    }

    #[inline]
    pub(crate) fn take_local(&self) -> Option<JobRef> {
        match self.deque.pop() {
            Some(job) => Some(job),
            None => self.take_broadcast(),
        }
    }

    /// Takes a job back without reading it, if the job is the newest of the worker's own deque and
    /// no thief may take it. The caller knows that this worker has not run the job.
    #[inline]
    pub(crate) fn try_take_back(&self, place: &Place) -> bool {
        self.deque.try_take_back(place)
    }

    #[inline]
    pub(super) fn take_broadcast(&self) -> Option<JobRef> {
        // The queue is nearly always empty, and an attempt to steal would fence. If this check
        // misses a share, a later check before the worker blocks finds it.
        if !self.has_broadcasts() {
            return None;
        }
        settle(|| self.broadcasts.steal()).inspect(|_| self.history.share_taken())
    }

    /// This function is not inlined, because the job runs in the caller's frame, and jobs nest.
    #[inline(never)]
    pub(super) fn find_job(&self) -> Option<JobRef> {
        // A pop writes a word that other searching workers read, even if the deque is empty.
        let local = if self.has_local_jobs() {
            self.take_local()
        } else {
            self.take_broadcast()
        };
        local
            .or_else(|| self.steal())
            .or_else(|| self.take_injected())
    }

    /// Takes a job from anywhere, even another worker's private job. Only a worker that is not
    /// counted as idle, and searches once, calls this. Not inlined, for the reason given at
    /// `find_job`.
    #[inline(never)]
    pub(crate) fn find_any_job(&self) -> Option<JobRef> {
        self.find_job().or_else(|| self.take_private())
    }

    /// Takes another worker's private job. Callers may call this in a loop, and exposing may
    /// interrupt other threads. So, if the last attempt to expose jobs was too short a time ago,
    /// this only requests them.
    fn take_private(&self) -> Option<JobRef> {
        let sleep = &self.registry.sleep;
        if !sleep.are_pushes_silent() {
            return None;
        }
        // The worker's own deque is empty.
        let stealers = self.registry.stealers.iter();
        let mut victims = stealers.filter(|it| it.len() > 0).peekable();
        victims.peek()?;
        let cost = sleep.fences().cost_of_heavy();
        if self.history.may_expose_again(cost) {
            victims.find_map(Self::steal_private)
        } else {
            victims.for_each(JobStealer::request);
            None
        }
    }

    pub(super) fn take_injected(&self) -> Option<JobRef> {
        settle(|| self.registry.injector.steal())
    }

    #[inline]
    pub(super) fn victims(&self) -> impl Iterator<Item = (usize, &JobStealer<JobRef>)> + '_ {
        let stealers = &*self.registry.stealers;
        let first = self.rng.below(stealers.len());
        let (before, from) = stealers.split_at(first);
        let from = from
            .iter()
            .enumerate()
            .map(move |(i, victim)| (first + i, victim));
        let all = from.chain(before.iter().enumerate());
        all.filter(|(index, _)| *index != self.index)
    }

    pub(super) fn steal(&self) -> Option<JobRef> {
        // If the sleep counters are not padded, reading `num_threads` accesses the counters' cache
        // line.
        if self.registry.num_threads() <= 1 {
            return None;
        }
        loop {
            let mut was_contended = false;
            for (index, victim) in self.victims() {
                match Self::try_steal(victim) {
                    Steal::Success(job) => {
                        self.victim.set(index);
                        return Some(job);
                    }
                    Steal::Retry => was_contended = true,
                    Steal::Empty => {}
                }
            }
            if !was_contended {
                return None;
            }
        }
    }

    #[inline]
    fn try_steal(victim: &JobStealer<JobRef>) -> Steal<JobRef> {
        hooks::count(Event::StealTried);
        let stolen = victim.steal();
        hooks::count_if(stolen.is_success(), Event::StealWon);
        stolen
    }

    /// Steals from the last victim without a search, while that victim has many shared jobs. A search
    /// takes longer than a small job. So an owner that pushes small jobs would outrun its thieves,
    /// and the jobs would fill the memory. The worker must not take jobs along for later instead: it
    /// may block in the job that it runs, and the owner would not find the others.
    #[inline]
    fn steal_again(&self) -> Option<JobRef> {
        let victim = &self.registry.stealers[self.victim.get()];
        if victim.shared_jobs() < MANY_SHARED {
            return None;
        }
        Self::try_steal(victim).success()
    }

    /// After an unsuccessful search, sets the pool's steal request, and requests jobs of some
    /// victims. In later searches, exposes the private jobs of such a victim and steals one.
    #[inline]
    fn scan_private_jobs(&self, idle: &IdlePeriod<'_>) -> Option<JobRef> {
        let sleep = &self.registry.sleep;
        sleep.request_jobs();
        if !sleep.are_pushes_silent() || !idle.may_scan_private_jobs() {
            return None;
        }
        let unsuccessful = idle.unsuccessful_searches();
        let is_late = self.history.is_idle_for(sleep.fences().cost_of_heavy());
        let doublings = if is_late && self.history.finds_long_jobs() {
            unsuccessful.saturating_sub(2)
        } else {
            0
        };
        for (_, victim) in self.victims().take(SCANNED << doublings) {
            if !is_due(unsuccessful, is_late, || victim.has_stirred()) {
                victim.request();
            } else if let Some(job) = Self::steal_private(victim) {
                return Some(job);
            } else if idle.is_last_round() && victim.len() > 0 {
                victim.wait_for_exposing();
            }
        }
        None
    }

    #[cold]
    #[inline(never)]
    fn steal_private(victim: &JobStealer<JobRef>) -> Option<JobRef> {
        if !victim.expose_for_owner() {
            return None;
        }
        hooks::count(Event::StealTried);
        let job = settle(|| victim.steal());
        hooks::count_if(job.is_some(), Event::StealWon);
        job
    }

    #[inline]
    pub(crate) fn run_one(&self, find: impl Fn(&Self) -> Option<JobRef>) -> bool {
        let Some(job) = find(self) else { return false };
        job.execute();
        true
    }

    /// Runs jobs until `latch` is set, and sleeps while no queue has a job.
    #[inline]
    pub(crate) fn wait_until(&self, latch: &CoreLatch) {
        if !latch.probe() {
            self.work_until(latch);
        }
    }

    #[cold]
    fn work_until(&self, latch: &CoreLatch) {
        let fatal = Fatal::<A_WAIT>::unless_done();
        while !latch.probe() {
            // Take local jobs first: they need no search, and a worker that ends a search may have
            // to wake other workers.
            if let Some(job) = self
                .take_local()
                .or_else(|| self.steal_again())
                .or_else(|| self.search(latch))
            {
                job.execute();
            }
        }
        // Thieves may have emptied the deque.
        self.deque.give_back_if_large();
        fatal.disarm();
    }

    /// Returns a job from anywhere. Returns `None` if `latch` is set first, or after the worker has
    /// registered the process. Not inlined, for the reason given at `find_job`.
    #[inline(never)]
    fn search(&self, latch: &CoreLatch) -> Option<JobRef> {
        let sleep = &self.registry.sleep;
        let mut registers = false;
        self.victim.set(self.index);
        self.history.begin_idle_period();
        let mut idle = sleep.begin_search(self.index, &self.history);
        let job = loop {
            if latch.probe() {
                break None;
            }
            if let Some(job) = self.find_job() {
                break Some(job);
            }
            if let Some(job) = self.scan_private_jobs(&idle) {
                break Some(job);
            }
            // In the main loop, the worker's stack holds no unfinished job, so registering may take
            // long.
            if self.is_in_main_loop(latch) && sleep.try_begin_registering(&idle) {
                registers = true;
                break None;
            }
            sleep.found_nothing(&mut idle, latch, self);
        };
        // The search also ends here if the latch was set: a producer may have relied on this worker
        // to find the producer's job (sleep/README.md, "Coverage").
        sleep.end_search(idle, self);
        if job.is_some() {
            job_found(&self.history);
        }
        if registers {
            sleep.register();
        }
        job
    }

    fn is_in_main_loop(&self, latch: &CoreLatch) -> bool {
        ptr::eq(latch, &*self.registry.terminate[self.index])
    }
}

/// Returns whether a thief exposes an owner's private jobs. `unsuccessful` counts the thief's earlier
/// searches, also those that it skipped. `is_late` says whether the thief has been idle for as long
/// as exposing costs.
///
/// After the first search the owner gets a moment in which it may share jobs by itself. An owner that
/// [has stirred](JobStealer::has_stirred) gets a second moment, and more until the thief is late.
fn is_due(unsuccessful: u32, is_late: bool, has_stirred: impl FnOnce() -> bool) -> bool {
    match unsuccessful {
        0 => false,
        1 => !has_stirred(),
        _ => is_late || !has_stirred(),
    }
}

impl Queues for Worker {
    fn give_back(&self) -> bool {
        self.deque.give_back()
    }

    fn has_broadcasts(&self) -> bool {
        !self.broadcasts.is_empty()
    }

    fn has_injected(&self) -> bool {
        !self.registry.injector.is_empty()
    }

    fn stealable(&self, at_most: usize) -> usize {
        let stealers = self.registry.stealers.iter().enumerate();
        let most_of_one = if self.history.finds_long_jobs() {
            at_most
        } else {
            1
        };
        let mut seen = 0;
        for (_, victim) in stealers.filter(|(index, _)| *index != self.index) {
            seen += victim.len().min(most_of_one);
            if seen >= at_most {
                return at_most;
            }
        }
        seen
    }
}

/// Runs a worker on the calling thread until the pool has ended.
///
/// # Panics
///
/// Panics if the thread is a worker already.
pub(crate) fn run_worker(thread: ThreadBuilder) {
    let worker = Worker::new(thread);
    let registry = Arc::clone(&worker.registry);
    let _occupied = Occupied::begin(&worker);
    // SAFETY: `all_up` is in the registry, to which this function holds a reference.
    unsafe { CountLatch::set(ptr::addr_of!(registry.all_up)) };

    // Jobs of this pool hold pointers to this frame, so no panic may unwind the frame.
    let fatal = Fatal::<THE_MAIN_LOOP>::unless_done();
    if let Some(handler) = &registry.handlers.start {
        registry.run_detached(|| handler(worker.index));
    }
    worker.wait_until(&registry.terminate[worker.index]);
    debug_assert!(
        worker.take_local().is_none(),
        "the pool ended with jobs left"
    );
    if let Some(handler) = &registry.handlers.exit {
        registry.run_detached(|| handler(worker.index));
    }
    fatal.disarm();
}

/// Makes the calling thread worker 0 for the rest of its life.
pub(super) fn adopt_current_thread(thread: ThreadBuilder) {
    let worker: &'static Worker = Box::leak(Box::new(Worker::new(thread)));
    std::mem::forget(Occupied::begin(worker));
    // SAFETY: `all_up` is in the registry, which the leaked worker holds.
    unsafe { CountLatch::set(ptr::addr_of!(worker.registry.all_up)) };
}

struct Occupied<'w> {
    _here: Here<'w>,
}

impl<'w> Occupied<'w> {
    fn begin(worker: &'w Worker) -> Self {
        assert!(
            CURRENT.get().is_null(),
            "this thread is a worker already; a pool needs one of its own"
        );
        CURRENT.set(worker);
        Self {
            _here: worker.registry.records.occupy(worker.index),
        }
    }
}

impl Drop for Occupied<'_> {
    fn drop(&mut self) {
        CURRENT.set(ptr::null());
    }
}

#[cfg(all(test, not(fork_loom)))]
mod tests {
    use super::is_due;

    #[test]
    fn a_thief_exposes_jobs_of_an_owner_in_a_long_job_at_once_and_of_others_only_when_it_is_late() {
        for (unsuccessful, is_late, has_stirred, expected) in [
            (0, true, false, false),
            (1, true, true, false),
            (1, false, false, true),
            (2, false, true, false),
            (2, false, false, true),
            (2, true, true, true),
            (32, false, true, false),
        ] {
            let found = is_due(unsuccessful, is_late, || has_stirred);
            assert_eq!(found, expected, "{unsuccessful} {is_late} {has_stirred}");
        }
    }
}
