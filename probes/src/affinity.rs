//! The CPUs that a thread may use, and pinning a thread to one of them.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The CPUs that the calling thread, and so a process that it starts, may run on.
#[must_use]
pub fn allowed_cpus() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else {
        return Vec::new();
    };
    (0..CpuSet::MAX_CPU)
        .filter(|cpu| set.is_set(*cpu))
        .collect()
}

/// Pins the calling thread to `cpu` for the rest of its life. Returns `false` if this process may
/// not use that CPU.
#[must_use]
pub fn pin_to(cpu: usize) -> bool {
    let mut only = CpuSet::new();
    if cpu < CpuSet::MAX_CPU {
        only.set(cpu);
    }
    sched_setaffinity(None, &only).is_ok()
}
