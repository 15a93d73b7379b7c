//! The loop of workloads that send many requests to a pool. The loop starts the submitting threads,
//! and decides when each request is due.

use std::collections::BTreeMap;
use std::thread;
use std::time::Instant;

use protocol::Metric;
use rayon::ThreadPool;

use crate::kinds::latency::Latencies;
use crate::kinds::pacing::{Gaps, sleep_until, spin_until};
use crate::workload::{Instance, Mismatch};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// A request is due one gap after the previous request has ended. The submitter spins in the
    /// gap, and is never late.
    Spins,
    /// A request is due one gap after the previous request has ended. The submitter sleeps in the
    /// gap.
    Sleeps,
    /// A request is due one gap after the previous request was due, even if the previous request
    /// has not ended: an open load.
    Open,
}

pub(super) struct Series {
    pub(super) requests: usize,
    pub(super) gaps: Gaps,
    pub(super) pace: Pace,
}

pub(super) trait Request: Send {
    fn is_inside(&self) -> bool {
        false
    }

    fn begin_run(&mut self, requests: usize);

    fn run(&mut self, pool: Option<&ThreadPool>, run: Run<'_>);

    fn check(&mut self, requests: usize) -> Result<String, Mismatch>;

    /// Records the latencies of a run in which no submitter waited for its requests.
    fn note_others(&self, _: &mut Latencies) {}

    fn forget_warmup(&mut self) {}

    fn metrics(&self) -> Vec<(String, Metric)> {
        Vec::new()
    }
}

pub(super) struct Run<'a> {
    series: &'a Series,
    latencies: &'a mut Latencies,
    lateness: &'a mut Latencies,
}

impl Run<'_> {
    /// Calls `request` when each request is due, with its number and the moment when it was due.
    pub(super) fn each(self, mut request: impl FnMut(usize, Instant, &mut Latencies)) {
        let Series {
            requests,
            gaps,
            pace,
        } = self.series;
        let mut due = Instant::now();
        for (number, gap) in (0..*requests).zip(gaps.iter()) {
            if *pace == Pace::Spins {
                if !gap.is_zero() {
                    spin_until(Instant::now() + gap);
                }
                due = Instant::now();
            } else {
                due = if *pace == Pace::Open {
                    due
                } else {
                    Instant::now()
                } + gap;
                sleep_until(due);
                self.lateness.note(due.elapsed());
            }
            request(number, due, self.latencies);
        }
    }

    /// Does the same as [`Self::each`], for requests for which the submitter waits, and records
    /// their latencies.
    pub(super) fn wait_for_each(self, mut request: impl FnMut(usize, Instant)) {
        self.each(|number, due, latencies| {
            request(number, due);
            latencies.note(due.elapsed());
        });
    }
}

struct Submitter<R> {
    request: R,
    /// Times from the moment when a request was due until it ended.
    latencies: Latencies,
    /// Times from the moment when a request was due until it was submitted.
    lateness: Latencies,
}

impl<R: Request> Submitter<R> {
    fn run(&mut self, pool: Option<&ThreadPool>, series: &Series) {
        let Self {
            request,
            latencies,
            lateness,
        } = self;
        let run = Run {
            series,
            latencies,
            lateness,
        };
        request.run(pool, run);
    }
}

pub(super) struct Requests<R> {
    series: Series,
    submitters: Vec<Submitter<R>>,
    has_threads: bool,
}

impl<R: Request> Requests<R> {
    pub(super) fn new(series: Series, request: R) -> Self {
        Self {
            has_threads: false,
            ..Self::by_threads(series, [request])
        }
    }

    pub(super) fn by_threads(series: Series, requests: impl IntoIterator<Item = R>) -> Self {
        let submitter = |request| Submitter {
            request,
            latencies: Latencies::new("latency"),
            lateness: Latencies::new("lateness"),
        };
        Self {
            series,
            submitters: requests.into_iter().map(submitter).collect(),
            has_threads: true,
        }
    }

    fn all(&self) -> u64 {
        (self.submitters.len() * self.series.requests) as u64
    }
}

impl<R: Request> Instance for Requests<R> {
    fn reset(&mut self) {
        let requests = self.series.requests;
        for submitter in &mut self.submitters {
            submitter.latencies.begin_run(requests);
            submitter.lateness.begin_run(requests);
            submitter.request.begin_run(requests);
        }
    }

    fn forget_warmup(&mut self) {
        for submitter in &mut self.submitters {
            submitter.latencies.forget();
            submitter.lateness.forget();
            submitter.request.forget_warmup();
        }
    }

    fn run_sequential(&mut self) -> u64 {
        for submitter in &mut self.submitters {
            submitter.run(None, &self.series);
        }
        self.all()
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        let Self {
            series,
            submitters,
            has_threads,
        } = self;
        let series = &*series;
        if *has_threads {
            // The measured time includes starting the threads, some 20 µs for each thread.
            thread::scope(|scope| {
                for submitter in submitters {
                    scope.spawn(move || submitter.run(Some(pool), series));
                }
            });
        } else {
            let is_inside = submitters[0].request.is_inside();
            let mut run = || submitters[0].run(Some(pool), series);
            if is_inside {
                pool.install(run);
            } else {
                run();
            }
        }
        self.all()
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let requests = self.series.requests;
        let answers = self.submitters.iter_mut().map(|submitter| {
            submitter.request.note_others(&mut submitter.latencies);
            submitter.latencies.end_run();
            submitter.lateness.end_run();
            match submitter.request.check(requests) {
                Ok(answer) => (answer.clone(), answer),
                Err(wrong) => (wrong.expected, wrong.actual),
            }
        });
        let (known, actual): (Vec<_>, Vec<_>) = answers.unzip();
        Mismatch::unless_equal(&known.join(" "), &actual.join(" "))
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        let [mut latencies, mut lateness] = ["latency", "lateness"].map(Latencies::new);
        for submitter in &self.submitters {
            latencies.absorb(&submitter.latencies);
            lateness.absorb(&submitter.lateness);
        }
        let others = self.submitters.iter().flat_map(|it| it.request.metrics());
        [latencies.metrics(), lateness.metrics()]
            .into_iter()
            .flatten()
            .chain(others)
            .collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::*;

    impl<R> Requests<R> {
        pub(in super::super) fn request(&mut self) -> &mut R {
            &mut self.submitters[0].request
        }
    }

    pub(in super::super) fn without_gaps<R: Request>(requests: usize, request: R) -> Requests<R> {
        let series = Series {
            requests,
            gaps: Gaps::every(Duration::ZERO),
            pace: Pace::Spins,
        };
        Requests::new(series, request)
    }

    /// Runs three requests, and asserts that the check rejects the answer after each of `damages`.
    pub(in super::super) fn rejects<R: Request>(request: R, damages: &[&dyn Fn(&mut R)]) {
        let mut requests = without_gaps(3, request);
        requests.reset();
        assert!(requests.check().is_err(), "nothing ran");
        for damage in damages {
            requests.reset();
            assert_eq!(requests.run_sequential(), 3);
            assert!(requests.check().is_ok());
            damage(requests.request());
            assert!(requests.check().is_err());
        }
    }

    #[derive(Default)]
    struct Slow {
        seen: Vec<usize>,
        due: Vec<Instant>,
    }

    impl Request for Slow {
        fn begin_run(&mut self, _: usize) {
            *self = Self::default();
        }

        fn run(&mut self, _: Option<&ThreadPool>, run: Run<'_>) {
            run.wait_for_each(|number, due| {
                assert!(Instant::now() >= due);
                if number == 0 {
                    thread::sleep(Duration::from_millis(20));
                }
                self.seen.push(number);
                self.due.push(due);
            });
        }

        fn check(&mut self, _: usize) -> Result<String, Mismatch> {
            Mismatch::unless_equal(&"[0, 1, 2]".to_owned(), &format!("{:?}", self.seen))
        }
    }

    fn metric_of_slow(pace: Pace, gap: Duration, metric: &str) -> f64 {
        let gaps = Gaps::every(gap);
        let series = Series {
            requests: 3,
            gaps,
            pace,
        };
        let mut requests = Requests::new(series, Slow::default());
        requests.reset();
        requests.run_sequential();
        requests.check().unwrap();
        let due = &requests.request().due;
        assert!(due.windows(2).all(|two| two[1] - two[0] >= gap));
        let metric = requests.metrics().remove(metric);
        metric.map_or(0.0, |metric| metric.value)
    }

    #[test]
    fn a_slow_request_makes_others_late_only_if_the_load_is_open() {
        let gap = Duration::from_micros(10);
        for (pace, slow, late) in [
            (Pace::Spins, 1.0, 0.0),
            (Pace::Sleeps, 1.0, 0.0),
            (Pace::Open, 3.0, 2.0),
        ] {
            for (metric, count) in [("latency_over_10ms", slow), ("lateness_over_10ms", late)] {
                let counted = metric_of_slow(pace, gap, metric);
                assert!((counted - count).abs() < f64::EPSILON, "{metric} {counted}");
            }
        }
    }
}
