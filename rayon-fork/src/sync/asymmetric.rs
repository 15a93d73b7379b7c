//! Asymmetric fences: a pair of fences, of which the *light* side is free and the *heavy* side is
//! expensive, as in the C++ proposal P1202.
//!
//! Suppose one thread calls [`light_fence`], the light side, and another calls [`try_heavy_fence`],
//! the heavy side. One of the two calls comes first. All stores that the thread of the first call
//! made before it are visible to the other thread after the second call, as between two `SeqCst`
//! fences. Two light sides do not order each other.
//!
//! On Linux, with the feature `demand`, the light side only keeps the compiler from moving accesses
//! over it. The heavy side calls `membarrier(2)`, which makes every CPU that runs a thread of this
//! process execute a full fence. A thread that does not run has executed a full fence when it lost
//! its CPU. If this forced fence is before the light side, the loads after the light side see the
//! earlier stores of the caller of `try_heavy_fence`. If the forced fence is after the light side,
//! the stores before the light side are visible when `try_heavy_fence` returns.
//!
//! On other systems, under Miri, and without the feature, both sides are full fences.

#[cfg(not(all(feature = "demand", target_os = "linux", not(miri))))]
mod fences {
    use std::io;
    use std::sync::atomic::{Ordering, fence};

    // The version for Linux may fail, so this version returns a `Result` too.
    #[allow(clippy::unnecessary_wraps)]
    pub(crate) fn prepare_heavy_fences() -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn registers_at_once() -> bool {
        true
    }

    #[inline]
    pub(crate) fn light_fence() {
        // ORDERING: SeqCst fence, pairs with that in `try_heavy_fence`.
        fence(Ordering::SeqCst);
    }

    pub(crate) fn try_heavy_fence() -> bool {
        // ORDERING: SeqCst fence, pairs with that in `light_fence`, and with any other SeqCst
        // fence.
        fence(Ordering::SeqCst);
        true
    }
}

#[cfg(all(feature = "demand", target_os = "linux", not(miri)))]
mod fences {
    use rustix::thread::{MembarrierCommand, membarrier};
    use std::io;
    use std::os::unix::fs::MetadataExt;
    use std::sync::atomic::{Ordering, compiler_fence, fence};

    /// Registers this process with the kernel for [`try_heavy_fence`].
    ///
    /// # Errors
    ///
    /// Returns an error if the kernel has no `membarrier`, or the process may not call it.
    pub(crate) fn prepare_heavy_fences() -> io::Result<()> {
        Ok(membarrier(MembarrierCommand::RegisterPrivateExpedited)?)
    }

    /// Returns whether [`prepare_heavy_fences`] returns within microseconds. In a process with
    /// several threads that call takes milliseconds: the kernel waits until every CPU has passed
    /// through the kernel.
    pub(crate) fn registers_at_once() -> bool {
        // The folder has one subfolder for each thread; its number of links is the number of
        // subfolders plus two.
        std::fs::metadata("/proc/self/task").is_ok_and(|threads| threads.nlink() == 3)
    }

    /// The side of a pair that threads execute often. Compiles to no instruction.
    #[inline]
    pub(crate) fn light_fence() {
        // ORDERING: SeqCst for the compiler alone; `try_heavy_fence` makes the processor fence.
        compiler_fence(Ordering::SeqCst);
    }

    /// The side of a pair that threads execute seldom: interrupts every other CPU on which a thread
    /// of this process runs. Returns `false` if the kernel refuses, as it does without
    /// [`prepare_heavy_fences`]. If the kernel refuses, only the calling thread has fenced.
    pub(crate) fn try_heavy_fence() -> bool {
        // ORDERING: SeqCst fence, pairs with every other SeqCst fence.
        fence(Ordering::SeqCst);
        membarrier(MembarrierCommand::PrivateExpedited).is_ok()
    }
}

#[cfg(all(test, feature = "demand", target_os = "linux", not(miri)))]
mod tests {
    #[test]
    fn a_process_with_other_threads_does_not_register_at_once() {
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || ends.recv().is_err());
        assert!(
            !super::registers_at_once(),
            "the caller would wait for the kernel"
        );
        drop(end);
        assert!(other.join().unwrap());
    }
}

pub(crate) use fences::{light_fence, prepare_heavy_fences, registers_at_once, try_heavy_fence};

/// Waits until every store that any thread has executed is visible to all threads. Waits on a
/// condition variable, not by a sleep: a sandbox may forbid the system call of a sleep, but not
/// futexes.
#[allow(dead_code)]
pub(crate) fn wait_for_grace_period() {
    let (lock, never) = (std::sync::Mutex::new(()), std::sync::Condvar::new());
    let guard = lock.lock().expect("no other thread has the lock");
    let _ = never.wait_timeout_while(guard, GRACE_PERIOD, |()| true);
}

/// About ten thousand times as long as a store stays in a store buffer. A guess that is longer than
/// necessary.
const GRACE_PERIOD: std::time::Duration = std::time::Duration::from_millis(10);
