use std::collections::BTreeSet;

use protocol::workloads;

use crate::{CATALOGUE, IS_OURS};

#[test]
fn every_row_has_a_program_and_the_catalogue_has_all_of_them_in_order() {
    let rows: Vec<&str> = workloads()
        .iter()
        .filter(|row| IS_OURS(row.part))
        .map(|row| row.name.as_str())
        .collect();
    let compiled: Vec<&str> = CATALOGUE
        .iter()
        .map(|it| it.description().name.as_str())
        .collect();
    assert_eq!(compiled, rows);
    assert_eq!(compiled.iter().collect::<BTreeSet<_>>().len(), rows.len());
}
