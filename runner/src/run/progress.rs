//! Shows people the progress of builds and trials, on standard error.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use protocol::Program;

use crate::plan::{Load, Plan, SweepRequest, Trial};
use crate::record::{Done, Record};
use crate::run::sweep::Watch;
use crate::system::subprocess::last_lines;
use crate::text::words::{count, human, tell};

/// Interval between lines of progress, if standard error is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// The progress of steps that end one after another: a bar on a terminal, otherwise lines.
#[derive(Debug)]
struct Steps {
    bar: ProgressBar,
    earlier: u64,
}

impl Steps {
    fn new(all: usize, earlier: usize) -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let earlier = earlier as u64;
        let bar = ProgressBar::with_draw_target(Some(all as u64), target).with_position(earlier);
        // The important parts of the line come first, since a narrow terminal cuts the rest.
        let style = ProgressStyle::with_template("{bar:16} {pos}/{len}, {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, earlier }
    }

    fn say(&self, text: &str) {
        if self.bar.is_hidden() {
            tell(text);
        } else {
            self.bar.suspend(|| tell(text));
        }
    }

    fn all(&self) -> u64 {
        self.bar.length().unwrap_or_default()
    }

    /// Returns the time that the remaining steps take if each takes as long as the mean of the
    /// finished steps.
    fn left(&self) -> String {
        let done = self.bar.position();
        let [ended, after] = [
            done.saturating_sub(self.earlier),
            self.all().saturating_sub(done),
        ];
        time_left(self.bar.elapsed(), ended, after)
    }
}

fn time_left(elapsed: Duration, ended: u64, after: u64) -> String {
    if ended == 0 {
        return "time left unknown".to_owned();
    }
    let left = elapsed.as_secs_f64() * after as f64 / ended as f64;
    format!("about {} left", human(Duration::from_secs_f64(left)))
}

#[derive(Debug)]
pub(crate) struct BuildBar {
    steps: Steps,
    running: Vec<String>,
    begun: usize,
}

impl BuildBar {
    pub(crate) fn new(all: usize, at_once: usize) -> Self {
        let steps = Steps::new(all, 0);
        if all > 0 {
            let branches = count(all, "branch", "branches");
            steps.say(&format!("building {branches}, {at_once} at a time …"));
        }
        if !steps.bar.is_hidden() {
            steps.bar.enable_steady_tick(Duration::from_secs(1));
        }
        Self {
            steps,
            running: Vec::new(),
            begun: 0,
        }
    }

    pub(crate) fn begin(&mut self, branch: &str) {
        self.running.push(branch.to_owned());
        self.begun += 1;
        if self.steps.bar.is_hidden() {
            let all = self.steps.all();
            self.say(&format!("building {}/{all} {branch} …", self.begun));
        }
        self.show();
    }

    pub(crate) fn end(&mut self, branch: &str, how: &str) {
        self.running.retain(|it| it != branch);
        self.steps.bar.inc(1);
        let (done, all) = (self.steps.bar.position(), self.steps.all());
        self.say(&format!("built {done}/{all} {branch}: {how}"));
        self.show();
    }

    fn show(&self) {
        let running = self.running.join(", ");
        let left = self.steps.left();
        self.steps
            .bar
            .set_message(format!("{left}: building {running}"));
    }

    pub(crate) fn say(&self, text: &str) {
        self.steps.say(text);
    }
}

impl Drop for BuildBar {
    fn drop(&mut self) {
        self.steps.bar.finish_and_clear();
    }
}

/// The progress of trials: a bar, or a line now and then if standard error is not a terminal. On a
/// host, the bar is drawn only between trials, so that drawing disturbs no trial.
#[derive(Debug)]
pub(crate) struct Progress {
    steps: Steps,
    last_line: Instant,
    failed: usize,
}

impl Progress {
    pub(crate) fn new(plan: &Plan, done: &Done) -> Self {
        let earlier = plan.trials().filter(|trial| done.contains_key(&trial.id));
        Self {
            steps: Steps::new(plan.len(), earlier.count()),
            last_line: Instant::now(),
            failed: 0,
        }
    }

    pub(crate) fn finish(&self) {
        self.steps.bar.finish_and_clear();
    }

    fn far(&self) -> String {
        let failed = match self.failed {
            0 => String::new(),
            failed => format!("{failed} failed, "),
        };
        failed + &self.steps.left()
    }
}

impl Watch for Progress {
    fn begin(&mut self, load: &Load, trial: &Trial<'_>) {
        let threads = match trial.kind.program {
            Program::Sequential => "sequential".to_owned(),
            Program::Parallel => format!("{} threads", trial.kind.threads),
        };
        let (far, workload, branch) = (self.far(), &load.workload, trial.branch);
        let bar = &self.steps.bar;
        bar.set_message(format!("{far}: {workload} {threads}, {branch}"));
        bar.tick();
    }

    fn end(&mut self, record: &Record) {
        let is_failure = record.outcome.is_failure();
        self.failed += usize::from(is_failure);
        if is_failure {
            // The record has the whole end of standard error.
            let tail = record.stderr_tail.as_deref().unwrap_or_default();
            let said = last_lines(tail, 1).map_or(String::new(), |line| {
                format!("; it printed: {}", line.trim())
            });
            self.steps.say(&format!(
                "failed: {} {} threads={} trial={}: {}: {}{said}",
                record.branch,
                record.workload,
                record.threads,
                record.replicate,
                record.outcome,
                record.reason.as_deref().unwrap_or("unknown reason")
            ));
        }
        self.steps.bar.inc(1);
        if self.steps.bar.is_hidden() && self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            let (done, all) = (self.steps.bar.position(), self.steps.all());
            tell(&format!("{done}/{all} trials, {}", self.far()));
        }
    }
}

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
    use super::*;

    #[test]
    fn the_time_left_follows_the_pace_of_the_steps_of_this_run() {
        let left = |ended, after| time_left(Duration::from_mins(1), ended, after);
        assert_eq!(left(0, 4), "time left unknown");
        assert_eq!(left(1, 3), "about 3 min 0 s left");
        assert_eq!(left(6, 1), "about 10 s left");
    }
}
