//! `sweep`: build, run, print; and the same again from where it was stopped.

mod begin;
mod resume;

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use jiff::Timestamp;

use super::show::{Broken, Table, summarized};
use crate::config::Config;
use crate::doctor;
use crate::estimate::Past;
use crate::frequency::control::Controller;
use crate::host::Host;
use crate::host::gauges::Gauges;
use crate::id::Id;
use crate::interrupt;
use crate::manifest::{Manifest, Run};
use crate::options::Selection;
use crate::place::Place;
use crate::plan::{Asked, Plan};
use crate::progress::{Progress, count, headline, human};
use crate::record::Record;
use crate::stop::{Exit, Stop};
use crate::summary::{Agreement, Summary};
use crate::sweep::{self, Job, SETTLE, Surroundings, Tally, nanoseconds};
use crate::sweep_dir::{HostLock, SweepDir};
use crate::table::Format;
use crate::trial::Subprocesses;
use crate::trials_file::Appender;

/// Arguments of `sweep`.
#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(super) selection: Selection,
    /// Continue a stopped sweep: a name, a path, or by default the newest unfinished one. Takes no other
    /// selection, except `--input` if the instance file is outside the checkout
    #[arg(long, value_name = "SWEEP", num_args = 0..=1, default_missing_value = "latest",
          conflicts_with_all = ["preset", "experiment", "branches", "workloads", "size", "parameters", "threads",
                                "mode", "placement", "trials", "layouts", "iterations", "seed", "timeout", "no_twin",
                                "instrument", "shard"])]
    pub(super) resume: Option<String>,
    /// Parent folder of the sweep [default: results/sweeps]
    #[arg(long, value_name = "DIR")]
    pub(super) output: Option<PathBuf>,
    /// Continue without branches that cannot be built; their trials are recorded as `build-failed`
    #[arg(long)]
    keep_going: bool,
    /// Output format of the result at the end
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// What `--help` says below the options.
pub(crate) const HELP: &str = "\
Examples:
  cargo runner sweep --branches all
      every branch on the headline workloads; `cargo runner plan --branches all` says how long
  cargo runner sweep --branches 'split*,!*no-jec*' --workloads tsp --threads 1..=16
      some branches (globs and exclusions; the baseline is always among them)
  cargo runner sweep --workloads tsp --input berlin52.tsp --trials 11
      a TSPLIB instance
  cargo runner sweep --workloads quicksort --parameter elements=5000000
      another instance size
  cargo runner sweep --branches packed,split-counters --instrument
      also count what the scheduler does, in separate builds
  cargo runner sweep --experiment packets-speedup-exponential --parameter duration-ms=200
      one figure of a study by its name, with shorter runs
  cargo runner sweep --resume
      continue the newest unfinished sweep

Ctrl-C stops at once and loses at most the running trial.

Exit codes:
  0 all good · 1 some trials failed · 2 bad input · 3 build failed · 4 host not fit · 130 interrupted";

/// Makes a page of a sweep and its table; the flag says whether this command line began the sweep.
type MakePage = fn(&SweepDir, &Manifest, &Table, bool, Format) -> Result<String>;

/// What one command that sweeps does otherwise than another.
pub(crate) struct Purpose {
    /// The command, for hints how to go on.
    pub(crate) command: &'static str,
    /// Branches in the place of those of branches.toml.
    pub(crate) config: Option<Config>,
    /// Makes a page of the table, if it is not printed as `show` does.
    pub(crate) page: Option<MakePage>,
}

pub(crate) fn run(place: &Place, arguments: &SweepArgs) -> Result<Exit> {
    run_for(place, arguments, &Purpose { command: "sweep", config: None, page: None })
}

/// Sweeps for a purpose.
pub(crate) fn run_for(place: &Place, arguments: &SweepArgs, purpose: &Purpose) -> Result<Exit> {
    // Before the builds: those would disturb a sweep that runs already.
    let _host_lock = HostLock::take()?;
    // Before anything else: what a dead sweep left would be taken for the host's own settings.
    super::frequency::restore_leftover(&arguments.selection.frequency.setup())?;
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
    measure(place, arguments, purpose, ready)
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

/// Says what about the host makes times doubtful: once it is clear that something will be measured, and
/// before the builds, which are a load themselves.
fn warn_of(host: &Host) {
    for finding in doctor::first_look(host) {
        eprintln!("warning: {}; {} (`cargo runner doctor`)", finding.seen, finding.why);
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
    finish(place, arguments, purpose, sweep, &manifest, &summary, Tally::default()).map(Some)
}

/// All that is needed to run trials.
struct Ready {
    sweep: SweepDir,
    manifest: Manifest,
    plan: Plan,
    binaries: BTreeMap<String, Vec<PathBuf>>,
    /// Instance files for the processes, one for each of the workloads asked for.
    inputs: Vec<Option<PathBuf>>,
    /// Time that the builds took.
    building: Duration,
}

fn measure(place: &Place, arguments: &SweepArgs, purpose: &Purpose, ready: Ready) -> Result<Exit> {
    let Ready { sweep, mut manifest, plan, binaries, inputs, building } = ready;
    let mut appender = sweep.appender()?;
    if let Some(torn) = appender.torn() {
        let torn = place.checkout.shown(torn);
        eprintln!(
            "note: the last line of trials.jsonl was torn; it is set aside in {torn} and run again"
        );
    }
    let (mut summary, done) = recorded(&sweep, &manifest, &plan)?;
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
        settling_ns: 0,
        clocking_ns: 0,
        writing_ns: 0,
        builds_ns: nanoseconds(building),
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
    let result = run_trials(place, &job, binaries, &mut appender, &mut summary, &mut frequency);
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
    run.settling_ns = nanoseconds(tally.settling);
    run.clocking_ns = nanoseconds(tally.clocking);
    run.writing_ns = nanoseconds(tally.writing);
    manifest.runs.pop();
    manifest.runs.push(run);
    let noted = sweep.write_manifest(&manifest);
    result?;
    noted?;
    finish(place, arguments, purpose, &sweep, &manifest, &summary, tally)
}

/// What earlier runs recorded: for the tables, and as identities.
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

fn announce(place: &Place, sweep: &SweepDir, asked: &Asked, plan: &Plan, done: usize) {
    let past = Past::read(&SweepDir::all(&place.checkout.sweeps()), &Host::default().id(), asked);
    let left = 1.0 - done as f64 / plan.len().max(1) as f64;
    let time = past.estimate(asked, plan).time.mul_f64(left);
    eprintln!("{}", headline(asked, plan));
    eprintln!("writing {}, about {}", place.checkout.shown(sweep.path()), human(time));
    if done > 0 {
        eprintln!("resuming: {done} trials are there, {} are missing", plan.len() - done);
    }
}

fn run_trials(
    place: &Place,
    job: &Job<'_>,
    binaries: BTreeMap<String, Vec<PathBuf>>,
    appender: &mut Appender,
    summary: &mut Summary,
    frequency: &mut Controller,
) -> Result<Tally> {
    let mut progress = Progress::new(job.plan, &job.done);
    let limit = Duration::from_secs_f64(job.asked.timeout_s);
    let mut keep = |record: &Record| {
        appender.append(record)?;
        summary.add(record);
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
            gauges: &Gauges::of(&Host::default()),
        },
    );
    progress.finish();
    tally
}

fn done_now(trials: usize, failed: usize, tally: Tally) -> String {
    if tally.trials == 0 {
        return format!(
            "all {trials} trials were there already, so nothing was run; {failed} failed."
        );
    }
    let ran = count(tally.trials, "trial", "trials");
    format!("{ran} in {}, {failed} of {trials} failed:\n{}", human(tally.wall), accounts(tally))
}

/// Where the time went, and why if much of it went elsewhere than into trials.
fn accounts(tally: Tally) -> String {
    /// What a sweep should spend in trials.
    const SHARE: f64 = 90.0;
    let wall = tally.wall.as_secs_f64().max(1e-9);
    let share = |part: Duration| 100.0 * part.as_secs_f64() / wall;
    let named = tally.in_trials + tally.settling + tally.clocking + tally.writing;
    let mut text = format!(
        "{:.0} % inside trials, {:.0} % pauses before them, {:.0} % clock, {:.0} % writing, {:.0} % other",
        share(tally.in_trials),
        share(tally.settling),
        share(tally.clocking),
        share(tally.writing),
        share(tally.wall.saturating_sub(named)),
    );
    if share(tally.in_trials) < SHARE {
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3 / tally.trials.max(1) as f64;
        let around = tally.wall.saturating_sub(tally.in_trials);
        let _ = write!(
            text,
            "\n(trials of {:.0} ms are short beside the {:.0} ms around each of them; a larger\n\
             --size or more --iterations use time better)",
            milliseconds(tally.in_trials),
            milliseconds(around),
        );
    }
    text
}

fn finish(
    place: &Place,
    arguments: &SweepArgs,
    purpose: &Purpose,
    sweep: &SweepDir,
    manifest: &Manifest,
    summary: &Summary,
    tally: Tally,
) -> Result<Exit> {
    let which = place.reference_to(sweep);
    let left = manifest.trials_planned.saturating_sub(summary.trials());
    if tally.is_interrupted {
        bail!(Stop::Interrupted(format!(
            "interrupted with {left} of {} trials left; every finished one is kept. Go on with: \
             cargo runner {} --resume {which}",
            manifest.trials_planned, purpose.command
        )));
    }
    let table = Table::of(place, sweep, manifest, summary, arguments.format)?;
    let text = match purpose.page {
        Some(page) => page(sweep, manifest, &table, arguments.resume.is_none(), arguments.format)?,
        None => table.text,
    };
    std::io::stdout().write_all(text.as_bytes())?;
    let failed = summary.failed();
    let end = format!(
        "\n{}\nresults: {}\ndraw:    cargo runner report {which}\n",
        done_now(summary.trials(), failed, tally),
        place.checkout.shown(sweep.path()),
    );
    match arguments.format {
        Format::Table => std::io::stdout().write_all(end.as_bytes())?,
        _ => eprint!("{end}"),
    }
    if let Some(unbuilt) = manifest.builds().find(|branch| branch.receipt.is_none()) {
        eprintln!(
            "without branch `{}`, which could not be built; `build_error` in {}/manifest.json says why",
            unbuilt.name,
            place.checkout.shown(sweep.path())
        );
        return Ok(Exit::BuildFailed);
    }
    let is_proven =
        !manifest.asked.is_about_answers() || summary.agreements().iter().all(Agreement::is_proven);
    Ok(if failed == 0 && is_proven { Exit::Good } else { Exit::TrialsFailed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(in_trials_ms: u64) -> Tally {
        Tally {
            trials: 10,
            wall: Duration::from_secs(1),
            in_trials: Duration::from_millis(in_trials_ms),
            settling: Duration::from_millis(40),
            clocking: Duration::from_millis(20),
            writing: Duration::from_millis(10),
            ..Tally::default()
        }
    }

    #[test]
    fn the_accounts_of_a_sweep_add_up_to_its_wall_time() {
        let text = accounts(tally(910));
        let shares: Vec<u32> =
            text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        assert_eq!(shares, [91, 4, 2, 1, 2], "{text}");
    }

    #[test]
    fn a_sweep_of_short_trials_says_that_they_are_short() {
        assert!(accounts(tally(500)).contains("trials of 50 ms are short beside the 50 ms around"));
        assert!(!accounts(tally(910)).contains("short"));
    }
}
