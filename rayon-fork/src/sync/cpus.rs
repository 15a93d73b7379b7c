//! Which CPUs threads run on, where the system tells: for what is recorded, never for a decision.

/// Whether the system tells.
pub(crate) const ARE_CPUS_KNOWN: bool = cfg!(all(target_os = "linux", not(miri)));

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu};

    /// The CPU that the calling thread is on; it may be on another one when this returns.
    // Elsewhere nobody knows.
    #[allow(clippy::unnecessary_wraps)]
    pub(crate) fn current_cpu() -> Option<usize> {
        Some(sched_getcpu())
    }

    /// The CPUs that the calling thread may use, ascending; none if it may not know.
    pub(crate) fn usable_cpus() -> Vec<usize> {
        let Ok(set) = sched_getaffinity(None) else {
            return Vec::new();
        };
        (0..CpuSet::MAX_CPU)
            .filter(|&cpu| set.is_set(cpu))
            .collect()
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod system {
    /// Nobody knows.
    pub(crate) fn current_cpu() -> Option<usize> {
        None
    }

    /// Nobody knows.
    pub(crate) fn usable_cpus() -> Vec<usize> {
        Vec::new()
    }
}

pub(crate) use system::{current_cpu, usable_cpus};
