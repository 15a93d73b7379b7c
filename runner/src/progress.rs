//! What a person sees while a sweep runs, on standard error, between trials only.

use std::collections::{HashMap, HashSet};
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use protocol::Program;

use crate::first_round::FirstRound;
use crate::id::Id;
use crate::plan::{Asked, Kind, Load, Plan, Trial};
use crate::record::{Ending, Record};
use crate::sweep::Watch;

/// Without a terminal: a line this often.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// Columns of a bar itself; what it says stands behind it.
const BAR: usize = 16;

/// A bar with words behind it, in one line that is no longer than they need; hidden where standard error is no
/// terminal.
fn bar(total: u64) -> ProgressBar {
    let has_bar = std::io::stderr().is_terminal();
    let target = if has_bar { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(total), target);
    let style = ProgressStyle::with_template(&format!("{{bar:{BAR}}} {{msg}}"));
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// As much of a text as fits behind a bar in the terminal as it is now, one column left free: a line that
/// is full is wrapped by some terminals.
fn fitting(text: &str) -> String {
    let columns = Term::stderr().size_checked().map_or(80, |(_, columns)| usize::from(columns));
    console::truncate_str(text, columns.saturating_sub(BAR + 2), "…").into_owned()
}

/// Builds of branches: a bar with the time left, and a line for each that is done.
#[derive(Debug)]
pub struct BuildBar {
    bar: ProgressBar,
    has_bar: bool,
    at_once: usize,
    all: usize,
    /// Expected time of those that are done.
    spent: Duration,
    running: Vec<Build>,
    waiting: Vec<Build>,
}

/// A build, the time that it should take, and when it began.
#[derive(Clone, Debug)]
struct Build {
    branch: String,
    expected: Duration,
    began: Instant,
}

impl BuildBar {
    /// Of builds that take about so long each, so many at a time.
    #[must_use]
    pub fn new(expected: Vec<(String, Duration)>, at_once: usize) -> Self {
        let all = expected.iter().map(|(_, time)| *time).sum::<Duration>();
        let bar = bar(milliseconds(all));
        let began = Instant::now();
        let waiting: Vec<_> = expected
            .into_iter()
            .map(|(branch, expected)| Build { branch, expected, began })
            .collect();
        let has_bar = !bar.is_hidden();
        if !has_bar && !waiting.is_empty() {
            let beside = if at_once > 1 { format!(", {at_once} at a time") } else { String::new() };
            eprintln!("building {}{beside} …", count(waiting.len(), "branch", "branches"));
        }
        let (all, running) = (waiting.len(), Vec::new());
        Self { bar, has_bar, at_once, all, spent: Duration::ZERO, running, waiting }
    }

    /// A build begins.
    pub fn begin(&mut self, branch: &str) {
        if let Some(place) = self.waiting.iter().position(|it| it.branch == branch) {
            let build = self.waiting.remove(place);
            self.running.push(Build { began: Instant::now(), ..build });
        }
        self.show();
    }

    /// A build ended in this way.
    pub fn end(&mut self, branch: &str, how: &str) {
        if let Some(place) = self.running.iter().position(|it| it.branch == branch) {
            self.spent += self.running.remove(place).expected;
        }
        let done = self.all - self.waiting.len() - self.running.len();
        self.say(&format!("built {done}/{} {branch}: {how}", self.all));
        self.show();
    }

    fn show(&self) {
        if !self.has_bar || self.running.is_empty() {
            return;
        }
        let names: Vec<&str> = self.running.iter().map(|build| build.branch.as_str()).collect();
        let begun = self.all - self.waiting.len();
        let what = format!("building {begun}/{} {}", self.all, names.join(", "));
        let waiting = self.waiting.iter().map(|build| build.expected).sum::<Duration>();
        let (running, at_once) = (self.running.clone(), self.at_once);
        let left = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
            let running: Vec<_> =
                running.iter().map(|build| (build.expected, build.began.elapsed())).collect();
            let left = human(time_left(&running, waiting, at_once));
            let _ = out.write_str(&fitting(&format!("{what}, about {left} left")));
        };
        let style = ProgressStyle::with_template(&format!("{{bar:{BAR}}} {{left}}"));
        self.bar.set_style(
            style.unwrap_or_else(|_| ProgressStyle::default_bar()).with_key("left", left),
        );
        self.bar.set_position(milliseconds(self.spent));
        self.bar.enable_steady_tick(Duration::from_secs(1));
    }

    /// Shows lines above the bar.
    pub fn say(&self, text: &str) {
        if self.has_bar { self.bar.println(text) } else { eprintln!("{text}") }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Until builds are done: expected and elapsed times of those that run, the sum of those that wait, and how many
/// go on at a time.
fn time_left(running: &[(Duration, Duration)], waiting: Duration, at_once: usize) -> Duration {
    // If one takes longer than it should, so will those that wait.
    let mut slower = 1.0_f64;
    let mut left = Duration::ZERO;
    for (expected, elapsed) in running {
        slower = slower.max(elapsed.as_secs_f64() / expected.as_secs_f64().max(1.0));
        left += expected.saturating_sub(*elapsed);
    }
    (left + waiting.mul_f64(slower)).div_f64(at_once.max(1) as f64)
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Drop for BuildBar {
    fn drop(&mut self) {
        self.finish();
    }
}

/// A bar, or a line now and then where standard error is no terminal.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    has_bar: bool,
    last_line: Instant,
    done: usize,
    failed: usize,
    total: usize,
    current: Option<(Kind, Instant)>,
    at_once: usize,
    first_round: Option<FirstRound>,
    left: HashMap<Kind, usize>,
    seen: HashMap<Kind, (usize, Duration)>,
}

impl Progress {
    /// Progress of a plan of what was asked, of which the trials `done` were recorded by earlier runs, and so many run at
    /// a time.
    #[must_use]
    pub fn new(asked: &Asked, plan: &Plan, done: &HashSet<Id>, at_once: usize) -> Self {
        let first_round = FirstRound::of(asked, plan, done);
        let mut left: HashMap<Kind, usize> = HashMap::new();
        for trial in plan.trials() {
            if !done.contains(&trial.id) {
                *left.entry(trial.kind).or_default() += 1;
            }
        }
        let total = plan.len();
        let done = total - left.values().sum::<usize>();
        let bar = bar(total as u64);
        let has_bar = !bar.is_hidden();
        bar.set_position(done as u64);
        Self {
            bar,
            has_bar,
            last_line: Instant::now(),
            done,
            failed: 0,
            total,
            current: None,
            at_once,
            first_round,
            left,
            seen: HashMap::new(),
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Time left, from what trials of the same kind took; `None` before the first.
    fn time_left(&self) -> Option<Duration> {
        let (count, time) = self
            .seen
            .values()
            .fold((0, Duration::ZERO), |sum, seen| (sum.0 + seen.0, sum.1 + seen.1));
        if count == 0 {
            return None;
        }
        let mean = |count: usize, time: Duration| time.as_secs_f64() / count as f64;
        let seconds = self.left.iter().map(|(kind, left)| {
            let (count, time) = self.seen.get(kind).copied().unwrap_or((count, time));
            *left as f64 * mean(count, time)
        });
        Some(Duration::from_secs_f64(seconds.sum()))
    }

    fn standing(&self) -> String {
        let failed =
            if self.failed > 0 { format!("{} failed, ", self.failed) } else { String::new() };
        match self.time_left() {
            Some(left) => format!("{failed}{} left", human(left)),
            None => format!("{failed}time left unknown"),
        }
    }

    /// Shows a line above the bar, or just a line.
    fn say(&self, line: &str) {
        if self.has_bar {
            self.bar.println(line);
        } else {
            eprintln!("{line}");
        }
    }
}

impl Watch for Progress {
    fn begin(&mut self, load: &Load, trial: &Trial<'_>) {
        self.current = Some((trial.kind, Instant::now()));
        let threads = match trial.kind.program {
            Program::Sequential => "sequential".to_owned(),
            Program::Parallel => format!("{} threads", trial.kind.threads),
        };
        let text = format!(
            "{}/{}, {}: {} {threads}, {}",
            self.done,
            self.total,
            self.standing(),
            load.workload,
            trial.branch
        );
        self.bar.set_message(fitting(&text));
        self.bar.tick();
    }

    fn end(&mut self, record: &Record) {
        if let Some((kind, started)) = self.current.take() {
            let seen = self.seen.entry(kind).or_default();
            // Of trials that run side by side, only the end is seen.
            let share =
                Duration::from_nanos(record.process_ns) / u32::try_from(self.at_once).unwrap_or(1);
            *seen = (seen.0 + 1, seen.1 + started.elapsed().max(share));
            if let Some(left) = self.left.get_mut(&kind) {
                *left = left.saturating_sub(1);
            }
        }
        self.done += 1;
        if record.outcome != Ending::Ok {
            self.failed += 1;
        }
        // The build already reported that a branch could not be built.
        if !matches!(record.outcome, Ending::Ok | Ending::BuildFailed) {
            self.say(&format!(
                "failed: {} {} threads={} trial={}: {}: {}",
                record.branch,
                record.workload,
                record.threads,
                record.replicate,
                record.outcome,
                record.reason.as_deref().unwrap_or("no reason known")
            ));
        }
        if let Some(comparison) = self.first_round.as_mut().and_then(|round| round.add(record)) {
            self.say(&comparison);
        }
        self.bar.set_position(self.done as u64);
        if !self.has_bar && self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            eprintln!("{}/{} trials, {}", self.done, self.total, self.standing());
        }
    }
}

/// What to say of a sweep before it starts: its size in one line.
#[must_use]
pub fn headline(asked: &Asked, plan: &Plan) -> String {
    let mut workloads: Vec<&str> =
        asked.workloads.iter().map(|load| load.workload.as_str()).collect();
    workloads.dedup();
    let sets = if asked.workloads.len() > workloads.len() {
        format!(" in {} sets of parameters", asked.workloads.len())
    } else {
        String::new()
    };
    let counted = match &asked.instrument {
        Some(instrument) => format!(", {} also counted", instrument.branches.len()),
        None => String::new(),
    };
    format!(
        "{}{}{}{counted}, {}{sets}, {}, {}",
        asked.heading(),
        count(asked.branches.len(), "branch", "branches"),
        if asked.twin { " and the baseline's twin" } else { "" },
        workloads.join(" "),
        count(asked.threads.len(), "thread count", "thread counts"),
        count(plan.len(), "trial", "trials")
    )
}

/// A number and its noun in the right form.
#[must_use]
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A time as a person says it: `45 s`, `4 min 5 s`, `2 h 10 min`.
#[must_use]
pub fn human(time: Duration) -> String {
    let seconds = (time + Duration::from_millis(500)).as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_builds_is_shared_by_those_at_a_time_and_grows_when_one_is_late() {
        let left = |running: &[(u64, u64)], at_once| {
            let times = running.iter();
            let times = times.map(|&(a, b)| (Duration::from_secs(a), Duration::from_secs(b)));
            time_left(&times.collect::<Vec<_>>(), Duration::from_mins(1), at_once)
        };
        assert_eq!(left(&[(20, 0), (20, 0)], 2), Duration::from_secs(50));
        assert_eq!(left(&[(20, 5)], 1), Duration::from_secs(75));
        assert_eq!(left(&[(20, 40), (20, 20)], 2), Duration::from_mins(1));
    }
}
