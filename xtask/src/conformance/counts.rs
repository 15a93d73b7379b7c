//! How many tests passed, failed and were ignored: read from the test harness, and as a table.

use std::fmt;

use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    pub(crate) ignored: u32,
}

impl Counts {
    /// Adds up the summary lines of the test harness: `test result: ok. 5 passed; 0 failed; …`.
    pub(super) fn read(output: &str) -> Self {
        let mut counts = Self::default();
        for line in output
            .lines()
            .filter_map(|line| line.strip_prefix("test result: "))
        {
            for part in line.split([';', '.']) {
                let mut words = part.split_whitespace();
                let (Some(number), Some(what)) = (words.next(), words.next()) else {
                    continue;
                };
                let Ok(number) = number.parse::<u32>() else {
                    continue;
                };
                match what {
                    "passed" => counts.passed += number,
                    "failed" => counts.failed += number,
                    "ignored" => counts.ignored += number,
                    _ => {}
                }
            }
        }
        counts
    }

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            ignored: self.ignored + other.ignored,
        }
    }

    pub(super) fn to_json(self) -> Value {
        json!([self.passed, self.failed, self.ignored])
    }

    pub(super) fn from_json(value: &Value) -> Option<Self> {
        let number = |i: usize| value.get(i)?.as_u64()?.try_into().ok();
        Some(Self {
            passed: number(0)?,
            failed: number(1)?,
            ignored: number(2)?,
        })
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passed,
            failed,
            ignored,
        } = self;
        write!(f, "{passed} passed, {failed} failed, {ignored} ignored")
    }
}

/// A Markdown table: a row for each variant and one for their sum, a column for each suite.
pub(super) fn table(suites: &[String], rows: &[(String, Vec<Counts>)]) -> String {
    let mut sums = vec![Counts::default(); suites.len()];
    for (_, row) in rows {
        for (sum, counts) in sums.iter_mut().zip(row) {
            *sum = sum.add(*counts);
        }
    }
    let sum = ("all".to_owned(), sums);
    let name_width = rows
        .iter()
        .map(|(name, _)| name.len())
        .max()
        .unwrap_or(0)
        .max(7);
    let line = |name: &str, cells: &[String]| {
        let cells = cells.iter().zip(suites);
        let cells = cells.map(|(cell, suite)| format!("{cell:>width$}", width = suite.len()));
        format!(
            "| {name:<name_width$} | {} |\n",
            cells.collect::<Vec<_>>().join(" | ")
        )
    };
    let rule: Vec<_> = suites
        .iter()
        .map(|suite| "-".repeat(suite.len() - 1) + ":")
        .collect();
    let mut text = String::from("passed / failed / ignored\n\n");
    text += &line("variant", suites);
    text += &line(&"-".repeat(name_width), &rule);
    for (name, row) in rows.iter().chain([&sum]) {
        let cells = row.iter().map(
            |Counts {
                 passed,
                 failed,
                 ignored,
             }| format!("{passed} / {failed} / {ignored}"),
        );
        text += &line(name, &cells.collect::<Vec<_>>());
    }
    text.pop();
    text
}

#[cfg(test)]
mod tests {
    use super::{Counts, table};

    #[test]
    fn summaries_of_all_test_binaries_are_added_up() {
        let output = "\
running 2 tests
test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.02s

test result: FAILED. 5 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.02s
";
        assert_eq!(
            Counts::read(output),
            Counts {
                passed: 7,
                failed: 4,
                ignored: 1
            }
        );
    }

    #[test]
    fn counts_survive_being_written_and_read() {
        let counts = Counts {
            passed: 7,
            failed: 4,
            ignored: 1,
        };
        assert_eq!(Counts::from_json(&counts.to_json()), Some(counts));
    }

    #[test]
    fn the_table_ends_with_the_sums_of_its_columns() {
        let counts = |passed, failed| Counts {
            passed,
            failed,
            ignored: 1,
        };
        let rows = [
            ("packed".to_owned(), vec![counts(5, 0), counts(70, 0)]),
            ("split".to_owned(), vec![counts(4, 1), counts(70, 2)]),
        ];
        let expected = "\
passed / failed / ignored

| variant | rayon 1.0 tests | core 1.0 tests |
| ------- | --------------: | -------------: |
| packed  |       5 / 0 / 1 |     70 / 0 / 1 |
| split   |       4 / 1 / 1 |     70 / 2 / 1 |
| all     |       9 / 1 / 2 |    140 / 2 / 2 |";
        let suites = ["rayon 1.0 tests".to_owned(), "core 1.0 tests".to_owned()];
        assert_eq!(table(&suites, &rows), expected);
    }
}
