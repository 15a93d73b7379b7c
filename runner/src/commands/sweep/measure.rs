//! Runs and records the trials of a sweep, and ends the sweep: summary of time, table, exit code.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail};

use super::begin::{SweepArgs, SweepCommand, SweepRun};
use crate::build::binary::{RunTrial, Subprocesses};
use crate::commands::analysis;
use crate::commands::page;
use crate::host::Host;
use crate::host::frequency::Controller;
use crate::host::sensors::Sensors;
use crate::options::Project;
use crate::plan::{SETTLE, SweepRequest};
use crate::record::Record;
use crate::record::manifest::{Manifest, Run};
use crate::record::summary::Summary;
use crate::record::sweep_dir::SweepDir;
use crate::record::trials_file::Appender;
use crate::run::progress::{Progress, headline};
use crate::run::sweep::{self, Job, SweepContext, Tally, nanoseconds};
use crate::stop::{Exit, Stop, is_broken_pipe};
use crate::system::interrupt;
use crate::system::python::Python;
use crate::text::output::{Format, columns_of_stdout, print};
use crate::text::words::{count, human, moment};

pub(super) fn measure(
    project: &Project,
    arguments: &SweepArgs,
    command: &SweepCommand,
    ready: SweepRun,
) -> Result<Exit> {
    let SweepRun {
        sweep,
        mut manifest,
        plan,
        binaries,
        inputs,
        building,
        warnings,
    } = ready;
    let mut appender = sweep.appender()?;
    tell_aside(project, &appender);
    let (mut summary, done) = Summary::read(&sweep, &manifest)?;
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
    // This entry is written now, so that a killed run leaves a trace, and replaced at the end of
    // the run.
    let run = Run {
        started_at: started_at.clone(),
        ended_at: started_at,
        end: "killed".to_owned(),
        builds_ns: nanoseconds(building),
        warnings,
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

pub(super) fn tell_aside(project: &Project, appender: &Appender) {
    if let Some((aside, lines)) = &appender.aside {
        tell!(
            "note: moved {} of trials.jsonl to {}; the missing trials run again",
            count(*lines, "broken line", "broken lines"),
            project.checkout.shown(aside)
        );
    }
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
        &mut SweepContext {
            trials: &mut runners,
            frequency,
            keep: &mut keep,
            watch: &mut progress,
            is_interrupted: &interrupt::is_requested,
            sensors: &Sensors::of(&Host::default()),
        },
    );
    progress.finish();
    tally
}

fn done_now(summary: &Summary, tally: Tally, asked: &SweepRequest) -> String {
    let (trials, failed) = (summary.trials, summary.failed);
    if tally.trials == 0 {
        return format!(
            "all {trials} trials were already there, so nothing was run; {failed} failed."
        );
    }
    let ran = count(tally.trials, "trial", "trials");
    let ran = format!(
        "{ran} in {}, {failed} of {trials} failed",
        human(tally.wall)
    );
    // Trials of a simulated machine run side by side, without pauses between them.
    if asked.machine.is_some() {
        let dropped = match summary.dropped {
            0 => String::new(),
            dropped => format!(", {dropped} dropped, because a sign had turned"),
        };
        ran + &dropped + "."
    } else {
        format!("{ran}:\n{}", accounts(tally, asked.program.is_some()))
    }
}

/// Returns a text with the share of its time that a sweep spent in trials, and the remedy for a low
/// share. `is_of_user` says whether trials ran a program of the user, which has no sizes.
fn accounts(tally: Tally, is_of_user: bool) -> String {
    let wall = tally.wall.as_secs_f64().max(1e-9);
    let share = 100.0 * tally.in_trials.as_secs_f64() / wall;
    let more = if is_of_user {
        "more work for the program"
    } else {
        "a larger --size"
    };
    if share >= 90.0 {
        format!("{share:.0} % of that inside trials")
    } else {
        format!(
            "{share:.0} % of that inside trials, which are short beside the pauses and checks around them;\n\
             {more} or more --iterations use time better"
        )
    }
}

pub(super) fn finish(
    project: &Project,
    arguments: &SweepArgs,
    command: &SweepCommand,
    sweep: &SweepDir,
    manifest: &Manifest,
    summary: &Summary,
    tally: Tally,
) -> Result<Exit> {
    let which = project.reference_to(sweep);
    let left = manifest.trials_planned.saturating_sub(summary.trials);
    if tally.is_interrupted {
        let again = if command.goes_on {
            "The same command continues".to_owned()
        } else {
            let program = match &manifest.asked.program {
                Some(_) => " --program DIR -- ARGUMENTS",
                None => "",
            };
            format!(
                "Continue with: cargo runner {} --resume {which}{program}",
                command.command
            )
        };
        bail!(Stop::Interrupted(format!(
            "interrupted with {left} of {} trials left; every finished trial is kept. {again}",
            manifest.trials_planned
        )));
    }
    if left == 0
        && let Err(error) = sweep.pack()
    {
        tell!("warning: {error:#}; every trial is recorded");
    }
    let is_simulated = manifest.asked.machine.is_some();
    let mut end = format!(
        "\n{}\nresults: {}\ndraw:    cargo runner report {which}\n",
        done_now(summary, tally, &manifest.asked),
        project.checkout.shown(sweep.path()),
    );
    if is_simulated {
        // Only a simulated machine knows at which line of which function a thread waits.
        _ = writeln!(
            end,
            "waits:   cargo runner analysis table {which} {}",
            if manifest.asked.is_box() {
                "box-waits --format md"
            } else {
                "line-waits"
            }
        );
    }
    summary.tell_counted();
    // An error of `set_up` is reported below, after all facts that need no Python.
    let python = Python::set_up(project.checkout.root());
    match arguments.format {
        Format::Table => print(&(end + "\n"))?,
        _ => tell!("{}", end.trim_end()),
    }
    let is_data = matches!(arguments.format, Format::Json | Format::Csv);
    let printed = python.and_then(|it| print_result(&it, arguments, command, sweep, manifest));
    let missing = match printed {
        Ok(Exit::Good) => None,
        Ok(_) => Some("the analysis failed; its message is above".to_owned()),
        Err(error) if is_broken_pipe(&error) => return Err(error),
        Err(error) => Some(format!("{error:#}")),
    };
    if let Some(reason) = missing {
        let remedy = format!(
            "no table: {reason}. Every record is kept; after you mend that, `cargo runner show {which}` prints the table"
        );
        // A reader of data must not mistake empty output for all of the data.
        if is_data {
            bail!(Stop::HostNotFit(remedy));
        }
        tell!("WARNING: {remedy}");
    }
    Ok(summary.exit())
}

fn print_result(
    python: &Python,
    arguments: &SweepArgs,
    command: &SweepCommand,
    sweep: &SweepDir,
    manifest: &Manifest,
) -> Result<Exit> {
    let format = arguments.format;
    if !command.has_page || !matches!(format, Format::Table | Format::Markdown) {
        return analysis::print_table(python, sweep, format);
    }
    print(&page::head(manifest, format))?;
    let table = analysis::print_table(python, sweep, format)?;
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let typed = arguments.resume.is_none().then_some(&*typed);
    let columns = columns_of_stdout().unwrap_or(100);
    print(&page::below(
        manifest,
        &sweep.host()?,
        typed,
        format,
        columns,
    ))?;
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(in_trials_ms: u64) -> Tally {
        Tally {
            wall: Duration::from_secs(1),
            in_trials: Duration::from_millis(in_trials_ms),
            ..Tally::default()
        }
    }

    #[test]
    fn a_sweep_of_short_trials_says_that_they_are_short() {
        let text = accounts(tally(500), false);
        assert!(text.contains("50 % of that inside trials, which are short"));
        assert!(text.contains("--size") && !accounts(tally(500), true).contains("--size"));
        assert!(!accounts(tally(910), false).contains("short"));
    }
}
