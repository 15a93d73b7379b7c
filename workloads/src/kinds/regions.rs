//! `regions`: one small fork-join region after the other, with serial work before each.
//!
//! The figure of merit is the overhead of a region: the region's latency, less the time of its jobs
//! on workers that need no notification.
//!
//! A region is a parallel loop, a tree of joins, a scope, a tree of scopes, or a broadcast with a
//! share for each worker. With the shape `yields`, the worker that spawns runs a job of its own
//! after each spawn, as a producer does that bounds its queue. With the shape `meeting`, as many
//! jobs of a scope as the pool has workers wait for each other.
//!
//! The shape `barrier` is a control, whose regions do not use the scheduler. In one long broadcast,
//! the workers spin on the number of the current region, and count themselves as done.

use std::hint::{black_box, spin_loop};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use std::thread;
use std::time::{Duration, Instant};

use protocol::{Metric, Refusal};
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::kinds::latency::Latencies;
use crate::kinds::pacing::{Gaps, chain, cores, meet};
use crate::kinds::series::{Pace, Request, Requests, Run, Series};
use crate::workload::{Instance, Mismatch, Setup};

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let values = setup.values;
    let shape = match values.word("shape") {
        "joins" => Shape::Joins,
        "scope" => Shape::Scope,
        "nested-scopes" => Shape::NestedScopes,
        "yields" => Shape::Yields,
        "meeting" => Shape::Meeting,
        "broadcast" => Shape::Broadcast,
        "barrier" => Shape::Barrier,
        _ => Shape::Loop,
    };
    let jobs = match values.count("jobs") {
        0 => setup.threads,
        jobs => jobs,
    };
    let sleep = Duration::from_micros(values.whole("sleep-us"));
    let steps = values.whole("job-steps");
    let stream = Stream {
        region: Region::new(shape, setup.threads, jobs, steps, sleep),
        is_inside: values.word("from") == "inside",
        times: Times {
            gap_steps: values.whole("gap-steps"),
            ideal: Duration::ZERO,
            right: 0,
            over_ideal: Latencies::new("over_ideal"),
        },
    };
    let series = Series {
        requests: values.count("regions"),
        gaps: Gaps::every(Duration::ZERO),
        pace: Pace::Spins,
    };
    Ok(Box::new(Requests::new(series, stream)))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Loop,
    Joins,
    Scope,
    NestedScopes,
    Yields,
    Meeting,
    Broadcast,
    Barrier,
}

struct Job {
    sleep: Duration,
    steps: u64,
    known: u64,
    /// The job's result in the last region. Relaxed: the end of a region orders the store before
    /// the read.
    found: AtomicU64,
}

impl Job {
    /// Creates a job that works, or sleeps if `sleep` is not 0.
    fn new(seed: usize, steps: u64, sleep: Duration) -> Self {
        let steps = if sleep.is_zero() { steps } else { 0 };
        Self {
            sleep,
            steps,
            known: chain(seed as u64, steps),
            found: AtomicU64::new(0),
        }
    }

    fn run(&self, seed: usize, number: u64) {
        if !self.sleep.is_zero() {
            thread::sleep(self.sleep);
        }
        self.found
            .store(chain(seed as u64, self.steps) ^ number, Relaxed);
    }
}

struct Region {
    shape: Shape,
    threads: usize,
    jobs: Vec<Job>,
}

impl Region {
    /// Creates a region in which every second job sleeps, unless `sleep` is 0.
    fn new(shape: Shape, threads: usize, jobs: usize, steps: u64, sleep: Duration) -> Self {
        let sleep_of = |job| if job % 2 == 0 { sleep } else { Duration::ZERO };
        let job = |job| Job::new(job, steps, sleep_of(job));
        Self {
            shape,
            threads,
            jobs: (0..jobs).map(job).collect(),
        }
    }

    /// How long a region would take if notifying workers and waiting for them took no time. Each
    /// core then runs one job in each round of jobs.
    fn ideal(&self) -> Duration {
        let alone = (0..3).map(|_| {
            let begun = Instant::now();
            self.run_share(0, 1, 0);
            begun.elapsed()
        });
        let (jobs, steps) = (self.jobs.len(), self.jobs[0].steps);
        let rounds = jobs.div_ceil(self.threads.min(cores())) as u64;
        // Empty jobs take no time. Nor do jobs of which some sleep: the first job then has no steps.
        let part = (rounds * steps) as f64 / (jobs as u64 * steps).max(1) as f64;
        alone.min().unwrap_or_default().mul_f64(part)
    }

    fn run(&self, number: u64, pool: Option<&ThreadPool>) {
        let share = |worker: usize| self.run_share(worker, self.threads, number);
        match (self.shape, pool) {
            (Shape::Broadcast, None) => drop(rayon::broadcast(|worker| share(worker.index()))),
            (Shape::Broadcast, Some(pool)) => drop(pool.broadcast(|worker| share(worker.index()))),
            (_, Some(pool)) => pool.install(|| self.run(number, None)),
            (Shape::Meeting, None) => self.run_until_workers_meet(number),
            (Shape::Joins, None) => self.run_by_joins(0..self.jobs.len(), number),
            (Shape::NestedScopes, None) => self.run_by_scopes(0..self.jobs.len(), number),
            (Shape::Scope | Shape::Yields, None) => rayon::scope(|scope| {
                for (seed, job) in self.jobs.iter().enumerate() {
                    scope.spawn(move |_| job.run(seed, number));
                    if self.shape == Shape::Yields {
                        rayon::yield_local();
                    }
                }
            }),
            (Shape::Loop | Shape::Barrier, None) => {
                let jobs = self.jobs.par_iter().enumerate().with_max_len(1);
                jobs.for_each(|(seed, job)| job.run(seed, number));
            }
        }
    }

    fn run_by_joins(&self, jobs: Range<usize>, number: u64) {
        if jobs.len() == 1 {
            return self.jobs[jobs.start].run(jobs.start, number);
        }
        let middle = jobs.start + jobs.len() / 2;
        rayon::join(
            || self.run_by_joins(jobs.start..middle, number),
            || self.run_by_joins(middle..jobs.end, number),
        );
    }

    /// Opens a scope for each node of a tree with fan-out three, whose leaves are the jobs.
    fn run_by_scopes(&self, jobs: Range<usize>, number: u64) {
        let begin = |part: usize| jobs.start + jobs.len() * part / 3;
        rayon::scope(|scope| match jobs.len() {
            0 => {}
            1 => self.jobs[jobs.start].run(jobs.start, number),
            _ => (0..3).for_each(|part| {
                let part = begin(part)..begin(part + 1);
                scope.spawn(move |_| self.run_by_scopes(part, number));
            }),
        });
    }

    /// Opens a scope in which as many jobs as the pool has workers wait for each other, or all jobs
    /// if they are fewer.
    fn run_until_workers_meet(&self, number: u64) {
        let all = self.jobs.len().min(self.threads) as u64;
        let arrivals = &AtomicU64::new(0);
        rayon::scope(|scope| {
            for (seed, job) in self.jobs.iter().enumerate() {
                scope.spawn(move |_| {
                    job.run(seed, number);
                    meet(arrivals, all);
                });
            }
        });
    }

    fn run_share(&self, worker: usize, workers: usize, number: u64) {
        let begin = |worker: usize| self.jobs.len() * worker / workers;
        for seed in begin(worker)..begin(worker + 1) {
            self.jobs[seed].run(seed, number);
        }
    }

    fn is_right(&self, number: u64) -> bool {
        self.jobs
            .iter()
            .all(|job| job.found.load(Relaxed) == job.known ^ number)
    }
}

/// A value on its own cache lines.
#[repr(align(128))]
struct Line<T>(T);

struct Barrier {
    /// The number of the current region or, between regions, of the previous region.
    number: Line<AtomicU64>,
    /// How many workers other than the leader have finished the region.
    done: Line<AtomicUsize>,
}

impl Barrier {
    /// The number that means that there are no more regions.
    const OVER: u64 = u64::MAX;

    fn new() -> Self {
        Self {
            number: Line(AtomicU64::new(0)),
            done: Line(AtomicUsize::new(0)),
        }
    }

    /// Lets the other workers run region `number`, runs the leader's own share, and waits for all
    /// workers.
    fn lead(&self, region: &Region, number: u64) {
        // Relaxed: a thread that sees the new number sees this store, too.
        self.done.0.store(0, Relaxed);
        // ORDERING: Release, pairs with the load in `follow`: the leader has read the previous
        // region's results before this region's jobs run.
        self.number.0.store(number, Release);
        region.run_share(0, region.threads, number);
        // ORDERING: Acquire, pairs with the count in `follow`: the leader reads the jobs' results
        // next.
        while self.done.0.load(Acquire) + 1 < region.threads {
            spin_loop();
        }
    }

    fn follow(&self, region: &Region, worker: usize) {
        let mut last = 0;
        loop {
            // ORDERING: Acquire, pairs with the Release in `lead`. The count below has a Release,
            // which pairs with the Acquire in `lead`.
            let number = self.number.0.load(Acquire);
            if number == Self::OVER {
                return;
            }
            if number == last {
                spin_loop();
                continue;
            }
            region.run_share(worker, region.threads, number);
            self.done.0.fetch_add(1, Release);
            last = number;
        }
    }
}

struct Stream {
    region: Region,
    is_inside: bool,
    times: Times,
}

struct Times {
    gap_steps: u64,
    ideal: Duration,
    right: usize,
    over_ideal: Latencies,
}

impl Times {
    fn of_each(&mut self, region: &Region, run: Run<'_>, enter: impl Fn(u64)) {
        run.each(|number, _, latencies| {
            let number = number as u64 + 1;
            black_box(chain(number, self.gap_steps));
            let begun = Instant::now();
            enter(number);
            let took = begun.elapsed();
            latencies.note(took);
            self.over_ideal.note(took.saturating_sub(self.ideal));
            self.right += usize::from(region.is_right(number));
        });
    }
}

impl Request for Stream {
    fn is_inside(&self) -> bool {
        self.is_inside && self.region.shape != Shape::Barrier
    }

    fn begin_run(&mut self, regions: usize) {
        self.times.right = 0;
        self.times.over_ideal.begin_run(regions);
        self.times.ideal = self.region.ideal();
    }

    fn run(&mut self, pool: Option<&ThreadPool>, run: Run<'_>) {
        let is_inside = self.is_inside();
        let Self { region, times, .. } = self;
        let region = &*region;
        match pool {
            None => times.of_each(region, run, |number| region.run_share(0, 1, number)),
            Some(pool) if region.shape == Shape::Barrier => {
                let (barrier, leader) = (Barrier::new(), Mutex::new(Some((times, run))));
                pool.broadcast(|worker| {
                    if worker.index() > 0 {
                        return barrier.follow(region, worker.index());
                    }
                    let leader = leader
                        .lock()
                        .expect("no other thread takes this lock")
                        .take();
                    let (times, run) = leader.expect("there is one leader");
                    times.of_each(region, run, |number| barrier.lead(region, number));
                    // ORDERING: Release, pairs with the Acquire in `follow`, although the workers
                    // only end and read nothing more.
                    barrier.number.0.store(Barrier::OVER, Release);
                });
            }
            Some(pool) => {
                let pool = (!is_inside).then_some(pool);
                times.of_each(region, run, |number| region.run(number, pool));
            }
        }
    }

    fn check(&mut self, regions: usize) -> Result<String, Mismatch> {
        self.times.over_ideal.end_run();
        let describe = |right: usize| format!("{right} of {regions} regions ran every job once");
        Mismatch::unless_equal(&describe(regions), &describe(self.times.right))
    }

    fn forget_warmup(&mut self) {
        self.times.over_ideal.forget();
    }

    fn metrics(&self) -> Vec<(String, Metric)> {
        self.times.over_ideal.metrics()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(jobs: usize) -> Region {
        Region::new(Shape::Loop, 2, jobs, 100, Duration::ZERO)
    }

    #[test]
    fn a_region_that_left_a_job_out_or_ran_that_of_another_region_is_wrong() {
        let region = region(3);
        region.run_share(0, 1, 7);
        assert!(region.is_right(7) && !region.is_right(8));
        region.jobs[1].found.store(0, Relaxed);
        assert!(!region.is_right(7));
    }

    #[test]
    fn every_second_job_sleeps_and_no_other_job() {
        let region = Region::new(Shape::Scope, 2, 4, 100, Duration::from_micros(7));
        let works = |job: &Job| (job.sleep.as_micros(), job.steps);
        let jobs: Vec<_> = region.jobs.iter().map(works).collect();
        assert_eq!(jobs, [(7, 0), (0, 100), (7, 0), (0, 100)]);
        assert!(region.ideal().is_zero());
    }

    #[test]
    fn the_shares_of_all_workers_are_a_region() {
        for (workers, jobs) in [(1, 5), (2, 5), (3, 7), (8, 5)] {
            let region = region(jobs);
            (0..workers).for_each(|worker| region.run_share(worker, workers, 1));
            assert!(region.is_right(1), "{jobs} jobs on {workers} workers");
        }
    }
}
