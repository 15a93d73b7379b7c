//! The shared state of a pool's workers, and the ways by which jobs enter the pool.

mod describe;
mod global;
mod worker;

use std::ptr;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::builder::{Handlers, PoolPlan};
use crate::core_latch::CoreLatch;
use crate::deque::{Deque, Injector, JobDeque, JobStealer};
use crate::error::ThreadPoolBuildError;
use crate::hooks::Records;
use crate::job::{JobRef, StackJob};
use crate::latch::{CountLatch, LockLatch, SpinHistory, SpinLatch};
use crate::sleep::Sleep;
use crate::sync::{AtomicUsize, Mutex, Ordering};
use crate::thread_builder::ThreadBuilder;
use crate::unwind;

pub(crate) use global::{build_global, global};
pub(crate) use worker::{Worker, run_worker};

/// Everything that the workers of a pool share. Each worker and the `ThreadPool` handle hold a
/// counted reference.
pub(crate) struct Registry {
    sleep: Sleep,
    /// The stealing ends of the workers' deques, by index. Every steal reads these ends, so they
    /// lie apart from everything that is written while the pool runs.
    stealers: Box<[JobStealer<JobRef>]>,
    terminate: Box<[CachePadded<CoreLatch>]>,
    /// The pushing ends of the workers' broadcast queues. The lock keeps broadcasts in the same
    /// order in all queues.
    broadcasts: Mutex<Box<[Deque<JobRef>]>>,
    handlers: Handlers,
    all_up: CountLatch,
    injector: Injector<JobRef>,
    records: Records,
    /// The number of reasons not to terminate: the `ThreadPool` handle, and each detached job that
    /// has not finished. Each `spawn` writes this count twice, so it has its own cache line.
    reasons_to_live: CachePadded<AtomicUsize>,
    spin_history: SpinHistory,
}

assert_size!(Registry: size_of::<Injector<JobRef>>()
    + size_of::<CachePadded<AtomicUsize>>()
    + (size_of::<Sleep>() + size_of::<SpinHistory>() + 136).next_multiple_of(align_of::<CachePadded<AtomicUsize>>()));

impl Registry {
    /// Builds the shared state, and starts the workers' threads through `spawn`. If the plan adopts
    /// the current thread, this thread becomes worker 0. If `spawn` fails, or a closure panics,
    /// workers that were started already terminate.
    pub(crate) fn start(
        plan: PoolPlan,
        mut spawn: impl FnMut(ThreadBuilder) -> std::io::Result<()>,
    ) -> Result<Arc<Self>, ThreadPoolBuildError> {
        if plan.adopts_current_thread && Worker::with_current(|worker| worker.is_some()) {
            return Err(ThreadPoolBuildError::current_thread_already_in_pool());
        }
        let PoolPlan {
            workers,
            adopts_current_thread,
            mut name,
            stack_size,
            is_fifo,
            handlers,
        } = plan;
        let sleep = Sleep::new(workers, is_fifo);
        let new_deque = |_| {
            if is_fifo {
                JobDeque::new_fifo()
            } else {
                JobDeque::new_lifo(sleep.fences())
            }
        };
        let deques: Vec<JobDeque<JobRef>> = (0..workers).map(new_deque).collect();
        let broadcasts: Box<[Deque<JobRef>]> = (0..workers).map(|_| Deque::new_fifo()).collect();
        let broadcast_ends: Vec<_> = broadcasts.iter().map(Deque::stealer).collect();
        let registry = Arc::new(Self {
            sleep,
            stealers: deques.iter().map(JobDeque::stealer).collect(),
            terminate: (0..workers)
                .map(|_| CachePadded::new(CoreLatch::new()))
                .collect(),
            broadcasts: Mutex::new(broadcasts),
            handlers,
            all_up: CountLatch::new(workers, None),
            injector: Injector::new(),
            records: Records::new(workers),
            reasons_to_live: CachePadded::new(AtomicUsize::new(1)),
            spin_history: SpinHistory::new(workers),
        });

        let unfinished = TerminateOnDrop(&registry);
        let mut adopted = None;
        for (index, (deque, broadcasts)) in deques.into_iter().zip(broadcast_ends).enumerate() {
            let thread = ThreadBuilder {
                name: name.as_mut().map(|name| name(index)),
                stack_size,
                deque,
                broadcasts,
                registry: Arc::clone(&registry),
                index,
            };
            if index == 0 && adopts_current_thread {
                adopted = Some(thread);
            } else {
                spawn(thread).map_err(ThreadPoolBuildError::io)?;
            }
        }
        // The captures of `name` and `spawn` may panic when they are dropped. The pool must end
        // even after such a panic.
        drop((name, spawn));
        // The adopted thread stays a worker for the rest of its life, so the adoption comes after
        // every step that may fail.
        if let Some(thread) = adopted {
            worker::adopt_current_thread(thread);
        }
        std::mem::forget(unfinished);
        Ok(registry)
    }

    #[inline]
    pub(crate) fn num_threads(&self) -> usize {
        self.stealers.len()
    }

    #[cfg(feature = "instrument")]
    pub(crate) fn records(&self) -> &Records {
        &self.records
    }

    pub(crate) fn id(&self) -> usize {
        ptr::from_ref(self) as usize
    }

    pub(crate) fn wait_until_up(&self) {
        self.all_up.wait(None, None);
    }

    pub(crate) fn inject(&self, job: JobRef) {
        let _here = self.records.visit();
        let queue_was_empty = self.injector.is_empty();
        self.injector.push(job);
        self.sleep.job_injected(queue_was_empty);
    }

    pub(crate) fn submit(&self, job: JobRef) {
        Worker::with_current(|worker| match worker {
            Some(worker) if worker.is_in(self) => {
                worker.push(job);
            }
            _ => self.inject(job),
        });
    }

    pub(crate) fn submit_to_each(&self, jobs: impl ExactSizeIterator<Item = JobRef>) {
        debug_assert_eq!(jobs.len(), self.num_threads());
        let _here = self.records.visit();
        {
            let queues = self.broadcasts.lock();
            for (queue, job) in queues.iter().zip(jobs) {
                queue.push(job);
            }
        }
        for index in 0..self.num_threads() {
            self.sleep.wake_worker(index);
        }
    }

    pub(crate) fn wake_worker(&self, index: usize) {
        let _here = self.records.visit();
        self.sleep.wake_worker(index);
    }

    /// Runs `op` on a worker of this pool. A worker of the pool calls `op` at once; any other
    /// thread injects `op`. The second argument of `op` says whether a thread that is no worker of
    /// any pool injected `op`.
    pub(crate) fn in_worker<R: Send>(
        this: &Arc<Self>,
        op: impl FnOnce(&Worker, bool) -> R + Send,
    ) -> R {
        // SAFETY: the reference is not used after this function returns.
        match unsafe { Worker::current() } {
            Some(worker) if worker.is_in(this) => op(worker, false),
            Some(worker) => this.in_worker_of_another_pool(worker, op),
            None => this.in_worker_from_external_thread(op),
        }
    }

    #[cold]
    fn in_worker_from_external_thread<R: Send>(
        &self,
        op: impl FnOnce(&Worker, bool) -> R + Send,
    ) -> R {
        let latch = LockLatch::new_shared();
        let job = StackJob::new(Arc::clone(&latch), |_| {
            // SAFETY: the reference is used only until `op` returns.
            op(unsafe { Worker::running() }, true)
        });
        // SAFETY: we wait below, so the job stays in place until its latch is set.
        let reference = unsafe { job.as_job_ref() };
        let may_be_soon = self.may_respond_soon();
        self.inject(reference);
        latch.wait(may_be_soon.or_else(|| self.may_respond_soon()));
        job.into_result()
    }

    /// Returns the record of spinning threads if some worker is idle, and so may soon run a job.
    pub(crate) fn may_respond_soon(&self) -> Option<&SpinHistory> {
        let may_be_soon = SpinHistory::IS_LEARNED && self.sleep.somebody_is_idle();
        may_be_soon.then_some(&self.spin_history)
    }

    #[cold]
    fn in_worker_of_another_pool<R: Send>(
        &self,
        caller: &Worker,
        op: impl FnOnce(&Worker, bool) -> R + Send,
    ) -> R {
        let job = StackJob::new(SpinLatch::cross(caller), |_| {
            // SAFETY: the reference is used only until `op` returns.
            op(unsafe { Worker::running() }, false)
        });
        // SAFETY: we wait below, so the job stays in place until its latch is set.
        let reference = unsafe { job.as_job_ref() };
        self.inject(reference);
        caller.wait_until(&job.latch);
        job.into_result()
    }

    /// Runs `body`, whose panic goes to the panic handler. Aborts the process if there is no
    /// handler, or if the handler panics.
    pub(crate) fn run_detached(&self, body: impl FnOnce()) {
        if let Err(payload) = unwind::capture(body) {
            self.handle_panic(payload);
        }
    }

    #[cold]
    fn handle_panic(&self, payload: unwind::Payload) {
        match &self.handlers.panic {
            Some(handler) => {
                if let Err(payload) = unwind::capture(|| handler(payload)) {
                    std::mem::forget(payload);
                    unwind::die("the panic handler");
                }
            }
            None => {
                unwind::die("a detached job or a handler of a pool without a panic handler");
            }
        }
    }

    /// Adds reasons for the pool to live. The caller holds such a reason already. A start or exit
    /// handler holds none: what it spawns may stay undone if the pool has ended.
    pub(crate) fn add_reasons_to_live(&self, more: usize) {
        // Relaxed: the caller's own reason keeps the count from reaching zero. The queue that hands
        // a job with its reason to another thread orders this addition before the reason is
        // removed.
        let before = self.reasons_to_live.fetch_add(more, Ordering::Relaxed);
        debug_assert_ne!(
            before, 0,
            "a job was submitted to a pool that has terminated"
        );
        assert!(before <= usize::MAX / 2, "too many jobs in one pool");
    }

    /// Removes one reason for the pool to live. When no reason is left, the workers terminate.
    pub(crate) fn drop_reason_to_live(&self) {
        // ORDERING: AcqRel. Release publishes the effects of the job. Acquire makes the last caller
        // see the effects of all other jobs, before the workers run their exit handlers.
        if self.reasons_to_live.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        let _here = self.records.visit();
        for (index, latch) in self.terminate.iter().enumerate() {
            // SAFETY: the latch is in the registry, which the caller holds.
            if unsafe { CoreLatch::set(ptr::addr_of!(**latch)) } {
                self.sleep.wake_worker(index);
            }
        }
    }
}

/// Runs `op` on a worker of the current pool, which is the caller's pool or the global pool. If the
/// caller is a worker, finding the pool costs one thread-local read.
#[inline]
pub(crate) fn in_worker<R: Send>(op: impl FnOnce(&Worker, bool) -> R + Send) -> R {
    // SAFETY: the reference is not used after this function returns.
    match unsafe { Worker::current() } {
        Some(worker) => op(worker, false),
        // Building the global pool may adopt this very thread, so the registry checks again.
        None => Registry::in_worker(global(), op),
    }
}

/// Returns the caller's pool, or the global one. Starting the global pool may make the calling
/// thread a worker.
///
/// # Safety
///
/// The reference is not used after the caller's function has returned.
#[inline]
pub(crate) unsafe fn current<'a>() -> &'a Arc<Registry> {
    // SAFETY: the caller upholds the contract; the worker holds its registry.
    match unsafe { Worker::current() } {
        Some(worker) => worker.registry(),
        None => global(),
    }
}

/// Ends the workers that were started if the rest cannot be started.
struct TerminateOnDrop<'r>(&'r Arc<Registry>);

impl Drop for TerminateOnDrop<'_> {
    fn drop(&mut self) {
        self.0.drop_reason_to_live();
    }
}
