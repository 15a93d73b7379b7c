//! Rows as a table for people, or as data.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::Result;
use comfy_table::Color;
use protocol::Program;

use super::Row;
use crate::plan::Asked;
use crate::report::table::{Column, Format, Terminal, TextTable, data, wrapped};

/// The rows as text that ends with a line end.
///
/// # Errors
/// If a row has no JSON or CSV form, which cannot happen with names that were checked.
pub fn table(asked: &Asked, rows: &[Row], format: Format, look: Terminal) -> Result<String> {
    Ok(match data(rows, format)? {
        Some(text) => text,
        None if asked.branches.len() == 1 && !asked.twin => alone(rows, format, look),
        None => grouped(asked, rows, format, look),
    })
}

/// A table per workload and regime, a row per set of parameters and thread count: of a branch that
/// ran alone there are no ratios, and what is compared are the rows.
fn alone(rows: &[Row], format: Format, look: Terminal) -> String {
    let title = if format == Format::Markdown {
        "## "
    } else {
        ""
    };
    let mut text = String::new();
    // Instances of several workloads may take turns.
    let mut rows: Vec<&Row> = rows.iter().collect();
    let order: Vec<&str> = rows.iter().map(|row| row.workload.as_str()).collect();
    rows.sort_by_key(|row| {
        (
            order.iter().position(|name| *name == row.workload),
            row.regime(),
        )
    });
    for place in rows.chunk_by(|a, b| (&a.workload, a.regime()) == (&b.workload, b.regime())) {
        let first = &place[0];
        let _ = writeln!(
            text,
            "{title}{}, size {}, {}, {}\n",
            first.workload,
            first.size,
            first.branch,
            first.regime()
        );
        let parameters: BTreeSet<&str> = place
            .iter()
            .flat_map(|row| settings(row).map(|(name, _)| name))
            .collect();
        let mut columns: Vec<Column> = parameters
            .iter()
            .map(|name| Column::text((*name).to_owned()))
            .collect();
        columns.extend([
            Column::text("threads"),
            Column::number("time").at_least(7),
            Column::number("CPU time").at_least(7),
            Column::number("speed-up"),
        ]);
        let has_failures = place.iter().any(|row| row.failed > 0);
        columns.extend(has_failures.then(|| Column::text("failed")));
        let mut sheet = TextTable::new(columns);
        for row in place {
            let own: BTreeMap<&str, &str> = settings(row).collect();
            let value = |name: &&str| own.get(*name).copied().unwrap_or_default().to_owned();
            let mut cells: Vec<String> = parameters.iter().map(value).collect();
            cells.push(threads(row));
            cells.push(time(row.median_ns));
            cells.push(time(row.cpu_ns));
            cells.push(three_digits(row.speed_up));
            cells.extend(has_failures.then(|| failures(row)));
            sheet.push(cells, colour(row));
        }
        let _ = writeln!(text, "{}", sheet.text(format, look));
    }
    let star = if rows.iter().any(|row| row.oversubscribed) {
        "\n*: more threads than CPUs."
    } else {
        ""
    };
    text + "time: median of the trials' medians. CPU time: that of all threads together.\n\
            speed-up: the sequential program's time over this one's."
        + star
        + "\n"
}

/// Names and values of the parameters in [`Row::parameters`].
fn settings(row: &Row) -> impl Iterator<Item = (&str, &str)> {
    row.parameters
        .split_whitespace()
        .filter_map(|setting| setting.split_once('='))
}

fn threads(row: &Row) -> String {
    match row.program {
        Program::Sequential => "sequential".to_owned(),
        Program::Parallel => {
            format!(
                "{}{}",
                row.threads,
                if row.oversubscribed { "*" } else { "" }
            )
        }
    }
}

/// How many trials failed; nothing if none did.
fn failures(row: &Row) -> String {
    let all = row.failed + row.trials;
    if row.failed > 0 {
        format!("{} of {all}", row.failed)
    } else {
        String::new()
    }
}

fn colour(row: &Row) -> Option<Color> {
    (row.failed > 0).then_some(Color::Magenta)
}

fn time(nanoseconds: Option<f64>) -> String {
    nanoseconds.map_or(String::new(), human_ns)
}

fn three_digits(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{value:.3}"))
}

/// A heading per workload and regime, a table per thread count.
fn grouped(asked: &Asked, rows: &[Row], format: Format, look: Terminal) -> String {
    let width = rows.iter().map(|row| row.branch.len()).max().unwrap_or(0);
    let (title, heading) = if format == Format::Markdown {
        ("## ", "### ")
    } else {
        ("", "")
    };
    let mut text = String::new();
    let same_place = |a: &Row, b: &Row| {
        (&a.workload, &a.parameters, a.regime()) == (&b.workload, &b.parameters, b.regime())
    };
    for place in rows.chunk_by(same_place) {
        let first = &place[0];
        let _ = writeln!(
            text,
            "{title}{}{}, size {}{}{}, {}",
            asked.heading(),
            first.workload,
            first.size,
            if first.parameters.is_empty() {
                ""
            } else {
                ", "
            },
            first.parameters,
            first.regime()
        );
        let same_threads = |a: &Row, b: &Row| (a.program, a.threads) == (b.program, b.threads);
        for group in place.chunk_by(same_threads) {
            let first = &group[0];
            if first.program == Program::Sequential {
                let time = first.median_ns.map_or("failed".to_owned(), human_ns);
                let _ = writeln!(text, "\nsequential program: {time}\n");
                continue;
            }
            let plural = if first.threads == 1 { "" } else { "s" };
            let more = if first.oversubscribed {
                ", more than CPUs"
            } else {
                ""
            };
            let _ = writeln!(text, "{heading}{} thread{plural}{more}", first.threads);
            if format == Format::Markdown {
                text.push('\n');
            }
            let _ = writeln!(text, "{}", one_table(group, width).text(format, look));
        }
    }
    text + &legend(asked)
}

/// Times and their ratios to the baseline's; of a program that is paced by a clock, CPU time comes
/// first.
fn one_table(rows: &[Row], width: usize) -> TextTable {
    let is_paced = rows[0].paced;
    let wall = [
        Column::number("time").at_least(7),
        Column::number("ratio").at_least(6),
    ];
    let cpu = [Column::number("CPU time"), Column::number("CPU ratio")];
    let mut columns = vec![Column::text("branch").at_least(width)];
    columns.extend(if is_paced { [cpu, wall] } else { [wall, cpu] }.concat());
    columns.push(Column::number("speed-up"));
    let has_failures = rows.iter().any(|row| row.failed > 0);
    columns.extend(has_failures.then(|| Column::text("failed")));
    let mut sheet = TextTable::new(columns);
    for row in rows {
        let wall = [time(row.median_ns), three_digits(row.ratio)];
        let cpu = [time(row.cpu_ns), three_digits(row.cpu_ratio)];
        let mut cells = vec![row.branch.clone()];
        cells.extend(if is_paced { [cpu, wall] } else { [wall, cpu] }.concat());
        cells.push(three_digits(row.speed_up));
        cells.extend(has_failures.then(|| failures(row)));
        sheet.push(cells, colour(row));
    }
    sheet
}

fn legend(asked: &Asked) -> String {
    let baseline = &asked.baseline;
    let twin = asked.twin_name().map_or(String::new(), |twin| {
        format!(" {twin} is {baseline} once more: its ratios are noise.")
    });
    let text = format!(
        "time: median of the trials' medians; CPU time: that of all threads together, the first column where a \
         clock paces the program. ratio: over {baseline}'s, paired inside blocks; below 1 is less.{twin} \
         speed-up: the sequential program's time over this one's."
    );
    wrapped(&text, 80, "") + "\n"
}

/// A time with three digits: `812 ns`, `24.9 ms`, `1.23 s`.
fn human_ns(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let digits = if value < 10.0 {
        2
    } else {
        usize::from(value < 100.0)
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(program: Program, parameters: &str, threads: usize) -> Row {
        Row {
            workload: "locks".to_owned(),
            parameters: parameters.to_owned(),
            program,
            threads,
            oversubscribed: threads > 2,
            branch: "master".to_owned(),
            trials: 5,
            median_ns: Some(2e6),
            cpu_ns: Some(3e6),
            speed_up: Some(1.0),
            ..Row::default()
        }
    }

    #[test]
    fn a_branch_that_ran_alone_has_a_line_for_each_set_of_parameters() {
        let mut rows = vec![
            row(Program::Sequential, "steps=10", 1),
            row(Program::Parallel, "lock=spin steps=10", 1),
            row(Program::Parallel, "lock=mutex steps=10", 4),
        ];
        rows[2].failed = 1;
        let text = alone(&rows, Format::Table, Terminal::default());
        let lines: Vec<Vec<&str>> = text
            .lines()
            .skip(2)
            .map(|line| line.split_whitespace().collect())
            .collect();
        let heading = [
            "lock", "steps", "threads", "time", "CPU", "time", "speed-up", "failed",
        ];
        assert_eq!(lines[0], heading, "{text}");
        let numbers = ["2.00", "ms", "3.00", "ms", "1.000"];
        assert_eq!(
            lines[1],
            [&["10", "sequential"], &numbers[..]].concat(),
            "{text}"
        );
        assert_eq!(
            lines[2],
            [&["spin", "10", "1"], &numbers[..]].concat(),
            "{text}"
        );
        assert_eq!(lines[3][..3], ["mutex", "10", "4*"], "{text}");
        assert!(text.lines().nth(5).unwrap().ends_with("1 of 6"), "{text}");
        assert!(!text.contains("ratio"), "{text}");
    }

    #[test]
    fn where_a_clock_paces_the_program_cpu_time_comes_first() {
        let heading = |paced| {
            let rows = [Row {
                paced,
                ..row(Program::Parallel, "", 2)
            }];
            let text = one_table(&rows, 6).text(Format::Table, Terminal::default());
            text.lines()
                .next()
                .unwrap()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(
            heading(false),
            "branch time ratio CPU time CPU ratio speed-up"
        );
        assert_eq!(
            heading(true),
            "branch CPU time CPU ratio time ratio speed-up"
        );
    }
}
