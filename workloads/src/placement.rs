//! Builds the pool of a request, and pins its workers if the request says so.

use std::sync::mpsc;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use protocol::{Placement, Refusal};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::machine::IS_SIMULATED;

/// The kernel's identifier of the calling thread.
pub const MYSELF: Pid = Pid::from_raw(0);

/// Builds a pool of `threads` workers. Pinned workers are on their CPUs when this function returns.
pub(crate) fn build(threads: usize, placement: Placement) -> Result<ThreadPool, Refusal> {
    let builder = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|index| format!("worker-{index}"));
    let refuse = |error| {
        Refusal::new(format!(
            "threads = {threads}: the pool cannot be built: {error}; ask for fewer"
        ))
    };
    match placement {
        Placement::Free => builder.build().map_err(refuse),
        Placement::Pinned if IS_SIMULATED => Err(Refusal::new(
            "placement = pinned: simulated machines pin no worker; leave `placement` out"
                .to_owned(),
        )),
        Placement::Pinned => {
            let cpus = usable_cpus()?;
            let (sender, pinned) = mpsc::channel();
            let pin = move |worker: usize| {
                let _ = sender.send(pin_to(cpus[worker % cpus.len()]));
            };
            let pool = builder.start_handler(pin).build().map_err(refuse)?;
            pinned
                .iter()
                .take(threads)
                .collect::<Result<(), Refusal>>()?;
            Ok(pool)
        }
    }
}

/// Numbers of the CPUs that the calling thread may use, ascending.
///
/// # Errors
/// If the kernel does not report the CPUs.
pub fn usable_cpus() -> Result<Vec<usize>, Refusal> {
    let set = sched_getaffinity(MYSELF)
        .map_err(|error| Refusal::new(format!("the CPUs of this process: {error}")))?;
    Ok((0..CpuSet::count())
        .filter(|&cpu| set.is_set(cpu) == Ok(true))
        .collect())
}

fn pin_to(cpu: usize) -> Result<(), Refusal> {
    let mut only = CpuSet::new();
    only.set(cpu).and_then(|()| sched_setaffinity(MYSELF, &only)).map_err(|error| {
        Refusal::new(format!(
            "placement = pinned: a worker cannot stay on CPU {cpu}: {error}; ask for placement = free"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus_of_workers(threads: usize, placement: Placement) -> Vec<Vec<usize>> {
        let pool = build(threads, placement).unwrap();
        pool.broadcast(|_| usable_cpus().unwrap())
    }

    #[test]
    fn pinned_worker_i_may_use_the_ith_cpu_alone_and_more_workers_than_cpus_begin_again() {
        let cpus = usable_cpus().unwrap();
        let threads = cpus.len() + 1;
        let expected: Vec<Vec<usize>> = cpus
            .iter()
            .cycle()
            .take(threads)
            .map(|&cpu| vec![cpu])
            .collect();
        assert_eq!(cpus_of_workers(threads, Placement::Pinned), expected);
        assert_eq!(
            usable_cpus().unwrap(),
            cpus,
            "the thread that builds the pool is not pinned"
        );
    }

    #[test]
    fn free_workers_may_use_what_their_process_may() {
        assert_eq!(
            cpus_of_workers(2, Placement::Free),
            vec![usable_cpus().unwrap(); 2]
        );
    }
}
