//! A program's builds run in turns, and what each run took.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use runner::run::subprocess::{self, Limit};
use runner::stop::Stop;

use crate::shell::cpu_seconds_of_children;

/// A run takes a second or less. One that takes so long hangs.
const LIMIT: Duration = Duration::from_mins(2);

/// What a run took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cost {
    pub(super) time_ms: f64,
    /// Of all its threads, in user mode and in the kernel.
    pub(super) cpu_ms: f64,
}

/// Each build once, in whatever order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    pub(super) published: Cost,
    pub(super) fork: Cost,
    /// The published build again.
    pub(super) twin: Cost,
}

/// All rounds of one program on one number of threads.
pub(super) struct Turns {
    pub(super) rounds: Vec<Round>,
    /// Every run printed the same bytes.
    pub(super) is_same_output: bool,
}

/// The two builds of a program, and how they are called.
pub(super) struct Contest<'a> {
    pub(super) published: &'a Path,
    pub(super) fork: &'a Path,
    pub(super) arguments: &'a [OsString],
    pub(super) threads: usize,
}

impl Contest<'_> {
    /// Each build once to warm up, and then `count` rounds.
    pub(super) fn rounds(&self, count: u32, random: &mut fastrand::Rng) -> Result<Turns> {
        let (_, expected) = self.run(self.published)?;
        ensure!(!expected.is_empty(), "it prints nothing, so nothing can be compared");
        let mut turns =
            Turns { rounds: Vec::new(), is_same_output: self.run(self.fork)?.1 == expected };
        for _ in 0..count {
            let mut round = Round::default();
            let mut turn = [
                (self.published, &mut round.published),
                (self.fork, &mut round.fork),
                (self.published, &mut round.twin),
            ];
            random.shuffle(&mut turn);
            for (binary, place) in turn {
                let (cost, output) = self.run(binary)?;
                *place = cost;
                turns.is_same_output &= output == expected;
            }
            turns.rounds.push(round);
        }
        Ok(turns)
    }

    /// What one run took, and what it printed.
    fn run(&self, binary: &Path) -> Result<(Cost, Vec<u8>)> {
        let mut command = Command::new(binary);
        command.args(self.arguments).env("RAYON_NUM_THREADS", self.threads.to_string());
        let before = cpu_seconds_of_children()?;
        let ended = subprocess::run(&mut command, b"", Some(Limit::Wall(LIMIT)));
        let ended = ended.with_context(|| format!("{} cannot be run", binary.display()))?;
        if ended.is_interrupted {
            bail!(Stop::Interrupted("interrupted; nothing was kept".to_owned()));
        }
        ensure!(
            !ended.is_timed_out,
            "{} did not end within {} s",
            binary.display(),
            LIMIT.as_secs()
        );
        ensure!(
            ended.status.success(),
            "{} failed: {}\n{}",
            binary.display(),
            ended.status,
            ended.stderr
        );
        let time_ms = ended.elapsed.as_secs_f64() * 1e3;
        let cpu_ms = (cpu_seconds_of_children()? - before) * 1e3;
        Ok((Cost { time_ms, cpu_ms }, ended.stdout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<Turns> {
        let shell = Path::new("/bin/sh");
        let arguments = ["-c".into(), script.into()];
        let contest = Contest { published: shell, fork: shell, arguments: &arguments, threads: 3 };
        contest.rounds(2, &mut fastrand::Rng::with_seed(1))
    }

    #[test]
    fn a_run_is_told_its_threads_and_its_own_cpu_time_is_taken() {
        let turns = shell("i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; sleep 0.1; echo");
        let rounds = turns.unwrap().rounds;
        for Round { published, fork, twin } in &rounds {
            for Cost { time_ms, cpu_ms } in [published, fork, twin] {
                assert!(*cpu_ms > 1.0 && *time_ms > 100.0, "{rounds:?}");
            }
        }
        assert!(shell("[ $RAYON_NUM_THREADS = 3 ] && echo").is_ok());
    }

    #[test]
    fn an_output_that_differs_once_is_seen() {
        assert!(shell("echo same").unwrap().is_same_output);
        assert!(!shell("echo $$").unwrap().is_same_output);
    }

    #[test]
    fn a_program_that_fails_or_prints_nothing_is_an_error() {
        let error = shell("echo; echo why >&2; exit 7").err().unwrap().to_string();
        assert!(error.contains("why") && error.contains('7'), "{error}");
        assert!(shell("true").is_err());
    }
}
