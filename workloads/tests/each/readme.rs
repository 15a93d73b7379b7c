//! The README has a row for every workload, in the tables that say what it is and how far it can scale.

use std::collections::BTreeSet;

use protocol::{Description, Size};

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

fn descriptions() -> impl Iterator<Item = &'static Description> {
    CATALOGUE.iter().map(|workload| workload.description())
}

const SIZES: &str = "tiny · small · medium · large";

#[test]
fn every_workload_has_a_row_with_its_sizes_and_one_with_work_span_and_parallelism() {
    let all: BTreeSet<&str> = descriptions().map(|description| description.name).collect();
    assert_eq!(named(SIZES), all);
    assert_eq!(named("what it stresses"), all);
    assert_eq!(named("parallelism at `small`"), all);
    assert_eq!(named("span"), all);
}

#[test]
fn no_cell_of_the_rows_is_empty() {
    for row in [rows(SIZES), rows("span")].concat() {
        assert!(row.iter().all(|cell| !cell.is_empty()), "{row:?}");
    }
}

/// The digits of a number, which the README groups by spaces.
fn ungrouped(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[test]
fn the_smallest_size_of_every_row_is_that_of_the_program() {
    for row in rows(SIZES) {
        let sizes = row.iter().find(|cell| cell.contains(" · ")).expect("a cell with sizes");
        for description in descriptions().filter(|it| names(&row).contains(&it.name)) {
            let tiny = description.parameters_of(Size::Tiny);
            // Parameters in backticks; their values follow behind `=`, in the same order.
            let (head, values) = sizes.split_once('=').expect("names = values");
            let first = values.split('·').next().expect("a value").replace("× ", "/");
            let first = first.split(';').next().expect("a value").replace(',', "/");
            let parameters: Vec<&str> = head.split('`').skip(1).step_by(2).collect();
            for (parameter, value) in parameters.iter().zip(first.split('/')) {
                let value = ungrouped(value);
                assert_eq!(
                    tiny.get(*parameter),
                    Some(&value),
                    "{}: {parameter} in `{sizes}`",
                    description.name
                );
            }
        }
    }
}
