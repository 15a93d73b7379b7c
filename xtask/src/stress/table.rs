//! The table: one row for each branch and scenario.

use std::collections::BTreeMap;
use std::fmt;

use protocol::{Metric, Outcome};
use runner::record::Ending;
use runner::trial::TrialFailure;

use super::scenarios::Scenario;

/// The first line.
pub(super) fn heading() -> String {
    let columns = Cells {
        branch: "branch",
        scenario: "scenario",
        repetitions: "repetitions",
        median: "median us",
        worst: "worst ms",
        slow: "over 10 ms",
        cpu: "CPU ms/s",
        doubled: "2x %",
        unshared: "unshared %",
        ended: "ended",
    };
    columns.to_string()
}

/// How one scenario went on one branch.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    branch: String,
    scenario: &'static str,
    ended: Ending,
    /// `None` unless it ended well.
    measured: Option<Measured>,
}

#[derive(Clone, Debug, PartialEq)]
struct Measured {
    repetitions: u64,
    median_us: f64,
    worst_ms: f64,
    slow: f64,
    cpu_ms_per_s: Option<f64>,
    doubled: Option<f64>,
    unshared: Option<f64>,
}

impl Row {
    /// From what the branch's binary answered.
    pub(super) fn new(
        branch: &str,
        scenario: &Scenario,
        result: &Result<Outcome, TrialFailure>,
    ) -> Self {
        let (ended, measured) = match result {
            Ok(outcome) => (Ending::Ok, Some(Measured::of(outcome, scenario.tells_cpu_time))),
            Err(failure) => (failure.ending, None),
        };
        Self { branch: branch.to_owned(), scenario: scenario.name, ended, measured }
    }
}

impl Measured {
    fn of(outcome: &Outcome, tells_cpu_time: bool) -> Self {
        let metric = |name: &str| value(&outcome.metrics, name);
        // Every scenario has these; a workload that no longer does would show as no number.
        let needed = |name: &str| metric(name).unwrap_or(f64::NAN);
        Self {
            repetitions: outcome.iterations.iter().map(|iteration| iteration.work_units).sum(),
            median_us: needed("latency_p50") / 1e3,
            worst_ms: needed("latency_max") / 1e6,
            slow: needed("latency_over_10ms"),
            cpu_ms_per_s: metric("cpu_per_second").filter(|_| tells_cpu_time),
            doubled: metric("doubled"),
            unshared: metric("unshared"),
        }
    }
}

fn value(metrics: &BTreeMap<String, Metric>, name: &str) -> Option<f64> {
    metrics.get(name).map(|metric| metric.value)
}

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: Option<f64>| share.map(|share| format!("{:.1}", share * 100.0));
        let measured = self.measured.as_ref();
        let text = |of: fn(&Measured) -> String| measured.map_or_else(|| "-".to_owned(), of);
        let optional = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        Cells {
            branch: &self.branch,
            scenario: self.scenario,
            repetitions: &text(|it| it.repetitions.to_string()),
            median: &text(|it| format!("{:.1}", it.median_us)),
            worst: &text(|it| format!("{:.2}", it.worst_ms)),
            slow: &text(|it| format!("{:.0}", it.slow)),
            cpu: &optional(measured.and_then(|it| it.cpu_ms_per_s.map(|cpu| format!("{cpu:.1}")))),
            doubled: &optional(measured.and_then(|it| percent(it.doubled))),
            unshared: &optional(measured.and_then(|it| percent(it.unshared))),
            ended: &self.ended.to_string(),
        }
        .fmt(formatter)
    }
}

/// The texts of one line.
struct Cells<'a> {
    branch: &'a str,
    scenario: &'a str,
    repetitions: &'a str,
    median: &'a str,
    worst: &'a str,
    slow: &'a str,
    cpu: &'a str,
    doubled: &'a str,
    unshared: &'a str,
    ended: &'a str,
}

impl fmt::Display for Cells<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { branch, scenario, repetitions, median, worst, .. } = self;
        let Self { slow, cpu, doubled, unshared, ended, .. } = self;
        write!(
            formatter,
            "{branch:<48} {scenario:<14} {repetitions:>11} {median:>10} {worst:>9} {slow:>10} \
             {cpu:>8} {doubled:>6} {unshared:>10}  {ended}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::scenarios::{SCENARIOS, tests::outcome};
    use super::*;

    fn words(text: &impl fmt::Display) -> Vec<String> {
        text.to_string().split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_row_has_the_figures_of_its_outcome_in_the_units_of_its_heading() {
        let mut outcome = outcome(&SCENARIOS[1]);
        for (name, value) in [
            ("latency_p50", 5_012_345.0),
            ("latency_max", 10_500_000.0),
            ("latency_over_10ms", 2.0),
            ("doubled", 0.25),
            ("unshared", 0.125),
        ] {
            let unit = "made up".to_owned();
            outcome.metrics.insert(name.to_owned(), Metric { value, unit });
        }
        let row = Row::new("mine", &SCENARIOS[1], &Ok(outcome));
        assert_eq!(
            words(&row),
            [
                "mine", "two", "long", "tasks", "6", "5012.3", "10.50", "2", "-", "25.0", "12.5",
                "ok"
            ]
        );
    }

    #[test]
    fn only_a_scenario_that_sleeps_shows_cpu_time() {
        let cpu_of = |scenario: &Scenario| {
            let outcome = outcome(scenario);
            Row::new("mine", scenario, &Ok(outcome)).measured.unwrap().cpu_ms_per_s
        };
        assert!(cpu_of(&SCENARIOS[4]).is_some());
        assert!(cpu_of(&SCENARIOS[0]).is_none());
    }

    #[test]
    fn every_scenario_has_the_figures_that_every_row_shows() {
        for scenario in &SCENARIOS {
            let outcome = outcome(scenario);
            let row = Row::new("mine", scenario, &Ok(outcome)).to_string();
            assert!(!row.contains("NaN"), "{row}");
        }
    }

    #[test]
    fn a_hang_is_a_row_without_figures() {
        let failure =
            TrialFailure { ending: Ending::Hang, reason: String::new(), stderr_tail: None };
        let row = Row::new("mine", &SCENARIOS[0], &Err(failure));
        assert_eq!(
            words(&row),
            ["mine", "barrier-join", "-", "-", "-", "-", "-", "-", "-", "hang"]
        );
    }

    #[test]
    fn columns_of_heading_and_rows_end_in_the_same_place() {
        let failure =
            TrialFailure { ending: Ending::Hang, reason: String::new(), stderr_tail: None };
        let row = Row::new("mine", &SCENARIOS[0], &Err(failure)).to_string();
        assert_eq!(heading().find("ended"), row.find("hang"));
    }
}
