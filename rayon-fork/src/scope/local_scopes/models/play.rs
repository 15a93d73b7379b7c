//! Workers, an owner, and a scope whose jobs they run.

use crate::core_latch::CoreLatch;
use crate::latch::Count;
use crate::scope::local_scopes::shard::{Counted, Shard};
use crate::sync::modelled::{Condvar, Mutex};
use loom::cell::UnsafeCell;
use loom::thread;
use std::marker::PhantomData;
use std::sync::Arc;

pub(super) trait Steps: Send + Sync + 'static {
    const RETURNS_UNITS_BEFORE_SEARCHING: bool = true;
    const RETURNS_UNITS_FOR_OTHER_JOBS: bool = true;
    const RETURNS_UNITS_AFTER_WAITING: bool = true;
    const OTHER_JOBS_COUNT_DIRECTLY: bool = true;

    fn take_off(count: &Count, units: usize) -> bool {
        count.take_off(units)
    }

    fn is(count: &Count, units: usize) -> bool {
        count.is(units)
    }
}

/// A job of the model. A job of the scope records under its own number that it has run.
#[derive(Clone, Copy)]
pub(super) enum Job {
    Leaf(usize),
    /// A job of the scope, which spawns a leaf into the scope.
    Parent(usize, usize),
    /// A job of no scope. It continues until the scope has ended.
    Other,
    /// A job of no scope. It spawns a leaf into the scope, then continues until the scope has
    /// ended.
    OtherThatSpawns(usize),
    /// A job of no scope. It runs another job, as a job that waits does, then continues until the
    /// scope has ended.
    OtherThatWaits,
}

struct Queues {
    jobs: Vec<Job>,
    /// Jobs of no scope, which only workers that do not wait may take.
    other: Vec<Job>,
    is_closed: bool,
}

pub(super) struct Scope<T> {
    count: Count,
    latch: CoreLatch,
    queues: Mutex<Queues>,
    changed: Condvar,
    /// A job of no scope opens this gate, for which the scope's closure waits.
    has_begun: (Mutex<bool>, Condvar),
    /// The end of the scope opens this gate.
    has_ended: (Mutex<bool>, Condvar),
    has_run: Vec<UnsafeCell<bool>>,
    /// Each use of the scope reads this cell, and the scope's end writes it. So loom finds uses of
    /// the scope that are not ordered before its end.
    is_freed: UnsafeCell<bool>,
    mutant: PhantomData<T>,
}

impl<T: Steps> Counted for Scope<T> {
    fn add(&self, units: usize) {
        self.assert_alive();
        self.count.add(units);
    }

    fn is(&self, units: usize) -> bool {
        self.assert_alive();
        T::is(&self.count, units)
    }

    unsafe fn take_off(this: *const Self, units: usize) {
        // SAFETY: in a model, the memory of an ended scope is not freed.
        let this = unsafe { &*this };
        this.assert_alive();
        if T::take_off(&this.count, units) {
            this.assert_alive();
            // SAFETY: the latch is in the scope, whose memory a model does not free.
            unsafe { CoreLatch::set(&raw const this.latch) };
            drop(this.queues.lock());
            this.changed.notify_all();
        }
    }
}

fn open(gate: &(Mutex<bool>, Condvar)) {
    *gate.0.lock() = true;
    gate.1.notify_all();
}

fn pass(gate: &(Mutex<bool>, Condvar)) {
    let mut is_open = gate.0.lock();
    while !*is_open {
        is_open = gate.1.wait(is_open);
    }
}

impl<T: Steps> Scope<T> {
    fn new(job_count: usize, other: Vec<Job>) -> Self {
        Self {
            count: Count::new(1),
            latch: CoreLatch::new(),
            queues: Mutex::new(Queues {
                jobs: Vec::new(),
                other,
                is_closed: false,
            }),
            changed: Condvar::new(),
            has_begun: (Mutex::new(false), Condvar::new()),
            has_ended: (Mutex::new(false), Condvar::new()),
            has_run: (0..job_count).map(|_| UnsafeCell::new(false)).collect(),
            is_freed: UnsafeCell::new(false),
            mutant: PhantomData,
        }
    }

    fn assert_alive(&self) {
        // SAFETY: loom fails if another thread may write the cell at the same time.
        let is_freed = self.is_freed.with(|is_freed| unsafe { *is_freed });
        assert!(!is_freed, "a scope is used after its end");
    }

    fn spawn(&self, units: &Shard<Self>, is_own: bool, job: Job) {
        units.count_job(self, || is_own);
        self.queues.lock().jobs.push(job);
        self.changed.notify_all();
    }

    fn record_run(&self, job: usize) {
        self.has_run[job].with_mut(|has_run| {
            // SAFETY: loom fails if another thread may access the cell at the same time.
            let had_run = unsafe { has_run.replace(true) };
            assert!(!had_run, "a job was run twice");
        });
    }

    fn run(&self, units: &Shard<Self>, is_owner: bool, job: Job) {
        match job {
            Job::Leaf(job_number) => {
                units.begin_job(self);
                self.record_run(job_number);
                units.end_job(self);
            }
            Job::Parent(job_number, of_leaf) => {
                units.begin_job(self);
                self.record_run(job_number);
                self.spawn(units, is_owner, Job::Leaf(of_leaf));
                units.end_job(self);
            }
            Job::Other | Job::OtherThatSpawns(_) | Job::OtherThatWaits => {
                if T::RETURNS_UNITS_FOR_OTHER_JOBS {
                    units.return_units();
                }
                if let Job::OtherThatSpawns(of_leaf) = job {
                    self.spawn(units, !T::OTHER_JOBS_COUNT_DIRECTLY, Job::Leaf(of_leaf));
                    open(&self.has_begun);
                }
                if let Job::OtherThatWaits = job {
                    open(&self.has_begun);
                    if let Some(job) = self.take(false) {
                        if T::RETURNS_UNITS_AFTER_WAITING {
                            let scope = units.scope();
                            self.run(units, false, job);
                            units.go_back(scope);
                        } else {
                            self.run(units, false, job);
                        }
                    }
                }
                pass(&self.has_ended);
            }
        }
    }

    fn take(&self, may_be_other: bool) -> Option<Job> {
        let mut queues = self.queues.lock();
        let job = queues.jobs.pop();
        job.or_else(|| {
            if may_be_other {
                queues.other.pop()
            } else {
                None
            }
        })
    }

    fn search(&self, is_owner: bool) -> Option<Job> {
        let mut queues = self.queues.lock();
        loop {
            if if is_owner {
                self.latch.probe()
            } else {
                queues.is_closed
            } {
                return None;
            }
            let job = queues.jobs.pop();
            let job = job.or_else(|| if is_owner { None } else { queues.other.pop() });
            if job.is_some() {
                return job;
            }
            queues = self.changed.wait(queues);
        }
    }

    fn work(&self, units: &Shard<Self>, is_owner: bool) {
        loop {
            if is_owner && (units.completes(self) || self.latch.probe()) {
                return units.forget(self);
            }
            if let Some(job) = self.take(!is_owner) {
                self.run(units, is_owner, job);
                continue;
            }
            if T::RETURNS_UNITS_BEFORE_SEARCHING && units.return_units() {
                continue;
            }
            let job = self.search(is_owner);
            units.return_units();
            match job {
                Some(job) => self.run(units, is_owner, job),
                None => return,
            }
        }
    }
}

/// The jobs `other` are queued from the start. If one of these jobs spawns or waits, it begins
/// before the scope's closure spawns.
fn play<T: Steps>(workers: usize, job_count: usize, jobs: Vec<Job>, other: Vec<Job>) {
    let is_other_first = other.iter().any(|job| !matches!(job, Job::Other));
    let scope = Arc::new(Scope::<T>::new(job_count, other));
    let threads: Vec<_> = (0..workers)
        .map(|_| {
            let scope = Arc::clone(&scope);
            thread::spawn(move || scope.work(&Shard::new(), false))
        })
        .collect();

    let units = Shard::new();
    if is_other_first {
        pass(&scope.has_begun);
    }
    for job in jobs {
        scope.spawn(&units, true, job);
    }
    units.end_job(&*scope);
    scope.work(&units, true);
    // SAFETY: loom fails if another thread may access the cell at the same time.
    scope
        .is_freed
        .with_mut(|is_freed| unsafe { *is_freed = true });
    for has_run in &scope.has_run {
        // SAFETY: loom fails if another thread may access the cell at the same time.
        assert!(
            has_run.with(|has_run| unsafe { *has_run }),
            "a scope ended before a job of it"
        );
    }

    open(&scope.has_ended);
    scope.queues.lock().is_closed = true;
    scope.changed.notify_all();
    for thread in threads {
        thread.join().expect("a failed thread has failed the model");
    }
}

pub(super) fn one_job<T: Steps>() {
    play::<T>(1, 1, vec![Job::Leaf(0)], vec![]);
}

pub(super) fn job_of_a_job<T: Steps>() {
    play::<T>(1, 2, vec![Job::Parent(0, 1)], vec![]);
}

pub(super) fn two_jobs<T: Steps>() {
    play::<T>(2, 2, vec![Job::Leaf(0), Job::Leaf(1)], vec![]);
}

pub(super) fn job_of_a_job_among_three<T: Steps>() {
    play::<T>(2, 2, vec![Job::Parent(0, 1)], vec![]);
}

pub(super) fn other_job<T: Steps>() {
    play::<T>(1, 2, vec![Job::Parent(0, 1)], vec![Job::Other]);
}

pub(super) fn other_job_that_spawns<T: Steps>() {
    play::<T>(1, 1, vec![], vec![Job::OtherThatSpawns(0)]);
}

pub(super) fn other_job_that_waits<T: Steps>() {
    play::<T>(1, 1, vec![Job::Leaf(0)], vec![Job::OtherThatWaits]);
}
