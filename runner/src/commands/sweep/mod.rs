//! `sweep`: build, run, print; and the same again from where it was stopped.

mod arguments;
mod begin;
mod finish;
mod measure;
mod ready;
mod resume;

use anyhow::Result;

use super::frequency::restore_leftover;
use super::show::{Broken, summarized};
use crate::host::Host;
use crate::pick::GROUP;
use crate::project::Project;
use crate::stop::Exit;
use crate::sweep::Tally;
use crate::sweep_dir::{HostLock, SweepDir};

pub(crate) use arguments::{HELP, SweepArgs, SweepCommand};

pub(crate) fn run(project: &Project, arguments: &SweepArgs) -> Result<Exit> {
    // Branches that are in no file are compared as by `compare`: the first is the baseline.
    let is_spec =
        |word: &str| word.contains(':') && !word.trim_start_matches('!').starts_with(GROUP);
    let is_elsewhere = |list: &&String| list.split(',').map(str::trim).any(is_spec);
    let list = arguments.selection.branches.as_ref().filter(is_elsewhere);
    let words: Option<Vec<String>> = list.map(|list| list.split(',').map(str::to_owned).collect());
    let config = words.map(|words| project.named(&words)).transpose()?;
    run_for(
        project,
        arguments,
        &SweepCommand { command: "sweep", config, page: None, goes_on: false },
    )
}

/// Sweeps for a command.
pub(crate) fn run_for(
    project: &Project,
    arguments: &SweepArgs,
    command: &SweepCommand,
) -> Result<Exit> {
    // Before the lock: what is wrong with the command line does not depend on what else runs.
    let wanted = match &arguments.resume {
        None => Some(begin::wanted(project, arguments, command)?),
        Some(_) => None,
    };
    // Before the builds: those would disturb a sweep that runs already.
    let _host_lock = HostLock::take(arguments.selection.machine.is_some())?;
    // Before anything else: what a dead sweep left would be taken for the host's own settings.
    restore_leftover(&arguments.selection.frequency.setup())?;
    let ready = match wanted {
        None => {
            let which = arguments.resume.as_deref().unwrap_or("latest");
            let sweep = to_resume(project, arguments, which)?;
            // Nothing will be measured, so it does not matter whether the branches can still be built.
            if let Some(exit) = already_finished(project, arguments, command, &sweep)? {
                return Ok(exit);
            }
            resume::resume(project, arguments, sweep)?
        }
        Some(wanted) => begin::begin(project, arguments, command, wanted)?,
    };
    measure::measure(project, arguments, command, ready)
}

/// The sweep that is meant: of those that are not finished, `latest` is the newest; if all are, it is printed again.
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

/// Prints a sweep that has all its trials.
fn already_finished(
    project: &Project,
    arguments: &SweepArgs,
    command: &SweepCommand,
    sweep: &SweepDir,
) -> Result<Option<Exit>> {
    let manifest = sweep.manifest()?;
    let summary = summarized(sweep, &manifest, Broken::Refused)?;
    if summary.trials < manifest.trials_planned {
        return Ok(None);
    }
    finish::finish(project, arguments, command, sweep, &manifest, &summary, Tally::default())
        .map(Some)
}
