//! The table: one row for each branch and scenario.

use protocol::Outcome;
use runner::run::trial::TrialFailure;

use super::scenarios::Scenario;

/// Names stand to the left, figures to the right.
const COLUMNS: [(&str, usize); 9] = [
    ("branch", 48),
    ("scenario", 14),
    ("repetitions", 11),
    ("median us", 10),
    ("worst ms", 9),
    ("over 10 ms", 10),
    ("CPU ms/s", 8),
    ("2x %", 6),
    ("unshared %", 10),
];

/// Of the columns with figures.
type Figures = [Option<String>; 7];

/// The first line.
pub(super) fn heading() -> String {
    line(&COLUMNS.map(|(title, _)| title.to_owned()), "ended")
}

/// How one scenario went on one branch, from what the branch's binary answered.
pub(super) fn row(
    branch: &str,
    scenario: &Scenario,
    result: &Result<Outcome, TrialFailure>,
) -> String {
    let (figures, ended) = match result {
        Ok(outcome) => (figures(outcome, scenario.tells_cpu_time), "ok".to_owned()),
        Err(failure) => (Figures::default(), failure.ending.to_string()),
    };
    let [repetitions, median, worst, slow, cpu, doubled, unshared] =
        figures.map(|text| text.unwrap_or_else(|| "-".to_owned()));
    let (branch, scenario) = (branch.to_owned(), scenario.name.to_owned());
    let cells = [
        branch,
        scenario,
        repetitions,
        median,
        worst,
        slow,
        cpu,
        doubled,
        unshared,
    ];
    line(&cells, &ended)
}

fn figures(outcome: &Outcome, tells_cpu_time: bool) -> Figures {
    let metric = |name: &str| outcome.metrics.get(name).map(|metric| metric.value);
    // Every scenario has these; a workload that no longer does would show as no number.
    let needed = |name: &str| metric(name).unwrap_or(f64::NAN);
    let percent = |share: f64| format!("{:.1}", share * 100.0);
    let repetitions: u64 = outcome
        .iterations
        .iter()
        .map(|iteration| iteration.work_units)
        .sum();
    [
        Some(repetitions.to_string()),
        Some(format!("{:.1}", needed("latency_p50") / 1e3)),
        Some(format!("{:.2}", needed("latency_max") / 1e6)),
        Some(format!("{:.0}", needed("latency_over_10ms"))),
        metric("cpu_per_second")
            .filter(|_| tells_cpu_time)
            .map(|cpu| format!("{cpu:.1}")),
        metric("doubled").map(percent),
        metric("unshared").map(percent),
    ]
}

fn line(cells: &[String; 9], ended: &str) -> String {
    let columns = cells.iter().zip(COLUMNS).enumerate();
    let padded = columns.map(|(index, (text, (_, width)))| {
        if index < 2 {
            format!("{text:<width$}")
        } else {
            format!("{text:>width$}")
        }
    });
    format!("{}  {ended}", padded.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use protocol::Metric;
    use runner::record::Ending;

    use super::super::scenarios::{SCENARIOS, tests::outcome};
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }

    fn hang() -> String {
        let failure = TrialFailure {
            ending: Ending::Hang,
            reason: String::new(),
            stderr_tail: None,
        };
        row("mine", &SCENARIOS[0], &Err(failure))
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
            outcome
                .metrics
                .insert(name.to_owned(), Metric { value, unit });
        }
        let row = row("mine", &SCENARIOS[1], &Ok(outcome));
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
        let cpu_of =
            |scenario: &Scenario| figures(&outcome(scenario), scenario.tells_cpu_time)[4].is_some();
        assert!(cpu_of(&SCENARIOS[4]) && !cpu_of(&SCENARIOS[0]));
    }

    #[test]
    fn every_scenario_has_the_figures_that_every_row_shows() {
        for scenario in &SCENARIOS {
            let row = row("mine", scenario, &Ok(outcome(scenario)));
            assert!(!row.contains("NaN"), "{row}");
        }
    }

    #[test]
    fn a_hang_is_a_row_without_figures() {
        assert_eq!(
            words(&hang()),
            [
                "mine",
                "barrier-join",
                "-",
                "-",
                "-",
                "-",
                "-",
                "-",
                "-",
                "hang"
            ]
        );
    }

    #[test]
    fn columns_of_heading_and_rows_end_in_the_same_place() {
        assert_eq!(heading().find("ended"), hang().find("hang"));
    }
}
