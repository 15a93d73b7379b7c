//! The README has a row for every workload, in the tables that say how far it can scale.

use std::collections::BTreeSet;

use crate::{CATALOGUE, README};

/// Rows of all tables whose heading begins with `| name |` and has `column`.
fn rows(column: &str) -> Vec<Vec<&'static str>> {
    let mut rows = Vec::new();
    let mut is_wanted = false;
    for line in README.lines() {
        if !line.starts_with('|') {
            is_wanted = false;
        } else if line.starts_with("| name |") {
            is_wanted = line.split('|').any(|cell| cell.trim() == column);
        } else if is_wanted && !line.starts_with("|---") {
            rows.push(line.trim_matches('|').split('|').map(str::trim).collect());
        }
    }
    rows
}

/// The names in the first cell, each between backticks.
fn names(row: &[&'static str]) -> Vec<&'static str> {
    row[0].split('`').skip(1).step_by(2).collect()
}

/// Each name that has a row, once.
fn named(column: &str) -> BTreeSet<&'static str> {
    let mut named = BTreeSet::new();
    for name in rows(column).iter().flat_map(|row| names(row)) {
        assert!(named.insert(name), "`{name}` has two rows with {column}");
    }
    named
}

#[test]
fn every_workload_has_a_row_with_span_and_parallelism() {
    let all: BTreeSet<&str> = CATALOGUE.iter().map(|it| it.description().name).collect();
    assert_eq!(named("parallelism at `small`"), all);
    assert_eq!(named("span"), all);
}

#[test]
fn no_cell_of_the_rows_is_empty() {
    for row in rows("span") {
        assert!(row.iter().all(|cell| !cell.is_empty()), "{row:?}");
    }
}
