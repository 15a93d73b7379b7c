//! Runs one trial: prepares the workload, warms up, times iterations, and checks every answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use protocol::{Failure, Iteration, Metric, Outcome, Program, Refusal, Request, SCHEMA, Size};
use rayon::ThreadPool;

use crate::catalogue::{self, Catalogue};
use crate::machine::{Instant, Ledger};
use crate::observer::{Observer, Observing};
use crate::placement;
use crate::usage::{UsageSample, nanoseconds};
use crate::watchdog::Watchdog;
use crate::workload::{Instance, Mismatch, Setup, Workload};

/// The most iterations of one process, warm-ups included: the results of each iteration stay in
/// memory and in the record. A guess.
const MAX_ITERATIONS: u64 = 100_000;

/// Calls [`trial`] with the workload of `catalogue` that `request` names.
///
/// # Errors
/// If there is no such workload, and in the same cases as [`trial`].
///
/// # Panics
/// If the workload panics.
pub fn run(variant: &str, catalogue: &Catalogue, request: &Request) -> Result<Outcome, Failure> {
    let workload = catalogue::find(catalogue, &request.workload)?;
    trial(variant, workload, request, None)
}

/// Serves `request`. `variant` is the name that the linked rayon-core reports; an instrumented
/// build has an `observer`.
///
/// # Errors
/// If the request has a fault, or an answer is wrong.
///
/// # Panics
/// If the workload panics.
pub fn trial(
    variant: &str,
    workload: &dyn Workload,
    request: &Request,
    observer: Option<&dyn Observer>,
) -> Result<Outcome, Failure> {
    let description = workload.description();
    check_counts(request)?;
    if let (Some(input), None) = (&request.input, &description.input) {
        return Err(Failure::from(Refusal::new(format!(
            "workload `{}` reads no input file; remove input = {}",
            description.name,
            input.display()
        ))));
    }
    let values = description.resolve(
        Size::find(&request.size)?,
        &request.parameters,
        request.input.is_some(),
    )?;
    let mut instance = workload.prepare(&Setup {
        seed: request.seed,
        values: &values,
        input: request.input.as_deref(),
        threads: request.threads,
    })?;
    let engine = Engine::new(request)?;
    // Simulated machines have no watchdog, because they find deadlocks themselves.
    let watchdog = request
        .hang_after_ms
        .filter(|_| request.machine.is_none())
        .map(|limit| Watchdog::start(Duration::from_millis(limit), engine.pool().cloned()));
    let step = |iteration| {
        if let Some(watchdog) = &watchdog {
            watchdog.step(iteration);
        }
    };
    let total = if request.prepare_only {
        0
    } else {
        request.warmup_iterations + request.iterations
    };
    let mut samples: Vec<Sample> = Vec::new();
    let mut agreed_answer: Option<String> = None;
    let mut ledger = Ledger::default();
    let mut observing = observer.map(Observing::new);
    for index in 0..total {
        if index == request.warmup_iterations {
            instance.forget_warmup();
        }
        instance.reset();
        step(index);
        let watched = engine.pool().filter(|_| index >= request.warmup_iterations);
        if let (Some(observing), Some(pool)) = (&mut observing, watched) {
            observing.begin(pool);
        }
        ledger.begin(index, index == request.warmup_iterations);
        let sample = engine.time(instance.as_mut());
        ledger.end();
        step(index);
        if let (Some(observing), Some(pool)) = (&mut observing, watched) {
            observing.end(pool, sample.work_units);
        }
        samples.push(sample);
        let wrong = |mismatch: Mismatch| Failure::WrongAnswer {
            iteration: index,
            expected: mismatch.expected,
            actual: mismatch.actual,
        };
        let answer = instance.check().map_err(wrong)?;
        match &agreed_answer {
            None => agreed_answer = Some(answer),
            Some(first) => drop(Mismatch::unless_equal(first, &answer).map_err(wrong)?),
        }
    }
    let timed = samples.split_off(samples.len().saturating_sub(request.iterations as usize));
    let mut metrics = BTreeMap::new();
    if !timed.is_empty() {
        metrics.extend(instance.metrics());
        metrics.extend(common_metrics(&timed, &description.work_unit));
    }
    Ok(Outcome {
        schema: SCHEMA,
        variant: variant.to_owned(),
        parameters: values.as_map().clone(),
        answer: agreed_answer.unwrap_or_default(),
        work_unit: description.work_unit.clone(),
        warmup: samples.into_iter().map(Iteration::from).collect(),
        iterations: timed.into_iter().map(Iteration::from).collect(),
        usage: UsageSample::now().counts,
        metrics,
        events: observing.and_then(Observing::events),
        simulated: ledger.report(),
    })
}

fn check_counts(request: &Request) -> Result<(), Refusal> {
    let refuse = |message: String| Err(Refusal::new(message));
    if request.schema != SCHEMA {
        return refuse(format!(
            "schema {} of the request is not {SCHEMA}, this program's; build both from one commit",
            request.schema
        ));
    }
    if request.hang_after_ms == Some(0) {
        return refuse(
            "hang_after_ms = 0: every run would be a hang; ask for 1 or more".to_owned(),
        );
    }
    if request.iterations == 0 {
        return refuse("iterations = 0: nothing would be timed; ask for 1 or more".to_owned());
    }
    let all = u64::from(request.warmup_iterations) + u64::from(request.iterations);
    if all > MAX_ITERATIONS {
        return refuse(format!(
            "iterations = {} after {} warm-ups: one process keeps the results of {MAX_ITERATIONS} iterations \
             at most; ask for fewer, or for a larger size",
            request.iterations, request.warmup_iterations
        ));
    }
    match (request.program, request.threads) {
        (_, 0) => refuse("threads = 0: a pool needs 1 or more".to_owned()),
        (Program::Sequential, threads) if threads > 1 => refuse(format!(
            "threads = {threads}: the sequential program uses no pool; ask for 1, or for the parallel program"
        )),
        (Program::Parallel, threads) if threads > rayon::max_num_threads() => refuse(format!(
            "threads = {threads}: this rayon-core has at most {} in a pool",
            rayon::max_num_threads()
        )),
        _ => Ok(()),
    }
}

enum Engine {
    Sequential,
    /// One pool for the whole trial, so that starting threads is not timed.
    Parallel(Arc<ThreadPool>),
}

impl Engine {
    fn new(request: &Request) -> Result<Self, Refusal> {
        match request.program {
            Program::Sequential => Ok(Self::Sequential),
            Program::Parallel => placement::build(request.threads, request.placement)
                .map(|pool| Self::Parallel(Arc::new(pool))),
        }
    }

    fn pool(&self) -> Option<&Arc<ThreadPool>> {
        match self {
            Self::Sequential => None,
            Self::Parallel(pool) => Some(pool),
        }
    }

    /// The timed region is the time for which a caller of the pool waits: entering the pool, the
    /// work, and the return.
    fn time(&self, instance: &mut dyn Instance) -> Sample {
        let before = UsageSample::now();
        let started = Instant::now();
        let work_units = match self {
            Self::Sequential => instance.run_sequential(),
            Self::Parallel(pool) => instance.run_on(pool),
        };
        let elapsed = started.elapsed();
        let after = UsageSample::now();
        Sample {
            elapsed,
            before,
            after,
            work_units,
        }
    }
}

struct Sample {
    elapsed: Duration,
    before: UsageSample,
    after: UsageSample,
    work_units: u64,
}

impl Sample {
    fn cpu(&self) -> Duration {
        let used = |sample: &UsageSample| sample.user + sample.system;
        used(&self.after).saturating_sub(used(&self.before))
    }

    fn voluntary_switches(&self) -> u64 {
        self.after.counts.voluntary_switches - self.before.counts.voluntary_switches
    }

    fn involuntary_switches(&self) -> u64 {
        self.after.counts.involuntary_switches - self.before.counts.involuntary_switches
    }
}

impl From<Sample> for Iteration {
    fn from(sample: Sample) -> Self {
        Self {
            elapsed_ns: nanoseconds(sample.elapsed),
            user_ns: nanoseconds(sample.after.user.saturating_sub(sample.before.user)),
            system_ns: nanoseconds(sample.after.system.saturating_sub(sample.before.system)),
            work_units: sample.work_units,
        }
    }
}

fn common_metrics(timed: &[Sample], work_unit: &str) -> [(String, Metric); 5] {
    let per_iteration = |count: fn(&Sample) -> u64| Metric {
        value: timed.iter().map(count).sum::<u64>() as f64 / timed.len() as f64,
        unit: "switches/iteration".to_owned(),
    };
    let milliseconds = timed
        .iter()
        .map(|sample| sample.elapsed)
        .sum::<Duration>()
        .as_secs_f64()
        * 1e3;
    let work_units = timed.iter().map(|sample| sample.work_units).sum::<u64>();
    let cpu = timed.iter().map(Sample::cpu).sum::<Duration>();
    let ratio = |numerator: f64, denominator: f64, unit: String| Metric {
        // If no time passed or no unit was done, the value is 0, because JSON cannot hold an
        // infinity.
        value: if denominator > 0.0 {
            numerator / denominator
        } else {
            0.0
        },
        unit,
    };
    let throughput = ratio(work_units as f64, milliseconds, format!("{work_unit}/ms"));
    let cpu_per_second = ratio(
        cpu.as_secs_f64() * 1e3,
        milliseconds / 1e3,
        "ms/s".to_owned(),
    );
    let cpu_per_unit = ratio(
        cpu.as_secs_f64() * 1e9,
        work_units as f64,
        "ns/unit".to_owned(),
    );
    [
        (
            "voluntary_switches".to_owned(),
            per_iteration(Sample::voluntary_switches),
        ),
        (
            "involuntary_switches".to_owned(),
            per_iteration(Sample::involuntary_switches),
        ),
        ("throughput".to_owned(), throughput),
        ("cpu_per_second".to_owned(), cpu_per_second),
        ("cpu_per_unit".to_owned(), cpu_per_unit),
    ]
}
