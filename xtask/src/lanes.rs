//! Runs steps in two lanes, each step a process of its own, and prints a table of the time that
//! each took.
//!
//! While one lane compiles on one CPU, or its tests wait, the other lane can use the CPUs. Most
//! steps of the first lane build in the checkout's target folder, which Cargo locks for one build
//! at a time. Steps of the second lane build in other folders, or only briefly in that one.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow};
use nix::sys::wait::{WaitStatus, wait};
use runner::stop::Stop;
use xshell::Shell;

use crate::shell::cpu_seconds_of_children;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step(Vec<String>);

struct Took {
    step: String,
    wall_s: f64,
    cpu_s: f64,
}

struct RunningStep {
    step: Step,
    lane: usize,
    log: PathBuf,
    start: Instant,
}

impl Step {
    pub(crate) fn new<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        Self(words.into_iter().map(str::to_owned).collect())
    }

    /// The step's name: the words that a person types after `cargo xtask`.
    pub(crate) fn name(&self) -> String {
        self.0.join(" ")
    }

    fn begin(self, folder: &Path, lane: usize) -> Result<(i32, RunningStep)> {
        let log = folder.join(self.name().replace([' ', ','], "-") + ".log");
        let file = File::create(&log).with_context(|| log.display().to_string())?;
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(&self.0)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file);
        eprintln!("── {}: begins", self.name());
        let child = command
            .spawn()
            .with_context(|| format!("`{}` cannot be run", self.name()))?;
        let id = i32::try_from(child.id())?;
        Ok((
            id,
            RunningStep {
                step: self,
                lane,
                log,
                start: Instant::now(),
            },
        ))
    }
}

/// Runs the steps of each lane one after the other, both lanes side by side, until a step fails.
pub(crate) fn run(sh: &Shell, lanes: [Vec<Step>; 2]) -> Result<()> {
    let folder = sh.current_dir().join("target/steps");
    sh.create_dir(&folder)?;
    let start = Instant::now();
    let mut waiting = lanes.map(VecDeque::from);
    let mut running = BTreeMap::new();
    let mut table = Vec::new();
    let mut failure = None;
    for (lane, steps) in waiting.iter_mut().enumerate() {
        if let Some(step) = steps.pop_front() {
            running.extend([step.begin(&folder, lane)?]);
        }
    }
    while !running.is_empty() {
        let before = cpu_seconds_of_children()?;
        // Waits for one step at a time, so that the CPU time added during this wait is that of one
        // step.
        let status = wait().context("waiting for a step")?;
        let Some((id, code)) = ended(status) else {
            continue;
        };
        let Some(RunningStep {
            step,
            lane,
            log,
            start,
        }) = running.remove(&id)
        else {
            continue;
        };
        let (wall_s, cpu_s) = (
            start.elapsed().as_secs_f64(),
            cpu_seconds_of_children()? - before,
        );
        let said = fs::read(&log).with_context(|| log.display().to_string())?;
        eprintln!(
            "\n── {}\n{}",
            step.name(),
            String::from_utf8_lossy(&said).trim_end()
        );
        let how = if code == 0 { "done" } else { "FAILED" };
        eprintln!(
            "── {}: {how} in {wall_s:.0} s, {cpu_s:.0} s of CPU\n",
            step.name()
        );
        if code != 0 {
            failure.get_or_insert_with(|| failed(&step, code));
        } else if failure.is_none()
            && let Some(next) = waiting[lane].pop_front()
        {
            running.extend([next.begin(&folder, lane)?]);
        }
        table.push(Took {
            step: step.name(),
            wall_s,
            cpu_s,
        });
    }
    eprintln!("{}", table_of(&table, start.elapsed().as_secs_f64()));
    failure.map_or(Ok(()), Err)
}

fn ended(status: WaitStatus) -> Option<(i32, i32)> {
    match status {
        WaitStatus::Exited(id, code) => Some((id.as_raw(), code)),
        WaitStatus::Signaled(id, signal, _) => Some((id.as_raw(), 128 + signal as i32)),
        _ => None,
    }
}

fn failed(step: &Step, code: i32) -> anyhow::Error {
    let why = format!("`cargo xtask {}` failed; its output is above", step.name());
    match code {
        2 => Stop::BadInput(why).into(),
        3 => Stop::BuildFailed(why).into(),
        4 => Stop::HostNotFit(why).into(),
        130 => Stop::Interrupted(why).into(),
        _ => anyhow!(why),
    }
}

fn table_of(rows: &[Took], wall_s: f64) -> String {
    let mut table = format!("{:<32} {:>8} {:>8}\n", "step", "wall s", "CPU s");
    let all = Took {
        step: "all, in two lanes".to_owned(),
        wall_s,
        cpu_s: rows.iter().map(|took| took.cpu_s).sum(),
    };
    for Took {
        step,
        wall_s,
        cpu_s,
    } in rows.iter().chain([&all])
    {
        let _ = writeln!(table, "{step:<32} {wall_s:>8.0} {cpu_s:>8.0}");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{Step, Took, failed, table_of};

    #[test]
    fn a_step_that_fails_is_named_as_it_is_typed_and_its_cause_kept() {
        let step = Step::new(["test", "--only", "fork"]);
        let error = failed(&step, 4);
        assert!(error.is::<runner::stop::Stop>() && error.to_string().contains("test --only fork"));
        assert!(!failed(&step, 1).is::<runner::stop::Stop>());
    }

    #[test]
    fn the_table_ends_with_the_time_of_all_and_the_sum_of_what_cpus_did() {
        let took = |step: &str, cpu_s| Took {
            step: step.to_owned(),
            wall_s: 5.0,
            cpu_s,
        };
        let table = table_of(&[took("check", 4.0), took("test --only fork", 6.0)], 5.5);
        let last: Vec<&str> = table.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(last[last.len() - 2..], ["6", "10"], "{table}");
    }
}
