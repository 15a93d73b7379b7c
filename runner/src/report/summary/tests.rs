//! The table on made-up records whose truth is known.

use std::collections::BTreeMap;
use std::time::Duration;

use protocol::{Events, Iteration, SCHEMA};

use super::*;
use crate::plan::{Asked, Instrument, Load};
use crate::record::{Ending, FreqState, Record};
use crate::report::table::{Format, Terminal};

pub(crate) fn asked() -> Asked {
    let load = Load {
        workload: "quicksort".to_owned(),
        size: "small".to_owned(),
        ..Load::default()
    };
    Asked {
        branches: vec!["slow".to_owned(), "master".to_owned(), "same".to_owned()],
        workloads: vec![load],
        threads: vec![2, 8],
        trials: 5,
        iterations: 3,
        ..crate::plan::tests::asked()
    }
}

pub(super) fn summary(asked: &Asked, records: &[Record]) -> Summary {
    let mut summary = Summary::new(asked);
    for record in records {
        summary.add(record);
    }
    summary
}

pub(super) fn rows(asked: &Asked, records: &[Record]) -> Vec<Row> {
    summary(asked, records).rows()
}

/// A trial of three iterations around `elapsed_ns`, one of them an outlier.
pub(crate) fn record(
    branch: &str,
    program: Program,
    threads: usize,
    block: usize,
    elapsed_ns: u64,
) -> Record {
    let iteration = |elapsed_ns| Iteration {
        elapsed_ns,
        user_ns: elapsed_ns,
        system_ns: elapsed_ns / 2,
        work_units: 100,
    };
    Record {
        schema: SCHEMA,
        block,
        branch: branch.to_owned(),
        program,
        workload: "quicksort".to_owned(),
        size: "small".to_owned(),
        threads,
        freq_state: FreqState::Uncontrolled,
        oversubscribed: threads > 2,
        seed: 1,
        iterations: vec![
            iteration(elapsed_ns),
            iteration(elapsed_ns * 50),
            iteration(elapsed_ns - 1),
        ],
        ..Record::default()
    }
}

/// Blocks whose level drifts by a factor of ten; inside a block `slow` takes 1.5 times what
/// `master` takes, `same` and the twin differ from it by at most 1 %.
fn records() -> Vec<Record> {
    let mut records = Vec::new();
    for block in 0..5 {
        let level = 1_000_000 * (1 + 2 * block as u64);
        let wobble = [0.99, 1.01, 1.0, 0.995, 1.005][block];
        let scaled = |factor: f64| {
            Duration::from_nanos(level)
                .mul_f64(factor)
                .as_nanos()
                .try_into()
                .unwrap()
        };
        records.push(record("master", Program::Parallel, 2, block, level));
        records.push(record(
            "master-again",
            Program::Parallel,
            2,
            block,
            scaled(wobble),
        ));
        records.push(record(
            "same",
            Program::Parallel,
            2,
            block,
            scaled(2.0 - wobble),
        ));
        records.push(record("slow", Program::Parallel, 2, block, scaled(1.5)));
        records.push(record(
            "master",
            Program::Sequential,
            1,
            100 + block,
            10_000_000,
        ));
    }
    records
}

fn of<'a>(rows: &'a [Row], branch: &str) -> &'a Row {
    let is_it = |row: &&Row| row.branch == branch && row.program == Program::Parallel;
    rows.iter().find(is_it).unwrap()
}

#[test]
fn a_true_ratio_is_found_although_blocks_drift() {
    let rows = rows(&asked(), &records());
    let slow = of(&rows, "slow");
    assert!((slow.ratio.unwrap() - 1.5).abs() < 0.001, "{slow:?}");
    assert!((slow.cpu_ratio.unwrap() - 1.5).abs() < 0.001, "{slow:?}");
    assert!(
        (slow.cpu_ns.unwrap() / slow.median_ns.unwrap() - 1.5).abs() < 0.001,
        "{slow:?}"
    );
}

#[test]
fn the_twin_has_ratios_like_any_branch_and_the_baseline_has_none() {
    let rows = rows(&asked(), &records());
    let twin = of(&rows, "master-again");
    assert!((twin.ratio.unwrap() - 1.0).abs() < 0.01, "{twin:?}");
    assert_eq!(of(&rows, "master").ratio, None);
}

#[test]
fn a_trial_without_cpu_time_has_no_cpu_ratio() {
    let mut records = records();
    for record in records.iter_mut().filter(|record| record.branch == "same") {
        record
            .iterations
            .iter_mut()
            .for_each(|it| (it.user_ns, it.system_ns) = (0, 0));
    }
    let rows = rows(&asked(), &records);
    let same = of(&rows, "same");
    assert!(same.ratio.is_some() && same.cpu_ratio.is_none(), "{same:?}");
}

#[test]
fn speed_up_is_sequential_time_over_own_time() {
    let rows = rows(&asked(), &records());
    // Sequential 10 ms; the median block of master takes 5 ms.
    assert!((of(&rows, "master").speed_up.unwrap() - 2.0).abs() < 0.001);
    assert_eq!(rows[0].program, Program::Sequential);
    assert_eq!(rows[0].speed_up, Some(1.0));
}

#[test]
fn a_program_of_fixed_duration_is_compared_by_its_work() {
    let mut records = records();
    for record in &mut records {
        let factor = if record.branch == "slow" { 2 } else { 1 };
        for iteration in &mut record.iterations {
            iteration.elapsed_ns = 1_000_000;
            iteration.work_units = 1200 / factor;
        }
    }
    let rows = rows(&asked(), &records);
    assert!((of(&rows, "slow").ratio.unwrap() - 2.0).abs() < 1e-9);
}

#[test]
fn failed_trials_are_counted_and_never_a_time() {
    let mut records = records();
    for record in records
        .iter_mut()
        .filter(|record| record.branch == "same")
        .take(2)
    {
        record.outcome = Ending::Timeout;
        record.iterations.clear();
    }
    let rows = rows(&asked(), &records);
    let same = of(&rows, "same");
    assert_eq!((same.trials, same.failed), (3, 2));
    assert!(same.ratio.is_some());
}

#[test]
fn the_baseline_comes_first_and_its_twin_second() {
    let rows = rows(&asked(), &records());
    let names: Vec<&str> = rows[1..].iter().map(|row| row.branch.as_str()).collect();
    assert_eq!(names, ["master", "master-again", "slow", "same"]);
}

#[test]
fn the_table_fits_a_terminal_of_eighty_columns_with_the_longest_branch_name() {
    let mut asked = asked();
    let long = "split-counters-no-jec-sleepers-only-cache-padded";
    asked.branches.push(long.to_owned());
    let mut records = records();
    let mut more = record(long, Program::Parallel, 2, 0, 1_000_000);
    more.outcome = Ending::Crash;
    records.push(more);
    records.push(record(long, Program::Parallel, 2, 1, 1_234_567_890));
    let look = Terminal {
        has_colour: false,
        columns: Some(80),
    };
    let text = table(&asked, &rows(&asked, &records), Format::Table, look).unwrap();
    for line in text.lines() {
        assert!(
            line.chars().count() <= 80,
            "{} columns: {line}",
            line.chars().count()
        );
    }
    assert!(
        text.contains("1 of 2") && !text.contains('\u{1b}'),
        "{text}"
    );
}

#[test]
fn csv_and_json_carry_every_row() {
    let rows = rows(&asked(), &records());
    let csv = table(&asked(), &rows, Format::Csv, Terminal::default()).unwrap();
    assert_eq!(csv.lines().count(), 1 + rows.len());
    assert!(
        csv.starts_with("workload,size,parameters,mode,placement,program,threads,"),
        "{csv}"
    );
    let json = table(&asked(), &rows, Format::Json, Terminal::default()).unwrap();
    let parsed: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(parsed.as_array().unwrap().len(), rows.len());
}

#[test]
fn trials_of_instrumented_builds_change_no_figure_of_the_table() {
    let events = Events {
        iterations: 3,
        work_units: 300,
        workers: vec![BTreeMap::from([("pushes".to_owned(), 7)])],
        outside: BTreeMap::new(),
    };
    let instrument = Instrument {
        branches: vec!["slow-instrumented".to_owned()],
        trials: 1,
    };
    let asked = Asked {
        instrument: Some(instrument),
        ..asked()
    };
    let mut with_counts = records();
    // As the runner writes them, and as a careless hand might: with times.
    let name = "slow-instrumented";
    let careless = record(name, Program::Parallel, 2, 0, 1);
    let counted = Record {
        iterations: Vec::new(),
        events: Some(events),
        ..careless.clone()
    };
    let failed = Record {
        outcome: Ending::Crash,
        iterations: Vec::new(),
        ..careless.clone()
    };
    with_counts.extend([counted, careless, failed]);
    assert_eq!(rows(&asked, &with_counts), rows(&asked, &records()));
}
