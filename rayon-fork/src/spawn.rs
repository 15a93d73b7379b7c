//! `spawn` and `spawn_fifo`: jobs that no thread waits for.

use std::sync::Arc;

use crate::job::{HeapJob, JobRef};
use crate::registry::{self, Registry, Worker};

/// Puts a job into the current pool and returns at once.
///
/// On a worker, the newest spawned job runs first. The job may outlive the caller; use
/// [`scope`](crate::scope()) for jobs that borrow. After a pool's handle is dropped, the pool first
/// runs all spawned jobs, and then ends.
///
/// ```
/// use std::sync::mpsc;
///
/// let (sender, receiver) = mpsc::channel();
/// rayon_core::spawn(move || sender.send(6 * 7).unwrap());
/// assert_eq!(receiver.recv(), Ok(42));
/// ```
///
/// A panic of the job goes to the pool's panic handler. Without a handler, the panic aborts the
/// process.
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    // SAFETY: the reference is not used after this function returns.
    spawn_in(func, unsafe { registry::current() });
}

/// Does the same as [`spawn`], but of the jobs that one worker spawned with `spawn_fifo`, the
/// oldest runs first.
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    // SAFETY: the reference is not used after this function returns.
    spawn_fifo_in(func, unsafe { registry::current() });
}

pub(crate) fn spawn_in<F>(func: F, registry: &Arc<Registry>)
where
    F: FnOnce() + Send + 'static,
{
    registry.submit(detached(func, registry));
}

pub(crate) fn spawn_fifo_in<F>(func: F, registry: &Arc<Registry>)
where
    F: FnOnce() + Send + 'static,
{
    let job = detached(func, registry);
    Worker::with_current(|worker| match worker {
        // SAFETY: the job is a reason for the pool to live until it was executed.
        Some(worker) if worker.is_in(registry) => unsafe { worker.push_fifo(job) },
        _ => registry.inject(job),
    });
}

/// Creates a job that keeps its pool alive until it has run and `func` is dropped. A panic of
/// `func`, or of its drop, goes to the panic handler.
pub(crate) fn detached<F>(func: F, registry: &Arc<Registry>) -> JobRef
where
    F: FnOnce() + Send + 'static,
{
    registry.add_reasons_to_live(1);
    let pool = Arc::clone(registry);
    // SAFETY: `func` is 'static, and `run_detached` lets no panic out.
    unsafe {
        HeapJob::new_ref(move || {
            pool.run_detached(func);
            pool.drop_reason_to_live();
        })
    }
}
