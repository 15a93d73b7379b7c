//! Which CPU each worker of a pool is on, as it said itself last.

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicUsize, Ordering, usable_cpus};

/// A worker that is on no CPU: it is blocked, or has not started.
const NOWHERE: usize = 0;

/// The places of one pool's workers. Relaxed, as all that is recorded: nobody acts on it.
pub(super) struct Occupancy {
    /// What the thread that built the pool may use, and so its workers, unless they choose other
    /// CPUs.
    usable: Box<[usize]>,
    /// By worker: [`NOWHERE`], or a CPU's number and one.
    places: Box<[CachePadded<AtomicUsize>]>,
}

impl Occupancy {
    /// Of a pool that the calling thread builds.
    pub(super) fn new(workers: usize) -> Self {
        Self::among(usable_cpus().into(), workers)
    }

    fn among(usable: Box<[usize]>, workers: usize) -> Self {
        let nowhere = || CachePadded::new(AtomicUsize::new(NOWHERE));
        Self {
            usable,
            places: (0..workers).map(|_| nowhere()).collect(),
        }
    }

    /// `worker` is on `cpu`.
    pub(super) fn enter(&self, worker: usize, cpu: usize) {
        self.places[worker].store(cpu + 1, Ordering::Relaxed);
    }

    /// `worker` blocks.
    pub(super) fn leave(&self, worker: usize) {
        self.places[worker].store(NOWHERE, Ordering::Relaxed);
    }

    /// Whether another worker is where `worker` is, while a CPU that the pool may use has none.
    pub(super) fn is_stacked(&self, worker: usize) -> bool {
        let place = |index: usize| self.places[index].load(Ordering::Relaxed);
        let own = place(worker);
        let has_worker = |cpu: &usize| (0..self.places.len()).any(|index| place(index) == cpu + 1);
        let is_shared = (0..self.places.len()).any(|index| index != worker && place(index) == own);
        own != NOWHERE && is_shared && !self.usable.iter().all(has_worker)
    }
}

#[cfg(all(test, not(fork_loom)))]
mod tests {
    use super::*;

    /// Of three workers and the CPUs 4 and 5, with the first workers on the given ones.
    fn occupancy(cpus: &[usize]) -> Occupancy {
        let occupancy = Occupancy::among([4, 5].into(), 3);
        cpus.iter()
            .enumerate()
            .for_each(|(worker, &cpu)| occupancy.enter(worker, cpu));
        occupancy
    }

    #[test]
    fn a_worker_beside_another_is_stacked_while_a_cpu_has_none() {
        assert!(occupancy(&[4, 4]).is_stacked(1));
    }

    #[test]
    fn a_worker_on_a_cpu_of_its_own_is_not_stacked() {
        assert!(!occupancy(&[4, 5]).is_stacked(1));
        assert!(!occupancy(&[4]).is_stacked(0));
    }

    #[test]
    fn nobody_is_stacked_while_every_cpu_has_a_worker() {
        assert!(!occupancy(&[4, 5, 4]).is_stacked(2));
    }

    #[test]
    fn blocked_workers_are_on_no_cpu_and_not_stacked() {
        let occupancy = occupancy(&[4, 4]);
        occupancy.leave(0);
        assert!(!occupancy.is_stacked(1));
        occupancy.leave(1);
        assert!(!occupancy.is_stacked(1));
    }
}
