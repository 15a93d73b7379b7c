//! The trials of a sweep, run and recorded.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail};

use super::arguments::{SweepArgs, SweepCommand};
use super::finish::finish;
use super::ready::Ready;
use crate::build::binary::{RunTrial, Subprocesses};
use crate::host::Host;
use crate::host::frequency::control::Controller;
use crate::host::gauges::Gauges;
use crate::options::project::Project;
use crate::plan::Plan;
use crate::plan::estimate::SETTLE;
use crate::record::Record;
use crate::record::manifest::{Manifest, Run};
use crate::record::sweep_dir::SweepDir;
use crate::record::trials_file::Appender;
use crate::report::summary::Summary;
use crate::run::progress::{Progress, headline};
use crate::run::sweep::{self, Job, Surroundings, Tally, nanoseconds};
use crate::stop::{Exit, Stop};
use crate::system::id::Id;
use crate::system::interrupt;
use crate::text::words::moment;

pub(super) fn measure(
    project: &Project,
    arguments: &SweepArgs,
    command: &SweepCommand,
    ready: Ready,
) -> Result<Exit> {
    let Ready {
        sweep,
        mut manifest,
        plan,
        binaries,
        inputs,
        building,
    } = ready;
    let mut appender = sweep.appender()?;
    if let Some(torn) = &appender.torn {
        let torn = project.checkout.shown(torn);
        tell!(
            "note: the last line of trials.jsonl was torn; it is set aside in {torn} and run again"
        );
    }
    let (mut summary, done) = recorded(&sweep, &manifest, &plan)?;
    tell!("{}", headline(&manifest.asked, plan.len()));
    tell!("writing {}", project.checkout.shown(sweep.path()));
    if !done.is_empty() {
        tell!(
            "resuming: {} trials are there, {} are missing",
            done.len(),
            plan.len() - done.len()
        );
    }
    let started_at = moment(SystemTime::now());
    // Written now, so that a run which is killed has left its trace; replaced at its end.
    let run = Run {
        started_at: started_at.clone(),
        ended_at: started_at,
        end: "killed".to_owned(),
        builds_ns: nanoseconds(building),
        ..Run::default()
    };
    manifest.runs.push(run.clone());
    sweep.write_manifest(&manifest)?;
    let setup = arguments.selection.frequency.setup();
    let mut frequency = Controller::new(setup, arguments.selection.allow_uncontrolled);
    let job = Job {
        root: project.checkout.root(),
        asked: &manifest.asked,
        plan: &plan,
        inputs,
        done,
        cpus: manifest.asked.cpus(),
        settle: SETTLE,
    };
    let jobs = match &job.asked.machine {
        Some(_) => arguments.jobs.map_or_else(Host::usable_cpus, usize::from),
        None => 1,
    };
    let result = run_trials(
        project,
        &job,
        jobs,
        binaries,
        &mut appender,
        &mut summary,
        &mut frequency,
    );
    let tally = result.as_ref().copied().unwrap_or_default();
    let end = match &result {
        Err(_) => "failed",
        Ok(tally) if tally.is_interrupted => "interrupted",
        Ok(_) => "finished",
    };
    manifest.runs.pop();
    manifest.runs.push(Run {
        ended_at: moment(SystemTime::now()),
        end: end.to_owned(),
        trials: tally.trials,
        failed: tally.failed,
        wall_ns: nanoseconds(tally.wall),
        in_trials_ns: nanoseconds(tally.in_trials),
        settling_ns: nanoseconds(tally.settling),
        clocking_ns: nanoseconds(tally.clocking),
        writing_ns: nanoseconds(tally.writing),
        ..run
    });
    let noted = sweep.write_manifest(&manifest);
    result?;
    noted?;
    drop(appender);
    finish(
        project, arguments, command, &sweep, &manifest, &summary, tally,
    )
}

/// Reads the records of earlier runs: as a summary for the tables, and as identities.
fn recorded(sweep: &SweepDir, manifest: &Manifest, plan: &Plan) -> Result<(Summary, HashSet<Id>)> {
    let mut summary = Summary::new(&manifest.asked);
    let mut done = HashSet::new();
    for record in sweep.records()? {
        let record = record?;
        summary.add(&record);
        done.insert(record.trial);
    }
    let mut strays = done.clone();
    for trial in plan.trials() {
        strays.remove(&trial.id);
    }
    if let Some(stray) = strays.into_iter().min() {
        bail!(Stop::BadInput(format!(
            "{}: trial {stray} is not part of the plan; sweeps are never edited by hand",
            sweep.name()
        )));
    }
    Ok((summary, done))
}

fn run_trials(
    project: &Project,
    job: &Job<'_>,
    jobs: usize,
    binaries: BTreeMap<String, Vec<PathBuf>>,
    appender: &mut Appender,
    summary: &mut Summary,
    frequency: &mut Controller,
) -> Result<Tally> {
    let mut progress = Progress::new(job.plan, &job.done);
    let limit = Duration::from_secs_f64(job.asked.timeout_s);
    let runner = Subprocesses::new(binaries, limit, project.checkout.clone());
    let mut runners = vec![runner; jobs];
    let mut runners: Vec<&mut (dyn RunTrial + Send)> = runners
        .iter_mut()
        .map(|it| it as &mut (dyn RunTrial + Send))
        .collect();
    let mut keep = |record: &Record| {
        appender.append(record)?;
        summary.add(record);
        Ok(())
    };
    let tally = sweep::run(
        job,
        &mut Surroundings {
            trials: &mut runners,
            frequency,
            keep: &mut keep,
            watch: &mut progress,
            is_interrupted: &interrupt::is_requested,
            gauges: &Gauges::of(&Host::default()),
        },
    );
    progress.finish();
    tally
}
