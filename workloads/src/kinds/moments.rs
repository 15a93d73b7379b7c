//! When each of some jobs ran, noted by the jobs themselves.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::usage::nanoseconds;

/// One place per job. Everything is Relaxed: a job notes only its own place, and the places are
/// read after the scope of all jobs has ended, which orders both.
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
    /// Makes room for `jobs` jobs, none of which has run.
    pub(super) fn begin_run(&mut self, jobs: usize) {
        self.places.clear();
        self.places.resize_with(jobs, Moment::default);
    }

    /// Job `job` is here now, so long after `start`.
    pub(super) fn note(&self, job: usize, start: Instant) {
        let place = &self.places[job];
        place.noted_ns.store(nanoseconds(start.elapsed()), Relaxed);
        place.runs.fetch_add(1, Relaxed);
    }

    /// How many jobs ran exactly once.
    pub(super) fn ran_once(&self) -> usize {
        self.places
            .iter()
            .filter(|place| place.runs.load(Relaxed) == 1)
            .count()
    }

    /// When each job was noted, as time since the start that it was noted against.
    pub(super) fn noted(&self) -> impl Iterator<Item = Duration> {
        self.places
            .iter()
            .map(|place| Duration::from_nanos(place.noted_ns.load(Relaxed)))
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
