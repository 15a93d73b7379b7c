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
use crate::place::Place;
use crate::stop::Exit;
use crate::sweep::Tally;
use crate::sweep_dir::{HostLock, SweepDir};

pub(crate) use arguments::{HELP, Purpose, SweepArgs};

pub(crate) fn run(place: &Place, arguments: &SweepArgs) -> Result<Exit> {
    run_for(place, arguments, &Purpose { command: "sweep", config: None, page: None })
}

/// Sweeps for a purpose.
pub(crate) fn run_for(place: &Place, arguments: &SweepArgs, purpose: &Purpose) -> Result<Exit> {
    // Before the builds: those would disturb a sweep that runs already.
    let _host_lock = HostLock::take()?;
    // Before anything else: what a dead sweep left would be taken for the host's own settings.
    restore_leftover(&arguments.selection.frequency.setup())?;
    let ready = match &arguments.resume {
        Some(which) => {
            let sweep = to_resume(place, arguments, which)?;
            // Nothing will be measured, so it does not matter whether the branches can still be built.
            if let Some(exit) = already_finished(place, arguments, purpose, &sweep)? {
                return Ok(exit);
            }
            resume::resume(place, arguments, sweep)?
        }
        None => begin::begin(place, arguments, purpose)?,
    };
    measure::measure(place, arguments, purpose, ready)
}

/// The sweep that is meant: of those that are not finished, `latest` is the newest; if all are, it is printed again.
fn to_resume(place: &Place, arguments: &SweepArgs, which: &str) -> Result<SweepDir> {
    let parent = place.sweeps(arguments.output.as_deref());
    let unfinished = || SweepDir::newest_unfinished(&parent, &Host::default().id());
    match (which == "latest").then(unfinished).flatten() {
        Some(sweep) => {
            eprintln!("resuming {}", place.checkout.shown(sweep.path()));
            Ok(sweep)
        }
        None => SweepDir::find(&place.checkout, &parent, which),
    }
}

/// Prints a sweep that has all its trials.
fn already_finished(
    place: &Place,
    arguments: &SweepArgs,
    purpose: &Purpose,
    sweep: &SweepDir,
) -> Result<Option<Exit>> {
    let manifest = sweep.manifest()?;
    let summary = summarized(sweep, &manifest, Broken::Refused)?;
    if summary.trials() < manifest.trials_planned {
        return Ok(None);
    }
    finish::finish(place, arguments, purpose, sweep, &manifest, &summary, Tally::default())
        .map(Some)
}
