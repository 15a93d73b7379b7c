//! Small jobs. Each job records when and how often it ran, so that the check finds lost or doubled
//! jobs.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::kinds::pacing::{chain, chains};
use crate::usage::nanoseconds;

/// One slot per job. Relaxed: a job writes only its own slot, and the end of the scope orders the
/// caller's reads.
#[derive(Default)]
pub(super) struct Moments {
    places: Vec<Moment>,
}

#[derive(Default)]
struct Moment {
    runs: AtomicU32,
    noted_ns: AtomicU64,
}

impl Moments {
    pub(super) fn begin_run(&mut self, jobs: usize) {
        self.places.clear();
        self.places.resize_with(jobs, Moment::default);
    }

    pub(super) fn note(&self, job: usize, start: Instant) {
        let place = &self.places[job];
        place.noted_ns.store(nanoseconds(start.elapsed()), Relaxed);
        place.runs.fetch_add(1, Relaxed);
    }

    pub(super) fn ran_once(&self) -> usize {
        self.places
            .iter()
            .filter(|place| place.runs.load(Relaxed) == 1)
            .count()
    }

    pub(super) fn noted(&self) -> impl Iterator<Item = Duration> {
        self.places
            .iter()
            .map(|place| Duration::from_nanos(place.noted_ns.load(Relaxed)))
    }
}

pub(super) struct Batch {
    jobs: usize,
    steps: u64,
    moments: Moments,
    sum: AtomicU64,
    known_sum: u64,
}

impl Batch {
    pub(super) fn new(jobs: usize, steps: u64) -> Self {
        let mut batch = Self {
            jobs,
            steps,
            moments: Moments::default(),
            sum: AtomicU64::new(0),
            known_sum: chains(0..jobs as u64, steps),
        };
        batch.begin_run();
        batch
    }

    pub(super) fn begin_run(&mut self) {
        self.moments.begin_run(self.jobs);
        *self.sum.get_mut() = 0;
    }

    pub(super) fn jobs(&self) -> usize {
        self.jobs
    }

    pub(super) fn run(&self, job: usize, start: Instant) {
        self.moments.note(job, start);
        // Relaxed: the sum is read after the scope of all jobs.
        self.sum.fetch_add(chain(job as u64, self.steps), Relaxed);
    }

    pub(super) fn first_began(&self) -> Duration {
        self.moments.noted().min().unwrap_or_default()
    }

    pub(super) fn is_right(&mut self) -> bool {
        self.moments.ran_once() == self.jobs && *self.sum.get_mut() == self.known_sum
    }

    pub(super) fn known_sum(&self) -> u64 {
        self.known_sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_that_ran_twice_or_never_did_not_run_once() {
        let mut moments = Moments::default();
        moments.begin_run(4);
        let start = Instant::now();
        for job in [0, 2, 2] {
            moments.note(job, start);
        }
        assert_eq!(moments.ran_once(), 1);
        let noted: Vec<Duration> = moments.noted().collect();
        assert!(noted[2] >= noted[0] && noted[1].is_zero(), "{noted:?}");
        moments.begin_run(4);
        assert_eq!(moments.ran_once(), 0);
    }
}
