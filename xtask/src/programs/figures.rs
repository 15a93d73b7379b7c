//! Paired ratios of the rounds, and the table of them.

use anyhow::Result;
use runner::report::table::{Column, Format, Terminal, TextTable, data};
use runner::stats::median;
use serde::Serialize;

use super::catalogue::Program;
use super::turns::{Cost, Round, Turns};

/// Error of an interval, both sides together.
const ERROR: f64 = 0.05;

/// The middle of some ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Middle {
    median: f64,
    /// Where the true one lies, 95 times of 100 or more; `None` of few.
    range: Option<(f64, f64)>,
}

/// One quantity of one program on one number of threads.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    program: String,
    threads: usize,
    quantity: &'static str,
    /// Median, in milliseconds.
    published_ms: f64,
    /// Median of the rounds' ratios, of the branch to the published build.
    ratio: f64,
    ratio_low: Option<f64>,
    ratio_high: Option<f64>,
    /// The same of the published build to itself.
    twin: f64,
    twin_low: Option<f64>,
    twin_high: Option<f64>,
    same_output: bool,
}

impl Row {
    /// Time, and CPU time.
    pub(super) fn each(program: &Program, threads: usize, turns: &Turns) -> [Self; 2] {
        let row = |quantity, of: fn(&Cost) -> f64| {
            let values = |which: fn(&Round) -> &Cost| -> Vec<f64> {
                turns.rounds.iter().map(|round| of(which(round))).collect()
            };
            let mut published = values(|round| &round.published);
            let against = |others: Vec<f64>| -> Middle {
                Middle::of(others.iter().zip(&published).map(|(it, base)| it / base).collect())
            };
            let fork = against(values(|round| &round.fork));
            let twin = against(values(|round| &round.twin));
            Self {
                program: program.title(),
                threads,
                quantity,
                published_ms: median(&mut published).unwrap_or(f64::NAN),
                ratio: fork.median,
                ratio_low: fork.range.map(|(low, _)| low),
                ratio_high: fork.range.map(|(_, high)| high),
                twin: twin.median,
                twin_low: twin.range.map(|(low, _)| low),
                twin_high: twin.range.map(|(_, high)| high),
                same_output: turns.is_same_output,
            }
        };
        [row("time", |cost| cost.time_ms), row("CPU time", |cost| cost.cpu_ms)]
    }

    /// What is wrong, if the outputs are not the same.
    pub(super) fn difference(&self) -> Option<String> {
        let Self { program, threads, same_output, .. } = self;
        (!same_output).then(|| format!("{program}, threads: {threads}: the outputs differ"))
    }
}

impl Middle {
    /// The range is that of the sign test, which assumes nothing of how ratios are spread.
    fn of(mut ratios: Vec<f64>) -> Self {
        let median = median(&mut ratios).unwrap_or(f64::NAN);
        let range = cut(ratios.len()).map(|cut| (ratios[cut], ratios[ratios.len() - 1 - cut]));
        Self { median, range }
    }
}

/// How many of `count` values may be left out at each end so that the true median lies between the others, but for
/// [`ERROR`]: each value is above it by the toss of a coin.
fn cut(count: usize) -> Option<usize> {
    let mut chance = 0.5_f64.powf(count as f64);
    let mut outside = chance;
    let mut cut = None;
    for left_out in 0..count / 2 {
        if 2.0 * outside > ERROR {
            break;
        }
        cut = Some(left_out);
        chance *= (count - left_out) as f64 / (left_out + 1) as f64;
        outside += chance;
    }
    cut
}

/// The rows as `format` has them.
pub(super) fn text(
    rows: &[Row],
    branch: &str,
    format: Format,
    terminal: Terminal,
) -> Result<String> {
    if let Some(data) = data(rows, format)? {
        return Ok(data);
    }
    let mut table = TextTable::new([
        Column::text("program"),
        Column::number("threads"),
        Column::text("quantity"),
        Column::number("published"),
        Column::number(format!("{branch} / published")),
        Column::text("95 % interval"),
        Column::number("published / itself"),
        Column::text("95 % interval"),
        Column::text("same output"),
    ]);
    let range = |low: Option<f64>, high: Option<f64>| match (low, high) {
        (Some(low), Some(high)) => format!("{low:.3} to {high:.3}"),
        _ => "too few rounds".to_owned(),
    };
    for row in rows {
        let cells = [
            row.program.clone(),
            row.threads.to_string(),
            row.quantity.to_owned(),
            format!("{:.1} ms", row.published_ms),
            format!("{:.3}", row.ratio),
            range(row.ratio_low, row.ratio_high),
            format!("{:.3}", row.twin),
            range(row.twin_low, row.twin_high),
            if row.same_output { "yes" } else { "no" }.to_owned(),
        ];
        table.push(cells, None);
    }
    Ok(table.text(format, terminal))
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::PROGRAMS;
    use super::*;

    /// Rounds in which the fork takes `ratio` of what the published build takes, which grows.
    fn turns(ratio: f64, count: u32, is_same_output: bool) -> Turns {
        let round = |i: u32| {
            let cost = |factor: f64| {
                let time_ms = f64::from(i + 10) * factor;
                Cost { time_ms, cpu_ms: 2.0 * time_ms }
            };
            Round { published: cost(1.0), fork: cost(ratio), twin: cost(1.0) }
        };
        Turns { rounds: (0..count).map(round).collect(), is_same_output }
    }

    #[test]
    fn ratios_are_of_one_round_so_that_what_slows_all_builds_cancels() {
        let [time, cpu] = Row::each(&PROGRAMS[0], 2, &turns(0.5, 11, true));
        assert_eq!((time.ratio, time.twin, time.ratio_low), (0.5, 1.0, Some(0.5)));
        assert_eq!((time.published_ms, cpu.published_ms), (15.0, 30.0));
    }

    #[test]
    fn ranges_are_those_in_tables_of_the_sign_test() {
        assert_eq!(cut(5), None);
        assert_eq!([6, 8, 9, 11, 12, 20, 25].map(cut), [0, 0, 1, 1, 2, 5, 7].map(Some));
        let eleven = (0..11).map(f64::from).collect();
        assert_eq!(Middle::of(eleven), Middle { median: 5.0, range: Some((1.0, 9.0)) });
    }

    #[test]
    fn a_range_covers_the_true_median_about_as_often_as_it_says() {
        let mut random = fastrand::Rng::with_seed(1);
        let trials = 4000;
        let mut covered = 0;
        for _ in 0..trials {
            // Skewed, with a median of 0.25.
            let (low, high) =
                Middle::of((0..12).map(|_| random.f64().powi(2)).collect()).range.unwrap();
            covered += u32::from(low <= 0.25 && 0.25 <= high);
        }
        let share = f64::from(covered) / f64::from(trials);
        // By the binomial distribution 96.1 %.
        assert!((0.95..0.975).contains(&share), "{share}");
    }

    #[test]
    fn the_table_has_a_row_for_each_quantity_and_says_whether_outputs_differ() {
        let rows = Row::each(&PROGRAMS[0], 2, &turns(0.5, 3, false));
        let text = text(&rows, "champion", Format::Table, Terminal::default()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("champion / published"), "{text}");
        assert!(lines[1].contains(" time ") && lines[2].contains(" CPU time "), "{text}");
        assert!(lines[1].contains("0.500") && lines[1].contains("too few rounds"), "{text}");
        assert!(lines[1].ends_with("no"), "{text}");
        assert!(rows[0].difference().unwrap().contains("tokei"));
    }

    #[test]
    fn every_row_has_a_form_as_data() {
        let rows = Row::each(&PROGRAMS[0], 2, &turns(0.5, 3, true));
        for format in [Format::Json, Format::Csv] {
            let text = text(&rows, "champion", format, Terminal::default()).unwrap();
            assert!(text.contains("ratio_low"), "{text}");
        }
        assert_eq!(rows[0].difference(), None);
    }
}
