//! Rows as a table for people, or as data.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::Result;
use comfy_table::Color;
use workloads::protocol::Program;

use super::{Row, Verdict};
use crate::plan::Asked;
use crate::stats::FEWEST_PAIRS;
use crate::table::{Column, Format, Look, Sheet, data};

/// The rows as text that ends with a line end.
///
/// # Errors
/// If a row has no JSON or CSV form, which cannot happen with names that were checked.
pub fn table(asked: &Asked, rows: &[Row], format: Format, look: Look) -> Result<String> {
    Ok(match data(rows, format)? {
        Some(text) => text,
        None if asked.branches.len() == 1 && !asked.twin => alone(rows, format, look),
        None => grouped(asked, rows, format, look),
    })
}

/// A table per workload and mode, a row per set of parameters and thread count: of a branch that ran
/// alone there is nothing to judge, and what is compared are the rows.
fn alone(rows: &[Row], format: Format, look: Look) -> String {
    let title = if format == Format::Markdown { "## " } else { "" };
    let mut text = String::new();
    // Instances of several workloads may take turns.
    let mut rows: Vec<&Row> = rows.iter().collect();
    let order: Vec<&str> = rows.iter().map(|row| row.workload.as_str()).collect();
    rows.sort_by_key(|row| (order.iter().position(|name| *name == row.workload), row.mode));
    for place in rows.chunk_by(|a, b| (&a.workload, a.mode) == (&b.workload, b.mode)) {
        let first = &place[0];
        let _ = writeln!(
            text,
            "{title}{}, size {}, {}, {} frequency\n",
            first.workload, first.size, first.branch, first.mode
        );
        let parameters: BTreeSet<&str> =
            place.iter().flat_map(|row| settings(row).map(|(name, _)| name)).collect();
        let mut columns: Vec<Column> =
            parameters.iter().map(|name| Column::text((*name).to_owned())).collect();
        columns.extend([
            Column::text("threads"),
            Column::figure("time").at_least(7),
            Column::figure("speed-up"),
        ]);
        let has_failures = place.iter().any(|row| row.failed > 0);
        columns.extend(has_failures.then(|| Column::text("")));
        let mut sheet = Sheet::new(columns);
        for row in place {
            let own: BTreeMap<&str, &str> = settings(row).collect();
            let value = |name: &&str| own.get(*name).copied().unwrap_or_default().to_owned();
            let mut cells: Vec<String> = parameters.iter().map(value).collect();
            cells.push(threads(row));
            cells.push(row.median_ns.map_or(String::new(), human_ns));
            cells.push(three_digits(row.speed_up));
            let failed = (row.failed > 0).then(|| failures(row));
            let colour = failed.as_ref().map(|_| Color::Magenta);
            cells.extend(has_failures.then(|| failed.unwrap_or_default()));
            sheet.push(cells, colour);
        }
        let _ = writeln!(text, "{}", sheet.text(format, look));
    }
    let star =
        if rows.iter().any(|row| row.oversubscribed) { "\n*: more threads than CPUs." } else { "" };
    text + "time: median of the trials' medians. speed-up: the sequential program's time\n\
            over this one's. Only one branch ran, so none is judged."
        + star
        + "\n"
}

/// Names and values of the parameters in [`Row::parameters`].
fn settings(row: &Row) -> impl Iterator<Item = (&str, &str)> {
    row.parameters.split_whitespace().filter_map(|setting| setting.split_once('='))
}

fn threads(row: &Row) -> String {
    match row.program {
        Program::Sequential => "sequential".to_owned(),
        Program::Parallel => {
            format!("{}{}", row.threads, if row.oversubscribed { "*" } else { "" })
        }
    }
}

fn failures(row: &Row) -> String {
    format!("{} of {} failed", row.failed, row.failed + row.trials)
}

fn three_digits(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{value:.3}"))
}

/// A heading per workload and mode, a table per thread count.
fn grouped(asked: &Asked, rows: &[Row], format: Format, look: Look) -> String {
    let width = rows.iter().map(|row| row.branch.len()).max().unwrap_or(0);
    let (title, heading) = if format == Format::Markdown { ("## ", "### ") } else { ("", "") };
    let mut text = String::new();
    let same_place = |a: &Row, b: &Row| {
        (&a.workload, &a.parameters, a.mode) == (&b.workload, &b.parameters, b.mode)
    };
    for place in rows.chunk_by(same_place) {
        let first = &place[0];
        let _ = writeln!(
            text,
            "{title}{}, size {}{}{}, {} frequency",
            first.workload,
            first.size,
            if first.parameters.is_empty() { "" } else { ", " },
            first.parameters,
            first.mode
        );
        let same_threads = |a: &Row, b: &Row| (a.program, a.threads) == (b.program, b.threads);
        for group in place.chunk_by(same_threads) {
            let first = &group[0];
            if first.program == Program::Sequential {
                let time = first.median_ns.map_or("failed".to_owned(), human_ns);
                let _ = writeln!(text, "\nsequential program: {time}\n");
                continue;
            }
            let _ = writeln!(text, "{heading}{}", group_heading(first, &asked.baseline));
            if format == Format::Markdown {
                text.push('\n');
            }
            let _ = writeln!(text, "{}", one_table(group, width).text(format, look));
        }
    }
    text + &legend(asked)
}

fn group_heading(row: &Row, baseline: &str) -> String {
    let plural = if row.threads == 1 { "" } else { "s" };
    let more = if row.oversubscribed { ", more than CPUs" } else { "" };
    let band = match (row.band_low, row.band_high) {
        (Some(low), Some(high)) => {
            format!("two runs of {baseline} differ by a ratio of {low:.3} to {high:.3} (A/A)")
        }
        _ => format!("too few pairs of {baseline} and its A/A twin to judge by"),
    };
    format!("{} thread{plural}{more}; {band}", row.threads)
}

fn one_table(rows: &[Row], width: usize) -> Sheet {
    let mut sheet = Sheet::new([
        Column::text("branch").at_least(width),
        Column::figure("time").at_least(7),
        Column::figure("speed-up"),
        Column::figure("ratio").at_least(6),
        Column::text("verdict").at_least(19),
    ]);
    for row in rows {
        let mut verdict = row.verdict.to_string();
        if row.failed > 0 {
            verdict = failures(row);
        }
        let colour = match row.verdict {
            _ if row.failed > 0 => Some(Color::Magenta),
            Verdict::Faster => Some(Color::Green),
            Verdict::Slower => Some(Color::Red),
            _ => None,
        };
        let time = row.median_ns.map_or(String::new(), human_ns);
        let cells = [
            row.branch.clone(),
            time,
            three_digits(row.speed_up),
            three_digits(row.ratio),
            verdict,
        ];
        sheet.push(cells, colour);
    }
    sheet
}

fn legend(asked: &Asked) -> String {
    let baseline = &asked.baseline;
    format!(
        "time: median of the trials' medians. speed-up: the sequential program's time\n\
         over this one's. ratio: time over {baseline}'s, paired inside blocks; below 1 is\n\
         faster. A verdict is given from {FEWEST_PAIRS} pairs on (before: `?`), and only outside the\n\
         A/A band, which one ratio in twenty leaves by chance; the report corrects for\n\
         that.\n"
    )
}

/// A time with three digits: `812 ns`, `24.9 ms`, `1.23 s`.
fn human_ns(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Mode;

    fn row(program: Program, parameters: &str, threads: usize) -> Row {
        Row {
            workload: "locks".to_owned(),
            size: "small".to_owned(),
            parameters: parameters.to_owned(),
            mode: Mode::Dynamic,
            program,
            threads,
            oversubscribed: threads > 2,
            branch: "master".to_owned(),
            trials: 5,
            failed: 0,
            median_ns: Some(2e6),
            speed_up: Some(1.0),
            ratio: None,
            band_low: None,
            band_high: None,
            verdict: Verdict::Reference,
        }
    }

    #[test]
    fn a_branch_that_ran_alone_has_a_line_for_each_set_of_parameters_and_no_verdict() {
        let mut rows = vec![
            row(Program::Sequential, "steps=10", 1),
            row(Program::Parallel, "lock=spin steps=10", 1),
            row(Program::Parallel, "lock=mutex steps=10", 4),
        ];
        rows[2].failed = 1;
        let text = alone(&rows, Format::Table, Look::default());
        let lines: Vec<Vec<&str>> =
            text.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["lock", "steps", "threads", "time", "speed-up"], "{text}");
        assert_eq!(lines[1], ["10", "sequential", "2.00", "ms", "1.000"], "{text}");
        assert_eq!(lines[2], ["spin", "10", "1", "2.00", "ms", "1.000"], "{text}");
        assert_eq!(lines[3][..3], ["mutex", "10", "4*"], "{text}");
        assert!(text.lines().nth(5).unwrap().ends_with("1 of 6 failed"), "{text}");
        assert!(!text.contains("A/A"), "{text}");
    }
}
