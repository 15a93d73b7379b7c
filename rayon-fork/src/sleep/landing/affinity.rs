//! On which CPUs the kernel may let a thread run.

use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// A thread of this process.
#[derive(Clone, Copy)]
pub(crate) struct ThreadId(Pid);

/// CPUs that a thread may use.
pub(crate) struct AllowedCpus(CpuSet);

impl ThreadId {
    /// The calling thread.
    pub(crate) fn current() -> Self {
        Self(gettid())
    }

    /// Forbids this thread, which is blocked, the CPU of the calling one. Returns what it was allowed before; nothing,
    /// and nothing has changed, if that is one CPU or fewer than `least`, or if the kernel refuses.
    pub(crate) fn keep_off_this_cpu(self, least: usize) -> Option<AllowedCpus> {
        let allowed = sched_getaffinity(Some(self.0)).ok()?;
        let this_cpu = sched_getcpu();
        if !allowed.is_set(this_cpu) || (allowed.count() as usize) < least.max(2) {
            return None;
        }
        let mut others = allowed;
        others.unset(this_cpu);
        sched_setaffinity(Some(self.0), &others).ok().map(|()| AllowedCpus(allowed))
    }
}

impl AllowedCpus {
    /// Lets the calling thread use them.
    pub(crate) fn allow(&self) {
        // Refused only if none of them exists any more, and then the kernel has chosen others itself.
        let _ = sched_setaffinity(None, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    fn allowed(thread: Option<Pid>) -> u32 {
        sched_getaffinity(thread).unwrap().count()
    }

    #[test]
    fn a_blocked_thread_is_forbidden_one_cpu_until_it_is_allowed_all_again() {
        let (say, hear) = mpsc::channel();
        let (wake, woken) = mpsc::channel::<Option<AllowedCpus>>();
        let sleeper = thread::spawn(move || {
            say.send(ThreadId::current()).unwrap();
            let before = woken.recv().unwrap();
            before.inspect(AllowedCpus::allow);
            allowed(None)
        });
        let thread = hear.recv().unwrap();
        let all = allowed(Some(thread.0));
        assert!(
            thread.keep_off_this_cpu(all as usize + 1).is_none(),
            "too few for so many workers"
        );
        let before = thread.keep_off_this_cpu(2);
        // With one CPU there is nothing to choose.
        assert_eq!(before.is_some(), all > 1);
        assert_eq!(allowed(Some(thread.0)), all - u32::from(before.is_some()));
        wake.send(before).unwrap();
        assert_eq!(sleeper.join().unwrap(), all);
    }
}
