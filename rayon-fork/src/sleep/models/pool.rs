//! Workers that search, run and wait as real workers do, around the real [`Sleep`].

use super::on_demand::OnDemand;
use super::queues::{Deque, Injector};
use crate::core_latch::CoreLatch;
use crate::sleep::counters::SleepCounters;
use crate::sleep::demand::{Jobs, StealRequest};
use crate::sleep::parking::ParkingSlot;
use crate::sleep::{Queues, SearchHistory, Sleep};
use crate::sync::modelled::{Condvar, Fences, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The jobs of a model. When the last job ends, all workers of the pool end, unless the pool
/// `is_owned` or was called by another pool.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Job {
    Tick,
    /// Blocks its worker in user code until the gate opens.
    AwaitGate,
    OpenGate,
    /// Pushes the next job, then waits as `AwaitGate` does.
    PushAndAwait,
}

/// The queues that sleepers of a mutant do not scan.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Unseen {
    Deques,
    Injector,
}

/// When a worker takes the next job of the deque without a search.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum NextJob {
    /// After it ran the job that its search found.
    Afterwards,
    /// Planted mistake: before it runs that job.
    Along,
}

pub(super) struct Setup {
    pub(super) workers: usize,
    /// Jobs that a busy worker pushes. That worker is the last one, and never searches, because its
    /// thread is in user code. If the pool `is_owned`, worker 0 pushes; `PushAndAwait` is a job
    /// that pushes.
    pub(super) pushed: Vec<Job>,
    pub(super) injected: Vec<Job>,
    /// The number of `injected` jobs that wait from the start.
    pub(super) waiting: usize,
    /// Shares of a broadcast for worker 0.
    pub(super) shares: Vec<Job>,
    /// A producer has notified before the model begins, so the events are odd.
    pub(super) starts_notified: bool,
    /// Planted mistake: sleepers do not scan these queues before they block.
    pub(super) unseen: Option<Unseen>,
    /// Planted mistake: a worker that stops searching scans the queues before it leaves the count.
    pub(super) scans_before_leaving: bool,
    /// Worker 0 pushes. Worker 0 searches only while it waits for the jobs. The end of the last job
    /// ends only worker 0.
    pub(super) is_owned: bool,
    /// Makes the pushed jobs private until a worker requests them.
    pub(super) on_demand: Option<fn() -> OnDemand>,
    /// If true, sleepers scan shared jobs before they block, and pushes fence so that the scan
    /// finds the job.
    pub(super) scans: bool,
    /// Planted mistake: a push notifies without the fence that pairs with the sleepers' scan.
    pub(super) is_push_unfenced: bool,
    /// If true, the pool has more workers than there are CPUs.
    pub(super) is_oversubscribed: bool,
    /// If there is a value, workers take a second job without a search.
    pub(super) next_job: Option<NextJob>,
}

impl Setup {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            workers,
            pushed: Vec::new(),
            injected: Vec::new(),
            waiting: 0,
            shares: Vec::new(),
            starts_notified: false,
            unseen: None,
            scans_before_leaving: false,
            is_owned: false,
            on_demand: None,
            scans: false,
            is_push_unfenced: false,
            is_oversubscribed: false,
            next_job: None,
        }
    }
}

/// Worker 0 of another pool, which injected this pool's jobs, and sleeps until they have ended.
pub(super) struct Caller<C, S> {
    pub(super) pool: Arc<Pool<C, S>>,
    /// Planted mistake: the setter of the latch wakes a worker of its own pool.
    pub(super) is_mistaken_for_own: bool,
}

/// A pool in which one worker may be busy with user code.
pub(super) struct Pool<C, S> {
    pub(super) sleep: Sleep<C, S>,
    latches: Vec<CoreLatch>,
    deque: Deque<Job>,
    pub(super) on_demand: Option<OnDemand>,
    is_push_unfenced: bool,
    injector: Injector<Job>,
    shares: Deque<Job>,
    gate: (Mutex<bool>, Condvar),
    unseen: Option<Unseen>,
    scans_before_leaving: bool,
    is_owned: bool,
    is_oversubscribed: bool,
    next_job: Option<NextJob>,
    caller: Option<Caller<C, S>>,
    /// The number of jobs. `ended` counts the jobs that have ended. `ended` is no loom atomic, so
    /// it adds no schedules.
    jobs: usize,
    ended: AtomicUsize,
}

impl<C: SleepCounters, S: ParkingSlot> Pool<C, S> {
    pub(super) fn new(setup: Setup) -> Self {
        let is_pushed_by_job = setup.injected.contains(&Job::PushAndAwait);
        let has_busy_worker = !setup.pushed.is_empty() && !setup.is_owned && !is_pushed_by_job;
        let workers = setup.workers + usize::from(has_busy_worker);
        let on_demand = setup.on_demand.map(|make| make());
        let sleep = match &on_demand {
            Some(on_demand) => on_demand.sleep(workers),
            None => {
                let jobs = if setup.scans {
                    Jobs::Shared
                } else {
                    Jobs::Notified
                };
                Sleep::with_request(workers, StealRequest::new(jobs, Fences::full()))
            }
        };
        if setup.starts_notified {
            sleep.job_pushed(true);
        }
        let jobs = setup.pushed.len() + setup.injected.len() + setup.shares.len();
        Self {
            sleep,
            jobs,
            ended: AtomicUsize::new(0),
            latches: (0..setup.workers).map(|_| CoreLatch::new()).collect(),
            deque: Deque::new(setup.pushed),
            on_demand,
            is_push_unfenced: setup.is_push_unfenced,
            injector: Injector::new(setup.injected, setup.waiting),
            shares: Deque::new(setup.shares),
            gate: (Mutex::new(false), Condvar::new()),
            unseen: setup.unseen,
            scans_before_leaving: setup.scans_before_leaving,
            is_owned: setup.is_owned,
            is_oversubscribed: setup.is_oversubscribed,
            next_job: setup.next_job,
            caller: None,
        }
    }

    pub(super) fn called_by(self, caller: Caller<C, S>) -> Self {
        Self {
            caller: Some(caller),
            ..self
        }
    }

    pub(super) fn push(&self) {
        if let Some(on_demand) = &self.on_demand {
            return on_demand.push(&self.sleep);
        }
        let queue_was_empty = self.deque.is_empty();
        self.deque.push();
        if self.is_push_unfenced {
            self.sleep.notify_job(queue_was_empty);
        } else {
            self.sleep.job_pushed(queue_was_empty);
        }
    }

    pub(super) fn inject(&self) {
        let queue_was_empty = self.injector.is_empty();
        self.injector.push();
        self.sleep.job_injected(queue_was_empty);
    }

    /// Pushes a share for worker 0, and wakes that worker if it is asleep.
    pub(super) fn broadcast(&self) {
        self.shares.push();
        self.sleep.wake_worker(0);
    }

    pub(super) fn set_latch(&self, worker: usize) {
        // SAFETY: the latches live as long as the pool.
        if unsafe { CoreLatch::set(&raw const self.latches[worker]) } {
            self.sleep.wake_worker(worker);
        }
    }

    pub(super) fn await_gate(&self) {
        let mut is_open = self.gate.0.lock();
        while !*is_open {
            is_open = self.gate.1.wait(is_open);
        }
    }

    fn open_gate(&self) {
        *self.gate.0.lock() = true;
        self.gate.1.notify_all();
    }

    fn run(&self, job: Job) {
        match job {
            Job::Tick => {}
            Job::AwaitGate => self.await_gate(),
            Job::OpenGate => self.open_gate(),
            Job::PushAndAwait => {
                self.push();
                self.await_gate();
            }
        }
        let ended = self.ended.fetch_add(1, Ordering::Relaxed) + 1;
        assert!(ended <= self.jobs, "a job was run twice");
        if ended == self.jobs {
            self.signal_that_all_have_ended();
        }
    }

    fn signal_that_all_have_ended(&self) {
        match &self.caller {
            Some(caller) => {
                let woken = if caller.is_mistaken_for_own {
                    self
                } else {
                    &caller.pool
                };
                // SAFETY: the latches live as long as their pool.
                if unsafe { CoreLatch::set(&raw const caller.pool.latches[0]) } {
                    woken.sleep.wake_worker(0);
                }
            }
            None if self.is_owned => self.set_latch(0),
            None => self.end_workers_from(0),
        }
    }

    pub(super) fn end_workers_from(&self, first: usize) {
        for worker in first..self.latches.len() {
            self.set_latch(worker);
        }
    }

    pub(super) fn work(&self, worker: usize) {
        let latch = &self.latches[worker];
        let cpus = if self.is_oversubscribed { 1 } else { 3 };
        let history = SearchHistory::new(self.latches.len(), cpus);
        let queues = View { pool: self, worker };
        while !latch.probe() {
            let mut idle = self.sleep.begin_search(worker, &history);
            let mut found = None;
            while found.is_none() && !latch.probe() {
                found = queues.find_work();
                if found.is_none() {
                    self.sleep.found_nothing(&mut idle, latch, &queues);
                }
            }
            if self.scans_before_leaving {
                let seen = Seen(queues.has_injected() || queues.has_stealable());
                self.sleep.end_search(idle, &seen);
            } else {
                self.sleep.end_search(idle, &queues);
            }
            let Some(job) = found else { continue };
            let along = self.take_next(NextJob::Along);
            self.run(job);
            if let Some(job) = along.or_else(|| self.take_next(NextJob::Afterwards)) {
                self.run(job);
            }
        }
    }

    /// Takes a shared job without a search, if the model has this step at this moment.
    fn take_next(&self, moment: NextJob) -> Option<Job> {
        if self.next_job != Some(moment) {
            return None;
        }
        let number = self.on_demand.as_ref()?.steal_shared()?;
        Some(self.deque.job(number))
    }

    pub(super) fn assert_at_rest(&self) {
        assert_eq!(self.ended.load(Ordering::Relaxed), self.jobs, "jobs run");
        assert_eq!(
            self.sleep.counters.sleeping(),
            0,
            "workers counted as asleep"
        );
        assert_eq!(
            self.sleep.counters.inactive(),
            0,
            "workers counted as inactive"
        );
        for worker in 0..self.latches.len() {
            assert!(
                !self.sleep.wake_worker(worker),
                "worker {worker} left its slot asleep"
            );
        }
    }
}

struct View<'a, C, S> {
    pool: &'a Pool<C, S>,
    worker: usize,
}

impl<C: SleepCounters, S: ParkingSlot> View<'_, C, S> {
    /// Searches the queues in the order of the real pool: own shares, other workers' deques, the
    /// injector.
    fn find_work(&self) -> Option<Job> {
        let mut found = None;
        if self.worker == 0 && !self.pool.shares.is_unused() {
            found = self.pool.shares.steal();
        }
        if let Some(on_demand) = &self.pool.on_demand {
            found = found.or_else(|| Some(self.pool.deque.job(on_demand.steal(&self.pool.sleep)?)));
        } else if found.is_none() && !self.pool.deque.is_unused() {
            found = self.pool.deque.steal();
        }
        if found.is_none() && !self.pool.injector.is_unused() {
            found = self.pool.injector.steal();
        }
        found
    }
}

impl<C: SleepCounters, S: ParkingSlot> Queues for View<'_, C, S> {
    fn has_broadcasts(&self) -> bool {
        self.worker == 0 && !self.pool.shares.is_unused() && !self.pool.shares.looks_empty()
    }

    fn has_injected(&self) -> bool {
        self.pool.unseen != Some(Unseen::Injector)
            && !self.pool.injector.is_unused()
            && !self.pool.injector.is_empty()
    }

    fn stealable(&self, at_most: usize) -> usize {
        let is_own = self.pool.is_owned && self.worker == 0;
        let has_job = !is_own
            && self.pool.unseen != Some(Unseen::Deques)
            && !self.pool.deque.is_unused()
            && match &self.pool.on_demand {
                Some(on_demand) => on_demand.has_jobs(),
                None => !self.pool.deque.looks_empty(),
            };
        at_most.min(usize::from(has_job))
    }
}

/// The result of an earlier scan, which later changes do not affect.
struct Seen(bool);

impl Queues for Seen {
    fn has_broadcasts(&self) -> bool {
        false
    }

    fn has_injected(&self) -> bool {
        self.0
    }

    fn stealable(&self, _at_most: usize) -> usize {
        0
    }
}
