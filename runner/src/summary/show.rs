//! Rows as a table for people, or as data.

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
        None => grouped(asked, rows, format, look),
    })
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
        let figure =
            |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
        let mut verdict = row.verdict.to_string();
        if row.failed > 0 {
            verdict = format!("{} of {} failed", row.failed, row.failed + row.trials);
        }
        let colour = match row.verdict {
            _ if row.failed > 0 => Some(Color::Magenta),
            Verdict::Faster => Some(Color::Green),
            Verdict::Slower => Some(Color::Red),
            _ => None,
        };
        let time = row.median_ns.map_or(String::new(), human_ns);
        let cells = [row.branch.clone(), time, figure(row.speed_up), figure(row.ratio), verdict];
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
