//! Runs and records the missing trials of a plan: one trial at a time on a host, or side by side on
//! a simulated machine.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use protocol::{Request, SCHEMA};

use crate::build::binary::{RunTrial, TrialExit, TrialFailure};
use crate::build::rewriting::places;
use crate::host::frequency::{ClockReading, ControlFrequency};
use crate::host::sensors::{self, Sensors};
use crate::plan::machines;
use crate::plan::{Load, Mode, Plan, SweepRequest, Trial};
use crate::record::{Done, Ending, FreqState, Record};
use crate::run::signs::Signs;
use crate::text::words::moment;

/// The work of one run of a sweep.
#[derive(Debug)]
pub struct Job<'a> {
    /// The checkout that has the machines' files.
    pub root: &'a Path,
    /// The request of the sweep.
    pub asked: &'a SweepRequest,
    /// The trials of the sweep, or of its shard, in their order.
    pub plan: &'a Plan,
    /// Instance files for the processes, one for each of [`SweepRequest::workloads`].
    pub inputs: Vec<Option<PathBuf>>,
    /// Trials that an earlier run recorded.
    pub done: Done,
    /// Number of CPUs that the processes may use. A trial with more threads is labelled as
    /// oversubscribed.
    pub cpus: usize,
    /// Pause before each trial.
    pub settle: Duration,
}

/// The sweep's interfaces to its environment: processes, frequency, records, sensors.
pub struct SweepContext<'a> {
    /// Runners of trials. On a host, only the first runner is used; on simulated machines, all run
    /// side by side.
    pub trials: &'a mut [&'a mut (dyn RunTrial + Send)],
    /// Sets the CPU frequency.
    pub frequency: &'a mut dyn ControlFrequency,
    /// Writes each record; on a host, before the next trial starts. If this function returns an
    /// error, the sweep stops.
    pub keep: &'a mut dyn FnMut(&Record) -> Result<()>,
    /// The observer of the sweep. See [`Watch`].
    pub watch: &'a mut dyn Watch,
    /// Whether the user interrupted the sweep.
    pub is_interrupted: &'a dyn Fn() -> bool,
    /// The sensors, which are read around every trial on a host.
    pub sensors: &'a Sensors,
}

/// An observer of the sweep, which is not called while a trial runs on a host.
pub trait Watch {
    /// On a host, called before a trial starts; on a simulated machine, when the trial has ended.
    fn begin(&mut self, load: &Load, trial: &Trial<'_>);
    /// Called after the trial has ended.
    fn end(&mut self, record: &Record);
}

/// The results of a run: its counts and times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of trials that ran.
    pub trials: usize,
    /// Number of failed trials, which `trials` includes.
    pub failed: usize,
    /// Wall time from the first trial to the last.
    pub wall: Duration,
    /// The part of `wall` inside trial processes. On a simulated machine, the sum over processes
    /// that run side by side.
    pub in_trials: Duration,
    /// The part of `wall` in pauses before trials.
    pub settling: Duration,
    /// The part of `wall` for setting and measuring clocks, and measuring transfers between CPUs.
    pub clocking: Duration,
    /// The part of `wall` for writing records and waiting for the disk.
    pub writing: Duration,
    /// Whether the user interrupted the sweep while trials were left.
    pub is_interrupted: bool,
}

/// Runs every trial of the plan that is not done yet, in the plan's order.
///
/// # Errors
/// If a record cannot be kept, or the frequency cannot be set or restored; all earlier records are
/// kept.
pub fn run(job: &Job<'_>, around: &mut SweepContext<'_>) -> Result<Tally> {
    if job.asked.machine.is_some() {
        return side_by_side(job, around);
    }
    let tally = run_trials(job, around);
    // The host's frequency is restored even if the trials ended with an error.
    let left = around.frequency.leave();
    let tally = tally?;
    left?;
    Ok(tally)
}

fn run_trials(job: &Job<'_>, around: &mut SweepContext<'_>) -> Result<Tally> {
    let started = Instant::now();
    let mut tally = Tally::default();
    for trial in job.plan.trials() {
        if job.done.contains_key(&trial.id) {
            continue;
        }
        if (around.is_interrupted)() {
            tally.is_interrupted = true;
            break;
        }
        let load = &job.asked.workloads[trial.kind.load];
        around.watch.begin(load, &trial);
        // The clock is measured before the pause, because measuring must not disturb the trial.
        timed(&mut tally.clocking, || {
            around
                .frequency
                .before(trial.condition.mode, trial.kind.threads)
        })?;
        let core_to_core_ns = timed(&mut tally.clocking, || around.sensors.core_to_core_ns());
        timed(&mut tally.settling, || std::thread::sleep(job.settle));
        let before = TrialStart {
            started_at: SystemTime::now(),
            core_to_core_ns,
            seen: around.sensors.look(),
        };
        let request = request(job, &trial);
        let Some(ended) =
            around.trials[0].run_trial(job.asked.binary_of(trial.branch), trial.layout, &request)
        else {
            tally.is_interrupted = true;
            break;
        };
        let seen = timed(&mut tally.clocking, || around.frequency.after());
        let process = ended.process;
        let record = record(job, &trial, seen, before, ended, around.sensors.look());
        note(&record, process, &mut tally, around.keep, around.watch)?;
    }
    tally.wall = started.elapsed();
    Ok(tally)
}

/// Runs the trials of a simulated machine side by side, one trial on each of `around.trials`. Other
/// programs on the host do not change these trials' results. Over a box, branches whose sign has
/// turned are dropped; when this happens depends on which trials end first.
fn side_by_side(job: &Job<'_>, around: &mut SweepContext<'_>) -> Result<Tally> {
    let started = Instant::now();
    let mut tally = Tally::default();
    let left = Mutex::new(
        job.plan
            .trials()
            .filter(|trial| !job.done.contains_key(&trial.id)),
    );
    let signs = Mutex::new(Signs::new(job.asked, job.plan, &job.done));
    let is_over = AtomicBool::new(false);
    // Relaxed: a thread that reads an old value only runs one more trial.
    let is_stopped = || is_over.load(Relaxed);
    let next = || lock(&left).next();
    let dropped = |trial: &Trial<'_>| {
        let reason = lock(&signs).as_ref()?.why_dropped(trial)?;
        Some(TrialExit {
            process: Duration::ZERO,
            result: Err(TrialFailure {
                ending: Ending::Dropped,
                reason,
                stderr_tail: None,
            }),
        })
    };
    let result = std::thread::scope(|scope| {
        let (sender, ended) = mpsc::channel();
        for runner in &mut *around.trials {
            let sender = sender.clone();
            let (next, is_stopped, dropped) = (&next, &is_stopped, &dropped);
            scope.spawn(move || {
                while let Some(trial) = (!is_stopped()).then(next).flatten() {
                    let started_at = SystemTime::now();
                    let branch = job.asked.binary_of(trial.branch);
                    let run = || runner.run_trial(branch, trial.layout, &request(job, &trial));
                    let ended = dropped(&trial).or_else(run);
                    // After an error, no thread receives records, so this record is dropped.
                    let _ = sender.send((trial, started_at, ended));
                }
            });
        }
        drop(sender);
        let mut end = |trial: Trial<'_>, started_at, ended: Option<TrialExit>| -> Result<()> {
            let Some(ended) = ended else {
                tally.is_interrupted = true;
                is_over.store(true, Relaxed);
                return Ok(());
            };
            let state = match trial.condition.mode {
                Mode::Fixed => FreqState::FixedVerified,
                Mode::Dynamic => FreqState::Dynamic,
            };
            let seen = ClockReading {
                state,
                ghz_before: None,
                ghz_after: None,
            };
            let nothing = sensors::Readings::default();
            let before = TrialStart {
                started_at,
                core_to_core_ns: None,
                seen: nothing,
            };
            around
                .watch
                .begin(&job.asked.workloads[trial.kind.load], &trial);
            let process = ended.process;
            let record = record(job, &trial, seen, before, ended, nothing);
            if let Some(signs) = lock(&signs).as_mut() {
                signs.add(&trial, record.elapsed_ns());
            }
            note(&record, process, &mut tally, around.keep, around.watch)
        };
        for (trial, started_at, ended) in ended {
            if (around.is_interrupted)() {
                is_over.store(true, Relaxed);
            }
            if let Err(error) = end(trial, started_at, ended) {
                is_over.store(true, Relaxed);
                return Err(error);
            }
        }
        Ok(())
    });
    result?;
    tally.is_interrupted |= is_stopped();
    tally.wall = started.elapsed();
    Ok(tally)
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn note(
    record: &Record,
    process: Duration,
    tally: &mut Tally,
    keep: &mut dyn FnMut(&Record) -> Result<()>,
    watch: &mut dyn Watch,
) -> Result<()> {
    tally.trials += 1;
    tally.in_trials += process;
    tally.failed += usize::from(record.outcome.is_failure());
    timed(&mut tally.writing, || keep(record))?;
    watch.end(record);
    Ok(())
}

fn timed<T>(sum: &mut Duration, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let result = work();
    *sum += started.elapsed();
    result
}

#[derive(Clone, Copy)]
struct TrialStart {
    started_at: SystemTime,
    core_to_core_ns: Option<f64>,
    seen: sensors::Readings,
}

fn request(job: &Job<'_>, trial: &Trial<'_>) -> Request {
    let load = &job.asked.workloads[trial.kind.load];
    Request {
        size: load.size.clone(),
        parameters: load.own_parameters(),
        input: job.inputs[trial.kind.load].clone(),
        program: trial.kind.program,
        threads: trial.kind.threads,
        placement: trial.condition.placement,
        seed: job.asked.seed,
        warmup_iterations: job.asked.warmup_iterations,
        iterations: job.asked.iterations,
        machine: machines::request(job.root, job.asked, trial),
        ..Request::tiny(&load.workload)
    }
}

fn record(
    job: &Job<'_>,
    trial: &Trial<'_>,
    seen: ClockReading,
    before: TrialStart,
    ended: TrialExit,
    after: sensors::Readings,
) -> Record {
    let load = &job.asked.workloads[trial.kind.load];
    let TrialStart {
        started_at,
        core_to_core_ns,
        seen: before,
    } = before;
    let mut record = Record {
        schema: SCHEMA,
        trial: trial.id,
        cell: trial.cell,
        replicate: trial.replicate,
        block: trial.block,
        position: trial.position,
        branch: trial.branch.to_owned(),
        program: trial.kind.program,
        workload: load.workload.clone(),
        size: load.size.clone(),
        parameters: load.parameters.clone(),
        input: load.input.as_ref().map(|input| input.path.clone()),
        threads: trial.kind.threads,
        mode: trial.condition.mode,
        placement: trial.condition.placement,
        freq_state: seen.state,
        oversubscribed: trial.kind.threads > job.cpus,
        seed: job.asked.seed,
        started_at: moment(started_at),
        process_ns: nanoseconds(ended.process),
        load_before: before.load,
        core_to_core_ns,
        steal_ns: sensors::since(before.steal_ns, after.steal_ns),
        celsius_after: after.celsius,
        throttles: sensors::since(before.throttles, after.throttles),
        quota_throttled_ns: sensors::since(before.quota_throttled_ns, after.quota_throttled_ns),
        layout: (job.asked.layouts > 1 && !job.asked.is_instrumented(trial.branch)).then(|| {
            u32::try_from(trial.layout + 1).expect("below `SweepRequest::layouts`, a u32")
        }),
        simulated_seed: machines::request(job.root, job.asked, trial).map(|it| it.seed),
        ghz_before: seen.ghz_before,
        ghz_after: seen.ghz_after,
        ..Record::default()
    };
    let fail = |record: Record, failure: TrialFailure| Record {
        outcome: failure.ending,
        reason: Some(failure.reason),
        stderr_tail: failure.stderr_tail,
        ..record
    };
    match ended.result {
        Ok(outcome) => {
            let unanswered = record.clone();
            record.parameters.extend(outcome.parameters);
            record.variant = Some(outcome.variant);
            record.answer = Some(outcome.answer);
            record.work_unit = Some(outcome.work_unit);
            record.events = outcome.events;
            record.simulated = outcome.simulated.map(places::named);
            // Counting events takes time, so the times of an instrumented build mean nothing. A
            // time that is not recorded cannot get into a table.
            if !job.asked.is_instrumented(trial.branch) {
                record.warmup = outcome.warmup;
                record.iterations = outcome.iterations;
                record.usage = Some(outcome.usage);
                record.metrics = outcome.metrics;
            }
            // A trial whose record readers would refuse is recorded as failed.
            match record.fault() {
                None => record,
                Some(reason) => fail(
                    unanswered,
                    TrialFailure {
                        ending: Ending::BadOutput,
                        reason,
                        stderr_tail: None,
                    },
                ),
            }
        }
        Err(failure) => fail(record, failure),
    }
}

/// Returns a duration in the form of records, in which up to 584 years fit.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
