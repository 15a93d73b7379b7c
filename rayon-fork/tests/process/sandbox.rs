//! Pools continue in a process that forbids `membarrier` after its first pool was built, and in a
//! child of `fork`.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use rayon_core::{ThreadPool, ThreadPoolBuilder, rayon_fork_variant};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter_all_threads};

use crate::child::alone;
use crate::common::TIME_LIMIT;

pub(crate) fn pool_of_two() -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(2).build().unwrap()
}

fn say_fences(pool: &ThreadPool) -> bool {
    format!("{pool:?}").contains("fences: membarrier")
}

/// Waits until a worker has registered the process. A worker registers when it becomes idle in a
/// pool that is at least a second old.
pub(crate) fn settle(pool: &ThreadPool) {
    while rayon_fork_variant().contains("demand") && !say_fences(pool) {
        // `install` would not do, because the caller may be a worker of the pool.
        pool.spawn(|| ());
        sleep(Duration::from_millis(1));
    }
}

/// Repeatedly runs a job that spins until another worker has run its spawned job. Before each round
/// the caller pauses, so that workers may fall asleep.
pub(crate) fn meet(pool: &ThreadPool) {
    for round in 0..100 {
        sleep(Duration::from_micros(round * 7));
        let is_there = AtomicBool::new(false);
        pool.scope(|scope| {
            scope.spawn(|_| is_there.store(true, Ordering::Release));
            // This job is long, so another worker must take the spawned job.
            while !is_there.load(Ordering::Acquire) {
                spin_loop();
            }
            sleep(Duration::from_micros(round * 13));
        });
    }
}

/// From now on, the kernel applies `action` to each thread of this process that makes one of the
/// system calls `calls`.
pub(crate) fn watch_for(calls: &[libc::c_long], action: SeccompAction) {
    let rules = calls.iter().map(|&call| (call, Vec::new())).collect();
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch).unwrap();
    apply_filter_all_threads(&BpfProgram::try_from(filter).unwrap()).unwrap();
}

#[test]
fn a_sandbox_after_the_first_pool_loses_no_job() {
    alone(&[], || {
        let pool = pool_of_two();
        settle(&pool);
        meet(&pool);
        let refusal = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        watch_for(&[libc::SYS_membarrier], refusal);
        meet(&pool);
        meet(&pool_of_two());
        // Repeat until a worker has called `membarrier` and was refused.
        while say_fences(&pool) {
            meet(&pool);
        }
    });
}

#[test]
fn a_fork_may_build_pools_of_its_own() {
    alone(&[], || {
        meet(&pool_of_two());
        fork_and_wait(|| meet(&pool_of_two()));
    });
}

/// Runs `action`, which uses its own pools, in a copy of this process.
pub(crate) fn fork_and_wait(action: impl FnOnce()) {
    // SAFETY: the copy builds pools, uses them and exits. The copy needs no lock that another
    // thread may hold, except the allocator's, and the C library resets the allocator's lock.
    let copy = unsafe { libc::fork() };
    if copy == 0 {
        let is_done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(action)).is_ok();
        // SAFETY: always safe; the copy must run no exit code of the original.
        unsafe { libc::_exit(i32::from(!is_done)) };
    }
    let start = std::time::Instant::now();
    let mut status = -1;
    // SAFETY: `status` is a valid place.
    while unsafe { libc::waitpid(copy, &raw mut status, libc::WNOHANG) } == 0 {
        if start.elapsed() > TIME_LIMIT {
            // SAFETY: always safe; the copy is this process's child.
            unsafe { libc::kill(copy, libc::SIGKILL) };
            panic!("the copy hangs");
        }
        sleep(Duration::from_millis(1));
    }
    assert_eq!(status, 0, "the copy has failed");
}
