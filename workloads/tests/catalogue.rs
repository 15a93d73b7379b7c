//! The committed catalogue, which tools read in the place of the workloads.

use workloads::{CATALOGUE, catalogue};

#[test]
fn the_committed_catalogue_is_what_the_workloads_say_of_themselves() {
    assert!(
        catalogue::as_json(CATALOGUE) == include_str!("../catalogue.json"),
        "workloads/catalogue.json is not current; renew it: \
         cargo run -p workloads -- list --json > workloads/catalogue.json"
    );
}
