//! Jobs that wait in a queue: who owns their memory, and how each runs exactly once.

use std::cell::UnsafeCell;
use std::ptr;

use crate::deque::{Injector, settle};
use crate::hooks::{self, Event};
use crate::latch::Latch;
use crate::unwind::{self, A_JOB, Fatal, Payload, THE_END_OF_A_JOB};

pub(crate) trait Job {
    /// Runs the job.
    ///
    /// # Safety
    ///
    /// `this` is the pointer that a [`JobRef`] of this job was made from, the job is alive, and the
    /// caller consumes the `JobRef`. The job may be freed before this function returns.
    unsafe fn execute(this: *const ());
}

/// Where a job is, and how to run it: two words in a queue. A `JobRef` must be executed exactly
/// once, unless the creator of the job takes it back and runs the job itself.
pub(crate) struct JobRef {
    job: *const (),
    execute: unsafe fn(*const ()),
}

assert_size!(JobRef: 16);

// SAFETY: the caller of `JobRef::new` vouches that the job may run on any thread.
unsafe impl Send for JobRef {}

impl JobRef {
    /// # Safety
    ///
    /// `job` stays alive and in place until it was executed, and it may be executed on any thread.
    #[inline]
    pub(crate) unsafe fn new<J: Job>(job: *const J) -> Self {
        Self {
            job: job.cast(),
            execute: J::execute,
        }
    }

    /// Returns whether this is the reference to the job at `job`. Two live jobs never share an
    /// address, because no job has size zero.
    #[inline]
    pub(crate) fn leads_to<J>(&self, job: *const J) -> bool {
        const { assert!(size_of::<J>() > 0) };
        ptr::eq(self.job, job.cast())
    }

    #[inline]
    pub(crate) fn execute(self) {
        // SAFETY: the caller of `new` keeps the job alive until now, and `self` is consumed.
        unsafe { (self.execute)(self.job) }
    }
}

impl crate::deque::TwoWords for JobRef {
    #[inline]
    fn into_words(self) -> [*mut (); 2] {
        [self.job.cast_mut(), self.execute as *mut ()]
    }

    #[inline]
    unsafe fn from_words([job, execute]: [*mut (); 2]) -> Self {
        // SAFETY: the words are from `into_words`, where the second word was made from a function
        // of this type.
        let execute = unsafe { std::mem::transmute::<*mut (), unsafe fn(*const ())>(execute) };
        Self {
            job: job.cast_const(),
            execute,
        }
    }
}

enum Progress<R> {
    Waiting,
    Returned(R),
    Panicked(Payload),
}

/// A job in the frame of a thread that waits for it, with the latch that ends the wait.
pub(crate) struct StackJob<L, F, R> {
    pub(crate) latch: L,
    work: UnsafeCell<Option<F>>,
    progress: UnsafeCell<Progress<R>>,
}

assert_size!(StackJob<crate::core_latch::CoreLatch, usize, usize>: 8 + 16 + 24);

impl<L, F, R> StackJob<L, F, R>
where
    L: Latch,
    F: FnOnce(bool) -> R + Send,
    R: Send,
{
    /// Creates a job that runs `work`. The argument of `work` says whether the job *migrated*. A
    /// job that runs through a [`JobRef`] has migrated; otherwise the caller of `run_inline` or
    /// `run_in_place` decides.
    #[inline]
    pub(crate) fn new(latch: L, work: F) -> Self {
        Self {
            latch,
            work: UnsafeCell::new(Some(work)),
            progress: UnsafeCell::new(Progress::Waiting),
        }
    }

    /// # Safety
    ///
    /// The job stays in place until its latch is set, or until a worker got the reference back from
    /// the queue, unexecuted. The caller calls this function once.
    #[inline]
    pub(crate) unsafe fn as_job_ref(&self) -> JobRef {
        // SAFETY: our caller keeps the job in place; closure and result are `Send`.
        unsafe { JobRef::new(self) }
    }

    /// Moves the work out of its slot and runs it. A panic of the work passes through to the
    /// caller.
    ///
    /// # Safety
    ///
    /// The caller has got the job's reference back from the queue, unexecuted.
    #[inline]
    pub(crate) unsafe fn run_inline(self, migrated: bool) -> R {
        hooks::count(Event::JobExecuted);
        self.work
            .into_inner()
            .expect("a job taken back was not run")(migrated)
    }

    /// Does the same as [`Self::run_inline`], but does not move the whole job: takes the work out
    /// of its slot only for the call.
    ///
    /// # Safety
    ///
    /// The caller has got the job's reference back from the queue, unexecuted.
    #[inline]
    pub(crate) unsafe fn run_in_place(&self, migrated: bool) -> R {
        // SAFETY: as the caller has the only reference to the job, no other thread accesses the
        // work.
        let work = unsafe { (*self.work.get()).take() }.expect("a job taken back was not run");
        hooks::count(Event::JobExecuted);
        work(migrated)
    }

    /// Call this after the latch is set.
    #[inline]
    pub(crate) fn into_result(self) -> R {
        match self.into_outcome() {
            Ok(result) => result,
            Err(payload) => unwind::resume(payload),
        }
    }

    /// Call this after the latch is set.
    #[inline]
    pub(crate) fn into_outcome(self) -> Result<R, Payload> {
        match self.progress.into_inner() {
            Progress::Returned(result) => Ok(result),
            Progress::Panicked(payload) => Err(payload),
            Progress::Waiting => unreachable!("the latch is set after the result was stored"),
        }
    }

    /// Drops the payload if the job panicked, because the caller resumes another panic.
    ///
    /// # Safety
    ///
    /// The caller has seen the latch set.
    pub(crate) unsafe fn discard_panic(&self) {
        // SAFETY: the thread that ran the job does not touch it any more, and the caller is its
        // owner.
        let progress = unsafe { &mut *self.progress.get() };
        if let Progress::Panicked(_) = progress {
            if let Progress::Panicked(payload) = std::mem::replace(progress, Progress::Waiting) {
                unwind::discard(payload);
            }
        }
    }
}

impl<L, F, R> Job for StackJob<L, F, R>
where
    L: Latch,
    F: FnOnce(bool) -> R + Send,
    R: Send,
{
    unsafe fn execute(this: *const ()) {
        let this: *const Self = this.cast();
        // If a panic unwound from here without setting the latch, the owner would wait for ever.
        let fatal = Fatal::<THE_END_OF_A_JOB>::unless_done();
        // SAFETY: the job is alive (contract), and only the thread that executes it looks into
        // `work` before the latch is set.
        let work = unsafe { (*(*this).work.get()).take() }.expect("a job is executed once");
        hooks::count(Event::JobExecuted);
        let progress = match unwind::capture(|| work(true)) {
            Ok(result) => Progress::Returned(result),
            Err(payload) => Progress::Panicked(payload),
        };
        // SAFETY: the job is alive, and the owner reads `progress` only after it has seen the latch
        // set.
        unsafe { *(*this).progress.get() = progress };
        // SAFETY: the owner waits for the latch, so it is alive. From here on the owner may free
        // the frame, and nothing is read through `this`.
        unsafe { L::set(ptr::addr_of!((*this).latch)) };
        fatal.disarm();
    }
}

/// A boxed closure that frees itself by running.
pub(crate) struct HeapJob<F> {
    work: F,
}

assert_size!(HeapJob<usize>: 8);

impl<F: FnOnce() + Send> HeapJob<F> {
    /// # Safety
    ///
    /// The borrows of `work` outlive its execution. `work` does not unwind: the frames below may be
    /// those of a join or a scope, into which other threads hold pointers. If it does unwind, the
    /// process aborts.
    pub(crate) unsafe fn new_ref(work: F) -> JobRef {
        let job: *const Self = Box::into_raw(Box::new(Self { work }));
        // SAFETY: the box is leaked until `execute` takes it back; the caller vouches for borrows.
        unsafe { JobRef::new(job) }
    }
}

impl<F: FnOnce() + Send> Job for HeapJob<F> {
    unsafe fn execute(this: *const ()) {
        // SAFETY: `new_ref` leaked this very box, and it is executed once.
        let job = unsafe { Box::from_raw(this.cast::<Self>().cast_mut()) };
        hooks::count(Event::JobExecuted);
        let fatal = Fatal::<A_JOB>::unless_done();
        (job.work)();
        fatal.disarm();
    }
}

/// Jobs that run oldest first, although their deque runs newest first. Each pushed job comes with a
/// *token*: a job that runs the oldest job of the FIFO. So a token never finds the FIFO empty.
pub(crate) struct JobFifo {
    jobs: Injector<JobRef>,
}

assert_size!(JobFifo: size_of::<Injector<JobRef>>());

impl JobFifo {
    pub(crate) fn new() -> Self {
        Self {
            jobs: Injector::new(),
        }
    }

    /// Adds `job`, and returns the token to push on a deque.
    ///
    /// # Safety
    ///
    /// The FIFO stays alive and in place until the token was executed.
    pub(crate) unsafe fn push(&self, job: JobRef) -> JobRef {
        self.jobs.push(job);
        // SAFETY: our caller keeps the FIFO alive; its jobs may run on any thread.
        unsafe { JobRef::new(self) }
    }
}

impl Job for JobFifo {
    unsafe fn execute(this: *const ()) {
        // SAFETY: `push`'s caller keeps the FIFO alive until its tokens were executed. The borrow
        // of the FIFO ends before the stolen job runs, because that job may end the scope that
        // holds the FIFO.
        let job = settle(|| unsafe { &*this.cast::<Self>() }.jobs.steal());
        job.expect("every token stands for one job").execute();
    }
}
