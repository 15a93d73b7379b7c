//! `sweep`: builds the branches, runs the trials and prints the table; or continues a stopped
//! sweep.

mod begin;
mod measure;
mod resume;

use anyhow::Result;

use crate::host::Host;
use crate::options::Project;
use crate::record::summary::Summary;
use crate::record::sweep_dir::SweepDir;
use crate::run::sweep::Tally;
use crate::stop::Exit;
use crate::system::lock::HostLock;

pub(crate) use begin::{SweepArgs, SweepCommand, TypedProgram};

pub(crate) const HELP: &str = "\
Examples:
  cargo runner sweep --branches all
      every branch on the default workloads; `cargo runner plan --branches all` estimates the time
  cargo runner sweep --branches 'split*,!*no-jec*' --workloads tsp --threads 1..=16
      some branches (globs and exclusions; the baseline is always included)
  cargo runner sweep --workloads tsp --input berlin52.tsp --trials 11
      a TSPLIB instance
  cargo runner sweep --branches packed,split-counters --instrument
      also count what the scheduler does, in separate builds
  cargo runner sweep --experiment packets-speedup-exponential --parameter duration-ms=200
      one figure of a study by its name, with shorter runs
  cargo runner sweep --machine zen4-64 --experiment study --mode both
      64 simulated cores; `cargo runner list machines`
  cargo runner sweep --box --threads 64
      60 simulated machines with different cost parameters: the sign of each difference, and the parameter that flips it
  cargo runner sweep --resume
      continue the newest unfinished sweep

Ctrl-C stops at once and loses only the trials that run at that moment.";

pub(crate) fn run(project: &Project, arguments: &SweepArgs) -> Result<Exit> {
    let command = SweepCommand {
        command: "sweep",
        config: None,
        has_page: false,
        goes_on: false,
        program: None,
    };
    run_for(project, arguments, &command)
}

enum Start {
    New(Box<begin::CheckedRequest>),
    Resume(SweepDir),
}

impl Start {
    fn is_simulated(&self) -> Result<bool> {
        match self {
            Start::New(wanted) => Ok(wanted.0.machine.is_some()),
            Start::Resume(sweep) => Ok(sweep.manifest()?.asked.machine.is_some()),
        }
    }
}

pub(crate) fn run_for(
    project: &Project,
    arguments: &SweepArgs,
    command: &SweepCommand,
) -> Result<Exit> {
    // This step comes before the host's lock, so that a wrong command line is reported even while
    // another sweep runs.
    let start = match arguments.resume.as_deref() {
        None => Start::New(Box::new(begin::wanted(project, arguments, command)?)),
        Some(which) => Start::Resume(to_resume(project, arguments, which)?),
    };
    // A finished sweep needs no builds.
    if let Start::Resume(sweep) = &start
        && let Some(exit) = already_finished(project, arguments, command, sweep)?
    {
        return Ok(exit);
    }
    // The lock is taken before the builds, because builds would disturb another sweep, too.
    let _host_lock = HostLock::take(start.is_simulated()?)?;
    // A killed sweep may have left a fixed frequency, which the runner would otherwise mistake for
    // the host's own setting.
    arguments.selection.frequency.setup().restore_leftover()?;
    let ready = match start {
        Start::New(wanted) => begin::begin(project, arguments, command, *wanted)?,
        Start::Resume(sweep) => resume::resume(project, arguments, command, sweep)?,
    };
    measure::measure(project, arguments, command, ready)
}

/// Finds the sweep to continue. `latest` is the newest unfinished sweep of this host or of a
/// simulated machine. If there is none, `latest` is the newest sweep; if that sweep is finished,
/// its table is printed again.
fn to_resume(project: &Project, arguments: &SweepArgs, which: &str) -> Result<SweepDir> {
    let parent = project.sweeps(arguments.output.as_deref());
    let unfinished = || SweepDir::newest_unfinished(&parent, &Host::default().id());
    match (which == "latest").then(unfinished).flatten() {
        Some(sweep) => {
            tell!("resuming {}", project.checkout.shown(sweep.path()));
            Ok(sweep)
        }
        None => SweepDir::find(&project.checkout, &parent, which),
    }
}

fn already_finished(
    project: &Project,
    arguments: &SweepArgs,
    command: &SweepCommand,
    sweep: &SweepDir,
) -> Result<Option<Exit>> {
    let manifest = sweep.manifest()?;
    let (summary, _) = Summary::read(sweep, &manifest)?;
    if summary.trials < manifest.trials_planned {
        return Ok(None);
    }
    if !summary.broken.is_empty() {
        measure::tell_aside(project, &sweep.appender()?);
    }
    measure::finish(
        project,
        arguments,
        command,
        sweep,
        &manifest,
        &summary,
        Tally::default(),
    )
    .map(Some)
}
