//! `sweep`: build, run, print; and the same again from where it was stopped.

use std::collections::{BTreeMap, HashSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use jiff::Timestamp;
use workloads::protocol::SCHEMA;

use super::{Place, asked, build, builds, show};
use crate::builds::Builder;
use crate::checkout::Commit;
use crate::cli::SweepArgs;
use crate::config::Branch;
use crate::digest;
use crate::estimate::Past;
use crate::frequency::control::Controller;
use crate::host::Host;
use crate::interrupt;
use crate::manifest::{Manifest, MeasuredBranch, Run};
use crate::plan::{self, Asked, Plan};
use crate::progress::{Progress, count, headline, human};
use crate::record::Record;
use crate::stop::{Exit, Stop};
use crate::summary::{self, Agreement, Format};
use crate::sweep::{self, Job, SETTLE, Surroundings, Tally, nanoseconds};
use crate::sweep_dir::{self, Appender, HostLock, SweepDir};
use crate::trial::Subprocesses;

pub(crate) fn run(place: &Place, arguments: &SweepArgs) -> Result<Exit> {
    // Before the builds: those would disturb a sweep that runs already.
    let _host_lock = HostLock::take()?;
    // Before anything else: what a dead sweep left would be taken for the host's own settings.
    super::frequency::restore_leftover(&arguments.selection.frequency.setup())?;
    let ready = match &arguments.resume {
        Some(which) => {
            let parent = place.sweeps(arguments.output.as_deref());
            let sweep = SweepDir::find(&place.checkout, &parent, which)?;
            // Nothing will be measured, so it does not matter whether the branches can still be built.
            if let Some(exit) = already_finished(place, arguments, &sweep)? {
                return Ok(exit);
            }
            resume(place, arguments, sweep)?
        }
        None => begin(place, arguments)?,
    };
    measure(place, arguments, ready)
}

/// Prints a sweep that has all its trials.
fn already_finished(
    place: &Place,
    arguments: &SweepArgs,
    sweep: &SweepDir,
) -> Result<Option<Exit>> {
    let manifest = sweep.manifest()?;
    let records = sweep.records()?;
    let present: HashSet<&str> = records.iter().map(|record| record.trial.as_str()).collect();
    if present.len() < manifest.trials_planned {
        return Ok(None);
    }
    finish(place, arguments, sweep, &manifest, &records, Tally::default()).map(Some)
}

/// All that is needed to run trials.
struct Ready {
    sweep: SweepDir,
    manifest: Manifest,
    plan: Plan,
    binaries: BTreeMap<String, Vec<PathBuf>>,
    /// Instance files for the processes, one for each of the workloads asked for.
    inputs: Vec<Option<PathBuf>>,
}

fn begin(place: &Place, arguments: &SweepArgs) -> Result<Ready> {
    let (asked, branches) = asked(place, &arguments.selection)?;
    let parent = place.sweeps(arguments.output.as_deref());
    sweep_dir::check_parent(&parent)?;
    let inputs = place.inputs(&asked, None)?;
    interrupt::install()?;
    let folder = place.config_folder()?;
    let builder = Builder::new(&place.checkout, &folder, asked.layouts)?;
    let (measured, binaries) =
        build_all(&builder, &builds(&asked, &branches), arguments.keep_going)?;
    let plan = plan::order(&asked, &identities(&measured));
    let (instrumented, measured) =
        measured.into_iter().partition(|branch| branch.source.is_instrumented());
    let host = Host::default();
    let checkout = place.checkout.commit();
    let created_at = Timestamp::now();
    let manifest = Manifest {
        schema: SCHEMA,
        name: name(created_at, &host.id(), &checkout),
        created_at: created_at.to_string(),
        host: host.id(),
        checkout,
        runner: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: std::env::args()
            .skip(1)
            .map(|argument| place.checkout.shown_argument(&argument))
            .collect(),
        twin: asked.twin_name(),
        asked,
        branches: measured,
        instrumented,
        toolchain: builder.toolchain()?,
        plan_digest: plan.digest(),
        trials_planned: plan.trials.len(),
        runs: Vec::new(),
    };
    let sweep = SweepDir::create(&parent, &manifest, &host.facts())?;
    Ok(Ready { sweep, manifest, plan, binaries, inputs })
}

/// `2026-03-01T120000Z-1a2b3c-0123456789ab`: sorts by time, tells machine and commit.
fn name(created_at: Timestamp, host: &str, checkout: &Commit) -> String {
    let commit = checkout.commit.as_deref().unwrap_or("nogit");
    let dirty = if checkout.dirty == Some(true) { "-dirty" } else { "" };
    format!("{}-{host}-{commit}{dirty}", created_at.strftime("%Y-%m-%dT%H%M%SZ"))
}

/// What a cell is known by: the binary, or, where there is none, the source that gave none.
fn identities<'a>(
    builds: impl IntoIterator<Item = &'a MeasuredBranch>,
) -> BTreeMap<String, String> {
    let identity = |branch: &MeasuredBranch| match &branch.receipt {
        Some(receipt) if receipt.layouts_sha256.is_empty() => receipt.binary_sha256.clone(),
        Some(receipt) => digest::identity(&(&receipt.binary_sha256, &receipt.layouts_sha256)),
        None => format!("unbuilt: {}", branch.source),
    };
    builds.into_iter().map(|branch| (branch.name.clone(), identity(branch))).collect()
}

type Measured = (Vec<MeasuredBranch>, BTreeMap<String, Vec<PathBuf>>);

fn build_all(builder: &Builder<'_>, branches: &[Branch], keeps_going: bool) -> Result<Measured> {
    let (built, failed) = build::all(builder, branches, keeps_going)?;
    if let Some(baseline) = branches.iter().find(|it| it.baseline && failed.contains_key(&it.name))
    {
        bail!(Stop::BuildFailed(format!(
            "nothing can be compared without the baseline `{}`, which cannot be built (see above)",
            baseline.name
        )));
    }
    let measured = branches
        .iter()
        .map(|branch| MeasuredBranch {
            name: branch.name.clone(),
            source: branch.source.clone(),
            baseline: branch.baseline,
            hypothesis: branch.hypothesis.clone(),
            receipt: built.get(&branch.name).map(|built| built.receipt.clone()),
            build_error: failed.get(&branch.name).map(|error| builder.shown(&format!("{error:#}"))),
        })
        .collect();
    Ok((measured, built.into_iter().map(|(name, built)| (name, built.binaries)).collect()))
}

fn resume(place: &Place, arguments: &SweepArgs, sweep: SweepDir) -> Result<Ready> {
    let manifest = sweep.manifest()?;
    let host = Host::default().id();
    if host != manifest.host {
        bail!(Stop::HostNotFit(format!(
            "{} was begun on host {}, this is {host}; times of two machines do not mix",
            manifest.name, manifest.host
        )));
    }
    let frequency = arguments.selection.frequency.setup();
    frequency.check_modes(&manifest.asked.modes, arguments.selection.allow_uncontrolled)?;
    let inputs = place.inputs(&manifest.asked, arguments.selection.input.as_deref())?;
    interrupt::install()?;
    let folder = place.config_folder()?;
    let builder = Builder::new(&place.checkout, &folder, manifest.asked.layouts)?;
    // A branch that could not be built when the sweep began stays failed: a sweep is one experiment.
    let branches: Vec<Branch> = manifest
        .builds()
        .filter(|branch| branch.receipt.is_some())
        .map(|branch| Branch {
            name: branch.name.clone(),
            source: branch.source.clone(),
            baseline: branch.baseline,
            hypothesis: branch.hypothesis.clone(),
        })
        .collect();
    let (measured, binaries) = build_all(&builder, &branches, false)?;
    let changes = changes(place, &manifest, &measured)?;
    if !changes.is_empty() {
        bail!(Stop::BadInput(format!(
            "{} cannot be resumed, because what it measures has changed:\n  {}\n\
             go back to what it was begun with (commit {}), or begin another sweep",
            manifest.name,
            changes.join("\n  "),
            manifest.checkout.commit.as_deref().unwrap_or("unknown")
        )));
    }
    let plan = plan::order(&manifest.asked, &identities(manifest.builds()));
    if plan.digest() != manifest.plan_digest {
        bail!(Stop::BadInput(format!(
            "{} was begun by runner {}, which orders trials differently; resume it with that version",
            manifest.name, manifest.runner
        )));
    }
    Ok(Ready { sweep, manifest, plan, binaries, inputs })
}

/// What differs between the sweep's branches and those of now.
fn changes(place: &Place, manifest: &Manifest, now: &[MeasuredBranch]) -> Result<Vec<String>> {
    let config = place.config()?;
    let instrumented = config.branches.iter().filter_map(Branch::instrumented);
    let rows: Vec<Branch> = config.branches.iter().cloned().chain(instrumented).collect();
    let mut changes = Vec::new();
    for branch in now {
        let name = &branch.name;
        match rows.iter().find(|row| row.name == *name) {
            None => changes.push(format!("branch `{name}` is no longer in branches.toml")),
            Some(row) if row.source != branch.source => changes.push(format!(
                "branch `{name}` was {}, branches.toml now says {}",
                branch.source, row.source
            )),
            Some(_) => {}
        }
        let before = manifest.branch(name).and_then(|branch| branch.receipt.as_ref());
        let Some((before, after)) = before.zip(branch.receipt.as_ref()) else { continue };
        if before.binary_sha256 != after.binary_sha256
            || before.layouts_sha256 != after.layouts_sha256
        {
            let commit = |commit: &Commit| {
                let dirty = if commit.dirty == Some(true) { " with changes" } else { "" };
                format!("{}{dirty}", commit.commit.as_deref().unwrap_or("no commit"))
            };
            changes.push(format!(
                "branch `{name}` is another binary: {} (from {}), was {} (from {})",
                &after.binary_sha256[..12],
                commit(&after.commit),
                before.binary_sha256.get(..12).unwrap_or_default(),
                commit(&before.commit)
            ));
        }
    }
    Ok(changes)
}

fn measure(place: &Place, arguments: &SweepArgs, ready: Ready) -> Result<Exit> {
    let Ready { sweep, mut manifest, plan, binaries, inputs } = ready;
    let mut appender = sweep.appender()?;
    if let Some(torn) = appender.torn() {
        let torn = place.checkout.shown(torn);
        eprintln!(
            "note: the last line of trials.jsonl was torn; it is set aside in {torn} and run again"
        );
    }
    let mut records = sweep.records()?;
    let done: HashSet<String> = records.iter().map(|record| record.trial.clone()).collect();
    let planned: HashSet<&str> = plan.trials.iter().map(|trial| trial.id.as_str()).collect();
    if let Some(stray) = records.iter().find(|record| !planned.contains(record.trial.as_str())) {
        bail!(Stop::BadInput(format!(
            "{}: trial {} is not part of the plan; sweeps are never edited by hand",
            sweep.name(),
            stray.trial
        )));
    }
    announce(place, &sweep, &manifest.asked, &plan, done.len());
    let started_at = Timestamp::now();
    let mut run = Run {
        started_at: started_at.to_string(),
        ended_at: started_at.to_string(),
        end: "killed".to_owned(),
        trials: 0,
        failed: 0,
        wall_ns: 0,
        in_trials_ns: 0,
    };
    // Written now, so that a run which is killed has left its trace; replaced at its end.
    manifest.runs.push(run.clone());
    sweep.write_manifest(&manifest)?;
    let setup = arguments.selection.frequency.setup();
    let mut frequency = Controller::new(setup, arguments.selection.allow_uncontrolled);
    let job = Job {
        asked: &manifest.asked,
        plan: &plan,
        inputs,
        done,
        cpus: Host::usable_cpus(),
        settle: SETTLE,
    };
    let result = run_trials(place, &job, binaries, &mut appender, &mut records, &mut frequency);
    let tally = result.as_ref().copied().unwrap_or_default();
    let end = match &result {
        Err(_) => "failed",
        Ok(tally) if tally.is_interrupted => "interrupted",
        Ok(_) => "finished",
    };
    run.ended_at = Timestamp::now().to_string();
    end.clone_into(&mut run.end);
    run.trials = tally.trials;
    run.failed = tally.failed;
    run.wall_ns = nanoseconds(tally.wall);
    run.in_trials_ns = nanoseconds(tally.in_trials);
    manifest.runs.pop();
    manifest.runs.push(run);
    let noted = sweep.write_manifest(&manifest);
    result?;
    noted?;
    finish(place, arguments, &sweep, &manifest, &records, tally)
}

fn announce(place: &Place, sweep: &SweepDir, asked: &Asked, plan: &Plan, done: usize) {
    let past = Past::read(&SweepDir::all(&place.checkout.sweeps()), &Host::default().id());
    let left = 1.0 - done as f64 / plan.trials.len().max(1) as f64;
    let time = past.estimate(asked, plan).time.mul_f64(left);
    eprintln!("{}", headline(asked, plan));
    eprintln!("writing {}, about {}", place.checkout.shown(sweep.path()), human(time));
    if done > 0 {
        eprintln!("resuming: {done} trials are there, {} are missing", plan.trials.len() - done);
    }
}

fn run_trials(
    place: &Place,
    job: &Job<'_>,
    binaries: BTreeMap<String, Vec<PathBuf>>,
    appender: &mut Appender,
    records: &mut Vec<Record>,
    frequency: &mut Controller,
) -> Result<Tally> {
    let mut progress = Progress::new(job.plan, |id| job.done.contains(id));
    let limit = Duration::from_secs_f64(job.asked.timeout_s);
    let mut keep = |record: &Record| {
        appender.append(record)?;
        records.push(record.clone());
        Ok(())
    };
    let tally = sweep::run(
        job,
        &mut Surroundings {
            trials: &mut Subprocesses::new(binaries, limit, place.checkout.clone()),
            frequency,
            keep: &mut keep,
            watch: &mut progress,
            is_interrupted: &interrupt::is_requested,
            host: &Host::default(),
        },
    );
    progress.finish();
    tally
}

fn done_now(trials: usize, tally: Tally) -> String {
    if tally.trials == 0 {
        return format!("all {trials} trials were there already, so nothing was run");
    }
    let share = 100.0 * tally.in_trials.as_secs_f64() / tally.wall.as_secs_f64().max(1e-9);
    let trials = count(tally.trials, "trial", "trials");
    format!("{trials} in {}, {share:.0} % of it inside trials", human(tally.wall))
}

fn finish(
    place: &Place,
    arguments: &SweepArgs,
    sweep: &SweepDir,
    manifest: &Manifest,
    records: &[Record],
    tally: Tally,
) -> Result<Exit> {
    let which = place.reference_to(sweep);
    let left = manifest.trials_planned - records.len();
    if tally.is_interrupted {
        bail!(Stop::Interrupted(format!(
            "interrupted with {left} of {} trials left; every finished one is kept. Go on with: \
             cargo runner sweep --resume {which}",
            manifest.trials_planned
        )));
    }
    show::print(manifest, records, arguments.format)?;
    let failed =
        records.iter().filter(|record| record.outcome != crate::record::Ending::Ok).count();
    let end = format!(
        "\n{}; {failed} failed.\nresults: {}\ndraw:    cargo runner report {which}\n",
        done_now(records.len(), tally),
        place.checkout.shown(sweep.path()),
    );
    match arguments.format {
        Format::Table | Format::Markdown => std::io::stdout().write_all(end.as_bytes())?,
        Format::Json | Format::Csv => eprint!("{end}"),
    }
    if let Some(unbuilt) = manifest.builds().find(|branch| branch.receipt.is_none()) {
        eprintln!(
            "without branch `{}`, which could not be built; `build_error` in {}/manifest.json says why",
            unbuilt.name,
            place.checkout.shown(sweep.path())
        );
        return Ok(Exit::BuildFailed);
    }
    let is_proven = !show::is_about_answers(manifest)
        || summary::agreements(&manifest.asked, records).iter().all(Agreement::is_proven);
    Ok(if failed == 0 && is_proven { Exit::Good } else { Exit::TrialsFailed })
}
