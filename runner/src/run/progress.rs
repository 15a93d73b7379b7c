//! Shows people the progress of builds and trials, on standard error.

use std::collections::HashSet;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::style::ProgressTracker;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use protocol::Program;

use crate::plan::{Load, Plan, SweepRequest, Trial};
use crate::record::{Ending, Record};
use crate::run::sweep::Watch;
use crate::system::digest::Id;
use crate::text::words::{count, human, tell};

/// Without a terminal: prints a line this often.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// The pace of a bar, from its steps that have ended. The library's own estimate grows without
/// bound while a step lasts, and a build lasts for minutes.
#[derive(Clone, Debug)]
struct Pace {
    /// The steps that ended before the bar began.
    earlier: u64,
    /// The steps that have ended, and how long after the beginning the last one did.
    ended: (u64, Duration),
}

impl Pace {
    fn new(earlier: u64) -> Self {
        Self {
            earlier,
            ended: (earlier, Duration::ZERO),
        }
    }

    fn see(&mut self, position: u64, elapsed: Duration) {
        if position != self.ended.0 {
            self.ended = (position, elapsed);
        }
    }

    /// How long it takes to the end of so many steps.
    fn left(&self, all: u64, elapsed: Duration) -> String {
        let (position, at) = self.ended;
        let done = u32::try_from(position - self.earlier).unwrap_or(u32::MAX);
        let after = u32::try_from(all.saturating_sub(position)).unwrap_or(u32::MAX);
        let one = at.checked_div(done).unwrap_or_default();
        match one
            .saturating_mul(after)
            .saturating_sub(elapsed.saturating_sub(at))
        {
            Duration::ZERO => "time left unknown".to_owned(),
            time => format!("about {} left", human(time)),
        }
    }
}

impl ProgressTracker for Pace {
    fn clone_box(&self) -> Box<dyn ProgressTracker> {
        Box::new(self.clone())
    }

    fn tick(&mut self, state: &ProgressState, _: Instant) {
        self.see(state.pos(), state.elapsed());
    }

    fn reset(&mut self, _: &ProgressState, _: Instant) {}

    fn write(&self, state: &ProgressState, out: &mut dyn std::fmt::Write) {
        let mut now = self.clone();
        now.tick(state, Instant::now());
        let _ = out.write_str(&now.left(state.len().unwrap_or_default(), state.elapsed()));
    }
}

/// A bar whose important parts come first, since a narrow terminal cuts the rest; hidden if
/// standard error is not a terminal.
fn bar(target: ProgressDrawTarget, all: usize, done: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(all as u64), target).with_position(done as u64);
    let style = ProgressStyle::with_template("{bar:16} {pos}/{len}, {left}: {wide_msg}");
    bar.set_style(
        style
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .with_key("left", Pace::new(done as u64)),
    );
    bar
}

fn target() -> ProgressDrawTarget {
    let is_terminal = std::io::stderr().is_terminal();
    if is_terminal {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    }
}

/// Shows a text above a bar, or by itself.
fn say(bar: &ProgressBar, text: &str) {
    if bar.is_hidden() {
        tell(text);
    } else {
        bar.suspend(|| tell(text));
    }
}

/// Builds of branches: a bar with the time left, and a line for each finished build.
#[derive(Debug)]
pub struct BuildBar {
    bar: ProgressBar,
    running: Vec<String>,
    begun: usize,
}

impl BuildBar {
    /// Of so many builds, so many at a time.
    pub(crate) fn new(all: usize, at_once: usize) -> Self {
        let bar = bar(target(), all, 0);
        if bar.is_hidden() && all > 0 {
            let beside = if at_once > 1 {
                format!(", {at_once} at a time")
            } else {
                String::new()
            };
            tell(&format!(
                "building {}{beside} …",
                count(all, "branch", "branches")
            ));
        } else {
            bar.enable_steady_tick(Duration::from_secs(1));
        }
        Self {
            bar,
            running: Vec::new(),
            begun: 0,
        }
    }

    /// Reports that a build begins. It takes minutes, so without a bar a line is printed.
    pub fn begin(&mut self, branch: &str) {
        self.running.push(branch.to_owned());
        self.begun += 1;
        if self.bar.is_hidden() {
            let all = self.bar.length().unwrap_or_default();
            self.say(&format!("building {}/{all} {branch} …", self.begun));
        }
        self.show();
    }

    /// Reports that a build ended, and how.
    pub fn end(&mut self, branch: &str, how: &str) {
        self.running.retain(|it| it != branch);
        self.bar.inc(1);
        let all = self.bar.length().unwrap_or_default();
        self.say(&format!(
            "built {}/{all} {branch}: {how}",
            self.bar.position()
        ));
        self.show();
    }

    fn show(&self) {
        self.bar
            .set_message(format!("building {}", self.running.join(", ")));
    }

    /// Shows lines above the bar.
    pub fn say(&self, text: &str) {
        say(&self.bar, text);
    }
}

impl Drop for BuildBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Trials: a bar, or a line now and then if standard error is not a terminal. It is drawn only
/// between trials.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    pace: Pace,
    last_line: Instant,
    failed: usize,
}

impl Progress {
    /// Progress of a plan; earlier runs recorded the trials `done`.
    pub(crate) fn new(plan: &Plan, done: &HashSet<Id>) -> Self {
        let there = plan
            .trials()
            .filter(|trial| done.contains(&trial.id))
            .count();
        let bar = bar(target(), plan.len(), there);
        Self {
            bar,
            pace: Pace::new(there as u64),
            last_line: Instant::now(),
            failed: 0,
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn failed(&self) -> String {
        if self.failed > 0 {
            format!("{} failed, ", self.failed)
        } else {
            String::new()
        }
    }
}

impl Watch for Progress {
    fn begin(&mut self, load: &Load, trial: &Trial<'_>) {
        let threads = match trial.kind.program {
            Program::Sequential => "sequential".to_owned(),
            Program::Parallel => format!("{} threads", trial.kind.threads),
        };
        let words = format!(
            "{}{} {threads}, {}",
            self.failed(),
            load.workload,
            trial.branch
        );
        self.bar.set_message(words);
        self.bar.tick();
    }

    fn end(&mut self, record: &Record) {
        if record.outcome != Ending::Ok {
            self.failed += 1;
        }
        // The build already reported that a branch could not be built.
        if !matches!(record.outcome, Ending::Ok | Ending::BuildFailed) {
            let text = format!(
                "failed: {} {} threads={} trial={}: {}: {}",
                record.branch,
                record.workload,
                record.threads,
                record.replicate,
                record.outcome,
                record.reason.as_deref().unwrap_or("unknown reason")
            );
            say(&self.bar, &text);
        }
        self.bar.inc(1);
        if self.bar.is_hidden() && self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or_default());
            let elapsed = self.bar.elapsed();
            self.pace.see(done, elapsed);
            tell(&format!(
                "{done}/{all} trials, {}{}",
                self.failed(),
                self.pace.left(all, elapsed)
            ));
        }
    }
}

/// Describes the size of a sweep in one line.
pub(crate) fn headline(asked: &SweepRequest, trials: usize) -> String {
    let mut workloads: Vec<&str> = asked
        .workloads
        .iter()
        .map(|load| load.workload.as_str())
        .collect();
    workloads.dedup();
    let sets = if asked.workloads.len() > workloads.len() {
        format!(" in {} sets of parameters", asked.workloads.len())
    } else {
        String::new()
    };
    let counted = match &asked.instrument {
        Some(instrument) => format!(", {} also with event counts", instrument.branches.len()),
        None => String::new(),
    };
    format!(
        "{}{}{}{counted}, {}{sets}, {}, {}",
        asked.heading(),
        count(asked.branches.len(), "branch", "branches"),
        if asked.twin {
            " and the A/A control of the baseline"
        } else {
            ""
        },
        workloads.join(" "),
        count(asked.threads.len(), "thread count", "thread counts"),
        count(trials, "trial", "trials")
    )
}

#[cfg(test)]
mod tests {
    use indicatif::InMemoryTerm;

    use super::*;

    #[test]
    fn the_time_left_falls_while_a_step_lasts_and_counts_no_step_of_earlier_runs() {
        let seconds = Duration::from_secs;
        let mut pace = Pace::new(10);
        pace.see(10, seconds(5));
        assert_eq!(pace.left(14, seconds(5)), "time left unknown");
        pace.see(11, seconds(60));
        assert_eq!(pace.left(14, seconds(60)), "about 3 min 0 s left");
        pace.see(11, seconds(100));
        assert_eq!(pace.left(14, seconds(100)), "about 2 min 20 s left");
        assert_eq!(pace.left(14, seconds(1_000)), "time left unknown");
    }

    #[test]
    fn a_narrow_terminal_cuts_names_and_not_the_time_left_which_follows_the_pace() {
        let terminal = InMemoryTerm::new(4, 80);
        let bar = bar(
            ProgressDrawTarget::term_like(Box::new(terminal.clone())),
            100,
            0,
        );
        bar.set_message("split-counters-no-jec-sleepers-only-cache-padded, ".repeat(2));
        bar.tick();
        assert!(
            terminal
                .contents()
                .contains("0/100, time left unknown: split"),
            "{terminal:?}"
        );
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(200));
            bar.inc(1);
            bar.tick();
        }
        let shown = terminal.contents();
        let (before, left) = shown.split_once("3/100, about ").unwrap();
        assert!(
            left.contains(" s left: split-counters") && !before.contains("left"),
            "{shown}"
        );
        assert!(shown.lines().count() == 1, "{shown}");
        let seconds: u64 = left.split(' ').next().unwrap().parse().unwrap();
        assert!((5..60).contains(&seconds), "{shown}");
        // As long as the next step lasts.
        std::thread::sleep(Duration::from_millis(1_100));
        bar.tick();
        let shown = terminal.contents();
        let left = shown.split_once("3/100, about ").unwrap().1;
        assert!(
            left.split(' ').next().unwrap().parse::<u64>().unwrap() <= seconds,
            "{shown}"
        );
    }
}
